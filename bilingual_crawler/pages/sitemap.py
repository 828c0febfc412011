"""Sitemaps (sitemaps.org protocol, with Google's ``xhtml:link`` alternates), feeds (RSS, Atom) among them."""

import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from itertools import islice

from lxml import etree

from bilingual_crawler.pages.formats import may_hold
from bilingual_crawler.pages.links import hreflang_of, is_for_language
from bilingual_crawler.pages.model import Link, LinkPosition, LinkSource
from bilingual_crawler.pages.tables import DOCUMENT_ENDINGS
from bilingual_crawler.urls.canonical import linked

MAX_BYTES = 50 << 20  # bytes of a sitemap that are read, after decompression; the limit of the protocol
MAX_ENTRIES = 50_000  # URLs of a sitemap that are read; the limit of the protocol, which does not count alternates
MAX_CHARACTERS = 100 * MAX_ENTRIES  # characters of all these URLs
MAX_ADDRESSES = 10 * MAX_ENTRIES  # URLs that are looked at, repeated ones and alternates too: what 50 MB may hold
MAX_PREAMBLE = 10_000  # bytes before the XML of a sitemap that are skipped
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}  # begins
_SAYS_UTF_16 = re.compile(rb"""\A(?:\xef\xbb\xbf)?\s*+<\?xml[^>]*encoding\s*+=\s*+["']utf-?16""", re.IGNORECASE)
_BOM = b"\xef\xbb\xbf"
_BEGINNING = re.compile(rb"<(?:\?xml\s|(?:[\w.-]+:)?(?:urlset|sitemapindex|rss|feed)\b)")
_ENTRY = re.compile(rb"<(?:[\w.-]++:)?(?:url|sitemap)(?=[\s>])")
_ENTRY_END = re.compile(rb"</(?:[\w.-]++:)?(?:url|sitemap)\s*+>")
_OPEN_LINK = re.compile(rb"<(?:[\w.-]++:)?link\s[^<>]*+(?<!/)(?=>)|(</)(?:[\w.-]++:)?link\s*+(?=>)")
_FOREIGN_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});)")
_ENTRIES = ("{*}url", "{*}sitemap", "{*}item", "{*}entry")
_SAFELY = {"recover": True, "resolve_entities": False, "no_network": True}
_GZIP = b"\x1f\x8b"
_PIECE = 64  # compressed bytes that are read at a time: those in which an error is are lost


def begins_sitemap(start: bytes) -> bool:
    """Return whether *start*, the first bytes of a file, is XML as of a sitemap or feed."""
    return _BEGINNING.search(start, 0, MAX_PREAMBLE) is not None


def parse_sitemap(body: bytes, url: str) -> tuple[list[Link], list[str], dict[str, list[Link]]]:
    """The pages and documents in the sitemap or feed of *url*, the sitemaps that it names, and versions by page.

    *body* is XML or one URL per line, gzipped or not, read as far as possible up to 50 MB, 50,000 URLs and 5,000,000
    characters of URLs; entities are never expanded. Each page is one link, with any ``hreflang``. Never raises.
    """
    body = _gunzip(_gunzip(body))[:MAX_BYTES]
    if codec := _UTF_16.get(body[:2]):
        body = body.decode(codec, "replace").encode()
    beginning = _BEGINNING.search(body, 0, MAX_PREAMBLE)
    if beginning and body[: beginning.start()].removeprefix(_BOM).strip():
        # a second byte order mark, or a warning of the program that has made it
        body = body[beginning.start() :]
    start = body[:1000].lstrip(_BOM + b" \t\r\n")
    pages: dict[str, Link] = {}
    nested: dict[str, None] = {}
    announced: dict[str, list[Link]] = {}
    page = ""
    room = room_for_announced = MAX_CHARACTERS
    entries = _entries(body) if start.startswith(b"<") else _lines(body)
    for href, hreflang, is_sitemap in islice(entries, MAX_ADDRESSES):
        target = linked(href, url)
        if target is None:
            continue
        if target not in pages and target not in nested:
            room -= len(target)
        if room < 0 or len(pages) + len(nested) == MAX_ENTRIES:
            break
        link = Link(target, "", LinkSource.SITEMAP, LinkPosition.HEAD, hreflang, alternate=hreflang is not None)
        if is_sitemap:
            nested[target] = None
        elif target not in pages:
            if may_hold(target, DOCUMENT_ENDINGS):
                pages[target] = link
        elif hreflang is not None and pages[target].hreflang in (None, "x-default"):
            pages[target] = link
        if hreflang is None:
            page = target
        elif target != page and (room_for_announced := room_for_announced - len(target)) > 0:
            announced.setdefault(page, []).append(link)
    return list(pages.values()), list(nested), announced


