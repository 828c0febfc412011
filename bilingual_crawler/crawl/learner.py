"""The order in which policy and ledger learn from a page, the same for a crawl, a resume and the simulator."""

from __future__ import annotations

from collections import deque
from itertools import tee
from typing import TYPE_CHECKING

from bilingual_crawler.alignment.documents.ledger import PairLedger
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.urls.canonical import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bilingual_crawler.alignment.documents.model import Pair
    from bilingual_crawler.frontier.budget import SiteBudget
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import FetchedPage, Policy


class Learner:
    """Brings policy and ledgers together: the policy proposes partners, the ledger decides, the policy is told.

    Each pair of languages has its part of the policy, and a ledger. Both take a page of another language for one in
    neither. A URL is learnt once. After a crash it may be fetched again, and a worker that gets a site back is told all
    of it. *budget* learns how many pairs each fetch made, so a resume restores it as well. A fetch without a page made
    none.
    """

    def __init__(self, policy: Policy, budget: SiteBudget | None = None) -> None:
        self.policy = policy
        self._budget = budget
        self.ledgers = {part.pair: PairLedger(part.pair) for part in policy.parts}
        self.pairs = LanguagePairs(tuple(self.ledgers))
        self._done: set[int] = set()
        """Hashes of the URLs that were fetched or given up; they take less memory than texts."""

    def seed_priority(self, url: str) -> float:
        """The priority of the seed *url*, which an earlier run may have fetched."""
        priority = self.policy.seed_priority(url)
        if self.is_done(url):
            self._leave(url)
        return priority

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> list[Pair]:
        """*page* was downloaded and has *links*; returns the pairs that this makes."""
        if self.is_done(page.url):
            self._leave(page.url)
            return []
        self._done.add(hash(page.url))
        promised = self._promised(page.url)
        found: list[Pair] = []
        for part in self.policy.parts:
            seen = page.seen_by(part.pair)
            pair = self.ledgers[part.pair].add(seen, part.candidates(seen, links))
            part.learn(seen, links, pair.partner(page.url) if pair else None)
            found += [pair, *self._settle(part)] if pair else self._settle(part)
        return self._paid(page.url, promised, found)

    def redirected(self, url: str, target: str) -> list[Pair]:
        """*url* gave a redirect to *target*; returns the pairs that this makes of documents held."""
        if self.is_done(url):
            return []
        self._done.add(hash(url))
        promised = self._promised(url)
        found: list[Pair] = []
        for part in self.policy.parts:
            part.redirected(url, target)
            if self.is_done(target):
                part.gone(target)
            pair = self.ledgers[part.pair].alias(url, target)
            if pair:
                part.paired(pair.url_a, pair.url_b)
                found += [pair, *self._settle(part)]
        return self._paid(url, promised, found)

    def gone(self, url: str) -> None:
        """*url* gave no page."""
        if not self.is_done(url):
            self._paid(url, self._promised(url), [])
        self._done.add(hash(url))
        self._leave(url)

    def note(self, page: FetchedPage, links: Iterable[Link]) -> None:
        """*page* had *links* to queued URLs in an earlier run, or at another worker."""
        queued = [link for link in links if not self.is_done(link.url)]
        for part in self.policy.parts:
            part.note(page.seen_by(part.pair), queued)

    def resume(self, queued: Iterable[str]) -> None:
        """All that was learnt so far was learnt in an earlier run, whose queue holds *queued*."""
        for part, urls in zip(self.policy.parts, tee(queued, len(self.policy.parts)), strict=True):
            part.resume(urls)

    def adopt(self, pair: Pair) -> None:
        """*pair* was found otherwise, in an earlier run."""
        for part in self.policy.parts:
            if str(part.pair) == pair.pair and self.ledgers[part.pair].adopt(pair):
                part.paired(pair.url_a, pair.url_b)

    def is_done(self, url: str) -> bool:
        """Whether *url* was fetched or given up."""
        return hash(url) in self._done

    def _leave(self, url: str) -> None:
        for part in self.policy.parts:
            part.gone(url)

    def _promised(self, url: str) -> float:
        """What the policy thought of *url* before it was fetched."""
        return self.policy.reconsider(url, 0.0) if self._budget else 0.0

    def _paid(self, url: str, promised: float, pairs: list[Pair]) -> list[Pair]:
        """The fetch of *url* made *pairs*."""
        if self._budget:
            self._budget.learn(registered_domain(url), len(pairs), promised)
        return pairs

    def _settle(self, part: Policy) -> Iterator[Pair]:
        """The pairs that follow from those found last, and from these in turn."""
        proposals = deque(part.proposals())
        while proposals:
            pair = self.ledgers[part.pair].propose(*proposals.popleft())
            if pair:
                part.paired(pair.url_a, pair.url_b)
                proposals += part.proposals()
                yield pair
