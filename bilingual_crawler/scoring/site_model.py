"""What a crawl has learnt about its sites so far: languages and pairs by place in the URL."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bilingual_crawler.urls.cache import url_cache
from bilingual_crawler.urls.canonical import registered_domain
from bilingual_crawler.urls.markers import find_markers

if TYPE_CHECKING:
    from bilingual_crawler.languages import LanguagePair

Belief = tuple[float, float, float]
"""Probabilities that a page is in the first language of the pair, in the second, in neither."""

MAX_FOLDERS = 4
"""Depth to which folders are told apart."""


@dataclass(frozen=True, slots=True)
class SitePriors:
    """What is believed before a site has shown anything; tuned on training sites."""

    language: Belief = (0.3, 0.3, 0.4)
    marked: float = 0.93
    """That a page is in the language its URL names."""
    weak_marked: float = 0.5
    """Weight of a mark that may mean something else (country suffix, a common word)."""
    folder_weight: float = 2.0
    """Pages of the folder above that count as much as one folder's own."""
    mark_weight: float = 3.0
    pair_rate: float = 0.5
    """Share of documents that have a partner."""
    key_rule: tuple[float, float] = (2.0, 0.5)
    """Pseudo-counts: URLs that are equal but for language marks were translations, were not."""
    wording: tuple[float, ...] = (0.42, 0.25, 0.19, 0.09, 0.05)
    """How often links to pages in the first language are worded in it: shares of the steps of
    :class:`~bilingual_crawler.scoring.anchors.AnchorReader`; mirrored for the second, even for neither."""
    wording_weight: float = 5.0
    """Links that count as much as what a site has shown of that."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a URL is: its host and folders, outermost first, and its language mark."""

    folders: tuple[str, ...]
    mark: tuple[str, str, str] | None
    """Site, component and token of the most telling language mark."""
    marked: str | None
    """Language of that mark, ISO 639-3."""
    weak: bool


@url_cache(1 << 16)
def place_of(url: str) -> Place:
    """The place of *url*; cached."""
    parts = urlsplit(url)
    segments = [segment for segment in parts.path.split("/") if segment]
    if segments and not parts.path.endswith("/"):
        segments.pop()
    folders = [parts.netloc]
    for segment in segments[:MAX_FOLDERS]:
        folders.append(f"{folders[-1]}/{segment}")
    marker = next((marker for marker in find_markers(url) if marker.language is not None), None)
    if marker is None:
        return Place(tuple(folders), None, None, False)
    mark = (registered_domain(url), str(marker.component), marker.token.lower())
    return Place(tuple(folders), mark, marker.language, marker.weak)


class SiteModel:
    """Counts by host, folder and language mark, backed off from the inner folder to the host.

    A hierarchical Dirichlet along the folders: a folder with few pages is judged by the one above it. A mark starts
    with what it says and ends with what its pages turned out to be, so that an ``/fi/`` tree of English pages loses
    its weight within a few downloads. Every update and every question costs the same however many URLs there are.
    """

    def __init__(self, pair: LanguagePair, priors: SitePriors | None = None) -> None:
        self._pair = pair
        self._priors = priors or SitePriors()
        self._by_folder: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        self._by_mark: defaultdict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        self._documents: defaultdict[str, int] = defaultdict(int)
        self._paired: defaultdict[str, int] = defaultdict(int)
        self._key_rules: dict[str, list[float]] = {}
        shares, weight = self._priors.wording, self._priors.wording_weight
        self._worded = (
            tuple(weight * share for share in shares),
            tuple(weight * share for share in reversed(shares)),
            (weight / len(shares),) * len(shares),
        )
        self._by_wording: dict[str, tuple[list[float], list[float], list[float]]] = {}

    def index(self, side: str | None) -> int:
        """Place of a side of the pair in a :data:`Belief`; 2 for neither."""
        return 2 if side is None else int(side == self._pair.b)

    def learn_language(self, url: str, side: str | None) -> None:
        """The page at *url* counts as *side*, or as neither language."""
        place, index = place_of(url), self.index(side)
        for folder in place.folders:
            self._by_folder[folder][index] += 1
        if place.mark:
            self._by_mark[place.mark][index] += 1
        if side is not None:
            for folder in place.folders:
                self._documents[folder] += 1

    def learn_pair(self, url: str) -> None:
        """The document at *url* has been paired."""
        for folder in place_of(url).folders:
            self._paired[folder] += 1

    def learn_key_rule(self, url: str, held: bool) -> None:
        """A URL equal to *url* but for language marks was its translation, or was not."""
        self._key_rules.setdefault(registered_domain(url), list(self._priors.key_rule))[not held] += 1

    def learn_wording(self, url: str, step: int, side: str | None) -> None:
        """The page at *url*, to which a link worded as *step* led, counts as *side*."""
        rows = self._by_wording.get(registered_domain(url))
        if rows is None:
            first, second, neither = self._worded
            rows = self._by_wording[registered_domain(url)] = (list(first), list(second), list(neither))
        rows[self.index(side)][step] += 1

    def read(self, url: str, belief: Belief, step: int) -> Belief:
        """*belief* about *url* after a link to it was found to be worded as *step*: Bayes' rule, learnt by site."""
        rows = self._by_wording.get(registered_domain(url), self._worded)
        return _normal(*(p * row[step] / sum(row) for p, row in zip(belief, rows, strict=True)))

    def language(self, url: str) -> Belief:
        """In which language the page at *url* will be."""
        place, priors = place_of(url), self._priors
        belief = priors.language
        for folder in place.folders:
            counts = self._by_folder.get(folder)
            if counts is None:
                break
            belief = _update(belief, counts, priors.folder_weight)
        if place.mark is None:
            return belief
        said = self.index(self._pair.side(place.marked)) if place.marked else 2
        wrong = (1 - priors.marked) / 2
        marked = tuple(priors.marked if i == said else wrong for i in range(3))
        if place.weak:
            share = priors.weak_marked
            marked = tuple(share * m + (1 - share) * p for m, p in zip(marked, priors.language, strict=True))
        learnt = _update((marked[0], marked[1], marked[2]), self._by_mark.get(place.mark, _NOTHING), priors.mark_weight)
        return _normal(learnt[0] * (belief[0] + 0.05), learnt[1] * (belief[1] + 0.05), learnt[2] * (belief[2] + 0.05))

    def pair_rate(self, url: str) -> float:
        """Share of the documents around *url* that have been paired so far."""
        rate = self._priors.pair_rate
        for folder in place_of(url).folders:
            documents = self._documents.get(folder)
            if documents is None:
                break
            rate = (self._paired.get(folder, 0) + 2 * rate) / (documents + 2)
        return min(rate, 1.0)

    def key_rule(self, url: str) -> float:
        """Probability that URLs equal but for language marks are translations on the site of *url*."""
        counts = self._key_rules.get(registered_domain(url), self._priors.key_rule)
        return counts[0] / sum(counts)


_NOTHING = [0.0, 0.0, 0.0]


def _update(belief: Belief, counts: list[float], weight: float) -> Belief:
    total = counts[0] + counts[1] + counts[2] + weight
    return (
        (counts[0] + weight * belief[0]) / total,
        (counts[1] + weight * belief[1]) / total,
        (counts[2] + weight * belief[2]) / total,
    )


def _normal(a: float, b: float, neither: float) -> Belief:
    total = a + b + neither
    return (a / total, b / total, neither / total)
