"""Sitemaps (sitemaps.org protocol, with Google's ``xhtml:link`` alternates), feeds (RSS, Atom) among them."""

from __future__ import annotations

import re
import zlib
from html import escape, unescape
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bilingual_crawler.pages.decode import decode_body
from bilingual_crawler.pages.formats import may_hold
from bilingual_crawler.pages.links import hreflang_of, is_for_language
from bilingual_crawler.pages.model import Link, LinkPosition, LinkSource
from bilingual_crawler.pages.tables import DOCUMENT_ENDINGS
from bilingual_crawler.urls.variants import linked

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES = 50 << 20
"""Bytes of a sitemap that are read, after decompression; the limit of the protocol."""
MAX_ENTRIES = 50_000
"""URLs of a sitemap that are read; the limit of the protocol, which does not count alternates."""
MAX_CHARACTERS = 100 * MAX_ENTRIES
"""Characters of all these URLs."""
MAX_PREAMBLE = 10_000
"""Bytes before the XML of a sitemap that are skipped."""

_BEGINNING = re.compile(r"<(?:\?xml\s|(?:[\w.-]+:)?(?:urlset|sitemapindex|rss|feed)\b)")
_TAG = re.compile(
    r"""<(/?)((?:[\w.-]*+:)*+)(url|sitemap|item|entry|loc|link)(?=[\s/>])((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>"""
    r"""([^<]*+)(?=<)"""
)
"""A tag with its prefix, name and attributes, and the text after it; what the end of the file may have cut is none."""
_ATTRIBUTE = re.compile(r"""(?<![\w.:-])([\w.:-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
_GZIP = b"\x1f\x8b"
_PIECE = 64
"""Compressed bytes that are read at a time: those in which an error is are lost."""


def begins_sitemap(start: bytes) -> bool:
    """Return whether *start*, the first bytes of a file, is XML as of a sitemap or feed."""
    return _BEGINNING.search(start[:MAX_PREAMBLE].decode("latin-1")) is not None


def parse_sitemap(body: bytes, url: str) -> tuple[list[Link], list[str], dict[str, list[Link]]]:
    """The pages and documents that the sitemap fetched from *url* lists, the sitemaps that it names, and by page the
    versions in other languages that it announces.

    *body* is XML or one URL per line, gzipped or not, cut at 50 MB, 50,000 URLs and 5,000,000 characters of URLs.
    Each page is one link, with the ``hreflang`` of any of its entries. Broken XML and gzip are read as far as possible,
    prefixes may be undeclared; entities are never expanded. The entries of a feed are pages. Never raises.
    """
    text = decode_body(_unpack(body), None)
    is_xml = _BEGINNING.search(text, 0, MAX_PREAMBLE) or text.lstrip("\ufeff \t\r\n").startswith("<")
    pages: dict[str, Link] = {}
    nested: dict[str, None] = {}
    announced: dict[str, list[Link]] = {}
    page, room_for_announced = "", MAX_CHARACTERS
    entries = _entries(text) if is_xml else _lines(text)
    room = MAX_CHARACTERS
    for href, hreflang, is_sitemap in entries:
        target = linked(href, url)
        if target is None:
            continue
        if target not in pages and target not in nested:
            room -= len(target)
        if room < 0 or len(pages) + len(nested) == MAX_ENTRIES:
            break
        if is_sitemap:
            nested[target] = None
        elif target not in pages:
            if may_hold(target, DOCUMENT_ENDINGS):
                pages[target] = Link(
                    target, "", LinkSource.SITEMAP, LinkPosition.HEAD, hreflang, alternate=hreflang is not None
                )
        elif hreflang is not None and pages[target].hreflang in (None, "x-default"):
            pages[target] = replace(pages[target], hreflang=hreflang, alternate=True)
        if hreflang is None:
            page = target
        elif target != page and (room_for_announced := room_for_announced - len(target)) > 0:
            link = Link(target, "", LinkSource.SITEMAP, LinkPosition.HEAD, hreflang, alternate=True)
            announced.setdefault(page, []).append(link)
    return list(pages.values()), list(nested), announced


def _unpack(body: bytes) -> bytes:
    """*body* decompressed, at most twice (gzip in gzip), and cut at the limit."""
    for _ in range(2):
        if not body.startswith(_GZIP):
            break
        body = _gunzip(body)
    return body[:MAX_BYTES]


def _gunzip(body: bytes) -> bytes:
    parts: list[bytes] = []
    room = MAX_BYTES
    at = 0
    while body.startswith(_GZIP, at) and room > 0:
        member = zlib.decompressobj(wbits=31)
        try:
            while at < len(body) and room > 0 and not member.eof:
                piece = body[at : at + _PIECE]
                parts.append(member.decompress(piece, room))
                room -= len(parts[-1])
                at += len(piece)
        except zlib.error:
            break
        at -= len(member.unused_data)
    return b"".join(parts)


def _lines(text: str) -> Iterator[tuple[str, str | None, bool]]:
    for line in text.splitlines():
        if line.lstrip("\ufeff \t")[:4].lower() == "http":
            yield line, None, False


def _entries(text: str) -> Iterator[tuple[str, str | None, bool]]:
    """URL, ``hreflang`` and whether it is a sitemap, for each entry in order, its own address before its versions.

    Tags need not match, and prefixes need not be declared: an entry ends where the next one begins.
    """
    shown, *commented = text.split("<!--")
    text = "".join([shown, *(part.partition("-->")[2] for part in commented)])
    shown, *quoted = text.split("<![CDATA[")
    parts = (part.partition("]]>") for part in quoted)
    text = "".join([shown, *(f"{escape(inside)}{after}" for inside, _, after in parts)])
    entry, prefix = "", ""
    versions: list[tuple[str, str | None]] = []
    for tag in _TAG.finditer(text):
        end, its_prefix, name, given, inside = tag.groups()
        if name not in ("loc", "link"):
            yield from ((href, hreflang, False) for href, hreflang in versions if href)
            entry, prefix, versions = "" if end else name, its_prefix, []
        elif name == "loc" and entry and not end:
            # others are addresses of images
            if its_prefix.strip(":") == prefix.strip(":") and (href := _unescaped(inside).strip()):
                yield href, None, entry == "sitemap"
        elif entry and not end:
            attributes = {key: _unescaped(one or other) for key, one, other in _ATTRIBUTE.findall(given)}
            href, rel, hreflang = attributes.get("href", ""), attributes.get("rel"), attributes.get("hreflang")
            if entry in ("item", "entry"):
                if rel in (None, "alternate") and (href := (href or _unescaped(inside)).strip()):
                    yield href, None, False
            elif rel == "alternate" and is_for_language(hreflang):
                versions.append((href, hreflang_of(hreflang)))
    yield from ((href, hreflang, False) for href, hreflang in versions if href)


def _unescaped(text: str) -> str:
    return _ENTITY.sub(lambda entity: unescape(entity[0]), text)
