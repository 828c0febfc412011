"""One WARC record as bytes: its header, and the HTTP response inside a response record."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FIELD = re.compile(
    rb"^(WARC-(?:Type|Target-URI|Date|IP-Address|Payload-Digest|Truncated)|Content-(?:Length|Type))"
    rb"[ \t]*+:(.*)\r$",
    re.IGNORECASE | re.MULTILINE,
)
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})")
_FOLD = re.compile(rb"\r?\n[ \t]+")
MAX_HEAD = 1 << 16
"""Limit in bytes for the WARC header of a record and its HTTP status line together."""


@dataclass(frozen=True, slots=True)
class RecordHead:
    """The header of a WARC record."""

    kind: bytes
    """``WARC-Type``"""
    url: str
    date: str
    """``WARC-Date`` as it stands."""
    ip: str | None
    digest: bytes | None
    """``WARC-Payload-Digest``"""
    truncated: bool
    """Whether a part of the block is missing, by ``WARC-Truncated``."""
    media_type: str
    """``Content-Type`` of the record."""
    block: int
    """Where the content block begins, in bytes from the start of the record."""
    length: int
    """Bytes in the content block."""
    status: int | None
    """HTTP status if the record is a response over HTTP."""

    @property
    def end(self) -> int:
        """Bytes up to the end of the content block."""
        return self.block + self.length


@dataclass(frozen=True, slots=True)
class ArchivedResponse:
    """An HTTP response from an archive."""

    url: str
    date: str
    """Time of the fetch: ``WARC-Date`` as it stands."""
    status: int
    headers: dict[bytes, list[bytes]]
    body: bytes
    """The body as sent, without transfer coding but with its content coding."""
    ip: str | None = None
    truncated: bool = False
    """Whether a part of the body is missing."""


def parse_head(data: bytes) -> RecordHead | None:
    """The header at the start of ``data``; None if there is no complete WARC header."""
    end = data.find(b"\r\n\r\n")
    if end < 0 or not data.startswith(b"WARC/"):
        return None
    fields = {name.lower(): value.strip(b" \t") for name, value in _FIELD.findall(data, 0, end + 2)}
    try:
        length = int(fields[b"content-length"])
    except (KeyError, ValueError):
        return None
    kind = fields.get(b"warc-type", b"").lower()
    url = fields.get(b"warc-target-uri", b"").decode("utf-8", "replace").strip("<>")
    status = _STATUS.match(data, end + 4) if kind == b"response" and url.startswith("http") else None
    return RecordHead(
        kind=kind,
        url=url,
        date=fields.get(b"warc-date", b"").decode("ascii", "replace"),
        ip=fields[b"warc-ip-address"].decode("ascii", "replace") if b"warc-ip-address" in fields else None,
        digest=fields.get(b"warc-payload-digest"),
        truncated=b"warc-truncated" in fields,
        media_type=fields.get(b"content-type", b"").decode("ascii", "replace").lower(),
        block=end + 4,
        length=length,
        status=int(status[1]) if status else None,
    )


def parse_response(record: bytes) -> ArchivedResponse | None:
    """The response in a complete response record; None for any other record."""
    head = parse_head(record)
    if head is None or head.status is None:
        return None
    block = record[head.block : head.end]
    end, gap = block.find(b"\r\n\r\n"), 4
    if end < 0:
        end, gap = block.find(b"\n\n"), 2
    if end < 0:
        end, gap = len(block), 0
    headers = _parse_headers(block[:end])
    body = block[end + gap :]
    if b"chunked" in b",".join(headers.pop(b"transfer-encoding", ())).lower():
        body = _dechunk(body)
        headers.pop(b"content-length", None)
    if body[:2] != b"\x1f\x8b" and headers.get(b"content-encoding") in ([b"gzip"], [b"x-gzip"]):
        del headers[b"content-encoding"]  # some archivers store the decoded body under the old header
        headers.pop(b"content-length", None)
    return ArchivedResponse(head.url, head.date, head.status, headers, body, head.ip, head.truncated)


def parse_conversion(record: bytes) -> bytes | None:
    """The block of a complete conversion record (a rendered page, or a text); None for any other record."""
    head = parse_head(record)
    return record[head.block : head.end] if head is not None and head.kind == b"conversion" else None


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
    parts: list[bytes] = []
    at = 0
    while (end := body.find(b"\r\n", at, at + 64)) >= 0:
        try:
            size = int(body[at:end].split(b";")[0], 16)
        except ValueError:
            return b"".join(parts) if parts else body
        if size == 0:
            break
        parts.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
    return b"".join(parts) if parts or end >= 0 else body
