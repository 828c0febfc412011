"""The detector that weighs all evidence of a site: its links, the outlines of its pages, what they claim."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources.abc import Traversable
from itertools import chain
from operator import itemgetter
from typing import Self

from bilingual_crawler.discovery.detector.base import MAX_DOWNLOADS, Inspection, Reason, Verdict
from bilingual_crawler.discovery.detector.features import (
    NAMES,
    EvidenceWeights,
    LinkProspect,
    LinkReader,
    comparable,
    features_of,
    is_same,
    mirrored,
    one_form,
    side_of,
)
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.model import PageRecord
from bilingual_crawler.pairing.resemblance import Resemblance, ResemblanceWeights
from bilingual_crawler.scoring.models import LanguageModel
from bilingual_crawler.urls.hosts import domain_label, registered_domain
from bilingual_crawler.urls.marks import strip_language

MAX_CHARACTERS = 2000  # characters of the longest text of a parked page
_DEALERS = {
    *("afternic.com", "bodis.com", "brandbucket.com", "buydomains.com", "dan.com", "domainmarket.com", "epik.com"),
    *("hugedomains.com", "parkingcrew.net", "parklogic.com", "sedo.com", "sedoparking.com", "skenzo.com"),
    *("squadhelp.com", "undeveloped.com", "uniregistry.com", "voodoo.com"),
}
"""Registered domains of those who sell and park domains, and do nothing else."""
_PHRASES = re.compile(
    r"""(?ix)
    \b(?:buy|purchase)\ this\ domain | domain\ (?:name\ )?(?:is|may\ be)\ (?:available\ )?for\ sale | domain\ for\ sale
    | domain\ is\ parked | parked\ (?:free|domain) | inquire\ about\ this\ domain
    | domain\ (?:steht\ zum|zu)\ verkauf | ce\ (?:nom\ de\ )?domaine\ est\ (?:à\ vendre|en\ vente)
    | (?:este\ )?dominio\ est(?:á|a)\ (?:en\ venta|a\ la\ venta) | dominio\ (?:è\ )?in\ vendita
    """
)


def is_parked(page: PageRecord) -> bool:
    """Whether the little text of *page* offers the domain, or a link leads to a dealer in domains."""
    if len(page.text) > MAX_CHARACTERS:
        return False
    dealers = _DEALERS - {registered_domain(page.url)}
    return bool(_PHRASES.search(page.text)) or any(registered_domain(link.url) in dealers for link in page.links)


TRANSLATION_THRESHOLD = 0.15  # minimum probability of two pages that confirms a bilingual site
LEAST = 0.09  # minimum probability of a link to download
LEAST_OF_BOTH = 0.04  # the same after pages in both languages: few such sites are not bilingual
BRIDGE = 0.2  # minimum probability of a link on a page that only leads to others
MIRRORED = 0.3  # P(a link whose counterpart is on the same page, or one in the other language), without other evidence
HALF_MIRRORED = 0.6  # as :data:`MIRRORED`, if the counterpart was downloaded
MAX_GUESSES = 2  # maximum guessed URLs that are requested of a site
DOUBT = 0.75  # pseudo-count per link kind


@dataclass(eq=False)
class EvidenceDetector:
    """Finds bilingual sites by the evidence of their links and the outlines of their pages."""

    weights: EvidenceWeights
    resemblance: ResemblanceWeights
    model: LanguageModel
    max_downloads: int = MAX_DOWNLOADS
    confirmed: float = TRANSLATION_THRESHOLD

    def __post_init__(self) -> None:
        self.reader = cache(lambda pair: LinkReader(pair, self.model))

    @classmethod
    def load(cls, models: Traversable, language_model: LanguageModel) -> Self:
        return cls(EvidenceWeights.load(models), ResemblanceWeights.load(models), language_model)

    def inspect(self, pair: LanguagePair, entry: PageRecord) -> Inspection:
        return EvidenceInspection(self, pair, entry)


class EvidenceInspection:
    """Downloads the best link, learns from a miss, and ends with a confirmed pair or without hope."""

    def __init__(self, detector: EvidenceDetector, pair: LanguagePair, entry: PageRecord) -> None:
        self._detector, self._pair = detector, pair
        self._reader = detector.reader(pair)
        self._resemblance = Resemblance(detector.resemblance)
        self._pages: list[PageRecord] = []
        self._sides: dict[str, list[PageRecord]] = {pair.a: [], pair.b: []}
        self._prospects: dict[tuple[str, str], LinkProspect] = {}
        """(Form of the URL, language) -> prospect."""
        self._asked: set[str] = set()
        self._mirrored: dict[str, str] = {}
        self._tried: Counter[tuple[bool, ...]] = Counter()
        self._hit: Counter[tuple[bool, ...]] = Counter()
        self._misses: Counter[Reason] = Counter()
        self._downloads = self._guesses = 0
        self._best: tuple[float, PageRecord, PageRecord] | None = None
        self._parked = is_parked(entry)
        self._see(entry)
        links = [prospect for prospect in self._prospects.values() if not prospect.is_guess]
        counts = {name: sum(link.says(feature) for link in links) for feature, name in NAMES.items()}
        self._evidence = {name: count for name, count in counts.items() if count}

    def next(self) -> str | None:
        if self._parked or self._is_confirmed or self._downloads >= self._detector.max_downloads:
            return None
        best, worth = self._next_best()
        least = LEAST_OF_BOTH if all(self._sides.values()) else LEAST
        return best.url if best is not None and worth >= least else None

    def observe_page(self, url: str, page: PageRecord | None) -> None:
        prospect = max(self._drop(url), key=self._probability)
        self._downloads += 1
        self._tried[prospect.kind] += 1
        self._guesses += prospect.is_guess
        if page is None:
            return
        if domain_label(page.url) != domain_label(self._pages[0].url):
            self._misses[Reason.OTHER_SITE] += 1
            return
        self._drop(page.url)
        if any(is_same(page, seen) for seen in self._pages):
            self._misses[Reason.SAME_PAGE] += 1
            return
        in_place = side_of(page, self._pair) == prospect.language or url in self._mirrored
        self._hit[prospect.kind] += in_place
        self._see(page)

    @property
    def verdict(self) -> Verdict:
        likelihood = self._best[0] if self._best else 0.0
        if self._parked:
            likelihood, reason = 0.0, Reason.PARKED
        elif self._is_confirmed:
            reason = Reason.BILINGUAL
        else:
            if self._downloads < self._detector.max_downloads:
                likelihood = max(likelihood, self._next_best()[1])
            reason = max(self._misses, key=self._misses.__getitem__, default=Reason.ONE_LANGUAGE)
            if all(self._sides.values()):
                reason = Reason.NO_TRANSLATION
        languages = Counter(page.language for page in self._pages)
        pair = (self._best[1].url, self._best[2].url) if self._best and self._is_confirmed else None
        return Verdict(self._is_confirmed, likelihood, reason, languages, self._evidence, pair, self._downloads)

    @property
    def _is_confirmed(self) -> bool:
        return self._best is not None and self._best[0] >= self._detector.confirmed

    def _drop(self, url: str) -> list[LinkProspect]:
        """Request no form of *url* again; return its prospects."""
        form = one_form(url)
        self._asked.add(form)
        return [one for side in self._sides if (one := self._prospects.pop((form, side), None))]

    def _see(self, page: PageRecord) -> None:
        self._asked.add(one_form(page.url))
        self._pages.append(page)
        side = side_of(page, self._pair)
        if side is not None:
            assert page.outline is not None
            self._resemblance.see(page.outline, int(side == self._pair.b))
            self._sides[side].append(page)
            for other in self._sides[self._pair.other(side)]:
                self._mirrored |= mirrored(page, other)
                a, b = (page, other) if side == self._pair.a else (other, page)
                if comparable(a, b, self._pair):
                    features = features_of(a, b, self._pair, self._resemblance)
                    found = self._detector.weights.parallel.probability(features), a, b
                    self._best = max(self._best or found, found, key=itemgetter(0))
        sought = self._sides if side is None else (self._pair.other(side),)
        for prospect in chain.from_iterable(self._reader.read(page, language) for language in sought):
            key = one_form(prospect.url), prospect.language
            if key[0] not in self._asked:
                held = self._prospects.get(key)
                if held is None or self._probability(prospect) > self._probability(held):
                    self._prospects[key] = prospect

    def _next_best(self) -> tuple[LinkProspect | None, float]:
        """The prospect to download next, and P(it completes a pair, or leads to one).

        Before any page in either language, both must be found: the less likely one comes first.
        """
        likeliest: dict[str, tuple[float, LinkProspect]] = {}
        for prospect in self._prospects.values():
            probability = self._probability(prospect)
            if probability > likeliest.get(prospect.language, (-1.0,))[0]:
                likeliest[prospect.language] = probability, prospect
        missing = [side for side, seen in self._sides.items() if not seen]
        ways = [likeliest[side] for side in missing or self._sides if side in likeliest]
        if len(missing) < 2:
            worth, best = max(ways, key=itemgetter(0), default=(0.0, None))
            return best, worth
        _, bridge = max((way for way in ways if way[1].is_bridge), key=itemgetter(0), default=(0.0, None))
        if len(ways) == 2:
            (less, rarer), (more, other) = sorted(ways, key=itemgetter(0))
            # the links of a page are right or wrong together, as are guesses
            worth = less if rarer.is_guess == other.is_guess else less * more
            if bridge is None or worth >= LEAST:
                return rarer, worth
        return bridge, BRIDGE * self._trust(bridge) if bridge else 0.0

    def _probability(self, prospect: LinkProspect) -> float:
        """P(*prospect* leads to a page in its language, or completes a pair once pages in both languages were seen)."""
        weights = self._detector.weights
        probability = weights.translation.probability(prospect.features)
        if all(self._sides.values()):
            if counterpart := self._mirrored.get(prospect.url):
                was_read = any(page.url == counterpart for page in self._pages)
                probability = max(probability, HALF_MIRRORED if was_read else MIRRORED)
        else:
            probability = weights.language.probability(prospect.features) * (1 + probability) / 2
        if not prospect.is_guess:
            return probability * self._trust(prospect)
        key = strip_language(prospect.url)
        held = any(strip_language(page.url) == key for page in self._sides[prospect.language])
        if self._guesses >= MAX_GUESSES or held:
            return 0.0
        # links with more evidence have missed
        return probability / (1 + self._tried.total() - self._hit.total())

    def _trust(self, prospect: LinkProspect) -> float:
        """Share of right downloads among the kind of *prospect*; 1 at first."""
        return (self._hit[prospect.kind] + DOUBT) / (self._tried[prospect.kind] + DOUBT)
