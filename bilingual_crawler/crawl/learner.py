"""How a crawl learns from its pages: real crawl, resume and simulator tell policy and ledger in the same order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from bilingual_crawler.pairing.ledger import PairLedger

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.pairing.documents import Pair
    from bilingual_crawler.policies.base import FetchedPage, Policy


class Learner:
    """Brings policy and ledger together: the policy proposes partners, the ledger decides, the policy is told."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.ledger = PairLedger(policy.pair)

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> list[Pair]:
        """*page* was downloaded and has *links*; returns the pairs that this makes."""
        pair = self.ledger.add(page, self.policy.candidates(page, links))
        self.policy.learn(page, links, pair.partner(page.url) if pair else None)
        return [*filter(None, (pair,)), *self._settle()]

    def redirected(self, url: str, target: str) -> list[Pair]:
        """*url* gave a redirect to *target*; returns the pairs that this makes of documents held."""
        self.policy.redirected(url, target)
        pair = self.ledger.alias(url, target)
        if pair is None:
            return []
        self.policy.paired(pair.url_a, pair.url_b)
        return [pair, *self._settle()]

    def adopt(self, pair: Pair) -> None:
        """*pair* was found otherwise, in an earlier run."""
        if self.ledger.adopt(pair):
            self.policy.paired(pair.url_a, pair.url_b)

    def _settle(self) -> Iterator[Pair]:
        """The pairs that follow from those found last, and from these in turn."""
        proposals = deque(self.policy.proposals())
        while proposals:
            pair = self.ledger.propose(*proposals.popleft())
            if pair:
                self.policy.paired(pair.url_a, pair.url_b)
                proposals += self.policy.proposals()
                yield pair
