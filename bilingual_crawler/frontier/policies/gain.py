"""Expected gain: which download completes a pair, or half of one, judged by all that the crawl knows."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from bilingual_crawler.frontier.policies.base import NEVER, FetchedPage, Policy
from bilingual_crawler.options import Options
from bilingual_crawler.pages.model import LinkPosition
from bilingual_crawler.scoring.anchors import AnchorReader
from bilingual_crawler.scoring.site_model import Belief, SiteModel, SitePriors
from bilingual_crawler.urls.markers import strip_language

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scrapy.settings import BaseSettings

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.scoring.links import LinkScore


class Claim(StrEnum):
    """How a page says that another is its translation."""

    HREFLANG = "hreflang"
    SWITCHER = "switcher"


@dataclass(frozen=True, slots=True)
class GainWeights:
    """How far each kind of evidence is believed; tuned on training sites (docs/harvest.md)."""

    hreflang: float = 0.95
    switcher: float = 0.85
    label: float = 0.85
    """That a page is in the language a link to it names."""
    future: float = 0.25
    """Worth of a document whose other half is still to be fetched, as part of a pair."""
    queued_partner: float = 0.5
    """How much more it is worth when the other half is queued as well."""
    served: float = 0.3
    """Worth left to a page whose other half already has a partner."""
    seed: float = 0.3
    """Added worth of a seed that is in a language of the pair."""
    length_ratio: float = 3.0
    """The text of a page is at most so many times as long as that of its translation."""


@dataclass(frozen=True, slots=True)
class Worth:
    """The terms of a URL's priority."""

    belief: Belief
    """That it is in the first language, in the second, in neither."""
    claimed: float
    """Chance that it completes a pair, by what documents announce."""
    mirrors: float
    """The same, by documents with an equal URL but for language marks."""
    later: float
    """Worth as one half of a pair to come."""
    seed: float

    @property
    def total(self) -> float:
        completes = max(self.claimed, self.mirrors)
        return completes + self.later * (1 - completes) + self.seed


MAX_VARIANTS = 50
"""URLs that are equal but for language marks and are remembered as such; further ones are by themselves."""

_Held = tuple[list[str], list[str]]
"""Documents in the first and in the second language."""
_NONE_HELD: _Held = ([], [])


