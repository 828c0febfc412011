"""WARC files of a crawl: one gzip member per record, safe against a kill at any moment."""

import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http.client import responses as reasons
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urlsplit

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from bilingual_crawler.storage.records import Records, members_end
from bilingual_crawler.storage.warc import VARIANT_FIELD

_COMPRESSION = 6
_VERSION = "1.0"
"""The version that Common Crawl, Heritrix and wget write, and that every reader reads."""
_NOT_MODIFIED = "http://netpreserve.org/warc/1.0/revisit/server-not-modified"
_PAGE = "text/html; charset=utf-8"
_TAIL = 1 << 14
_MAGIC = b"\x1f\x8b\x08"
_REPLACED = frozenset((b"transfer-encoding", b"content-length"))


class WarcLocation(NamedTuple):
    """Name of a file without its folder, offset of a record's gzip member in it, ``WARC-Record-ID``."""

    file: str
    offset: int
    record: str


@dataclass(frozen=True, slots=True)
class Exchange:
    url: str
    method: str
    request_headers: Iterable[tuple[bytes, bytes]]
    status: int
    headers: Iterable[tuple[bytes, bytes]]
    body: bytes
    """Payload without transfer coding but with its content coding."""
    fetched: datetime
    """With a time zone."""
    request_body: bytes = b""
    ip: str | None = None
    protocol: str = "HTTP/1.1"
    language: str | None = None
    """That a variant was asked for in, ISO 639-3."""
    truncated: str | None = None
    """Why the body is incomplete: ``length``, ``time``, ``disconnect`` or ``unspecified``."""


class WarcWriter:
    """Writes exchanges to ``<prefix>-<number>.warc.gz`` files in a folder, each up to ``max_bytes``.

    Every file begins with a ``warcinfo`` record made of ``info``. Both records of an exchange reach the operating
    system in one write before ``write_exchange`` returns. The partial record that a kill left at the end of the last
    file of an earlier run is cut off. OSError if the folder cannot be written or the disk is full; complete records
    stay complete.
    """

    def __init__(
        self, directory: Path, prefix: str = "crawl", max_bytes: int = 1 << 30, info: Mapping[str, str] | None = None
    ) -> None:
        self._directory = directory
        self._prefix = prefix
        self._max_bytes = max_bytes
        self._info = {"format": f"WARC File Format {_VERSION}", **(info or {})}
        self._buffer = BytesIO()
        self._warc = WARCWriter(self._buffer, gzip=False, warc_version=_VERSION)
        self._number = 0
        self.files_written = 0
        self.bytes_written = 0
        self.bytes_repaired = 0
        """Bytes of a partial record that were cut from the last file of an earlier run."""
        directory.mkdir(parents=True, exist_ok=True)
        earlier = sorted(directory.glob(f"{prefix}-[0-9][0-9][0-9][0-9][0-9].warc.gz"))
        if earlier:
            self._number = 1 + int(earlier[-1].name[len(prefix) + 1 :].partition(".")[0])
            self.bytes_repaired = cut_partial_member(earlier[-1])
        self._open_file()

    def write_exchange(self, exchange: Exchange) -> WarcLocation:
        """Write a response and its request; return where the response is."""
        self._next_file_if_full()
        response = self._response(exchange)
        return self._write(response, self._request(exchange, response))

    def write_unchanged(self, exchange: Exchange, asked: datetime) -> WarcLocation:
        """Write a response that was archived before, and has not changed when *asked* again; return where it is.

        The response keeps its date; a revisit record and the request have that of the question.
        """
        self._next_file_if_full()
        response = self._response(exchange)
        target = _header(response, "WARC-Target-URI")
        fields = {
            "WARC-Profile": _NOT_MODIFIED,
            "WARC-Refers-To": _header(response, "WARC-Record-ID"),
            "WARC-Refers-To-Target-URI": target,
            "WARC-Refers-To-Date": _header(response, "WARC-Date"),
            "WARC-Payload-Digest": _header(response, "WARC-Payload-Digest"),
        }
        # pywb shows the response at this date only if the record is empty: the headers of a 304 would be its answer
        revisit = self._record("revisit", target, asked, fields)
        return self._write(response, revisit, self._request(replace(exchange, fetched=asked), revisit))

    def write_conversion(
        self, url: str, html: bytes, made: datetime, original: str, language: str | None = None
    ) -> WarcLocation:
        """Write the rendered form of the response record *original*, of a variant in *language*; return where it is."""
        fields = {"WARC-Refers-To": original, VARIANT_FIELD: language}
        return self._write(self._record("conversion", url, made, fields, html, warc_content_type=_PAGE))

    def close(self) -> None:
        """Bring the current file to the disk; no record can be written afterwards."""
        self._records.sync()
        self._records.close()

    def _open_file(self) -> None:
        self._name = f"{self._prefix}-{self._number:05}.warc.gz"
        path = self._directory / self._name
        path.touch(exist_ok=False)
        self._records = Records(path, 0)
        self._number += 1
        self.files_written += 1
        record = self._warc.create_warcinfo_record(self._name, self._info)
        self._warcinfo_id = _header(record, "WARC-Record-ID")
        self._append(self._member(record))

    def _next_file_if_full(self) -> None:
        if self._records.end >= self._max_bytes:
            self.close()
            self._open_file()

    def _response(self, exchange: Exchange) -> Any:
        headers = [_on_one_line(header) for header in exchange.headers if header[0].lower() not in _REPLACED]
        headers.append((b"Content-Length", b"%d" % len(exchange.body)))
        head = _HttpHead(f"{exchange.status} {reasons.get(exchange.status, '')}", headers, exchange.protocol)
        return self._http("response", exchange, head, exchange.body, {"WARC-Truncated": exchange.truncated})

    def _request(self, exchange: Exchange, answer: Any) -> Any:
        parts = urlsplit(urldefrag(exchange.url).url)
        target = parts._replace(scheme="", netloc="", path=parts.path or "/").geturl()
        headers = [_on_one_line(header) for header in exchange.request_headers]
        if not any(name.lower() == b"host" for name, _ in headers):
            headers.insert(0, (b"Host", parts.netloc.rpartition("@")[2].encode()))
        head = _HttpHead(f"{exchange.method} {target} HTTP/1.1", headers, is_http_request=True)
        fields = {"WARC-Concurrent-To": _header(answer, "WARC-Record-ID")}
        return self._http("request", exchange, head, exchange.request_body, fields)

    def _http(
        self, kind: str, exchange: Exchange, head: "_HttpHead", body: bytes, fields: Mapping[str, str | None]
    ) -> Any:
        fields = {"WARC-IP-Address": exchange.ip, VARIANT_FIELD: exchange.language, **fields}
        return self._record(kind, exchange.url, exchange.fetched, fields, body, http_headers=head)

    def _record(
        self, kind: str, url: str, when: datetime, fields: Mapping[str, str | None], body: bytes = b"", **values: Any
    ) -> Any:
        """A record with those of *fields* that are known; *values* are further arguments of warcio."""
        known = {"WARC-Date": f"{when.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", "WARC-Warcinfo-ID": self._warcinfo_id}
        known |= {name: value for name, value in fields.items() if value}
        if values:
            values |= {"payload": BytesIO(body), "length": len(body)}
        return self._warc.create_warc_record(urldefrag(url).url, kind, warc_headers_dict=known, **values)

    def _write(self, *records: Any) -> WarcLocation:
        """Write *records* at once; return where the first of them is."""
        location = WarcLocation(self._name, self._records.end, _header(records[0], "WARC-Record-ID"))
        self._append(b"".join(map(self._member, records)))
        return location

    def _member(self, record: Any) -> bytes:
        self._buffer.seek(0)
        self._buffer.truncate()
        self._warc.write_record(record)
        # warcio's own compression has level 9, which is a third slower and saves one part in a thousand
        deflate = zlib.compressobj(_COMPRESSION, wbits=31)
        return deflate.compress(self._buffer.getbuffer()) + deflate.flush()

    def _append(self, data: bytes) -> None:
        self._records.append(data)
        self.bytes_written += len(data)


