"""The inputs of an alignment: pages and redirects of crawls, archives and files of texts (JSON Lines)."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from bilingual_crawler.languages.codes import from_bcp47
from bilingual_crawler.pages.characters import one_line
from bilingual_crawler.pages.formats import HTML, ONLY_HTML, format_of
from bilingual_crawler.pages.language import BY_DEFAULT, Detection
from bilingual_crawler.pages.links import MAX_LINKS
from bilingual_crawler.pages.model import MAX_LINES, MAX_TEXT, MAX_TITLE
from bilingual_crawler.pages.origin import TDM_POLICY, TDM_RESERVATION, Origin, opt_outs
from bilingual_crawler.pages.robots import header_directives
from bilingual_crawler.pairing.reading import RawPage, kept_for, kept_profile
from bilingual_crawler.settings import BOT_NAME
from bilingual_crawler.storage import records, warc
from bilingual_crawler.storage.archive import DAMAGED, WarcFile, open_files, open_warc
from bilingual_crawler.storage.files import DAMAGE, LeftOut, lines_within, open_packed
from bilingual_crawler.storage.sites import Source, find_sources
from bilingual_crawler.storage.warc import ArchiveError, NoRecord
from bilingual_crawler.urls.canonical import canonicalise
from bilingual_crawler.urls.hosts import registered_domain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.languages.pairs import LanguagePairs
    from bilingual_crawler.pairing.model import Profile


def read_texts(path: Path, left_out: LeftOut) -> Iterator[dict[str, Any]]:
    """Yield the objects with ``url`` and ``text`` in the file *path*; *left_out* counts invalid and long lines.

    Raises ArchiveError if the first line with something on it is no such object.
    """
    number = 0
    is_known = False
    try:
        with open_packed(path) as file:
            for number, line in enumerate(lines_within(file, warc.MAX_RECORD), 1):
                if line is None:
                    left_out.add(records.LINE_TOO_LONG, f"{path}, line {number}")
                    continue
                record = records.as_object(line) or {}
                url, text = record.get("url"), record.get("text", 0)
                if isinstance(url, str) and isinstance(text, str):
                    is_known = True
                    yield record
                elif is_known or not line.strip() or (isinstance(url, str) and text is None):
                    left_out.add(records.NO_RECORD, f"{path}, line {number}")
                else:
                    raise ArchiveError(path, f"line {number} is no JSON object with the texts url and text")
    except DAMAGE as error:
        raise ArchiveError(path, f"cannot be read after line {number} ({error})") from error


logger = logging.getLogger(__name__)

TEXT_ENDINGS = tuple(f".{name}{packed}" for name in ("jsonl", "ndjson") for packed in ("", ".gz", ".xz", ".zst"))
"""Of files with a text on each line."""
RENDERED = "text/html; charset=utf-8"  # content type of a conversion record of a crawl
TEXT = "text/plain"  # content type of a conversion record of a WET file
RESOURCE = b"resource"  # `WARC-Type` of a file that was archived without a response, as warcit does
_AHEAD = 1000  # profiles that are read ahead of their documents: each is written right before its document


class PagesOfRecords:
    """The pages of responses with status 200, resources and conversions (texts, rendered pages), in *formats*."""

    def __init__(self, formats: Collection[str] = ONLY_HTML) -> None:
        self._formats = formats
        self.redirects: dict[str, str] = {}
        """URL to the target of its redirect."""
        self.refused = LeftOut()
        """Records without a page, by reason."""

    def page(self, record: bytes) -> RawPage | None:
        """Return the page in a complete record; None, counted, without one."""
        head = warc.parse_head(record)
        url = canonicalise(head.url) if head is not None else None
        if head is None or url is None:
            return self._refuse("url")
        origin = Origin(fetched_at=warc.as_date(head.date))
        converted = warc.parse_conversion(record)
        if converted is not None and head.media_type.startswith(TEXT):
            return RawPage(url, None, text=in_lines(converted.decode("utf-8", "replace")), origin=origin)
        if converted is not None:
            return RawPage(url, converted, RENDERED, origin=origin)
        if head.kind == RESOURCE:
            if format_of(head.media_type, url) not in self._formats:
                return self._refuse("not_html")
            return RawPage(url, record[head.block : head.end], head.media_type, origin=origin)
        response = warc.parse_response(record)
        if response is None:
            return self._refuse("no_response")
        if response.status not in (200, 203):
            location = response.headers.get(b"location") if 300 <= response.status < 400 else None
            target = canonicalise(location[0].decode("utf-8", "replace"), url) if location else None
            if target is None:
                return self._refuse(f"http_{response.status}")
            self.redirects[url] = target
            return None
        content_type, links, language = _headers_of(response)
        if format_of(content_type, url) not in self._formats:
            return self._refuse("not_html")
        body = self.body(response)
        if body is None:
            return None
        reservation, policy = (next(_values(response, name), None) for name in (TDM_RESERVATION, TDM_POLICY))
        directives = header_directives(list(_values(response, "x-robots-tag")), BOT_NAME)
        said = opt_outs(directives, reservation, policy, url)
        return RawPage(url, body, content_type, links, language, origin=origin, opt_outs=said)

    def _refuse(self, reason: str) -> RawPage | None:
        self.refused[reason] += 1
        return None

    def body(self, response: warc.ArchivedResponse) -> bytes | None:
        """Return the body without content coding; None, counted and logged once, if decoding fails."""
        try:
            return response.decoded()
        except ValueError as error:
            self.refused["coding"] += 1
            if self.refused["coding"] == 1:
                logger.warning(f"{response.url}: {error}; such pages are left out")
            return None


def in_lines(text: str) -> str:
    """Cut *text* to the limits of a page, without empty lines and characters that break a line."""
    return "\n".join(islice(filter(None, map(one_line, text[:MAX_TEXT].split("\n"))), MAX_LINES))


def _values(response: warc.ArchivedResponse, header: str) -> Iterator[str]:
    return (value.decode("latin-1") for value in response.headers.get(header.encode(), ()))


def _headers_of(response: warc.ArchivedResponse) -> tuple[str | None, tuple[str, ...], str]:
    """Return ``Content-Type`` (None if missing), the values of ``Link``, and ``Content-Language``."""
    content_type, links, language = (_values(response, name) for name in ("content-type", "link", "content-language"))
    return next(content_type, None), tuple(links), next(language, "")


class KeptProfiles:
    """The profiles in the file *path* of a crawl that are made for *made_for*, see :func:`.reading.kept_for`."""

    def __init__(self, path: Path, made_for: str) -> None:
        rows = records.read_json_lines(path)
        self._rows = ((row["url"], row.get("profile")) for row in rows if row.get("made_for") == made_for)
        self._ahead: dict[str, Any] = {}

    def of(self, page: RawPage) -> Profile | None:
        """Return the profile of *page*, asked for in the order of the documents; None without one that fits."""
        room = 0 if page.url in self._ahead else max(0, _AHEAD - len(self._ahead))
        for url, profile in islice(self._rows, room):
            self._ahead[url] = profile
            if url == page.url:
                break
        return kept_profile(self._ahead.pop(page.url, b""), page)


class Inputs:
    """Pages and redirects of some paths; raises ArchiveError at once for a path that cannot be read.

    Of a crawl's folder, pages in *pairs* that it did not keep are read from its archive; a file with one of
    :data:`TEXT_ENDINGS` has a text on each line; anything else is an archive, of which texts (WET) and *formats* are
    read. Redirects and announced pairs are complete after all pages.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        pairs: LanguagePairs,
        formats: Collection[str] = ONLY_HTML,
        detection: Detection = BY_DEFAULT,
    ) -> None:
        self._pairs = pairs
        self._kept_for = kept_for(pairs, detection)
        self._records = PagesOfRecords(formats)
        self._crawls = [path for path in paths if (path / records.DOCUMENTS).exists()]
        self._unkept: dict[Path, frozenset[str]] = {}
        """Folder of a crawl -> its pages in a language of *pairs* that it did not keep as documents."""
        for folder in self._crawls:
            others = (row for row in records.read_tsv(folder / records.CRAWL) if row.get("outcome") == "other-language")
            urls = self._unkept[folder] = frozenset(row["url"] for row in others if pairs.side(row["language"]))
            if urls and not any(folder.glob("*.warc.gz")):
                lacking = f"{len(urls)} pages in a language of {pairs} were no documents"
                raise ArchiveError(folder, f"{lacking}, and there is no archive of them")
        self._texts = [path for path in paths if path.name.endswith(TEXT_ENDINGS) and path.is_file()]
        for path in self._texts:
            next(read_texts(path, LeftOut()), None)
        archives = [path for path in paths if path not in (*self._crawls, *self._texts)]
        self._sources = find_sources(archives) if archives else []
        self.redirects = self._records.redirects
        self.alias_bases: dict[str, str] = {}
        """Start of a URL to the start that replaces it in a frozen site."""
        self.announced: Counter[tuple[str, str]] = Counter()
        """(domain, domain) to the number of document pairs that crawls have found between them."""
        self.refused = self._records.refused
        for source in self._sources:
            self.redirects.update(source.redirects)
            self.alias_bases.update(dict.fromkeys(source.alias_bases, source.base or ""))

    @property
    def damaged(self) -> Counter[str]:
        """Records left out by reason, without other formats and other statuses, which are usual in an archive."""
        usual = ("not_html", "http_")
        return Counter({reason: count for reason, count in self.refused.items() if not reason.startswith(usual)})

    def pages(self) -> Iterator[RawPage]:
        """Every document with status 200, in the order of the inputs."""
        for folder in self._crawls:
            yield from self._crawled(folder)
            if unkept := self._unkept[folder]:
                (archive,) = find_sources(folder)
                yield from self._archived(replace(archive, pages=unkept))
        for source in self._sources:
            yield from self._archived(source)
        for path in self._texts:
            for record in read_texts(path, self.refused):
                if page := self._kept(record):
                    yield page

    def _crawled(self, folder: Path) -> Iterator[RawPage]:
        rows = records.read_tsv(folder / records.CRAWL)
        self.redirects.update((row["url"], row["location"]) for row in rows if row.get("location"))
        found = ((row["url_a"], row["url_b"]) for row in records.read_tsv(folder / records.PAIRS))
        domains = ((registered_domain(one), registered_domain(other)) for one, other in found)
        self.announced.update((one, other) for one, other in domains if one != other)
        profiles = KeptProfiles(folder / records.PROFILES, self._kept_for)
        files: dict[str, WarcFile | None] = {}
        for record in records.read_json_lines(folder / records.DOCUMENTS, self.refused):
            page = self._kept(record)
            if page is None:
                continue
            place = self._place(record)
            if place:
                page = replace(page, warc_file=str(folder / place[0]), warc_offset=place[1])
            if profile := profiles.of(page):
                # a sitemap may have announced more than the page itself
                others = (url for tag, url in page.alternates if self._pairs.is_other(tag, profile.language))
                claims = tuple(dict.fromkeys((*profile.claims, *others)))
                yield replace(page, profile=replace(profile, claims=claims))
                continue
            if archived := place and self._record_of(folder, *place, files):
                response = warc.parse_response(archived)
                content_type, links, language = _headers_of(response) if response else (RENDERED, (), "")
                page = replace(page, content_type=content_type, link_headers=links, content_language=language)
                # what the crawl kept of a PDF is all that there is to compare
                if format_of(content_type, page.url) == HTML:
                    body = self._records.body(response) if response else warc.parse_conversion(archived)
                    page = replace(page, body=body)
            yield page

    def _place(self, record: Mapping[str, Any]) -> tuple[str, int] | None:
        """Return file and offset (bytes) of a document's record; None without one, counted if the place is invalid."""
        name, offset = record.get("warc_file"), record.get("warc_offset")
        if not name:
            return None
        with suppress(NoRecord):
            if isinstance(name, str) and isinstance(offset, int):
                warc.check_place(name, offset, 1)
                return name, offset
        self.refused.add(DAMAGED, f"{record['url']}, said to be archived in {str(name)[:100]} at {offset}")
        return None

    def _record_of(self, folder: Path, name: str, offset: int, files: dict[str, WarcFile | None]) -> bytes | None:
        """The record of a document of the crawl in *folder*; None if damaged (counted) or without the archive."""
        try:
            if name not in files:
                files[name] = open_warc(folder / name, self.refused) if (folder / name).exists() else None
            file = files[name]
            return file.read(offset) if file else None
        except (NoRecord, ArchiveError) as error:
            self.refused.add(DAMAGED, f"{folder}, {name} at {offset}: {error}")
            return None

    def _kept(self, record: Mapping[str, Any]) -> RawPage | None:
        """Return the kept text of a page; None, counted, for an invalid URL or value."""
        url = canonicalise(record["url"])
        if url is None:
            self.refused["url"] += 1
            return None
        try:
            return RawPage(
                url,
                None,
                title=one_line(record.get("title") or "")[:MAX_TITLE],
                text=in_lines(record["text"]),
                alternates=_pairs(record.get("alternates")),
                switches=_pairs(record.get("switches")),
                language=from_bcp47(record.get("language") or ""),
                origin=Origin.from_record(record),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            self.refused.add(records.NO_RECORD, f"{url}, a text or document with keys or values of another kind")
            return None

    def _archived(self, source: Source) -> Iterator[RawPage]:
        for file in open_files(source, self.refused):
            for offset, head in file.heads():
                if source.pages and head.url not in source.pages:
                    continue
                is_text = head.kind == b"conversion" and head.media_type.startswith(TEXT)
                is_read = head.status or is_text or head.kind == RESOURCE
                if is_read and (page := self._records.page(file.read(offset))):
                    yield replace(page, warc_file=str(file.path), warc_offset=offset)
            if file.cut:
                self.refused[records.CUT_FILE] += 1


def _pairs(named: Any) -> tuple[tuple[str | None, str], ...]:
    """Check languages and URLs that a crawl wrote; raises TypeError or ValueError for other values."""
    pairs = tuple((tag, url) for tag, url in (named or ())[:MAX_LINKS])
    if not all(isinstance(tag, str | None) and isinstance(url, str) for tag, url in pairs):
        raise TypeError
    return pairs
