"""Archives of a crawl: open WARC files, list their responses, answer requests from them by URL or by a redirect."""

from __future__ import annotations

import logging
import os
import re
import tempfile
import weakref
import zlib
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count, takewhile
from os.path import commonprefix
from pathlib import Path
from typing import IO
from weakref import WeakValueDictionary

from cachetools import LRUCache

from bilingual_crawler.storage import warc
from bilingual_crawler.storage.files import DAMAGE, GZIP, MAX_SKIPPED, XZ, ZSTD, LeftOut, open_regular, unpacked
from bilingual_crawler.storage.records import find_all, read_members
from bilingual_crawler.storage.sites import Paths, Source, find_sources
from bilingual_crawler.storage.warc import MAX_HEAD, MAX_RECORD, ArchiveError, NoRecord, RecordHead, parse_head

logger = logging.getLogger(__name__)

_OFFSET_BITS = 48
_OK = 200
_opened: WeakValueDictionary[tuple[object, ...], Archive] = WeakValueDictionary()
_latest: list[Archive] = []
_CHUNK = 1 << 16
_UNPACK_CHUNK = 1 << 20
_TRAILER = len(b"\r\n\r\n")
REVISIT = b"revisit"
_MAX_NAMED = 300_000  # names of records to which later revisits of a file may refer: the last 100,000
_NOT_WARC = "not a WARC; give a .warc, .warc.gz, .warc.xz or .warc.zst file, or a folder of them"
_WARC = b"WARC/"
_BEGIN = re.compile(rb"(?:\A|(?<=\n))WARC/1\.")
_BETWEEN_RECORDS = b"\r\n\0"
UNPACKED, MAX_RATIO = 4 << 30, 100
"""Bytes that a file may take on the disk when it is unpacked, and further ones for each byte that it has packed."""
TOO_LONG, DAMAGED, NO_FILE, NO_PAYLOAD = "record_too_long", "damaged_record", "no_file", "revisit_without_record"
"""Reasons why a record, or what is named like a WARC file, is left out."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """The URL under which the archive has the page."""

    url: str


class Archive:
    """The responses in some WARC files by URL. If a URL has several, the first with status 200 answers.

    An alias of an archived URL (another scheme, ``www.``, the alias base of a site, a line of a ``redirects.tsv``, or a
    copy of a page of a frozen site) is answered by a redirect, so each page is one download.
    """

    def __init__(self, sources: list[Source]) -> None:
        aliases = ((alias, source.base or "") for source in sources for alias in source.alias_bases)
        self._aliases = {_bare(alias, {}): _bare(base, {}) for alias, base in aliases}
        self._redirects: dict[str, str] = {}
        self._files: list[WarcFile] = []
        self.left_out = LeftOut()
        self._index = warc.Index()
        for source in sources:
            self._add(source)
        self._index.sort()
        self.cut_files = [file.path for file in self._files if file.cut]
        if not len(self._index):
            raise ArchiveError(sources[0].path, "holds no HTTP response")

    def _add(self, source: Source) -> None:
        originals: defaultdict[bytes, list[str]] = defaultdict(list)
        others: list[tuple[RecordHead, int]] = []
        copies: dict[str, str] = {}
        for file in open_files(source, self.left_out):
            for offset, head in file.heads():
                place = len(self._files) << _OFFSET_BITS | offset
                if head.status is None:
                    continue
                if source.pages and head.url not in source.pages:
                    others.append((head, place))
                    continue
                self._index_response(head, place)
                if source.pages and head.digest:
                    originals[head.digest].append(head.url)
            self._files.append(file)
        for head, place in others:
            if head.digest and head.digest in originals:
                # by character: /a is near /a.html
                alike = [(len(commonprefix((head.url, one))), -len(one)) for one in originals[head.digest]]  # noqa: RUF071
                copies[head.url] = originals[head.digest][alike.index(max(alike))]
            else:
                self._index_response(head, place)
        for url, target in (*copies.items(), *source.redirects.items()):
            self._redirects[_bare(url, self._aliases)] = target

    def _index_response(self, head: RecordHead, place: int) -> None:
        url = warc.record_url(head.url)
        self._index.add(warc.text_key(url), place, head.status != _OK)
        if head.status == _OK:
            self._index.add(warc.text_key(warc.bare_url(url, self._aliases)), place, 0)

    def find(self, url: str) -> warc.ArchivedResponse | Redirect | None:
        """The answer to a request for a URL; None if the archive does not know the URL."""
        wanted = warc.record_url(url)
        response = self._read(warc.text_key(wanted))
        if response is not None and warc.record_url(response.url) == wanted:
            return response
        bare = warc.bare_url(wanted, self._aliases)
        target = self._redirects.get(bare)
        if target is not None and warc.record_url(target) != wanted:
            return Redirect(target)
        response = self._read(warc.text_key(bare))
        if response is not None and _bare(response.url, self._aliases) == bare:
            return Redirect(response.url)
        return None

    def _read(self, key: int) -> warc.ArchivedResponse | None:
        place = self._index.get(key)
        if place is None:
            return None
        file, offset = self._files[place >> _OFFSET_BITS], place & ((1 << _OFFSET_BITS) - 1)
        try:
            return warc.parse_response(file.read(offset))
        except NoRecord:
            return None


def _bare(url: str, aliases: Mapping[str, str]) -> str:
    return warc.bare_url(warc.record_url(url), aliases)


def open_archive(paths: Paths) -> Archive:
    """Open and index archives; ArchiveError if a path is missing or no archive, or the archives hold no response.

    An archive that is in use, or was opened last, is opened once while its files stay the same.
    """
    sources = find_sources(paths)
    files = [file for one in sources for file in (*one.files, *[one.path / "site.json"] * (one.base is not None))]
    key = tuple((file.resolve(), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    archive = _opened.get(key)
    if archive is None:
        archive = _opened[key] = Archive(sources)
    _latest[:] = [archive]
    return archive


def iter_responses(paths: Paths) -> Iterator[warc.ArchivedResponse]:
    """Yield every response in the WARC files behind the paths, in file order; bodies keep their content coding."""
    left_out = LeftOut()
    for source in find_sources(paths):
        for file in open_files(source, left_out):
            for offset, head in file.heads():
                if head.status is not None and (response := warc.parse_response(file.read(offset))):
                    yield response


class WarcFile(ABC):
    """A WARC file whose records are read by offset."""

    def __init__(self, path: Path, file: IO[bytes], left_out: LeftOut, *, cut: bool = False) -> None:
        self.path = path
        self.cut = cut
        """Whether the file ends, or is damaged, inside a record; known after ``heads``."""
        self._left_out = left_out
        self._payloads: LRUCache[int, int] = LRUCache(_MAX_NAMED)
        """Offset of a revisit -> offset of the record with its payload."""
        self._fd = file.fileno()
        weakref.finalize(self, file.close)

    def heads(self) -> Iterator[tuple[int, RecordHead]]:
        """Yield offset and header of every complete record that is not too long.

        A revisit of another URL whose payload is in the file counts as a response, from then on.
        """
        named: LRUCache[int, tuple[int, RecordHead]] = LRUCache(_MAX_NAMED)
        for offset, head in self._heads():
            if head.status is not None:
                for name in filter(None, (head.record_id, head.url.encode("utf-8", "replace"), head.digest)):
                    named[hash(name)] = offset, head
            if head.kind != REVISIT:
                yield offset, head
                continue
            found = (named[hash(name)] for name in head.refers_to if hash(name) in named)
            original, response = next(found, (None, head))
            if original is None:
                self._left_out.add(NO_PAYLOAD, f"{self.path} at {offset}")
            elif response.url != head.url:
                self._payloads[offset] = original
                yield offset, replace(head, kind=response.kind, status=response.status)

    @abstractmethod
    def _heads(self) -> Iterator[tuple[int, RecordHead]]:
        """Yield them as they are."""

    def read(self, offset: int) -> bytes:
        """Return the record at ``offset``, header included; NoRecord if there is none, or one that is too long."""
        if not 0 <= offset < os.fstat(self._fd).st_size:
            raise NoRecord("not a place in an archive")
        record = warc.complete(self._read(offset))
        if offset in self._payloads:
            return warc.with_payload(record, warc.complete(self._read(self._payloads[offset])))
        return record

    def _skip_blanks(self, at: int) -> int:
        """The place of the first byte from *at* that is neither an end of a line nor zero."""
        while data := os.pread(self._fd, 4096, at):
            if rest := data.lstrip(_BETWEEN_RECORDS):
                return at + len(data) - len(rest)
            at += len(data)
        return at

    @abstractmethod
    def _read(self, offset: int) -> bytes:
        """The bytes of the record at ``offset``, perhaps not all; NoRecord for one that is too long."""


def open_warc(path: Path, left_out: LeftOut | None = None) -> WarcFile:
    """Open a ``.warc``, ``.warc.gz``, ``.warc.xz`` or ``.warc.zst`` file, by its content; ArchiveError for another one.

    *left_out* counts the records that ``heads`` leaves out. Files without access by offset (xz, zstd, and gzip with
    several records in a member) are unpacked once into an unnamed temporary file, up to 4 GB and a hundred times their
    packed size.
    """
    left_out = LeftOut() if left_out is None else left_out
    try:
        file = open_regular(path)
    except OSError as error:
        raise ArchiveError(path, f"cannot be read ({error.strerror})") from error
    with ExitStack() as on_error:
        on_error.callback(file.close)
        magic = file.read(6)
        if magic == XZ or magic.startswith((GZIP, ZSTD)):
            is_whole = magic.startswith(GZIP) and _has_member_per_record(file, path)
            file.seek(0)
            opened = GzipWarc(path, file, left_out) if is_whole else _unpack(path, file, left_out)
        elif magic.startswith(_WARC[: len(magic)]):
            opened = PlainWarc(path, file, left_out)
        else:
            raise ArchiveError(path, _NOT_WARC)
        on_error.pop_all()
    return opened


def open_files(source: Source, left_out: LeftOut) -> Iterator[WarcFile]:
    """Open the files of *source* one by one, and warn of each that is cut off or damaged, once its heads are listed."""
    for path in source.no_files:
        left_out.add(NO_FILE, str(path))
    for path in source.files:
        file = open_warc(path, left_out)
        yield file
        if file.cut:
            logger.warning(f"{path} is cut off or damaged: only the records before the damage are used")


class PlainWarc(WarcFile):
    """Records one after the other without compression."""

    def _heads(self) -> Iterator[tuple[int, RecordHead]]:
        size, at = os.fstat(self._fd).st_size, 0
        while (at := self._skip_blanks(at)) < size:
            data = os.pread(self._fd, 4096, at)
            head = parse_head(data)
            if head is None or head.block + 32 > len(data):
                head = parse_head(os.pread(self._fd, MAX_HEAD, at))
            if head is not None and self._may_end(at + head.end, size):
                if head.end > MAX_RECORD:
                    self._left_out.add(TOO_LONG, f"{self.path} at {at}")
                else:
                    yield at, head
                at += head.end
                continue
            # the next line that begins a record with a valid length
            begins = find_all(self._fd, _BEGIN, at + 1, len(_WARC) + 1)
            begin = next((begin for begin in begins if parse_head(os.pread(self._fd, MAX_HEAD, begin))), None)
            if begin is None:
                self.cut = True
                return
            self._left_out.add(DAMAGED, f"{self.path} at {at}")
            at = begin

    def _may_end(self, end: int, size: int) -> bool:
        """Whether a record may end at *end*: the next one, or nothing, follows."""
        after = self._skip_blanks(end)
        return end <= size and (after >= size or _WARC.startswith(os.pread(self._fd, len(_WARC), after)))

    def _read(self, offset: int) -> bytes:
        data = os.pread(self._fd, _CHUNK, offset)
        head = parse_head(data)
        if head is None:
            raise NoRecord("damaged record")
        if head.end > MAX_RECORD:
            raise NoRecord("too long")
        if head.end > len(data):
            data += os.pread(self._fd, head.end - len(data), offset + len(data))
        return data[: head.end]


class GzipWarc(WarcFile):
    """One gzip member per record."""

    def _heads(self) -> Iterator[tuple[int, RecordHead]]:
        end = 0
        for member in read_members(self._fd, max_skipped=MAX_SKIPPED, go_on=True):
            if end < member.offset and self._skip_blanks(end) < member.offset:
                self._left_out.add(DAMAGED, f"{self.path} at {end}")
            end = member.end
            head = parse_head(member.start)
            if member.size > MAX_RECORD:
                self._left_out.add(TOO_LONG, f"{self.path} at {member.offset}")
            elif head is not None and head.end <= member.size:
                yield member.offset, head
                self.cut = self.cut or member.size > head.end + _TRAILER
            elif member.size:
                self._left_out.add(DAMAGED, f"{self.path} at {member.offset}")
        self.cut = self.cut or self._skip_blanks(end) < os.fstat(self._fd).st_size

    def _read(self, offset: int) -> bytes:
        return warc.inflated(takewhile(bool, (os.pread(self._fd, _CHUNK, at) for at in count(offset, _CHUNK))))


def _has_member_per_record(file: IO[bytes], path: Path) -> bool:
    """Whether the first member holds one record; unpacks only this record."""
    inflate = zlib.decompressobj(31)
    content, size = b"", 0
    head: RecordHead | None = None
    file.seek(0)
    while not inflate.eof and size <= MAX_SKIPPED and (data := inflate.unconsumed_tail or file.read(_CHUNK)):
        try:
            piece = inflate.decompress(data, _UNPACK_CHUNK)
        except zlib.error:
            break
        size += len(piece)
        if head is None:
            content += piece
            head = parse_head(content)
            if content and head is None and (not content.startswith(_WARC) or len(content) > MAX_HEAD):
                raise ArchiveError(path, _NOT_WARC)
        if head is not None and size > head.end + _TRAILER:
            return False
    return True


def _unpack(path: Path, file: IO[bytes], left_out: LeftOut) -> PlainWarc:
    spool = tempfile.TemporaryFile(prefix="bilingual-replay-", buffering=0)  # noqa: SIM115
    room = UNPACKED + MAX_RATIO * os.fstat(file.fileno()).st_size
    cut = False
    with file, unpacked(file) as stream:
        while not cut:
            try:
                # read1, because read would lose the data before the damage
                data = stream.read1(_UNPACK_CHUNK)  # type: ignore[attr-defined]
            except DAMAGE:
                cut = True
                break
            if not data:
                break
            room -= len(data)
            cut = room < 0
            try:
                spool.write(data)
            except OSError as error:
                problem = f"cannot be unpacked into {tempfile.gettempdir()} ({error.strerror}); set TMPDIR"
                raise ArchiveError(path, problem) from error
    if not os.pread(spool.fileno(), 5, 0).startswith(_WARC) and not cut:
        raise ArchiveError(path, _NOT_WARC)
    return PlainWarc(path, spool, left_out, cut=cut)
