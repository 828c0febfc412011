"""A page as a document with its profile: parsed, identified and packed in helper processes."""

from __future__ import annotations

import logging
import re
from base64 import b64decode
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec.msgpack import Ext

from bilingual_crawler.items import Document
from bilingual_crawler.languages.codes import from_bcp47
from bilingual_crawler.pages.dates import dates_in
from bilingual_crawler.pages.decode import ILLEGIBLE, check_legible, decode_body
from bilingual_crawler.pages.formats import PDF, format_of, may_hold
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.pages.jobs import PageJob, identified, limits_of, load_pdf_reader, pdf_limits
from bilingual_crawler.pages.language import BY_DEFAULT, Detection
from bilingual_crawler.pages.model import Link, LinkPosition, PageRecord
from bilingual_crawler.pages.origin import NOTHING, UNKNOWN, OptOuts, Origin
from bilingual_crawler.pages.outline import hash_text, names_in, numbers_in
from bilingual_crawler.pages.sandbox.jobs import ContentError, Job, Limits, SandboxError
from bilingual_crawler.pages.sandbox.pool import ahead, submit
from bilingual_crawler.pages.words import western_digits, width_of, word_pattern
from bilingual_crawler.pairing.model import Profile
from bilingual_crawler.urls.canonical import asked_language, variant
from bilingual_crawler.urls.hosts import registered_domain
from bilingual_crawler.urls.marks import marked_language, strip_language

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from _typeshed import DataclassInstance

    from bilingual_crawler.languages.pairs import LanguagePairs
    from bilingual_crawler.pairing.arrays import Hashes

    Value = TypeVar("Value", bound=DataclassInstance)

logger = logging.getLogger(__name__)

PROFILE_FORMAT = 3  # changes with what a `Profile` holds
OTHER_LANGUAGE = "other_language"
MAX_TAGS = 4000  # start and end tags kept of a page
MAX_CHARACTERS = 200_000  # characters of a text that are tokenised

