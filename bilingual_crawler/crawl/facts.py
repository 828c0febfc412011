"""What a fetch taught, kept beside the queue: whoever resumes a crawl or takes over a site learns it."""

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
    """A link to a version of the page in another language: announced, a switch, or both."""

    url: str
    hreflang: str | None
    label: str | None
    alternate: bool
    switch: bool = False


class _Link(msgspec.Struct, array_like=True, frozen=True):
    """What evidence reads of a link."""

    url: str
    position: LinkPosition
    text: str = ""
    hreflang: str | None = None
    label: str | None = None
    alternate: bool = False


class _PageFacts(msgspec.Struct, array_like=True, frozen=True):
    """A page that was downloaded, its claims and its new text; of a document also its outline and its other links."""

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
    """Another address that the page gives itself."""
    new_text: float = 1.0


_News = dict[str, bytes]
"""What a page said of queued URLs: its language -> its links, packed and compressed. Or what the policy recalls."""
_OWN, _SCOPE, _COOKIES = "policy", "scope", "cookies"
"""In place of a language: before what the policy recalls, where there is nothing else to tell, and before cookies."""

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
    """What the policy recalls of the URL by :meth:`~bilingual_crawler.policies.base.Policy.recall`."""
    return _pack({_OWN: fact})


def cookies_fact(fact: bytes) -> bytes:
    """The site of the URL has set the cookies in *fact*."""
    return _pack({_COOKIES: fact})


def page_fact(page: FetchedPage, links: Sequence[Link], pairs: LanguagePairs) -> bytes:
    """*page* was downloaded and has *links*; 1 to 3 kB for a document, else some 30 bytes.

    Of its claims those are kept that tell something about the *pairs*.
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
    """Teach *learner* the facts by URL, in the order of learning, then name it the *queued* URLs.

    *join* is called with the URLs whose site joined the scope, *keep_cookies* with URLs and the cookies that were set.
    Yields the pairs that this makes.
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
    # facts of older crawls say of a claim only whether it is announced
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
