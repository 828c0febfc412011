"""A response that the language filter has read, as policy, log and outputs see it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bilingual_crawler.crawl.signals import ENTRY, LANGUAGE, NEW_TEXT, OUTLINE, PAGE, PARTS, WARC_LOCATION
from bilingual_crawler.crawl.visits import utc_now
from bilingual_crawler.items import Document, FetchedPage, claims_in
from bilingual_crawler.urls.variants import part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.http import Response

    from bilingual_crawler.frontier.entry import Entry
    from bilingual_crawler.languages.pairs import LanguagePairs
    from bilingual_crawler.options import Options
    from bilingual_crawler.pages.detectors.base import Identification
    from bilingual_crawler.pages.jobs import ReadPart
    from bilingual_crawler.pages.model import Page


@dataclass(frozen=True, slots=True)
class Reading:
    """What a response says to policy, log and outputs; its meta has the page, its language and its outline."""

    response: Response
    entry: Entry
    page: Page
    identified: Identification
    side: str | None
    """The language of the crawl that the page counts as, if any."""
    objection: str | None
    """The opt-out that is obeyed, so that the page is no document: ``noindex``, ``tdm-reservation``, ``noai``."""
    parts: tuple[ReadPart, ...]
    """Two, by language of the crawl, if the page has the same text in two languages that are a pair; else none."""

    @classmethod
    def from_response(cls, response: Response, pairs: LanguagePairs, options: Options) -> Reading:
        """Return the reading in the meta of *response*."""
        meta = response.meta
        page, identified = meta[PAGE], meta[LANGUAGE]
        side, entry = pairs.side(identified.language), meta[ENTRY]
        objection = "noindex" if page.noindex and options.meta_robots_obey else None
        if objection is None and options.tdm == "respect":
            objection = page.opt_outs.objection
        parts = () if entry.is_variant else _in_languages(meta.get(PARTS, ()), pairs)
        return cls(response, entry, page, identified, side, objection, parts)

    @property
    def language(self) -> str:
        """The language in ``crawl.tsv``; of a page with the same text in two languages both: ``eng+fin``."""
        return "+".join(sorted(one.language for one in self.parts)) or self.identified.language

    @property
    def outcome(self) -> str:
        """The outcome in ``crawl.tsv``."""
        if self.side is None and not self.parts:
            return "other-language"
        return self.objection or "document"

    @property
    def fetched(self) -> FetchedPage:
        """The page as a policy sees it."""
        new_text = self.response.meta.get(NEW_TEXT, 1.0)
        return FetchedPage(
            self.entry.url,
            self.identified.language,
            self.side,
            not self.entry.parent,
            self.entry.depth,
            len(self.page.text),
            tuple(link for link in self.page.links if link.claims),
            self.objection is not None,
            self.response.meta[OUTLINE],
            self.page.canonical,
            new_text,
            tuple(
                FetchedPage.from_part(self.entry.url, one.language, len(one.text), one.outline, new_text)
                for one in self.parts
                if self.objection is None
            ),
        )

    @property
    def documents(self) -> list[Document]:
        """The document on the page, or its two parts; empty if it is in no language of the crawl."""
        if self.objection:
            return []
        if not self.parts:
            return [] if self.side is None else [self._document(self.side)]
        whole = self._document(self.parts[0].language)
        return [
            replace(
                whole,
                language=one.language,
                url=part(self.entry.url, one.language),
                shares=[(one.language, 100)],
                reliable=True,
                text=one.text,
                alternates=[],
                switches=[],
                # the page declares the variant of one of its languages at most
                origin=replace(whole.origin, locale=""),
            )
            for one in self.parts
        ]

    def _document(self, language: str) -> Document:
        entry, page, claims = self.entry, self.page, claims_in(self.page.links)
        warc_file, warc_offset = self.response.meta.get(WARC_LOCATION, (None, None))[:2]
        now = utc_now()
        return Document(
            url=entry.url,
            language=language,
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


def _in_languages(parts: Iterable[ReadPart], pairs: LanguagePairs) -> tuple[ReadPart, ...]:
    """*parts* by the languages of the crawl that theirs count as; empty if these are no pair."""
    found = [replace(one, language=side) for one in parts if (side := pairs.side(one.language))]
    return tuple(found) if len(found) == 2 and pairs.is_other(found[1].language, found[0].language) else ()
