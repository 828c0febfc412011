"""WARC records: the header, the response or conversion in a record, and the index of the places of records."""

import codecs
import ipaddress
import re
import zlib
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from io import BytesIO
from pathlib import Path, PurePosixPath

import numpy as np
from w3lib.url import safe_url_string

from bilingual_crawler.urls.canonical import MAX_LENGTH, bare, canonicalise, variant

VARIANT_FIELD = "WARC-Requested-Language"
"""The field of a record of a variant that has the language in which it was asked for; WARC allows further fields."""
_LANGUAGE = re.compile(r"[a-z]{3}(?:_[A-Z][a-z]{3})?")
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})")
_DIGITS = 18  # digits of the longest length that counts as one
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_FOLD = re.compile(rb"\r?\n[ \t]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_TEXT_START = 200  # bytes of a body that tell a text from what is packed
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;|$)")
MAX_HEAD = 1 << 16  # limit in bytes for the WARC header of a record and its HTTP status line together
MAX_RECORD = 32 << 20
"""Limit in bytes for a record: room for a body of the default ``DOWNLOAD_MAXSIZE`` (20 MB). A longer one is no page."""
MAX_HTTP_HEAD = 1 << 19  # limit in bytes for the HTTP header of a response: twice what a crawl takes
MAX_BODY = 20 << 20  # limit in bytes for a body without content coding
MAX_CHUNKS = 1 << 18
_MAX_OFFSET = 1 << 63


class ArchiveError(ValueError):
    """A path that cannot be replayed; the message names the path and the fix."""

    def __init__(self, path: Path, problem: str) -> None:
        # as they are given: a pool of processes makes the error anew from them
        super().__init__(path, problem)
        self.path = path

    def __str__(self) -> str:
        path, problem = self.args
        return f"{path}: {problem}"


def record_url(url: str) -> str:
    """The canonical form of *url*, if it has one, as Scrapy requests it: with no fragment but that of a variant.

    Scrapy escapes more than a canonical URL does (``[``, ``'``), other archivers less.
    """
    try:
        asked = safe_url_string(url.partition("#")[0])
    except ValueError:
        return url
    canonical = canonicalise(asked)
    return canonical + url.removeprefix(bare(url)) if canonical else url


def bare_url(url: str, aliases: Mapping[str, str]) -> str:
    """Drop the scheme and ``www.`` from a canonical URL and replace the start that is an alias of another."""
    bare = url.partition("://")[2].removeprefix("www.")
    for alias, base in aliases.items():
        if bare.startswith(alias):
            return base + bare[len(alias) :]
        if bare == alias[:-1]:
            return base
    return bare