class Gain(Policy):
    """The expected number of pairs that a download brings.

    Worth of a URL = P(it completes a pair with a document held) + a part of P(it is one half of a pair whose other
    half can be fetched later). The first is the best of what held documents without a partner say of it - ``hreflang``,
    language switcher, equal URLs but for language marks - times the belief that it is in the other language; the
    second is the belief that it is in either language times the share of documents around it that found partners.
    Beliefs come from a :class:`~bilingual_crawler.scoring.site_model.SiteModel` that learns from every download, so a
    wrong one does not last; the wording of links that do not name a language is evidence too. Every page is expanded:
    links of pages in other languages are bridges (setting ``BILINGUAL_BRIDGE``).

    A worth is computed when a link is found, again when a document arrives that it may belong to, and once more when
    its turn comes (if it has fallen, the URL goes back to its new place): the cost of a page depends on its new links,
    never on the length of the queue. Queued URLs are most of what it keeps in memory: some 500 bytes each.
    """

    name = "gain"

    def __init__(
        self,
        pair: LanguagePair,
        settings: BaseSettings,
        weights: GainWeights | None = None,
        priors: SitePriors | None = None,
    ) -> None:
        super().__init__(pair, settings)
        self._weights = weights or GainWeights()
        self._bridges = Options.of(settings).bridge
        self._languages = pair.languages
        self._site = SiteModel(pair, priors)
        self._reader = AnchorReader(pair)
        self._sides: dict[str, str] = {}
        self._lengths: dict[str, int] = {}
        self._paired: set[str] = set()
        self._held: dict[int, _Held] = {}
        self._claims: defaultdict[str, dict[str, Claim]] = defaultdict(dict)
        self._switched_to: Counter[str] = Counter()
        self._labels: dict[str, int] = {}
        self._wordings: dict[str, tuple[int, int]] = {}
        self._changed: set[str] = set()
        self._queued: dict[str, int] = {}
        self._variants: dict[int, tuple[str, ...]] = {}
        self._seeds: set[str] = set()

    def seed_priority(self, url: str) -> float:
        """Seeds are worth more than other URLs, but not if they are known to be in another language."""
        self._seeds.add(url)
        self.note_queued(url)
        return self._worth(url)

    def expands(self, page: FetchedPage) -> bool:
        return self._bridges or page.seed or page.side is not None

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> None:
        if page.url in self._wordings:
            self._site.learn_wording(page.url, self._wordings[page.url][1], page.side)
        self._forget(page.url)
        self._site.learn_language(page.url, page.side)
        key = self._key(page.url)
        held = self._held.get(key, _NONE_HELD)
        partner = self._partner(page, links, held) if page.side else None
        others = held[0] + held[1]
        if others:
            if partner:
                self._site.learn_key_rule(page.url, True)
            elif page.side is None or any(self._sides[url] == page.side for url in others):
                self._site.learn_key_rule(page.url, False)
        if page.side is None:
            return
        self._sides[page.url] = page.side
        self._lengths[page.url] = page.length
        if len(others) < MAX_VARIANTS:
            self._held.setdefault(key, ([], []))[self._site.index(page.side)].append(page.url)
        if partner:
            self._paired |= {page.url, partner}
            self._site.learn_pair(page.url)
            self._site.learn_pair(partner)
            self._changed.update(self._variants.get(self._key(partner), ()))
        self._changed.update(self._variants.get(key, ()))
        self._note_claims(page.url, page.side, links)

    def priorities(
        self, page: FetchedPage, links: Sequence[Link], scores: Sequence[LinkScore] | None
    ) -> Sequence[float]:
        return [self._worth(link.url) if self._is_news(page, link) else NEVER for link in links]

    def note_queued(self, url: str) -> None:
        if url in self._queued:
            return
        key = self._queued[url] = self._key(url)
        variants = self._variants.get(key, ())
        if len(variants) < MAX_VARIANTS:
            self._variants[key] = (*variants, url)

    def changed(self) -> Mapping[str, float]:
        changed, self._changed = self._changed, set()
        return {url: self._worth(url) for url in changed}

    def reconsider(self, url: str, priority: float) -> float:
        return self._worth(url)

    def gone(self, url: str) -> None:
        self._forget(url)

    def redirected(self, url: str, target: str) -> None:
        self._claims[target].update(self._claims.get(url, {}))
        if url in self._labels:
            self._labels.setdefault(target, self._labels[url])
        if url in self._wordings:
            self._wordings.setdefault(target, self._wordings[url])
        self._forget(url)
        self.note_queued(target)

    def _key(self, url: str) -> int:
        """For URLs that are equal but for language marks the same number, which takes less memory than a text."""
        key = self._queued.get(url)
        return hash(strip_language(url, self._languages)) if key is None else key

    def _is_news(self, page: FetchedPage, link: Link) -> bool:
        """Whether the link changes what its URL is worth; most lead to a queued URL and say nothing new of it."""
        news = link.url not in self._queued or page.url in self._claims.get(link.url, ())
        self.note_queued(link.url)
        label = link.hreflang if link.hreflang != "x-default" else None
        label = label or link.label
        if label:
            side = self._site.index(self.pair.side(label))
            news = news or self._labels.get(link.url) != side
            self._labels[link.url] = side
            return news
        return self._note_wording(link) or news

    def _note_wording(self, link: Link) -> bool:
        """Keep the longest text that leads to a URL, most likely its title; whether that changes what is known."""
        length, step = self._wordings.get(link.url, (0, None))
        if len(link.text) <= length:
            return False
        read = self._reader.read(link.text)
        if read is None:
            return False
        self._wordings[link.url] = (len(link.text), read)
        return read != step

    def _forget(self, url: str) -> None:
        key = self._queued.pop(url, None)
        if key is not None:
            variants = tuple(variant for variant in self._variants.pop(key, ()) if variant != url)
            if variants:
                self._variants[key] = variants
        self._labels.pop(url, None)
        self._wordings.pop(url, None)

    def _unpaired(self, urls: Iterable[str], side: str) -> Iterator[str]:
        return (url for url in urls if self._sides.get(url) == side and url not in self._paired)

    def _is_as_long(self, url: str, length: int) -> bool:
        shorter, longer = sorted((self._lengths[url], length))
        return longer <= self._weights.length_ratio * shorter

    def _partner(self, page: FetchedPage, links: Sequence[Link], held: _Held) -> str | None:
        """The held document without a partner that *page* is most likely the translation of."""
        assert page.side
        other = self.pair.other(page.side)
        announced = [url for url, claim in self._claims.get(page.url, {}).items() if claim is Claim.HREFLANG]
        announced += [link.url for link in links if link.alternate and link.hreflang]
        candidates = self._unpaired(announced + held[self._site.index(other)], other)
        return next((url for url in candidates if self._is_as_long(url, page.length)), None)

    def _note_claims(self, url: str, side: str, links: Sequence[Link]) -> None:
        other = self.pair.other(side)
        for link in links:
            if link.alternate and link.hreflang:
                if self.pair.side(link.hreflang) == other:
                    self._claims[link.url][url] = Claim.HREFLANG
            elif link.position is LinkPosition.SWITCHER and url not in self._claims[link.url]:
                label = link.hreflang or link.label
                if label is None or self.pair.side(label) == other:
                    self._claims[link.url][url] = Claim.SWITCHER
                    self._switched_to[link.url] += 1

    def _belief(self, url: str) -> Belief:
        belief = self._site.language(url)
        label = self._labels.get(url)
        if label is None:
            return self._site.read(url, belief, self._wordings[url][1]) if url in self._wordings else belief
        wrong = 1 - self._weights.label
        weighed = [p * (self._weights.label if i == label else wrong) for i, p in enumerate(belief)]
        total = sum(weighed)
        return (weighed[0] / total, weighed[1] / total, weighed[2] / total)

    def explain(self, url: str) -> Worth:
        """The terms of what *url* is worth now."""
        belief = self._belief(url)
        key = self._key(url)
        held = self._held.get(key, _NONE_HELD)
        claimed, mirrors = self._claimed(url, belief), self._mirrors(held, belief)
        later = (belief[0] + belief[1]) * self._site.pair_rate(url)
        if len(self._variants.get(key, ())) > 1:
            later = min(1.0, later * (1 + self._weights.queued_partner))
        if not max(claimed, mirrors) and (held[0] or held[1]):
            later *= self._weights.served
        seed = self._weights.seed * (belief[0] + belief[1]) if url in self._seeds else 0.0
        return Worth(belief, claimed, mirrors, self._weights.future * later, seed)

    def _worth(self, url: str) -> float:
        return self.explain(url).total

    def _claimed(self, url: str, belief: Belief) -> float:
        """The best of what documents without a partner announce."""
        best = 0.0
        for source, claim in self._claims.get(url, {}).items():
            side = self._sides.get(source)
            if side is None or source in self._paired:
                continue
            other = belief[self._site.index(self.pair.other(side))]
            if claim is Claim.HREFLANG:
                chance = self._weights.hreflang * min(1.0, 2 * other + 0.3)
            else:
                # many pages that switch to one and the same are switching to its home page
                chance = self._weights.switcher / max(1, self._switched_to[url] - 1) * min(1.0, 1.5 * other + 0.1)
            best = max(best, chance)
        return best

    def _mirrors(self, held: _Held, belief: Belief) -> float:
        """The chance by held documents whose URL is equal but for language marks."""
        best = 0.0
        for index, side in enumerate((self.pair.a, self.pair.b)):
            other = next(self._unpaired(held[index], side), None)
            if other:
                best = max(best, self._site.key_rule(other) * belief[1 - index])
        return best
