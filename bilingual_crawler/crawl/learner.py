"""The order in which policy and ledger learn from a page, the same for a crawl, a resume and the simulator.

What a fetch taught is a fact: bytes that are stored for a resume, and for workers that take over a site.
"""

import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, tee
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from bilingual_crawler.crawl.remaining import FetchOutcome, RemainingPairs
from bilingual_crawler.frontier.budget import SiteBudget
from bilingual_crawler.items import MAX_LINKS, Pair
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.pairing.ledger import PairLedger
from bilingual_crawler.policies.base import Policy
from bilingual_crawler.urls.hosts import registered_domain


class Learner:
    """Bring policy and ledgers together: the policy proposes partners, the ledger decides, the policy learns the pair.

    Each pair of languages has its part of the policy, and a ledger. Both take a page of another language for one in
    neither. A URL is learnt once: after a crash it may be fetched again. *budget* and :attr:`remaining` learn how many
    pairs each fetch made. For *budget*, a pair with little new text counts in part.
    """

    def __init__(self, policy: Policy, budget: SiteBudget | None = None) -> None:
        self.policy = policy
        self._budget = budget
        self.ledgers = {part.pair: PairLedger(part.book) for part in policy.parts}
        self.pairs = LanguagePairs(tuple(self.ledgers))
        self.remaining = RemainingPairs(policy.parts, [part.book.pairs_on for part in policy.parts])
        self._done: set[int] = set()  # hashes of the URLs that were fetched or given up
        self._stale: dict[int, float] = {}  # hash of the URL of a page with little new text -> how far it counts

    def seed_priority(self, url: str) -> float:
        """Return the priority of the seed *url*, which an earlier run may have fetched."""
        priority = self.policy.seed_priority(url)
        if self.is_done(url):
            self._leave(url)
        return priority

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> list[Pair]:
        """Learn a downloaded *page* and its *links*; return the new pairs."""
        if self.is_done(page.url):
            self._leave(page.url)
            return []
        if page.novelty < 1:
            self._stale[hash(page.url)] = page.novelty
        if page.is_document:
            page = replace(page, links=(*page.claims, *_others(links)))
        with self._fetch(page.url, page) as found:
            for part in self.policy.parts:
                seen = page.seen_by(part.pair)
                pair = self.ledgers[part.pair].add_page(seen, part.candidates(seen, links))
                completed = pair is not None and page.url in (pair.url_a, pair.url_b)
                part.observe_page(seen, links, pair.partner(page.url) if pair and completed else None)
                if pair and not completed:
                    # the page is a copy, and brought its claims to the original
                    part.observe_pair(pair.url_a, pair.url_b)
                found += [pair, *self._settle(part)] if pair else self._settle(part)
        return found

    def observe_redirect(self, url: str, target: str) -> list[Pair]:
        """Learn that *url* redirects to *target*; return the new pairs of documents held."""
        if self.is_done(url):
            return []
        with self._fetch(url) as found:
            for part in self.policy.parts:
                part.observe_redirect(url, target)
                if self.is_done(target):
                    part.drop_url(target)
                if pair := self.ledgers[part.pair].redirect(url, target):
                    part.observe_pair(pair.url_a, pair.url_b)
                    found += [pair, *self._settle(part)]
        return found

    def observe_failure(self, url: str) -> None:
        """Learn that *url* gave no page."""
        if not self.is_done(url):
            with self._fetch(url):
                for part in self.policy.parts:
                    part.observe_failure(url)
        self._leave(url)

    def observe_links(self, page: PageRecord, links: Iterable[Link]) -> None:
        """Learn *links* of *page* to queued URLs, found by an earlier run or another worker."""
        queued = [link for link in links if not self.is_done(link.url)]
        for part in self.policy.parts:
            part.observe_links(page.seen_by(part.pair), queued)

    def resume(self, queued: Iterable[str]) -> None:
        """Begin a run with the *queued* URLs of an earlier one, after its facts were learnt."""
        for part, urls in zip(self.policy.parts, tee(queued, len(self.policy.parts)), strict=True):
            part.resume(urls)

    def adopt(self, pair: Pair) -> None:
        """Learn a *pair* of an earlier run."""
        for part in self.policy.parts:
            if str(part.pair) == pair.pair and self.ledgers[part.pair].adopt(pair):
                part.observe_pair(pair.url_a, pair.url_b)

    def is_done(self, url: str) -> bool:
        return hash(url) in self._done

    def announced_language(self, url: str) -> str | None:
        """The language in which documents announce *url* as their translation."""
        return next(filter(None, (part.book.announced_language(url) for part in self.policy.parts)), None)

    def _leave(self, url: str) -> None:
        for part in self.policy.parts:
            part.drop_url(url)

    @contextmanager
    def _fetch(self, url: str, page: PageRecord | None = None) -> Iterator[list[Pair]]:
        """Learn how far what the policy promised of *url* was kept by the pairs that are put into the list."""
        self._done.add(hash(url))
        site = registered_domain(url)
        parts = self.policy.parts
        promised = [part.reconsider(url, 0.0) for part in parts]
        found: list[Pair] = []
        yield found
        outcomes = []
        for part, promise in zip(parts, promised, strict=True):
            side = page.seen_by(part.pair).side if page else None
            place = None if side is None else int(side == part.pair.b)
            is_contradicted = page is not None and page.contradicting(part.pair) is not None
            outcomes.append(FetchOutcome(promise, page is not None, place, is_contradicted))
        self.remaining.observe_fetch(site, outcomes)
        for other in {registered_domain(url) for pair in found for url in (pair.url_a, pair.url_b)} - {site}:
            self.remaining.observe_pairs(other)
        if self._budget:
            # a pair counts as its page with less new text does
            new = (min(self._stale.get(hash(url), 1.0) for url in (pair.url_a, pair.url_b)) for pair in found)
            self._budget.observe_download(site, sum(new), sum(promised))

    def _settle(self, part: Policy) -> Iterator[Pair]:
        """The pairs that follow from those found last, and from these in turn."""
        proposals = deque(part.proposals())
        while proposals:
            if pair := self.ledgers[part.pair].propose(*proposals.popleft()):
                part.observe_pair(pair.url_a, pair.url_b)
                proposals += part.proposals()
                yield pair