def _gunzip(body: bytes) -> bytes:
    """*body* decompressed as far as possible, itself if it is no gzip."""
    if not body.startswith(_GZIP):
        return body
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


def _lines(body: bytes) -> Iterator[tuple[str, str | None, bool]]:
    for line in body.decode("utf-8-sig", "replace").splitlines():
        if line.lstrip()[:4].lower() == "http":
            yield line, None, False


def _entries(body: bytes) -> Iterator[tuple[str, str | None, bool]]:
    """URL, ``hreflang`` and whether it is a sitemap, for each entry in order."""
    body = _FOREIGN_ENTITY.sub(b"&amp;", body)
    # by now it is not UTF-16, whatever it says
    encoding = "utf-8" if _SAYS_UTF_16.search(body[:1000]) else None
    events = etree.iterparse(BytesIO(body), tag=_ENTRIES, remove_comments=True, encoding=encoding, **_SAFELY)
    read = 0
    with suppress(etree.XMLSyntaxError):
        for _, entry in events:
            addresses = _addresses(entry)
            read += bool(addresses)
            yield from addresses
            entry.clear()
            # a root has no parent, and what stands before it takes no room
            while (parent := entry.getparent()) is not None and entry.getprevious() is not None:
                del parent[0]
    shown, *commented = body.split(b"<!--")
    body = b"".join([shown, *(part.partition(b"-->")[2] for part in commented)])
    starts = [match.start() for match in islice(_ENTRY.finditer(body), MAX_ENTRIES)]
    if read < len(starts):
        yield from _entries_apart(body, starts)


def _entries_apart(body: bytes, starts: list[int]) -> Iterator[tuple[str, str | None, bool]]:
    """The entries of a sitemap whose tags do not match: the parser ends early, or takes entries into others."""
    for start, following in zip(starts, [*starts[1:], len(body)], strict=True):
        end = _ENTRY_END.search(body, start, following)
        if end is None and following == len(body):
            # it may be cut in an address
            return
        text = body[start : end.end() if end else following]
        text = _OPEN_LINK.sub(lambda link: b"<x/" if link[1] else link[0] + b"/", text)
        parser = etree.XMLParser(encoding="utf-8", **_SAFELY)
        with suppress(etree.XMLSyntaxError):
            entry = etree.fromstring(text, parser)
            yield from _addresses(entry) if entry is not None else ()


def _addresses(entry: etree._Element) -> list[tuple[str, str | None, bool]]:
    """The address of *entry*, then those of its versions."""
    found: list[tuple[str, str | None, bool]] = []
    kind = _name(entry)
    for child in entry.iterchildren(tag=etree.Element):
        name, href, relation = _name(child), child.get("href"), child.get("rel")
        if kind in ("item", "entry"):
            if name == "link" and relation in (None, "alternate") and (href := href or child.text):
                found.append((href.strip(), None, False))
        elif name == "loc" and child.text:
            found.append((child.text.strip(), None, kind == "sitemap"))
        elif name == "link" and relation == "alternate" and href and is_for_language(child.get("hreflang")):
            found.append((href, hreflang_of(child.get("hreflang")), False))
    return sorted(found, key=lambda address: address[1] is not None)


def _name(element: etree._Element) -> str:
    """The name of *element* without its namespace, or without a prefix that is not declared."""
    return str(element.tag).rpartition("}")[2].rpartition(":")[2]
