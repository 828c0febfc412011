"""How a crawl learns from its pages: real crawl, resume and simulator tell policy and ledger in the same order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.pairing.ledger import PairLedger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.pairing.documents import Pair
    from bilingual_crawler.policies.base import FetchedPage, Policy


class Learner:
    """Brings policy and ledger together: the policy proposes partners, the ledger decides, the policy is told."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.ledger = PairLedger(policy.pair)

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> Pair | None:
        """*page* was downloaded and has *links*; returns the pair that it completes."""
        pair = self.ledger.add(page, self.policy.candidates(page, links))
        self.policy.learn(page, links, pair.partner(page.url) if pair else None)
        return pair

    def redirected(self, url: str, target: str) -> Pair | None:
        """*url* gave a redirect to *target*; returns the pair that this makes of documents held."""
        self.policy.redirected(url, target)
        pair = self.ledger.alias(url, target)
        if pair:
            self.policy.paired(pair.url_a, pair.url_b)
        return pair

    def adopt(self, pair: Pair) -> None:
        """*pair* was found otherwise, in an earlier run."""
        if self.ledger.adopt(pair):
            self.policy.paired(pair.url_a, pair.url_b)
