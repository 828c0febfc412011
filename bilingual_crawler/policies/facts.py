"""What a fetch taught the policy, kept beside the queue: whoever resumes a crawl or takes over a site learns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bilingual_crawler.pages.model import Link, LinkPosition
from bilingual_crawler.policies.base import FetchedPage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.policies.base import Policy


class _Claim(msgspec.Struct, array_like=True, frozen=True):
    """A link that announces a translation."""

    url: str
    hreflang: str | None
    label: str | None
    alternate: bool


class _Page(msgspec.Struct, array_like=True, frozen=True):
    """A page that was downloaded, and its claims."""

    language: str
    seed: bool
    depth: int
    length: int
    claims: list[_Claim]


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(_Page | str | None).decode

GONE = _pack(None)
"""The URL gave no page."""


def redirect_fact(target: str) -> bytes:
    """The URL led to *target*."""
    return _pack(target)


def page_fact(page: FetchedPage, links: Iterable[Link], pair: LanguagePair) -> bytes:
    """*page* was downloaded; of its *links* those are kept that announce a translation in the *pair*."""
    claims = [
        _Claim(link.url, link.hreflang, link.label, link.alternate)
        for link in links
        if page.side and (_announces(link, pair) if link.alternate else link.position is LinkPosition.SWITCHER)
    ]
    return _pack(_Page(page.language, page.seed, page.depth, page.length, claims))


def relearn(policy: Policy, facts: Iterable[tuple[str, bytes]], queued: Iterable[str]) -> None:
    """Teach *policy* the facts by URL, in the order of learning, then name it the *queued* URLs."""
    for url, packed in dict(facts).items():
        fact = _unpack(packed)
        if fact is None:
            policy.gone(url)
        elif isinstance(fact, str):
            policy.redirected(url, fact)
        else:
            side = policy.pair.side(fact.language)
            page = FetchedPage(url, fact.language, side, fact.seed, fact.depth, fact.length)
            policy.learn(page, [_link(claim) for claim in fact.claims])
    for url in queued:
        policy.note_queued(url)


def _announces(link: Link, pair: LanguagePair) -> bool:
    return link.hreflang is not None and link.hreflang != "x-default" and pair.side(link.hreflang) is not None


def _link(claim: _Claim) -> Link:
    position = LinkPosition.BODY if claim.alternate else LinkPosition.SWITCHER
    return Link(claim.url, hreflang=claim.hreflang, label=claim.label, alternate=claim.alternate, position=position)