def text_key(text: str) -> int:
    """A hash of 64 bits that is the same in all processes."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


class Index:
    """Keys, each with the first of its best places, in 16 bytes; :meth:`sort` stands between the adds and the gets."""

    def __init__(self) -> None:
        self._keys, self._places, self._ranks = array("Q"), array("Q"), array("B")

    def add(self, key: int, place: int, rank: int) -> None:
        """Add a place for a key; the lowest rank (0 to 255) wins, then the first that was added."""
        self._keys.append(key)
        self._places.append(place)
        self._ranks.append(rank)

    def sort(self) -> None:
        keys = np.frombuffer(self._keys, np.uint64)
        order = np.lexsort((np.frombuffer(self._ranks, np.uint8), keys))
        self._sorted, first = np.unique(keys[order], return_index=True)
        self._found = np.frombuffer(self._places, np.uint64)[order[first]]
        del self._keys, self._places, self._ranks

    def __len__(self) -> int:
        return len(self._sorted)

    def get(self, key: int) -> int | None:
        at = int(self._sorted.searchsorted(np.uint64(key)))
        return int(self._found[at]) if at < len(self) and int(self._sorted[at]) == key else None


@dataclass(frozen=True, slots=True)
class RecordHead:
    """The fields of the header of a record as they stand, and the place and length of its content block in bytes."""

    kind: bytes
    url: str
    date: str
    ip: str | None
    digest: bytes | None
    record_id: bytes | None
    refers_to: tuple[bytes, ...]
    """Of a revisit: the id, the address and the digest of the record with its payload, as far as it names them."""
    truncated: bool
    media_type: str
    block: int
    length: int
    status: int | None
    """HTTP status if the record is a response over HTTP."""

    @property
    def end(self) -> int:
        return self.block + self.length


@dataclass(frozen=True, slots=True)
class ArchivedResponse:
    url: str
    date: str
    """Time of the fetch: ``WARC-Date`` as it stands; empty if that is no date."""
    status: int
    headers: dict[bytes, list[bytes]]
    body: bytes
    """The body as sent, without transfer coding but with its content coding."""
    ip: str | None = None
    truncated: bool = False

    def decoded(self) -> bytes:
        """The body without content coding; ValueError if the coding is unknown, the body damaged or too long."""
        from urllib3 import HTTPResponse, exceptions

        named = b",".join(self.headers.get(b"content-encoding", [])).decode("latin-1").lower().split(",")
        codings = [coding for coding in map(str.strip, named) if coding not in ("", "identity")]
        if unknown := set(codings).difference(HTTPResponse.CONTENT_DECODERS):
            raise ValueError(f"unknown content coding {sorted(unknown)!r}")
        if not codings:
            return self.body
        coded = HTTPResponse(BytesIO(self.body), {"content-encoding": ",".join(codings)}, preload_content=False)
        try:
            body = coded.read(MAX_BODY + 1, decode_content=True)
        except exceptions.HTTPError as error:
            raise ValueError(str(error.args[-1])) from error
        if len(body) > MAX_BODY:
            raise ValueError(f"over {MAX_BODY} bytes without content coding")
        return body


def parse_head(data: bytes) -> RecordHead | None:
    """The header at the start of ``data``; None if there is no complete WARC header, or none with a valid length."""
    if not data.startswith(b"WARC/") or (blank := _BLANK_LINE.search(data, 0, MAX_HEAD)) is None:
        return None
    fields = {name: values[-1] for name, values in _parse_headers(data[: blank.start()]).items()}
    length = fields.get(b"content-length", b"")
    if not length.isdigit() or len(length) > _DIGITS:
        return None
    kind = fields.get(b"warc-type", b"").lower()
    url = fields.get(b"warc-target-uri", b"").decode("utf-8", "replace").strip("<>")
    language = fields.get(VARIANT_FIELD.lower().encode(), b"").decode("ascii", "replace")
    if _LANGUAGE.fullmatch(language):
        url = variant(url, language)
    # nobody can ask for a longer URL
    answers = kind == b"response" and url.startswith("http") and len(url) <= 2 * MAX_LENGTH
    status = _STATUS.match(data, blank.end()) if answers else None
    payload = (b"warc-refers-to", b"warc-refers-to-target-uri", b"warc-payload-digest")
    return RecordHead(
        kind=kind,
        url=url,
        date=fields.get(b"warc-date", b"").decode("ascii", "replace"),
        ip=fields[b"warc-ip-address"].decode("ascii", "replace") if b"warc-ip-address" in fields else None,
        digest=fields.get(b"warc-payload-digest"),
        record_id=fields.get(b"warc-record-id"),
        refers_to=tuple(fields[name] for name in payload if kind == b"revisit" and name in fields),
        truncated=b"warc-truncated" in fields,
        media_type=fields.get(b"content-type", b"").decode("ascii", "replace").lower(),
        block=blank.end(),
        length=int(length),
        status=int(status[1]) if status else None,
    )


def parse_response(record: bytes) -> ArchivedResponse | None:
    """The response in a complete response record; None for any other record, and if its HTTP header is too long."""
    head = parse_head(record)
    if head is None or head.status is None:
        return None
    block = record[head.block : head.end]
    # some servers end lines with a line feed alone, all or some of them, and blank lines of their bodies otherwise
    blank = _BLANK_LINE.search(block)
    end, begin = blank.span() if blank else (len(block), len(block))
    if end > MAX_HTTP_HEAD:
        return None
    headers = _parse_headers(block[:end])
    body = block[begin:]
    if b"chunked" in b",".join(headers.pop(b"transfer-encoding", ())).lower():
        body = _dechunk(body)
        headers.pop(b"content-length", None)
    # a packed body does not begin with text; a false coding may be one that nobody knows
    is_text = body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or not _CONTROL.search(body, 0, _TEXT_START)
    if b"content-encoding" in headers and is_text:
        del headers[b"content-encoding"]  # some archivers store the decoded body under the old header
        headers.pop(b"content-length", None)
    return ArchivedResponse(head.url, as_date(head.date), head.status, headers, body, _ip(head.ip), head.truncated)


def with_payload(revisit: bytes, original: bytes) -> bytes:
    """The complete record *revisit* as a response with the block of the record *original*."""
    head, payload = parse_head(revisit), parse_head(original)
    assert head is not None
    assert payload is not None
    fields = b"WARC-Type: response\r\nContent-Length: %d\r\n\r\n" % payload.length
    # the last field of a name counts
    return revisit[: head.block].rstrip(b"\r\n") + b"\r\n" + fields + original[payload.block : payload.end]


def parse_conversion(record: bytes) -> bytes | None:
    """The block of a complete conversion record (a rendered page, or a text); None for any other record."""
    head = parse_head(record)
    return record[head.block : head.end] if head is not None and head.kind == b"conversion" else None


def as_date(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return ""
    return text


def _ip(text: str | None) -> str | None:
    try:
        return str(ipaddress.ip_address(text)) if text else None
    except ValueError:
        return None


def _parse_headers(block: bytes) -> dict[bytes, list[bytes]]:
    if b"\n " in block or b"\n\t" in block:
        block = _FOLD.sub(b" ", block)
    headers: dict[bytes, list[bytes]] = {}
    for line in block.split(b"\n")[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            headers.setdefault(name.strip().lower(), []).append(value.strip())
    return headers


def _dechunk(body: bytes) -> bytes:
    """Undo chunked transfer coding; a body that is not chunked is returned unchanged."""
    content = bytearray()
    at = 0
    for _ in range(MAX_CHUNKS):
        end = body.find(b"\r\n", at, at + 64)
        line = _CHUNK_SIZE.match(body, at, max(end, at))
        if line is None:
            break
        size = int(line[1], 16)
        if size == 0:
            return bytes(content)
        content += body[end + 2 : end + 2 + size]
        at = min(end + 2 + size + 2, len(body))
    return bytes(content) if at else body


class NoRecord(Exception):
    """A place in an archive has no usable record; the message says why."""


def check_place(file: str, offset: int, length: int, limit: int = MAX_RECORD) -> None:
    """NoRecord unless *length* bytes from *offset*, at most *limit*, may be a record of *file* below some folder."""
    if length > limit:
        raise NoRecord("too long")
    path = PurePosixPath(file)
    if not 0 <= offset < _MAX_OFFSET or length <= 0 or path.is_absolute() or ".." in path.parts:
        raise NoRecord("not a place in an archive")


def unpack(member: bytes, limit: int = MAX_RECORD) -> bytes:
    """The record, of at most *limit* bytes, in a gzip *member* or as it is; NoRecord for anything else."""
    return complete(member if member.startswith(b"WARC/") else inflated([member], limit))


def complete(record: bytes) -> bytes:
    """*record*; NoRecord if its header is invalid, or says that it is longer."""
    head = parse_head(record)
    if head is None or head.end > len(record):
        raise NoRecord("damaged record")
    return record


def inflated(pieces: Iterable[bytes], limit: int = MAX_RECORD) -> bytes:
    """The content of the gzip member at the start of *pieces*; NoRecord if it is damaged, or longer than *limit*."""
    inflate, content = zlib.decompressobj(31), bytearray()
    for data in pieces:
        try:
            content += inflate.decompress(data, limit + 1 - len(content))
        except zlib.error as error:
            raise NoRecord("damaged record") from error
        if len(content) > limit:
            raise NoRecord("too long")
        if inflate.eof:
            return bytes(content)
    raise NoRecord("damaged record")
