"""How many pairs of a site are still to be found, and whether a crawl may leave the site: docs/until.md."""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from math import ceil, exp, expm1, floor, log, log1p, sqrt
from typing import NamedTuple

from bilingual_crawler.policies.base import Policy, Promise
from bilingual_crawler.scoring.linear import LinearModel

FIRST_PAGES = 40  # pages of a site before it may be left
PAGES_WITHOUT_PAIR = 200  # pages after which a site without a pair is left in any case
NO_PAIR = 0.1  # maximum remaining pairs of a barren site
ANY_PAIR = 0.4  # maximum P(any pair remains) at which a site is left, whatever share is wanted
MIN_PAIRS = 3  # fewer pairs do not show how many a site has
BOTH_LANGUAGES = 3  # minimum documents in the rarer language of a bilingual site, regardless of the estimate
BEST_OF = 10  # latest fetches of which the greatest promise counts
OFFSET = 0.2  # added to the remaining pairs before their logarithm is taken
LOG_REMAINING = LinearModel(
    -0.133,
    {"promised": 0.907, "queued": -0.108, "found": -1.167, "barren": -0.458, "rarer": 0.949, "best": -0.139},
)
"""Logarithm of the remaining pairs, by :meth:`SiteCourse.features`: ``python -m benchmarks.until --fit``."""
DEVIATION = 1.0
"""Standard deviation of the logarithm of the remaining pairs, on sites left out of the fit .75, rounded up."""
NEGLIGIBLE = 1e-6  # remaining pairs that count as 0
QUANTILE = 1.2816  # standard deviations to each side of the mean that hold 80 % of a normal distribution


RECENT = (30, 0.08)
"""The latest fetches of a site: so many, or this share of all, whichever is more. Their pairs are a minimum of the
remaining pairs."""
LONGER = (100, 0.25)  # the same for a policy that promises no pairs, and where promises are too low


class Estimate(NamedTuple):
    """The pairs of one site or several: found, and estimated to remain."""

    found: int
    remaining: float
    variance: float = 0.0  # of the remaining pairs, whose distribution is log-normal
    unclear: int = 0
    """Further pairs that downloaded pages may make: unpaired documents of the rarer language, and pages that declare a
    language of the pair and have their text in another one."""

    @property
    def share(self) -> float:
        """Share of all pairs that is found, 0 to 1; 1 without pairs."""
        return self._share(0.0 if self.remaining < NEGLIGIBLE else self.remaining)

    @property
    def interval(self) -> tuple[float, float]:
        """Least and greatest share, between which the true one is with a probability of 80 %, 0 to 1.

        The least share counts what is unclear as pairs that were not found.
        """
        if self.remaining < NEGLIGIBLE:
            return self._share(self.unclear), 1.0
        factor = exp(QUANTILE * sqrt(log1p(self.variance / self.remaining**2)))
        most = ceil(self.remaining * factor) + self.unclear
        return self._share(most), self._share(floor(self.remaining / factor))

    def as_dict(self) -> dict[str, float]:
        """Return the remaining pairs, the share that is found, and its interval, as the summary has them."""
        low, high = self.interval
        shares = {"share": round(self.share, 4), "low": round(low, 4), "high": round(high, 4)}
        return {"remaining": round(self.remaining, 2), "unclear": self.unclear, **shares}

    def __str__(self) -> str:
        low, high = self.interval
        return f"an estimated {self.share:.0%} ({low:.0%} to {high:.0%}) of the pairs are found"

    def _share(self, remaining: float) -> float:
        return self.found / (self.found + remaining) if self.found + remaining > 0 else 1.0


def sum_estimates(estimates: Iterable[Estimate]) -> Estimate:
    """The sum of *estimates*, whose errors count as independent."""
    columns = list(zip(*estimates, strict=True))
    return Estimate(*map(sum, columns)) if columns else Estimate(0, 0.0)


