"""A response that the language filter has read, as policy, log and outputs see it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bilingual_crawler.crawl.signals import ENTRY, READ, WARC_LOCATION
from bilingual_crawler.crawl.visits import utc_now
from bilingual_crawler.items import Document, FetchedPage, claims_in

if TYPE_CHECKING:
    from scrapy.http import Response

    from bilingual_crawler.frontier.entry import Entry
    from bilingual_crawler.languages.pairs import LanguagePairs
    from bilingual_crawler.options import Options
    from bilingual_crawler.pages.detectors.base import Identification
    from bilingual_crawler.pages.jobs import ReadPage
    from bilingual_crawler.pages.model import Page


@dataclass(frozen=True, slots=True)
class Reading:
    """What a response says to policy, log and outputs; its meta has the page, its language and its outline."""

    response: Response
    entry: Entry
    record: ReadPage
    side: str | None
    """The language of the crawl that the page counts as, if any."""
    declared: str
    """The language of the crawl that the page declares, if its text is in another one; else empty."""
    objection: str | None
    """The opt-out that is obeyed, so that the page is no document: ``noindex``, ``tdm-reservation``, ``noai``."""

    @classmethod
    def from_response(cls, response: Response, pairs: LanguagePairs, options: Options) -> Reading:
        """Return the reading in the meta of *response*."""
        meta = response.meta
        record: ReadPage = meta[READ]
        page, found = record.page, record.identification
        side, named = pairs.side(found.language), pairs.side(found.declared) if found.declared else None
        objection = "noindex" if page.noindex and options.meta_robots_obey else None
        if objection is None and options.tdm == "respect":
            objection = page.opt_outs.objection
        return cls(response, meta[ENTRY], record, side, named if named and named != side else "", objection)

    @property
    def page(self) -> Page:
        """The page."""
        return self.record.page

    def with_page(self, page: Page) -> Reading:
        """Return the same of *page*."""
        return replace(self, record=replace(self.record, page=page))

    @property
    def identified(self) -> Identification:
        """The language of its text."""
        return self.record.identification

    @property
    def outcome(self) -> str:
        """The outcome in ``crawl.tsv``."""
        if self.side is None:
            return "other-language"
        return self.objection or "document"

    @property
    def fetched(self) -> FetchedPage:
        """The page as a policy sees it."""
        return FetchedPage(
            self.entry.url,
            self.identified.language,
            self.side,
            not self.entry.parent,
            self.entry.depth,
            len(self.page.text),
            tuple(link for link in self.page.links if link.claims),
            self.objection is not None,
            self.record.outline,
            self.page.canonical,
            self.record.new_text,
        )

    @property
    def document(self) -> Document | None:
        """The page as a document; None if it is in no language of the crawl, or opts out."""
        if self.side is None or self.objection:
            return None
        entry, page, claims = self.entry, self.page, claims_in(self.page.links)
        warc_file, warc_offset = self.response.meta.get(WARC_LOCATION, (None, None))[:2]
        now = utc_now()
        return Document(
            url=entry.url,
            language=self.side,
            shares=list(self.identified.shares),
            reliable=self.identified.reliable,
            title=page.title,
            text=page.text,
            fetched_at=now,
            status=self.response.status,
            depth=entry.depth,
            referrer=entry.parent or None,
            score=entry.priority if entry.parent else None,
            warc_file=warc_file,
            warc_offset=warc_offset,
            alternates=[(claim.language, claim.url) for claim in claims if claim.announced and claim.language],
            switches=[(claim.language, claim.url) for claim in claims if claim.switcher],
            # a feed has all fields of the origin
            origin=replace(page.origin.with_opt_outs(page.opt_outs), fetched_at=now),
        )
