"""Facts learnt from fetches, stored for resume, and for workers that take over a site."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import msgspec

from bilingual_crawler.frontier.frontier import ignore
from bilingual_crawler.items import MAX_LINKS, FetchedPage
from bilingual_crawler.pages.model import Link, LinkPosition
from bilingual_crawler.pages.outline import Outline  # noqa: TC001  msgspec reads the types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bilingual_crawler.crawl.learner import Learner
    from bilingual_crawler.items import Pair
    from bilingual_crawler.languages.pairs import LanguagePairs


class _ClaimingLink(msgspec.Struct, array_like=True, frozen=True):
    """A link to a version of the page in another language: by announcement, language switcher, or both."""

    url: str
    hreflang: str | None
    label: str | None
    alternate: bool
    switch: bool = False


class _Link(msgspec.Struct, array_like=True, frozen=True):
    """The fields of a link that evidence reads."""

    url: str
    position: LinkPosition
    text: str = ""
    hreflang: str | None = None
    label: str | None = None
    alternate: bool = False


class _PageFacts(msgspec.Struct, array_like=True, frozen=True):
    """A downloaded page: claims and new text; for a document also its outline and other links."""

    language: str
    seed: bool
    depth: int
    length: int
    claims: list[_ClaimingLink]
    noindex: bool = False
    outline: Outline | None = None
    links: bytes = b""
    """URLs and positions, packed and compressed."""
    canonical: str | None = None
    """Canonical URL, if it differs."""
    new_text: float = 1.0


_News = dict[str, bytes]
"""New links to queued URLs: language of their page -> links, packed and compressed. Or a fact of the policy."""
_OWN, _SCOPE, _COOKIES = "policy", "scope", "cookies"
"""Keys in place of a language: for a fact of the policy, a site that joins the scope, cookies."""

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(_PageFacts | _News | str | None).decode
_unpack_links = msgspec.msgpack.Decoder(list[_Link]).decode

GONE = _pack(None)
"""The URL gave no page."""
JOINED = _pack({_SCOPE: b""})
"""The site of the URL joined the scope."""


def redirect_fact(target: str) -> bytes:
    """The URL led to *target*."""
    return _pack(target)


def own_fact(fact: bytes) -> bytes:
    """A fact for :meth:`~bilingual_crawler.policies.base.Policy.recall`."""
    return _pack({_OWN: fact})


def cookies_fact(fact: bytes) -> bytes:
    """The site of the URL has set the cookies in *fact*."""
    return _pack({_COOKIES: fact})


def page_fact(page: FetchedPage, links: Sequence[Link], pairs: LanguagePairs) -> bytes:
    """*page* was downloaded and has *links*; 1 to 3 kB for a document, else some 30 bytes.

    Claims about languages outside the *pairs* are left out.
    """
    claims = [
        _ClaimingLink(link.url, link.hreflang, link.label, link.alternate, link.position is LinkPosition.SWITCHER)
        for link in page.claims
        if page.side and (link.position is LinkPosition.SWITCHER or pairs.side(link.hreflang or ""))
    ]
    outline, others, canonical = None, b"", None
    if page.side is not None and not page.noindex:
        outline = page.outline
        canonical = page.canonical if page.canonical != page.url else None
        others = _compress([_Link(link.url, link.position) for link in links if not link.claims][:MAX_LINKS])
    told = page.language, page.seed, page.depth, page.length, claims, page.noindex
    return _pack(_PageFacts(*told, outline, others, canonical, page.new_text))


def news_fact(page: FetchedPage, links: Sequence[Link]) -> bytes:
    """*links* of *page* say something new about queued URLs."""
    kept = [_Link(link.url, link.position, link.text, link.hreflang, link.label, link.alternate) for link in links]
    return _pack({page.language: _compress(kept)})


def relearn(
    learner: Learner,
    facts: Iterable[tuple[str, bytes]],
    queued: Iterable[str],
    join: Callable[[str], object] = ignore,
    keep_cookies: Callable[[str, bytes], object] = lambda *_: None,
) -> Iterator[Pair]:
    """Replay the facts by URL, in the order of learning, into *learner*, then pass it the *queued* URLs.

    Calls *join* with the URLs whose site joined the scope, and *keep_cookies* with URLs and their cookies. Yields the
    resulting pairs.
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
            if language == _OWN:
                learner.policy.recall(links)
            elif language == _SCOPE:
                join(url)
            elif language == _COOKIES:
                keep_cookies(url, links)
            else:
                learner.observe_links(FetchedPage(url, language, side(language)), _links(links))
        else:
            claims = tuple(map(_claim, fact.claims))
            page = FetchedPage(
                url,
                fact.language,
                side(fact.language),
                fact.seed,
                fact.depth,
                fact.length,
                claims,
                fact.noindex,
                fact.outline,
                fact.canonical,
                fact.new_text,
            )
            yield from learner.observe_page(page, (*claims, *_links(fact.links)))
    learner.resume(queued)


def _claim(claim: _ClaimingLink) -> Link:
    # facts of older crawls lack the other fields of a claim
    position = LinkPosition.SWITCHER if claim.switch or not claim.alternate else LinkPosition.BODY
    return Link(claim.url, hreflang=claim.hreflang, label=claim.label, alternate=claim.alternate, position=position)


def _compress(links: Sequence[_Link]) -> bytes:
    return zlib.compress(_pack(links))


def _links(compressed: bytes) -> Iterator[Link]:
    for link in _unpack_links(zlib.decompress(compressed)) if compressed else ():
        yield Link(
            link.url,
            link.text,
            position=link.position,
            hreflang=link.hreflang,
            label=link.label,
            alternate=link.alternate,
        )