POLICY, SCOPE, COOKIES, WALL, ANNOUNCED = _PARTS = ("policy", "scope", "cookies", "wall", "announced")
"""Keys in place of a language: for a fact of the policy, a site that joins the scope, cookies, what a host shows, pages
that a sitemap announces."""

_pack = msgspec.msgpack.Encoder().encode
# a page, language of a page -> new links to queued URLs (or part -> its fact), target of a redirect, failure
_unpack = msgspec.msgpack.Decoder(tuple[PageRecord, bytes] | dict[str, bytes] | str | None).decode
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

    Claims about languages outside the *pairs* are left out; of other links only the position is kept.
    """
    claims = page.claims if page.side else ()
    kept = [_claim(one) for one in claims if one.is_switch or pairs.side(one.hreflang or "")]
    record = PageRecord("", page.language, seed=page.seed, depth=page.depth, length=page.length)
    record = replace(record, objection=page.objection, new_text=page.new_text)
    if page.contradicting(pairs):
        record = replace(record, declared_language=page.declared_language)
    if page.is_document:
        kept += [Link(link.url, position=link.position) for link in _others(links)]
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
    """Replay the facts by URL, in the order of learning, into *learner*, then pass it the *queued* URLs; yield pairs.

    *parts*: part -> what takes its facts, with their URLs.
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


def _others(links: Iterable[Link]) -> list[Link]:
    """The first of *links* that claim nothing: a fact keeps them, so that a resume learns the same."""
    return list(islice((link for link in links if not link.claims), MAX_LINKS))


def _claim(link: Link, text: str = "") -> Link:
    """What evidence reads of a *link* that says something of a language."""
    return Link(
        link.url, text, position=link.position, hreflang=link.hreflang, label=link.label, alternate=link.alternate
    )


def _compress(links: Sequence[Link]) -> bytes:
    return zlib.compress(_pack(links)) if links else b""


def _links(compressed: bytes) -> tuple[Link, ...]:
    return _unpack_links(zlib.decompress(compressed)) if compressed else ()
