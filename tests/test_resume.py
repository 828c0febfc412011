from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.crawl.facts import GONE, page_fact, redirect_fact, relearn
from bilingual_crawler.crawl.learner import Learner
from bilingual_crawler.frontier.entry import Entry
from bilingual_crawler.frontier.lmdb_store import LmdbStore
from bilingual_crawler.languages import LanguagePair
from bilingual_crawler.pages.model import Link, LinkPosition
from bilingual_crawler.policies.base import FetchedPage
from bilingual_crawler.policies.gain import Gain

if TYPE_CHECKING:
    from pathlib import Path

PAIR = LanguagePair.parse("eng-isl")
EN, SWITCHED, QUEUED = "https://a.is/en/x", "https://a.is/sagan", "https://a.is/is/x"


def test_a_policy_knows_after_a_resume_what_it_knew_before(tmp_path: Path) -> None:
    before = Gain(PAIR)
    learner = Learner(before)
    claims = (
        Link("https://a.is/um", hreflang="isl", alternate=True),
        Link(SWITCHED, label="isl", position=LinkPosition.SWITCHER),
    )
    page = FetchedPage(EN, "eng", "eng", claims=claims)
    learner.learn(page, claims)
    before.priorities(page, [*claims, Link(QUEUED)], None)
    learner.redirected("https://a.is/um", "https://a.is/is/um")
    before.gone("https://a.is/gone")

    store = LmdbStore(tmp_path)
    store.push([Entry(url, "a.is", 0.5) for url in (QUEUED, SWITCHED, "https://a.is/is/um")])
    store.remember("a.is", EN, page_fact(page, PAIR))
    store.remember("a.is", "https://a.is/um", redirect_fact("https://a.is/is/um"))
    store.remember("a.is", "https://a.is/gone", GONE)
    store.close()
    reopened = LmdbStore(tmp_path)
    after = Gain(PAIR)
    for slot in reopened.slots():
        assert not list(relearn(Learner(after), reopened.facts(slot), reopened.queued(slot)))
    reopened.close()

    for url in (QUEUED, "https://a.is/elsewhere"):
        assert after.explain(url) == before.explain(url)
    assert min(after.explain(url).completes for url in (SWITCHED, "https://a.is/is/um")) > 0.1


def test_a_resumed_crawl_knows_its_pairs_by_every_kind_of_evidence() -> None:
    both = Link("https://a.is/saga", hreflang="isl", alternate=True, position=LinkPosition.SWITCHER)
    pages = [
        FetchedPage("https://a.is/story", "eng", "eng", claims=(both,)),
        FetchedPage("https://a.is/en/um", "eng", "eng"),
        FetchedPage("https://a.is/is/um", "isl", "isl"),
        FetchedPage("https://a.is/en/ei", "eng", "eng", noindex=True),
        FetchedPage("https://a.is/is/ei", "isl", "isl"),
        FetchedPage("https://a.is/one", "eng", "eng", claims=(switch("isl", "https://a.is/old"),)),
        FetchedPage("https://a.is/two", "isl", "isl", claims=(switch("eng", "https://a.is/one"),)),
        FetchedPage("https://a.is/saga", "isl", "isl", claims=(switch("eng", "https://a.is/story"),)),
    ]
    learner = Learner(Gain(PAIR))
    facts = []
    for page in pages:
        learner.learn(page, page.claims)
        facts.append((page.url, page_fact(page, PAIR)))
    learner.redirected("https://a.is/old", "https://a.is/two")
    facts.append(("https://a.is/old", redirect_fact("https://a.is/two")))
    assert [pair.method for pair in learner.ledger.pairs()] == ["hreflang", "switcher", "url"]
    resumed = Learner(Gain(PAIR))
    assert len(list(relearn(resumed, facts, ()))) == 3
    assert resumed.ledger.pairs() == learner.ledger.pairs()
    assert resumed.ledger.unpaired() == learner.ledger.unpaired()


def test_a_claim_that_is_announced_and_a_switch_is_both_after_a_resume() -> None:
    link = Link("https://a.is/saga", hreflang="isl", alternate=True, position=LinkPosition.SWITCHER)
    [(url, fact)] = [
        ("https://a.is/story", page_fact(FetchedPage("https://a.is/story", "eng", "eng", claims=(link,)), PAIR))
    ]
    told: list[FetchedPage] = []

    class Listener(Gain):
        def learn(self, page: FetchedPage, links: object, partner: str | None = None) -> None:
            told.append(page)

    assert not list(relearn(Learner(Listener(PAIR)), [(url, fact)], ()))
    assert told[0].claims == (link,)


def switch(label: str, url: str) -> Link:
    return Link(url, label=label, position=LinkPosition.SWITCHER)
