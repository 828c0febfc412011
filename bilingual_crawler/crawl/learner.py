"""The order in which policy and ledger learn from a page, the same for a crawl, a resume and the simulator."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from itertools import tee
from typing import TYPE_CHECKING

from bilingual_crawler.crawl.remaining import FetchOutcome, RemainingPairs
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pairing.ledger import PairLedger
from bilingual_crawler.urls.hosts import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bilingual_crawler.frontier.budget import SiteBudget
    from bilingual_crawler.items import Pair
    from bilingual_crawler.pages.model import Link, PageRecord
    from bilingual_crawler.policies.base import Policy


class Learner:
    """Bring policy and ledgers together: the policy proposes partners, the ledger decides, the policy learns the pair.

    Each pair of languages has its part of the policy, and a ledger. Both take a page of another language for one in
    neither. A URL is learnt once. After a crash it may be fetched again, and a worker that gets a site back is told all
    of it. *budget* and :attr:`remaining` learn how many pairs each fetch made, so a resume restores them as well. A
    fetch without a page made none. For *budget*, a pair with little new text counts in part.
    """

    def __init__(self, policy: Policy, budget: SiteBudget | None = None) -> None:
        self.policy = policy
        self._budget = budget
        self.ledgers = {part.pair: PairLedger(part.book) for part in policy.parts}
        self.pairs = LanguagePairs(tuple(self.ledgers))
        self.remaining = RemainingPairs(policy.parts, [part.book.pairs_on for part in policy.parts])
        self._done: set[int] = set()
        """Hashes of the URLs that were fetched or given up; they take less memory than texts."""
        self._stale: dict[int, float] = {}
        """Hash of the URL of a page with little new text -> how far it counts."""

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
                pair = self.ledgers[part.pair].redirect(url, target)
                if pair:
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
        """Return whether *url* was fetched or given up."""
        return hash(url) in self._done

    def announced_language(self, url: str) -> str | None:
        """Return the language in which documents announce *url* as their translation; None if no document does."""
        announced = (part.book.announced_language(url) for part in self.policy.parts)
        return next(filter(None, announced), None)

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
            pair = self.ledgers[part.pair].propose(*proposals.popleft())
            if pair:
                part.observe_pair(pair.url_a, pair.url_b)
                proposals += part.proposals()
                yield pair
