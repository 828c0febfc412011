"""What a fetch taught, kept beside the queue: whoever resumes a crawl or takes over a site learns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bilingual_crawler.pages.model import Link, LinkPosition
from bilingual_crawler.policies.base import FetchedPage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bilingual_crawler.crawl.learner import Learner
    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pairing.documents import Pair


class _Claim(msgspec.Struct, array_like=True, frozen=True):
    """A link to a version of the page in another language: announced, a switch, or both."""

    url: str
    hreflang: str | None
    label: str | None
    alternate: bool
    switch: bool = False


class _Page(msgspec.Struct, array_like=True, frozen=True):
    """A page that was downloaded, and its claims."""

    language: str
    seed: bool
    depth: int
    length: int
    claims: list[_Claim]
    noindex: bool = False


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(_Page | str | None).decode

GONE = _pack(None)
"""The URL gave no page."""


def redirect_fact(target: str) -> bytes:
    """The URL led to *target*."""
    return _pack(target)


def page_fact(page: FetchedPage, pair: LanguagePair) -> bytes:
    """*page* was downloaded; of its claims those are kept that tell something about the *pair*."""
    claims = [
        _Claim(link.url, link.hreflang, link.label, link.alternate, link.position is LinkPosition.SWITCHER)
        for link in page.claims
        if page.side and (link.position is LinkPosition.SWITCHER or pair.side(link.hreflang or ""))
    ]
    return _pack(_Page(page.language, page.seed, page.depth, page.length, claims, page.noindex))


def relearn(learner: Learner, facts: Iterable[tuple[str, bytes]], queued: Iterable[str]) -> Iterator[Pair]:
    """Teach *learner* the facts by URL, in the order of learning, then name its policy the *queued* URLs.

    Yields the pairs that this makes.
    """
    policy = learner.policy
    for url, packed in dict(facts).items():
        fact = _unpack(packed)
        if fact is None:
            policy.gone(url)
        elif isinstance(fact, str):
            yield from learner.redirected(url, fact)
        else:
            side, claims = policy.pair.side(fact.language), tuple(map(_link, fact.claims))
            page = FetchedPage(url, fact.language, side, fact.seed, fact.depth, fact.length, claims, fact.noindex)
            yield from learner.learn(page, claims)
    for url in queued:
        policy.note_queued(url)


def _link(claim: _Claim) -> Link:
    # facts of older crawls say of a claim only whether it is announced
    position = LinkPosition.SWITCHER if claim.switch or not claim.alternate else LinkPosition.BODY
    return Link(claim.url, hreflang=claim.hreflang, label=claim.label, alternate=claim.alternate, position=position)
