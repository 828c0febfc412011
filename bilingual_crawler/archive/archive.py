"""An archive that answers requests: its responses by URL, and redirects from other URLs of the same page."""

from __future__ import annotations

from dataclasses import dataclass
from os.path import commonprefix
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from bilingual_crawler.files import LeftOut

from .errors import ArchiveError
from .files import NO_FILE, open_warc, warn_if_cut
from .index import IndexBuilder, url_key
from .ranges import NoRecord
from .records import ArchivedResponse, parse_response
from .sites import Source, alias_map, find_sources
from .urls import bare_url, record_url

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from .files import WarcFile
    from .records import RecordHead
    from .sites import Paths

_OFFSET_BITS = 48
_OK = 200
_opened: WeakValueDictionary[tuple[object, ...], Archive] = WeakValueDictionary()
_latest: list[Archive] = []


@dataclass(frozen=True, slots=True)
class Redirect:
    """The archive holds the page under another URL."""

    url: str


class Archive:
    """The responses in some WARC files by URL. If a URL has several, the first with status 200 answers.

    A URL that is not archived is answered by a redirect if it is an alias of an archived URL: another scheme, ``www.``,
    the alias base of a site, or a line of a ``redirects.tsv``. The copy of a page of a frozen site under another URL is
    answered in the same way, so each page is one download.
    """

    def __init__(self, sources: list[Source]) -> None:
        self._aliases = alias_map(sources)
        self._redirects: dict[str, str] = {}
        self._files: list[WarcFile] = []
        self.left_out = LeftOut()
        """Records that answer no request, by reason."""
        self._builder = IndexBuilder()
        for source in sources:
            self._add(source)
        self._index = self._builder.build()
        del self._builder
        self.cut_files = [file.path for file in self._files if file.cut]
        if not len(self._index):
            raise ArchiveError(sources[0].path, "holds no HTTP response")

    def _add(self, source: Source) -> None:
        for path in source.no_files:
            self.left_out.add(NO_FILE, str(path))
        originals: dict[bytes, list[str]] = {}
        others: list[tuple[RecordHead, int]] = []
        for path in source.files:
            file = open_warc(path, self.left_out)
            for offset, head in file.heads():
                place = len(self._files) << _OFFSET_BITS | offset
                if head.status is None:
                    continue
                if source.pages and head.url not in source.pages:
                    others.append((head, place))
                    continue
                self._index_response(head, place)
                if source.pages and head.digest:
                    originals.setdefault(head.digest, []).append(head.url)
            self._files.append(file)
            warn_if_cut(file)
        for head, place in others:
            if head.digest and head.digest in originals:
                self._redirect(head.url, _nearest(head.url, originals[head.digest]))
            else:
                self._index_response(head, place)
        for url, target in source.redirects.items():
            self._redirect(url, target)

    def _index_response(self, head: RecordHead, place: int) -> None:
        url = record_url(head.url)
        self._builder.add(url_key(url), place, head.status != _OK)
        if head.status == _OK:
            self._builder.add(url_key(bare_url(url, self._aliases)), place, 0)

    def _redirect(self, url: str, target: str) -> None:
        self._redirects[bare_url(record_url(url), self._aliases)] = target

    def find(self, url: str) -> ArchivedResponse | Redirect | None:
        """The answer to a request for a URL; None if the archive does not know the URL."""
        wanted = record_url(url)
        response = self._read(url_key(wanted))
        if response is not None and record_url(response.url) == wanted:
            return response
        bare = bare_url(wanted, self._aliases)
        target = self._redirects.get(bare)
        if target is not None and record_url(target) != wanted:
            return Redirect(target)
        response = self._read(url_key(bare))
        if response is not None and bare_url(record_url(response.url), self._aliases) == bare:
            return Redirect(response.url)
        return None

    def _read(self, key: int) -> ArchivedResponse | None:
        place = self._index.get(key)
        if place is None:
            return None
        file, offset = self._files[place >> _OFFSET_BITS], place & ((1 << _OFFSET_BITS) - 1)
        try:
            return parse_response(file.read(offset))
        except NoRecord:
            return None


def open_archive(paths: Paths) -> Archive:
    """Open and index archives; ArchiveError if a path is missing or no archive, or the archives hold no response.

    An archive that is in use, or was opened last, is opened once while its files stay the same.
    """
    sources = find_sources(paths)
    key = tuple((path, status.st_size, status.st_mtime_ns) for path, status in _statuses(sources))
    archive = _opened.get(key)
    if archive is None:
        archive = _opened[key] = Archive(sources)
    _latest[:] = [archive]
    return archive


def iter_responses(paths: Paths) -> Iterator[ArchivedResponse]:
    """Yield every response in the WARC files behind the paths, in file order; bodies keep their content coding."""
    left_out = LeftOut()
    for source in find_sources(paths):
        for path in source.no_files:
            left_out.add(NO_FILE, str(path))
        for path in source.files:
            file = open_warc(path, left_out)
            for offset, head in file.heads():
                response = parse_response(file.read(offset)) if head.status is not None else None
                if response is not None:
                    yield response
            warn_if_cut(file)


def _nearest(url: str, candidates: list[str]) -> str:
    def likeness(candidate: str) -> tuple[int, int]:
        return len(commonprefix((url, candidate))), -len(candidate)  # noqa: RUF071 (by character: /a is near /a.html)

    return max(candidates, key=likeness)


def _statuses(sources: list[Source]) -> Iterator[tuple[Path, os.stat_result]]:
    for source in sources:
        for path in source.files:
            yield path.resolve(), path.stat()
        description = source.path / "site.json"
        if source.base is not None:
            yield description, description.stat()
