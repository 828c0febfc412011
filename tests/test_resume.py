from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.frontier.entry import Entry
from bilingual_crawler.frontier.lmdb_store import LmdbStore
from bilingual_crawler.languages import LanguagePair
from bilingual_crawler.pages.model import Link, LinkPosition
from bilingual_crawler.policies.base import FetchedPage
from bilingual_crawler.policies.facts import GONE, page_fact, redirect_fact, relearn
from bilingual_crawler.policies.gain import Gain

if TYPE_CHECKING:
    from pathlib import Path

PAIR = LanguagePair.parse("eng-isl")
EN, SWITCHED, QUEUED = "https://a.is/en/x", "https://a.is/sagan", "https://a.is/is/x"


def test_a_policy_knows_after_a_resume_what_it_knew_before(tmp_path: Path) -> None:
    before = Gain(PAIR)
    claims = [
        Link("https://a.is/um", hreflang="isl", alternate=True),
        Link(SWITCHED, label="isl", position=LinkPosition.SWITCHER),
    ]
    page = FetchedPage(EN, "eng", "eng")
    before.learn(page, claims)
    before.priorities(page, [*claims, Link(QUEUED)], None)
    before.redirected("https://a.is/um", "https://a.is/is/um")
    before.gone("https://a.is/gone")

    store = LmdbStore(tmp_path)
    store.push([Entry(url, "a.is", 0.5) for url in (QUEUED, SWITCHED, "https://a.is/is/um")])
    store.remember("a.is", EN, page_fact(page, claims, PAIR))
    store.remember("a.is", "https://a.is/um", redirect_fact("https://a.is/is/um"))
    store.remember("a.is", "https://a.is/gone", GONE)
    store.close()
    reopened = LmdbStore(tmp_path)
    after = Gain(PAIR)
    for slot in reopened.slots():
        relearn(after, reopened.facts(slot), reopened.queued(slot))
    reopened.close()

    for url in (QUEUED, "https://a.is/elsewhere"):
        assert after.explain(url) == before.explain(url)
    assert min(after.explain(url).completes for url in (SWITCHED, "https://a.is/is/um")) > 0.1