class Progress(NamedTuple):
    """Progress of the crawl of a site."""

    pages: int
    found: int
    recently: int  # pairs of these that the latest fetches have brought
    rarer: int  # documents in the rarer language
    remaining: float | None  # pairs, as estimated; None without an estimate

    def is_enough(self, until: float) -> bool:
        """Return whether the site may be left when the share *until* of its pairs is wanted."""
        if self.pages < FIRST_PAGES:
            return False
        if self.found <= 0:
            is_barren = self.remaining is not None and self.remaining <= NO_PAIR and self.rarer < BOTH_LANGUAGES
            return is_barren or self.pages >= PAGES_WITHOUT_PAIR
        remaining = max(self.remaining or 0.0, self.recently)
        if remaining <= (1 - until) * (self.found + remaining):
            return True
        # pairs are whole: of a small site no share is left but none, or that of one pair
        return self.found >= MIN_PAIRS and -expm1(-remaining) <= ANY_PAIR


class FetchOutcome(NamedTuple):
    """Expected and actual result of a fetch, for one pair of languages."""

    promised: float  # pairs
    is_page: bool = True  # whether the fetch gave a page, not a redirect or a failure
    side: int | None = None  # the place in the pair of the language of its document; None without one
    is_contradicted: bool = False  # whether the page declares a language of the pair, and has its text in another one


@dataclass(slots=True)
class SiteCourse:
    """What the fetches of a site have brought, for one pair of languages."""

    fetches: int = 0
    pages: int = 0
    found: int = 0  # pairs with a document of the site, at present
    promised: float = 0.0  # pairs that the fetched URLs promised, at most one each
    contradicted: int = 0  # pages that declare a language of the pair, and have their text in another one
    _documents: list[int] = field(default_factory=lambda: [0, 0])  # in the first and in the second language
    _brought: list[int] = field(default_factory=list)
    """The number of the fetch that brought each pair, also of pairs that were broken later."""
    _latest: deque[float] = field(default_factory=lambda: deque(maxlen=BEST_OF))

    def observe_fetch(self, outcome: FetchOutcome) -> None:
        """Learn the *outcome* of a fetch; :meth:`observe_pairs` follows."""
        self.fetches += 1
        self.pages += outcome.is_page
        self.contradicted += outcome.is_contradicted
        if outcome.side is not None:
            self._documents[outcome.side] += 1
        promised = min(max(outcome.promised, 0.0), 1.0)
        self.promised += promised
        self._latest.append(promised)

    def observe_pairs(self, found: int) -> None:
        """Set the number of pairs *found* after the last fetch, of this site or of another one."""
        self._brought += [self.fetches] * (found - self.found)
        self.found = found

    def brought(self, latest: tuple[int, float]) -> int:
        """Return the number of pairs that the *latest* fetches brought."""
        return len(self._brought) - bisect_left(self._brought, self._before(latest) + 1)

    def _before(self, latest: tuple[int, float]) -> int:
        """Number of fetches before the *latest*."""
        return max(0, self.fetches - max(latest[0], int(latest[1] * self.fetches)))

    @property
    def rarer(self) -> int:
        """Number of documents in the rarer language; those of another site count that are in pairs with this one."""
        return max(min(self._documents), self.found)

    @property
    def unclear(self) -> int:
        """Maximum further pairs that the fetched pages may make."""
        return max(min(self._documents) - self.found, 0) + self.contradicted

    def features(self, queue: Promise) -> dict[str, float]:
        """Return the features of the estimate, when so many pairs are promised by the *queue* of the site.

        Logarithms of: the pairs that the queue promises, as far as promises were kept so far; the queued URLs; the
        pairs found; the fetches since the last one, as a share of all; the documents in the rarer language; and the
        greatest promise of the latest fetches. The more pages are not translated, the less is promised of others: their
        share takes part of the weight of the promised pairs for those that the queue brings if it is like the rest.
        """
        best = max(self._latest, default=0.0)
        # the best URL comes first: what promises more waits for something, such as suspects and other workers' hosts
        promised = min(max(queue.pairs, 0.0), queue.urls * best)
        kept = log((len(self._brought) + 0.5) / (self.promised + 0.5) * promised + 0.1)
        alike = log((self.brought(LONGER) + 0.5) / (self.fetches - self._before(LONGER) + 1) * queue.urls + 0.1)
        untranslated = self.contradicted / (self.fetches + 10)
        barren = self.fetches - (self._brought[-1] if self._brought else 0)
        return {
            "promised": kept + untranslated * max(alike - kept, 0.0),
            "queued": log(queue.urls + 1),
            "found": log(self.found + 0.5),
            "barren": log((barren + 1) / (self.fetches + 1)),
            "rarer": log(self.rarer + 0.5),
            "best": log(best + 0.001),
        }

    def estimate(self, queue: Promise) -> Estimate:
        """Estimate the remaining pairs of the site, when so many are promised by its *queue*."""
        if not queue.urls:
            return Estimate(self.found, 0.0, unclear=self.unclear)
        remaining = max(exp(LOG_REMAINING.predict(self.features(queue))) - OFFSET, 0.0)
        return Estimate(self.found, remaining, remaining**2 * expm1(DEVIATION**2), self.unclear)


