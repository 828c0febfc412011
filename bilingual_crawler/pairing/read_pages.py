"""Pages to documents, in helper processes."""

from __future__ import annotations

import logging
from collections import Counter, deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from bilingual_crawler.pages.jobs import limits_of, load_pdf_reader, pdf_limits
from bilingual_crawler.pages.labels import load_names
from bilingual_crawler.pages.language import BY_DEFAULT, Detection
from bilingual_crawler.pairing.packing import pack
from bilingual_crawler.pairing.reading import RawPage, read_document
from bilingual_crawler.sandbox import ContentError, Job, Limits, SandboxError, processes, submit
from bilingual_crawler.urls.canonical import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future
    from typing import Any

    from bilingual_crawler.language_pairs import LanguagePairs

logger = logging.getLogger(__name__)

_WAITING = 4
"""Pages by helper process that are read ahead."""


@dataclass(frozen=True, slots=True)
class PackedDocument:
    """A document and its profile as bytes, and what a corpus must know of it."""

    url: str
    language: str
    characters: int
    announces: bool
    """Whether it announces, or switches to, pages of other registered domains."""
    document: bytes
    profile: bytes


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A page that gave no document."""

    url: str
    language: str | None
    """What the crawl took it for, ISO 639-3; None if the page is from an archive."""
    reason: str
    """``other_language`` or ``unreadable``."""


@dataclass(frozen=True)
class DocumentJob(Job["PackedDocument | None"]):
    """Read the document on a page; None if it is in no language of *pairs*."""

    returns: ClassVar[Any] = PackedDocument | None
    page: RawPage
    pairs: LanguagePairs
    detection: Detection = BY_DEFAULT

    @property
    def limits(self) -> Limits:
        # a profile takes as long again as parsing and identifying the language
        body = self.page.body or self.page.text.encode("utf-8", "replace")
        once = pdf_limits(body) if self.page.is_pdf else limits_of(body)
        return Limits(2 * once.seconds, 2 * once.megabytes)

    def prepare(self) -> None:
        self.detection.load()
        if self.page.is_pdf:
            load_pdf_reader()
        else:
            load_names()

    def run(self) -> PackedDocument | None:
        read = read_document(self.page, self.pairs, self.detection)
        if read is None:
            return None
        document, profile = read
        characters = sum(map(len, document.lines))
        domain = registered_domain(document.url)
        announces = any(registered_domain(url) != domain for url in (*profile.claims, *profile.switches))
        return PackedDocument(document.url, document.language, characters, announces, pack(document), pack(profile))


def read_pages(
    pages: Iterable[RawPage], pairs: LanguagePairs, detection: Detection, unreadable: Counter[str]
) -> Iterator[PackedDocument | LeftOut]:
    """The document on each page, in order; pages in other languages and those that cannot be read are left out.

    Pages that break the limits of a helper process, and PDFs without text that can be read, are counted in *unreadable*
    by kind; the first of each kind is named.
    """
    waiting: deque[tuple[RawPage, Future[PackedDocument | None]]] = deque()

    def first() -> PackedDocument | LeftOut:
        page, future = waiting.popleft()
        try:
            return future.result() or LeftOut(page.url, page.language, "other_language")
        except (ContentError, SandboxError) as error:
            unreadable[error.kind] += 1
            if unreadable[error.kind] == 1:
                logger.warning(f"{page.url} is left out: {error}")
            return LeftOut(page.url, page.language, "unreadable")

    for page in pages:
        job = DocumentJob(page, pairs, detection)
        # the body may be large, and is with the helper process
        waiting.append((replace(page, body=None, text=""), submit(job)))
        if len(waiting) > _WAITING * processes():
            yield first()
    while waiting:
        yield first()
