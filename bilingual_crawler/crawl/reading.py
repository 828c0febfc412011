"""A response that the language filter has read, for log and outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bilingual_crawler.crawl.signals import ENTRY, READ, WARC_LOCATION
from bilingual_crawler.crawl.visits import utc_now
from bilingual_crawler.items import Document
from bilingual_crawler.pages.model import claims_in

if TYPE_CHECKING:
    from scrapy.http import Response

    from bilingual_crawler.crawl.visits import Visits
    from bilingual_crawler.frontier.entry import Entry
    from bilingual_crawler.languages.pairs import LanguagePairs
    from bilingual_crawler.pages.model import PageRecord


def log_page(response: Response, visits: Visits, pairs: LanguagePairs) -> None:
    """Log what came of the page in the meta of *response*."""
    page: PageRecord = response.meta[READ]
    visits.log(
        response.meta[ENTRY],
        status=response.status,
        outcome="other-language" if page.side is None else page.objection or "document",
        language=page.language,
        declared=page.contradicting(pairs) or "",
    )


def document_of(response: Response, page: PageRecord) -> Document | None:
    """Return *page*, read of *response*, as a document; None if it is in no language of the crawl, or opts out."""
    if page.side is None or page.objection:
        return None
    entry: Entry = response.meta[ENTRY]
    claims = claims_in(page.links)
    warc_file, warc_offset = response.meta.get(WARC_LOCATION, (None, None))[:2]
    now = utc_now()
    return Document(
        url=page.url,
        language=page.side,
        shares=page.shares,
        reliable=page.reliable,
        title=page.title,
        text=page.text,
        fetched_at=now,
        status=response.status,
        depth=page.depth,
        referrer=entry.parent or None,
        score=entry.priority if entry.parent else None,
        warc_file=warc_file,
        warc_offset=warc_offset,
        alternates=[(claim.language, claim.url) for claim in claims if claim.announced and claim.language],
        switches=[(claim.language, claim.url) for claim in claims if claim.switcher],
        # a feed has all fields of the origin
        origin=replace(page.origin.with_opt_outs(page.opt_outs), fetched_at=now),
    )
