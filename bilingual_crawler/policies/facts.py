"""What a fetch taught the policy, kept beside the queue: whoever resumes a crawl or takes over a site learns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgpack

from bilingual_crawler.pages.model import Link, LinkPosition
from bilingual_crawler.policies.base import FetchedPage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.policies.base import Policy

GONE: bytes = msgpack.packb(None)
"""The URL gave no page."""


def redirect_fact(target: str) -> bytes:
    """The URL led to *target*."""
    packed: bytes = msgpack.packb(target)
    return packed


def page_fact(page: FetchedPage, links: Iterable[Link], pair: LanguagePair) -> bytes:
    """*page* was downloaded; of its *links* those are kept that announce a translation in the *pair*."""
    claims = [
        (link.url, link.hreflang, link.label, link.alternate)
        for link in links
        if page.side and (_announces(link, pair) if link.alternate else link.position is LinkPosition.SWITCHER)
    ]
    packed: bytes = msgpack.packb((page.language, page.seed, page.depth, page.length, claims))
    return packed


def relearn(policy: Policy, facts: Iterable[tuple[str, bytes]], queued: Iterable[str]) -> None:
    """Teach *policy* the facts by URL, in the order of learning, then name it the *queued* URLs."""
    for url, packed in dict(facts).items():
        fact = msgpack.unpackb(packed)
        if fact is None:
            policy.gone(url)
        elif isinstance(fact, str):
            policy.redirected(url, fact)
        else:
            language, seed, depth, length, claims = fact
            page = FetchedPage(url, language, policy.pair.side(language), seed, depth, length)
            policy.learn(page, [_link(claim) for claim in claims])
    for url in queued:
        policy.note_queued(url)


def _announces(link: Link, pair: LanguagePair) -> bool:
    return link.hreflang is not None and link.hreflang != "x-default" and pair.side(link.hreflang) is not None


def _link(claim: Sequence[str]) -> Link:
    url, hreflang, label, alternate = claim
    position = LinkPosition.BODY if alternate else LinkPosition.SWITCHER
    return Link(url, hreflang=hreflang, label=label, alternate=bool(alternate), position=position)