def _header(record: Any, name: str) -> str:
    header: str = record.rec_headers.get_header(name)
    return header


class _HttpHead(StatusAndHeaders):  # type: ignore[misc]
    """An HTTP header that is written byte for byte; warcio's own escapes bytes beyond ASCII."""

    def to_ascii_bytes(self, filter_func: Any = None) -> bytes:
        return self.to_bytes(filter_func, encoding="latin-1")  # type: ignore[no-any-return]


def _on_one_line(header: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    name, value = header
    return name, b" ".join(value.splitlines()) if b"\n" in value or b"\r" in value else value


def cut_partial_member(path: Path) -> int:
    """Cut a ``.warc.gz`` after its last complete member; return the bytes removed, usually 0.

    A file without any complete member is deleted.
    """
    size = path.stat().st_size
    with path.open("r+b") as file:
        if _ends_with_record(file.fileno(), size):
            return 0
        end = members_end(file)
        file.truncate(end)
        os.fsync(file.fileno())
    if end == 0:
        path.unlink()
    return size - end


def _ends_with_record(fd: int, size: int) -> bool:
    """Whether the file ends with a complete small record. If so, a long file need not be read."""
    tail = os.pread(fd, _TAIL, max(0, size - _TAIL))
    at = tail.rfind(_MAGIC)
    while at >= 0:
        inflate = zlib.decompressobj(31)
        try:
            content = inflate.decompress(tail[at:])
        except zlib.error:
            content = b""
        if content.startswith(b"WARC/"):
            return inflate.eof and not inflate.unused_data
        at = tail.rfind(_MAGIC, 0, at)
    return False
