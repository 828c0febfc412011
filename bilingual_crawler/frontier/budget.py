"""One budget over many sites: whose best URL comes next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from bilingual_crawler.urls.canonical import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FAIR_TURN = 50
"""The bandit gives one turn in so many to the site that has waited longest."""
EXPECTED = 0.025
"""Pairs that a download brings if nothing is known: most of the sites that are crawled for a pair have none."""
TRUST = 0.1
"""Pairs that such a guess counts for."""
TRUST_IN_PROMISES = 30.0
"""Pairs that the promises of a policy, which has seen the site, count for."""
MAX_FACTOR = 2.0
"""Limit for what an expectation multiplies or divides a prior by."""


class SiteBudget(ABC):
    """Decides whose turn it is, among the sites that may be asked now. A site is a registered domain.

    :meth:`choose` may run in another thread than the other methods.
    """

    @abstractmethod
    def choose(self, sites: Mapping[str, float]) -> str:
        """The one of *sites* whose turn is next; the values are the priorities of their best URLs."""

    def learn(self, site: str, pairs: int, priority: float) -> None:  # noqa: B027
        """A download of *site*, whose URL had this *priority*, completed *pairs* pairs."""

    def expect(self, priors: Mapping[str, float]) -> None:  # noqa: B027
        """Pairs that hosts may have, in any unit: the likelihood of a host to be bilingual times its expected size."""


class Sequential(SiteBudget):
    """Site after site, in the order of *sites*; other sites follow in the order in which they are found."""

    def __init__(self, sites: Iterable[str] = ()) -> None:
        self._rank = {site: rank for rank, site in enumerate(dict.fromkeys(sites))}

    def choose(self, sites: Mapping[str, float]) -> str:
        return min(sites, key=lambda site: self._rank.setdefault(site, len(self._rank)))


class Even(SiteBudget):
    """Round robin: the site that has waited longest for a turn."""

    def __init__(self) -> None:
        self._turns = 0
        self._last: dict[str, int] = {}

    def choose(self, sites: Mapping[str, float]) -> str:
        site = self._pick(sites)
        self._turns += 1
        self._last[site] = self._turns
        return site

    def _pick(self, sites: Mapping[str, float]) -> str:
        return min(sites, key=lambda site: self._last.get(site, 0))


class Bandit(Even):
    """Thompson sampling (Thompson 1933) over how far each site keeps what is expected of it.

    Expected of a download is the priority of its URL if the policy promises pairs, up to the number *promises* that one
    download may complete; if it promises none (0), :data:`EXPECTED`. The factor
    by which a site differs from that has a gamma distribution: shape *trust* plus the pairs that it brought, rate
    *trust* plus the pairs that were expected of it. What a download adds is multiplied by *decay* at each later one of
    the site, because a site that pays runs dry. The turn goes to the site with the greatest product of a factor that is
    drawn and what is expected of its best URL. Each :data:`FAIR_TURN`-th turn goes round robin, so no site is given up:
    of N sites that may be asked, each has a turn within FAIR_TURN · N turns.
    """

    def __init__(self, *, promises: int = 0, decay: float = 0.98, seed: int = 0) -> None:
        super().__init__()
        self._promises = promises
        self._trust = TRUST_IN_PROMISES if promises else TRUST
        self._decay = decay
        self._random = np.random.default_rng(seed)
        self._learnt: dict[str, tuple[float, float]] = {}
        """Pairs of each site, and the pairs that were expected, decayed."""
        self._priors: dict[str, float] = {}
        self._mean = 1.0

    def learn(self, site: str, pairs: int, priority: float) -> None:
        paid, expected = self._learnt.get(site, (0.0, 0.0))
        promised = min(max(priority, 0.0), self._promises) if self._promises else EXPECTED
        self._learnt[site] = paid * self._decay + pairs, expected * self._decay + promised

    def expect(self, priors: Mapping[str, float]) -> None:
        """Multiplies the prior of each host's site by its number relative to the mean, at most :data:`MAX_FACTOR`."""
        self._priors.update((registered_domain(host), number) for host, number in priors.items())
        self._mean = fmean(self._priors.values()) or 1.0

    def _pick(self, sites: Mapping[str, float]) -> str:
        if (self._turns + 1) % FAIR_TURN == 0:
            return super()._pick(sites)
        paid, expected = zip(*[self._learnt.get(site, (0.0, 0.0)) for site in sites], strict=True)
        factors = self._random.standard_gamma(self._trust * self._prior(sites) + np.array(paid))
        factors /= self._trust + np.array(expected)
        if self._promises:
            factors *= np.clip(list(sites.values()), 0.0, self._promises)
        return list(sites)[int(factors.argmax())]

    def _prior(self, sites: Iterable[str]) -> Any:
        """What the prior of each site is multiplied by."""
        if not self._priors:
            return 1.0
        priors = np.array([self._priors.get(site, self._mean) for site in sites])
        return np.clip(priors / self._mean, 1 / MAX_FACTOR, MAX_FACTOR)


def site_budget(name: str, sites: Iterable[str], *, promises: int) -> SiteBudget | None:
    """The budget with this *name* for the *sites* of the seeds; None for ``best``, the best URL of all sites.

    *promises*, unless it is 0, says that the priorities of the policy are expected numbers of pairs, at most so many.
    """
    match name:
        case "bandit":
            return Bandit(promises=promises)
        case "even":
            return Even()
        case "sequential":
            return Sequential(sites)
    return None
