"""Facts learnt from fetches, stored for resume, and for workers that take over a site."""

from __future__ import annotations

import zlib
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from bilingual_crawler.items import MAX_LINKS, Pair
from bilingual_crawler.pages.model import Link, LinkPosition, PageRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from bilingual_crawler.crawl.learner import Learner
    from bilingual_crawler.languages.pairs import LanguagePairs


_News = dict[str, bytes]
"""New links to queued URLs: language of their page -> links, packed and compressed. Or a fact of another part."""
POLICY, SCOPE, COOKIES, WALL, ANNOUNCED = _PARTS = ("policy", "scope", "cookies", "wall", "announced")
"""Keys in place of a language: for a fact of the policy, a site that joins the scope, cookies, what a host shows, pages
that a sitemap announces."""

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(tuple[PageRecord, bytes] | _News | str | None).decode
_unpack_links = msgspec.msgpack.Decoder(tuple[Link, ...]).decode
_unpack_announced = msgspec.msgpack.Decoder(dict[str, tuple[Link, ...]]).decode

GONE = _pack(None)


def redirect_fact(target: str) -> bytes:
    """The URL led to *target*."""
    return _pack(target)


def part_fact(part: str, fact: bytes = b"") -> bytes:
    """A *fact* that only *part* reads, one of :data:`POLICY` and the others."""
    return _pack({part: fact})


def announced_fact(announced: Iterable[tuple[str, Sequence[Link]]]) -> bytes:
    """A sitemap has *announced* versions of pages, by their URLs."""
    claims = {url: tuple(map(_claim, links)) for url, links in announced}
    return part_fact(ANNOUNCED, zlib.compress(_pack(claims)))


def announced_in(fact: bytes) -> dict[str, tuple[Link, ...]]:
    """What :func:`announced_fact` was made of."""
    return _unpack_announced(zlib.decompress(fact))


def page_fact(page: PageRecord, links: Sequence[Link], pairs: LanguagePairs) -> bytes:
    """*page* was downloaded and has *links*; 1 to 3 kB for a document, else some 40 bytes.

    The fact is the record that a resume gives to policy and ledgers, without its URL, and its links. Claims about
    languages outside the *pairs* are left out; of other links only the position is kept.
    """
    kept = [
        _claim(link)
        for link in page.claims
        if page.side and (link.position is LinkPosition.SWITCHER or pairs.side(link.hreflang or ""))
    ]
    record = PageRecord(
        "", page.language, seed=page.seed, depth=page.depth, length=page.length, objection=page.objection
    )
    if page.new_text < 1:
        record = replace(record, new_text=page.new_text)
    if page.contradicting(pairs):
        record = replace(record, declared_language=page.declared_language)
    if page.is_document:
        kept += [Link(link.url, position=link.position) for link in links if not link.claims][:MAX_LINKS]
        canonical = page.canonical if page.canonical != page.url else None
        record = replace(record, outline=page.outline, canonical=canonical)
    return _pack((record, _compress(kept)))


def news_fact(page: PageRecord, links: Sequence[Link]) -> bytes:
    """*links* of *page* say something new about queued URLs."""
    return _pack({page.language: _compress([_claim(link, link.text) for link in links])})


def relearn(
    learner: Learner,
    facts: Iterable[tuple[str, bytes]],
    queued: Iterable[str],
    parts: Mapping[str, Callable[[str, bytes], object]] = MappingProxyType({}),
) -> Iterator[Pair]:
    """Replay the facts by URL, in the order of learning, into *learner*, then pass it the *queued* URLs.

    *parts*: what takes the facts of a part, and their URLs. Yields the resulting pairs.
    """
    side = learner.pairs.side
    for url, packed in facts:
        fact = _unpack(packed)
        if fact is None:
            learner.observe_failure(url)
        elif isinstance(fact, str):
            yield from learner.observe_redirect(url, fact)
        elif isinstance(fact, dict):
            [(language, links)] = fact.items()
            if language == POLICY:
                learner.policy.recall(links)
            elif language in parts:
                parts[language](url, links)
            elif language not in _PARTS:
                learner.observe_links(PageRecord(url, language, side(language)), _links(links))
        else:
            record, packed_links = fact
            found = _links(packed_links)
            page = replace(record, url=url, side=side(record.language), links=found)
            yield from learner.observe_page(page, found)
    learner.resume(queued)


def _claim(link: Link, text: str = "") -> Link:
    """What evidence reads of a *link* that says something of a language."""
    return Link(
        link.url, text, position=link.position, hreflang=link.hreflang, label=link.label, alternate=link.alternate
    )


def _compress(links: Sequence[Link]) -> bytes:
    return zlib.compress(_pack(links)) if links else b""


def _links(compressed: bytes) -> tuple[Link, ...]:
    return _unpack_links(zlib.decompress(compressed)) if compressed else ()
