"""Budgets over sites: the turn of each site, and the memory for the queued URLs that one site links to."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import fmean
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilingual_crawler.urls.hosts import registered_domain

MAX_BYTES = 500_000_000
"""Memory for the queued URLs of one linking site: half a million ordinary URLs, or 170,000 of 2,000 characters."""
STORED = 350  # bytes of a queued URL in memory beside its text
KNOWN = 660  # bytes of a queued URL in the policy ``gain``, for each pair of languages
FAIR_TURN = 50  # every so many turns the bandit serves the site that has waited longest
EXPECTED = 0.025  # prior document pairs per download: most sites have no pairs
TRUST = 0.1  # prior weight of :data:`EXPECTED`, in document pairs
TRUST_IN_PROMISES = 30.0  # prior weight of the priorities of a policy that promises pairs, in document pairs
DECAY = 0.98
MAX_FACTOR = 2.0  # maximum factor of the prior of a site, and inverse of the minimum
_ROOM = 64
_SITE = np.dtype([(name, np.float64) for name in ("best", "turn", "factor", "paid", "expected")])
"""Priority of the best URL (NaN: no URL may be fetched), last turn, factor of the prior, pairs found and expected."""
_NEW = np.array([(np.nan, 0.0, 1.0, 0.0, 0.0)], _SITE)


class QueueQuota:
    """Memory for queued URLs by linking site, so that no site can use up the quota of a site that it links to."""

    def __init__(self, pairs: int = 1) -> None:
        self._beside = STORED + KNOWN * pairs
        self._queued: Counter[str] = Counter()
        self.urls: Counter[str] = Counter()
        """Queued URLs by linking site."""

    def add(self, site: str, url: str) -> None:
        self._queued[site] += len(url) + self._beside
        self.urls[site] += 1

    def remove(self, site: str, url: str) -> None:
        """Release the memory of *url*, charged to *site*, which may differ from the site of its current parent."""
        self._queued[site] -= len(url) + self._beside
        self.urls[site] -= 1
        if self._queued[site] <= 0:
            del self._queued[site]
            del self.urls[site]

    def is_full(self, site: str) -> bool:
        return self._queued[site] >= MAX_BYTES


class SiteBudget(ABC):
    """Chooses the site of the next request. A site is a registered domain.

    Sites are rows of an array: a turn among thousands is cheap. *sites* come first, in this order; other sites follow
    in the order in which they are found. One thread may offer and choose while another one learns.
    """

    def __init__(self, sites: Iterable[str] = ()) -> None:
        self._lock = Lock()
        self._places: dict[str, int] = {}
        self._names: list[str] = []
        self._sites = np.repeat(_NEW, _ROOM)
        self._turns = 0
        for site in sites:
            self._row(site)

    def offer(self, site: str, priority: float | None) -> None:
        """Set the *priority* of the best URL of *site* that may be fetched now; None without such a URL."""
        with self._lock:
            self._row(site)["best"] = np.nan if priority is None else priority

    def choose(self) -> str | None:
        """The site of the next request; None if no URL may be fetched now."""
        with self._lock:
            places = np.flatnonzero(~np.isnan(self._sites["best"]))
            if not len(places):
                return None
            place = self._pick(places)
            self._turns += 1
            self._sites["turn"][place] = self._turns
            return self._names[place]

    @abstractmethod
    def _pick(self, places: NDArray[np.intp]) -> int:
        """The row of the next site, one of *places*."""

    def observe_download(self, site: str, pairs: float, priority: float) -> None:  # noqa: B027
        """Update *site*: a download with this *priority* completed *pairs*; one with little new text counts in part."""

    def expect(self, priors: Mapping[str, float]) -> None:  # noqa: B027
        """Set the relative number of document pairs expected of each host, in any unit."""

    def _row(self, site: str) -> Any:
        place = self._places.setdefault(site, len(self._places))
        if place == len(self._names):
            self._names.append(site)
            if place == len(self._sites):
                self._sites = np.concatenate((self._sites, np.repeat(_NEW, place)))
        return self._sites[place]


class Sequential(SiteBudget):
    """Site after site, each until its queue is empty."""

    def _pick(self, places: NDArray[np.intp]) -> int:
        return int(places[0])


class Even(SiteBudget):
    """Round robin: the site that has waited longest for a turn."""

    def _pick(self, places: NDArray[np.intp]) -> int:
        return int(places[self._sites["turn"][places].argmin()])


class Bandit(Even):
    """Thompson sampling (Thompson 1933) over how far each site keeps what is expected of it.

    Expected of a download is the priority of its URL if the policy promises pairs, up to the number *promises* that one
    download may complete; if it promises none (0), :data:`EXPECTED`. The factor by which a site differs from that has a
    gamma distribution: shape *trust* plus the pairs that it brought, rate *trust* plus the pairs that were expected of
    it. What a download adds is multiplied by :data:`DECAY` at each later one, because a site that pays runs dry. The
    turn goes to the site with the greatest product of a drawn factor and what is expected of its best URL. Each
    :data:`FAIR_TURN`-th turn goes round robin, so each of N sites has a turn within FAIR_TURN · N turns.
    """

    def __init__(self, *, promises: int = 0, seed: int = 0) -> None:
        super().__init__()
        self._promises = promises
        self._trust = TRUST_IN_PROMISES if promises else TRUST
        self._random = np.random.default_rng(seed)

    def observe_download(self, site: str, pairs: float, priority: float) -> None:
        promised = min(max(priority, 0.0), self._promises) if self._promises else EXPECTED
        with self._lock:
            row = self._row(site)
            row["paid"] = row["paid"] * DECAY + pairs
            row["expected"] = row["expected"] * DECAY + promised

    def expect(self, priors: Mapping[str, float]) -> None:
        """Scale the prior of each host's site by its number over the mean, within :data:`MAX_FACTOR`."""
        numbers = {registered_domain(host): number for host, number in priors.items()}
        mean = fmean(numbers.values()) or 1.0
        for site, number in numbers.items():
            self._row(site)["factor"] = min(max(number / mean, 1 / MAX_FACTOR), MAX_FACTOR)

    def _pick(self, places: NDArray[np.intp]) -> int:
        if (self._turns + 1) % FAIR_TURN == 0:
            return super()._pick(places)
        shape = self._trust * self._sites["factor"] + self._sites["paid"]
        worth = self._random.standard_gamma(shape[places])
        worth /= self._trust + self._sites["expected"][places]
        if self._promises:
            worth *= np.clip(self._sites["best"][places], 0.0, self._promises)
        return int(places[worth.argmax()])


def site_budget(name: str, sites: Iterable[str], *, promises: int) -> SiteBudget | None:
    """The budget *name* over the *sites* of the seeds; None for ``best``: the best URL of all sites.

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
