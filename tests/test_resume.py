from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.settings import Settings
from test_tracker import document

from bilingual_crawler.frontier.policies.base import FetchedPage
from bilingual_crawler.frontier.policies.gain import Gain
from bilingual_crawler.frontier.resume import relearn
from bilingual_crawler.languages import LanguagePair
from bilingual_crawler.pages.model import Link, LinkPosition
from bilingual_crawler.reporting.records import CRAWL, DOCUMENTS, GzipJsonLines, TsvLog
from bilingual_crawler.signals import Fetch

if TYPE_CHECKING:
    from pathlib import Path

PAIR = LanguagePair.parse("eng-isl")
EN, SWITCHED, QUEUED = "https://a.is/en/x", "https://a.is/sagan", "https://a.is/is/x"


def test_a_policy_knows_after_a_resume_what_it_knew_before(tmp_path: Path) -> None:
    before = Gain(PAIR, Settings())
    claims = [
        Link("https://a.is/um", hreflang="isl", alternate=True),
        Link(SWITCHED, label="isl", position=LinkPosition.SWITCHER),
    ]
    page = FetchedPage(EN, "eng", "eng")
    before.learn(page, claims)
    before.priorities(page, [*claims, Link(QUEUED)], None)
    before.redirected("https://a.is/um", "https://a.is/is/um")
    before.gone("https://a.is/gone")

    documents = GzipJsonLines(tmp_path / DOCUMENTS)
    documents.write(document(EN, "eng", alternates=[("isl", "https://a.is/um")], switches=[("isl", SWITCHED)]))
    documents.close()
    log = TsvLog.of(tmp_path / CRAWL, Fetch)
    log.write_record(Fetch("t", 200, EN, "eng", 0.5, "https://a.is/", 1, "document"))
    log.write_record(Fetch("t", 301, "https://a.is/um", "", 0.5, EN, 2, "redirect", "https://a.is/is/um"))
    log.write_record(Fetch("t", 404, "https://a.is/gone", "", 0.5, EN, 2, "http-404"))
    log.close()
    after = Gain(PAIR, Settings())
    relearn(after, tmp_path, [QUEUED, SWITCHED, "https://a.is/is/um"])

    for url in (QUEUED, "https://a.is/elsewhere"):
        assert after.explain(url) == before.explain(url)
    assert min(after.explain(url).claimed for url in (SWITCHED, "https://a.is/is/um")) > 0.1