class RemainingPairs:
    """The courses of all sites of a crawl, and what remains there. A site is a registered domain."""

    def __init__(self, parts: Sequence[Policy], pairs_on: Sequence[Callable[[str], int]]) -> None:
        """*parts* are the policies of the single pairs of languages, *pairs_on* count what is found on a site."""
        self._parts = parts
        self._pairs_on = pairs_on
        self._courses: defaultdict[str, list[SiteCourse]] = defaultdict(lambda: [SiteCourse() for _ in parts])
        self._estimates: dict[str, Estimate] = {}
        # the estimates of sites when a host of theirs was given up, with all that it had in the queue
        self._given_up: dict[str, Estimate] = {}

    def observe_fetch(self, site: str, outcomes: Sequence[FetchOutcome]) -> None:
        """Learn the outcome of a fetch of *site* for each pair of languages."""
        for course, outcome in zip(self._courses[site], outcomes, strict=True):
            course.observe_fetch(outcome)
        self.observe_pairs(site)

    def observe_pairs(self, site: str) -> None:
        """Learn how many pairs are found on *site* by now."""
        for course, pairs_on in zip(self._courses[site], self._pairs_on, strict=True):
            course.observe_pairs(pairs_on(site))
        self.estimate(site)

    def courses(self, site: str) -> Sequence[SiteCourse]:
        """Return the course of *site* for each pair of languages; nothing if no page of it was fetched."""
        return self._courses.get(site, ())

    def estimate(self, site: str) -> Estimate | None:
        """Estimate the remaining pairs of *site*; None if the policy promises none, so that nothing tells of them."""
        queues = [queue for part in self._parts if (queue := part.promise(site))]
        if not queues or site not in self._courses:
            return None
        courses = zip(self._courses[site], queues, strict=True)
        self._estimates[site] = estimate = sum_estimates(course.estimate(queue) for course, queue in courses)
        return estimate

    def give_up(self, site: str) -> None:
        """Learn that a host of *site* is given up: what remains now is not found, and remains."""
        if estimate := self.estimate(site):
            self._given_up[site] = self._with_given_up(site, estimate)

    def total(self) -> Estimate | None:
        """Return the estimate of all sites visited, each as at its last fetch; None if nothing tells of them."""
        return sum_estimates(starmap(self._with_given_up, self._estimates.items())) if self._estimates else None

    def estimates(self) -> dict[str, Estimate]:
        """Estimate the remaining pairs of each site anew, unless nothing tells of them."""
        estimates = {site: estimate for site in self._courses if (estimate := self.estimate(site))}
        return {site: self._with_given_up(site, estimate) for site, estimate in estimates.items()}

    def _with_given_up(self, site: str, estimate: Estimate) -> Estimate:
        """*estimate*, of the queue of *site*, or what remained when a host was given up, if that is more."""
        before = self._given_up.get(site)
        if before is None or estimate.found + estimate.remaining >= before.found + before.remaining:
            return estimate
        remaining = before.found + before.remaining - estimate.found
        return estimate._replace(remaining=remaining, variance=before.variance)

    def is_finished(self, site: str, until: float) -> bool:
        """Return whether the share *until* of the pairs of *site* is found, or whether it has clearly none.

        What a site has brought of late counts as what remains if fewer pairs are estimated. With a policy that promises
        no pairs, a site is left by what it has brought alone.
        """
        courses = self.courses(site)
        if not courses:
            return False
        estimate = self.estimate(site)
        recent = RECENT if estimate else LONGER
        progress = Progress(
            courses[0].pages,
            sum(course.found for course in courses),
            sum(course.brought(recent) for course in courses),
            max(course.rarer for course in courses),
            estimate.remaining if estimate else None,
        )
        return progress.is_enough(until)