_WORD = re.compile(word_pattern(r"\w"))
_TAG = re.compile(r"<(/?[a-zA-Z][a-zA-Z0-9]*)")
# "7.", "7.2.1", "Figure 7.2."
_COUNT = re.compile(r"^(?:[^\W\d_]+ )?(?:(?:\d\d?\.)+|(?:\d\d?\.){2,}\d\d?)(?=\s|$)", re.MULTILINE)
_NO_TAGS = re.compile(r"<(script|style|svg|template)\b.*?(?:</\1|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL)
# Python finds fast what begins with one of some letters, with the case of each
_SOURCE = re.compile(r"""[sShH](?<=\b.)(?:(?<=[sS])[rR][cC]|(?<=[hH])[rR][eE][fF])\s*=\s*["']?([^"'\s>]+)""")


@dataclass(frozen=True, slots=True)
class RawPage:
    """A page as fetched: HTML, PDF, or the text that a crawl has kept."""

    url: str
    body: bytes | None
    """HTML or PDF without content coding; None for a page of which only the text is known."""
    content_type: str | None = None
    link_headers: tuple[str, ...] = ()
    content_language: str = ""
    title: str = ""
    text: str = ""
    """Text of a page without body, one line per block; *title* and *switches* also count only then."""
    alternates: tuple[tuple[str | None, str], ...] = ()
    """(language, URL) of each translation that the page, or a sitemap, announces."""
    switches: tuple[tuple[str | None, str], ...] = ()
    """(language, URL) of each link of the language switcher."""
    warc_file: str | None = None
    warc_offset: int | None = None
    language: str | None = None
    """The language that the crawl identified, ISO 639-3; None if unknown."""
    origin: Origin = UNKNOWN
    """What is known of it beside its body: the facts that a crawl has kept, or the date of an archived response."""
    opt_outs: OptOuts = NOTHING
    """Those in the headers of an archived response."""
    profile: Profile | None = None
    """Its profile, if the crawl has kept it: then *title* and *text* are all else that is read."""

    @property
    def is_pdf(self) -> bool:
        return self.body is not None and format_of(self.content_type, self.url) == PDF


def read_document(
    raw: RawPage, pairs: LanguagePairs, detection: Detection = BY_DEFAULT
) -> tuple[Document, Profile] | None:
    """Return the document on a page and its profile; None if it is in no language of *pairs*.

    Raises ContentError for a PDF whose text cannot be read, and for a page that is no text for people.
    """
    html, page = _parse(raw, detection)
    page = identified(page, page.text.split("\n"), detection, raw.language, raw.content_language)
    side = pairs.side(page.language)
    if side is None:
        return None
    # what the crawl has kept may also come from the site, or from headers that are not archived
    origin = raw.origin.completed_by(page.origin.with_opt_outs(page.opt_outs.over(raw.opt_outs)))
    size = 0 if raw.body is None or raw.is_pdf else len(raw.body)
    return _document(raw, side, page.title, page.text, origin), _profile(page, html, size, pairs)


def _document(raw: RawPage, side: str, title: str, text: str, origin: Origin) -> Document:
    file, offset = raw.warc_file, raw.warc_offset
    return Document(raw.url, side, title=title, text=text, warc_file=file, warc_offset=offset, origin=origin)


def _parse(raw: RawPage, detection: Detection) -> tuple[str, PageRecord]:
    """The HTML of a page, empty without any, and the page without its language."""
    announced = [Link(url, position=LinkPosition.HEAD, hreflang=tag, alternate=True) for tag, url in raw.alternates]
    if raw.body is not None and not raw.is_pdf:
        languages = (raw.language, from_bcp47(raw.content_language), *detection.languages)
        html = decode_body(raw.body, raw.content_type, languages)
        page = parse_page(html, raw.url, raw.link_headers)
        check_legible(html, page.text)
        known = {link.url for link in page.links if link.announces}
        more = (link for link in announced if link.url not in known)
        return html, msgspec.structs.replace(page, links=(*page.links, *more))
    switches = (Link(url, position=LinkPosition.SWITCHER, label=tag) for tag, url in raw.switches)
    links = (*announced, *switches)
    if raw.body is None:
        return "", PageRecord(raw.url, title=raw.title, text=raw.text, links=links)
    from bilingual_crawler.pages.pdf import read_pdf

    return "", msgspec.structs.replace(read_pdf(raw.url, raw.body), links=links)


def _profile(page: PageRecord, html: str, size: int, pairs: LanguagePairs) -> Profile:
    """The profile of *page*, which is in a language of *pairs*, of *size* bytes of *html*."""
    side, domain, lines = pairs.side(page.language) or page.language, registered_domain(page.url), page.text.split("\n")
    share = sum(share for language, share in page.shares if pairs.side(language) == side) / 100
    body = f"{page.title}\n{page.text[:MAX_CHARACTERS]}"
    words = [word for word in map(str.lower, _WORD.findall(body)) if not word[0].isdigit()]
    title = page.title.lower()
    claims = page.claims
    tags = _TAG.findall(_NO_TAGS.sub("", html))[:MAX_TAGS]
    # one character per tag, of 53,248 values clear of the surrogates
    codes = {name: chr(0x20 + hash_text(name.lower()) % 0xD000) for name in set(tags)}
    # a crawl may follow links to other formats, too; of a page without HTML only what it claims is known
    links = [link.url for link in page.links if html and link.position is not LinkPosition.HEAD and may_hold(link.url)]
    return Profile(
        url=page.url,
        language=side,
        key=strip_language(page.url, pairs.equivalents),
        claims=tuple(claim.url for claim in claims if claim.announces and pairs.is_other(claim.claimed, side)),
        switches=tuple(claim.url for claim in claims if claim.is_switch),
        marked=marked_language(page.url, pairs.equivalents),
        declared=page.first_declared,
        canonical=page.canonical,
        share=share,
        size=size,
        tags="".join(map(codes.__getitem__, tags)),
        lines=_hashes(lines),
        lengths=np.array([min(width_of(line), 65535) for line in lines], dtype=np.uint16),
        headings=np.array([line.lower() in title for line in lines], dtype=np.bool_),
        title=_set({*_WORD.findall(western_digits(title)), *dates_in(page.title, side)}),
        words=_set(set(words)),
        word_count=len(words),
        names=_set(names_in(body.split("\n"))),
        numbers=_hashes([*numbers_in(body), *sorted(dates_in(body, side))]),
        files=_set(_files(html)),
        external=_set({link_key(url) for url in links if registered_domain(url) != domain}),
        internal=_set({link_key(url) for url in links if registered_domain(url) == domain}),
        counts=_set(set(numbers_in("\n".join(_COUNT.findall(body))))),
    )


def link_key(url: str) -> str:
    """*url* without scheme, ``www.``, fragment and last slash: links to one page have one key, a variant its own."""
    asked = asked_language(url)
    key = url.partition("#")[0].partition("://")[2].removeprefix("www.").rstrip("/")
    return variant(key, asked) if asked else key


def _hashes(texts: Iterable[str]) -> Hashes:
    return np.fromiter(map(hash_text, texts), dtype=np.uint32)


def _set(texts: set[str]) -> Hashes:
    return np.unique(_hashes(texts))


def _files(html: str) -> set[str]:
    """The names of linked files that are not pages, lower case."""
    paths = {source.partition("#")[0].partition("?")[0] for source in _SOURCE.findall(html)}
    return {path.rpartition("/")[2].lower() for path in paths if not may_hold(path)}


def pack(value: DataclassInstance) -> bytes:
    """Serialise a dataclass of text, numbers, tuples of text, None, one-dimensional arrays and an :class:`Origin`."""
    return _encoder.encode([getattr(value, field.name) for field in fields(value)])


def unpack(kind: type[Value], data: bytes) -> Value:
    """Restore a dataclass *kind* from :func:`pack`."""
    cells = ((tuple(cell) if isinstance(cell, list) else cell) for cell in _decoder.decode(data))
    return kind(*(Origin(**cell) if isinstance(cell, dict) else cell for cell in cells))


def _from_array(value: Any) -> Ext:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{type(value).__name__} cannot be packed")
    return Ext(1, value.dtype.str.encode() + b" " + value.tobytes())


def _to_array(code: int, data: memoryview) -> Any:
    name, _, content = bytes(data).partition(b" ")
    return np.frombuffer(content, np.dtype(name.decode()))


_encoder = msgspec.msgpack.Encoder(enc_hook=_from_array)
_decoder = msgspec.msgpack.Decoder(list[Any], ext_hook=_to_array)


@dataclass(frozen=True, slots=True)
class PackedDocument:
    """A document and its profile as bytes, with the fields that a corpus reads without unpacking."""

    url: str
    language: str
    characters: int
    announces: bool
    """Whether its claims or switches lead to other registered domains."""
    document: bytes
    profile: bytes

    @classmethod
    def of(cls, document: Document, profile: Profile) -> PackedDocument:
        characters = len(document.text) - document.text.count("\n")
        domain = registered_domain(document.url)
        announces = any(registered_domain(url) != domain for url in (*profile.claims, *profile.switches))
        return cls(document.url, document.language, characters, announces, pack(document), pack(profile))

    def as_variant(self) -> PackedDocument:
        """Return the document as the variant of its address in its language."""
        url = variant(self.url, self.language)
        document = pack(replace(unpack(Document, self.document), url=url))
        return replace(self, url=url, document=document, profile=pack(replace(unpack(Profile, self.profile), url=url)))


class SkippedPage(NamedTuple):
    """A page that gave no document."""

    url: str
    language: str | None
    """The language that the crawl identified, ISO 639-3; None for a page from an archive."""
    reason: str
    """``other_language``, ``illegible`` or ``unreadable``."""


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

    def run(self) -> PackedDocument | None:
        read = read_document(self.page, self.pairs, self.detection)
        return PackedDocument.of(*read) if read else None


@dataclass(frozen=True)
class CrawledPageJob(PageJob):
    """As :class:`PageJob`, with the profile of a page in *pairs*, so the alignment need not read it again."""

    pairs: LanguagePairs = field(kw_only=True)

    @property
    def limits(self) -> Limits:
        once = super().limits
        return Limits(2 * once.seconds, 2 * once.megabytes)

    def run(self) -> PageRecord:
        html, page = self._read()
        if self.pairs.side(page.language) is None:
            return page
        profile = _profile(page, html, len(self.body), self.pairs)
        return msgspec.structs.replace(page, profile=pack(profile))


def kept_for(pairs: LanguagePairs, detection: Detection) -> str:
    """What profiles kept by a crawl must be made for, to be of use to an alignment of *pairs* with *detection*."""
    return f"{PROFILE_FORMAT} {pairs} {' '.join(sorted(pairs.equivalents))} {','.join(detection.detectors)}"


def kept_profile(packed: Any, page: RawPage) -> Profile | None:
    """The profile of *page* that a crawl has *packed*, in base64; None if it does not fit the text."""
    with suppress(msgspec.MsgspecError, AttributeError, TypeError, ValueError):
        profile = unpack(Profile, b64decode(packed, validate=True))
        if profile.url == page.url and len(profile.lines) == page.text.count("\n") + 1:
            return profile
    return None


def read_pages(
    pages: Iterable[RawPage], pairs: LanguagePairs, detection: Detection, unreadable: Counter[str]
) -> Iterator[PackedDocument | SkippedPage]:
    """Yield the document of each page, in order, or why it has none.

    *unreadable* counts what breaks the limits of a helper process or is no text for people; the first of a kind is
    logged.
    """

    def begin() -> Iterator[tuple[RawPage, Future[PackedDocument | None]]]:
        for page in pages:
            if page.profile is not None:
                future: Future[PackedDocument | None] = Future()
                kept = _document(page, page.profile.language, page.title, page.text, page.origin)
                future.set_result(PackedDocument.of(kept, page.profile))
            else:
                future = submit(DocumentJob(page, pairs, detection))
            # the body may be large, and is with the helper process
            yield replace(page, body=None, text="", profile=None), future

    for page, future in ahead(begin()):
        try:
            yield future.result() or SkippedPage(page.url, page.language, OTHER_LANGUAGE)
        except (ContentError, SandboxError) as error:
            unreadable[error.kind] += 1
            if unreadable[error.kind] == 1:
                logger.warning(f"{page.url} is left out: {error}")
            reason = ILLEGIBLE if error.kind == ILLEGIBLE else "unreadable"
            yield SkippedPage(page.url, page.language, reason)
