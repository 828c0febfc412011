"""Evidence for the language of a URL: folders, linking pages, marks, labels and link texts."""

from bisect import bisect
from collections import defaultdict
from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

from py3langid.langid import LanguageIdentifier

from bilingual_crawler.languages.codes import LanguagePair, from_bcp47
from bilingual_crawler.pages.detectors.langid import load_langid
from bilingual_crawler.pages.model import Link, LinkPosition, PageRecord
from bilingual_crawler.policies.evidence.base import (
    NO_COUNTS,
    Belief,
    LanguageEvidence,
    Target,
    counted,
    evict_rare,
    normal,
    place_of,
)

STEPS = (0.1, 0.35, 0.65, 0.9)
"""Bounds between the five steps: probability of the second language, given that it is one of the two."""
LETTERS = 4  # minimum letters of a link text


class AnchorReader:
    """Identifies link texts, too short for CLD2, by langid restricted to a pair, if it has both languages."""

    def __init__(self, pair: LanguagePair) -> None:
        self._pair = pair
        self.read = lru_cache(maxsize=1 << 16)(self._read)

    @cached_property
    def _model(self) -> tuple[LanguageIdentifier, set[str]] | None:
        """The identifier of the two languages, and its labels of the second; None if it lacks one."""
        identifier = copy(load_langid())
        sides = {label: self._pair.side(from_bcp47(label) or "") for label in identifier.labels}
        if not {self._pair.a, self._pair.b} <= set(sides.values()):
            return None
        identifier.set_languages([label for label, side in sides.items() if side])
        return identifier, {label for label, side in sides.items() if side == self._pair.b}

    def _read(self, text: str) -> int | None:
        """0 (surely the first language) to 4 (surely the second); None for an unreadable text."""
        if "://" in text or sum(map(str.isalpha, text)) < LETTERS or self._model is None:
            return None
        identifier, second = self._model
        label, probability = identifier.classify(text.lower())
        return bisect(STEPS, probability if label in second else 1 - probability)


@dataclass
class Folders(LanguageEvidence):
    """Languages by host and folder: a hierarchical Dirichlet, in which the parent folder is the prior."""

    name: ClassVar[str] = "folders"
    weight: float = 2.0  # weight of the parent folder, in pages

    def __post_init__(self) -> None:
        self._counts: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> None:
        index = self.known.index(page.side)
        for folder in place_of(page.url).folders:
            self._counts[folder][index] += 1
        evict_rare(lambda folder: sum(self._counts[folder]), self._counts)

    def update(self, target: Target, belief: Belief) -> Belief | None:
        for folder in target.place.folders:
            counts = self._counts.get(folder)
            if counts is None:
                break
            belief = counted(belief, counts, self.weight)
        return belief


Value = TypeVar("Value", bound=Hashable)


class KeptByUrl(LanguageEvidence, Generic[Value]):
    """Evidence of which each queued URL has a value."""

    def __post_init__(self) -> None:
        self._by_url: dict[str, Value] = {}
        self._same: dict[Value, Value] = {}
        """One object for equal values: millions of URLs share some thousand."""

    def keep(self, url: str, value: Value) -> None:
        self._by_url[url] = self._same.setdefault(value, value)

    def observe_redirect(self, url: str, target: str) -> None:
        if url in self._by_url:
            self._by_url.setdefault(target, self._by_url[url])

    def forget(self, url: str) -> None:
        self._by_url.pop(url, None)


Source: TypeAlias = "tuple[int, LinkPosition]"
"""Language of the linking page (0, 1, or 2 for neither), and where on it the link is."""


class _Links(NamedTuple):
    """Links to the pages of a site: by language of these pages, with the prior ones, and also by source."""

    all: list[float]
    by_source: dict[Source, list[float]]


@dataclass
class LinkingPages(KeptByUrl["tuple[Source, ...]"]):
    """Bayes' rule over languages of linking pages and positions of links; sources together count as one."""

    name: ClassVar[str] = "linking_pages"
    own: float = 3.0
    other: float = 1.0
    """Prior counts of links from pages in the same language, and in each other one."""
    most: int = 3
    """Maximum sources of a URL, the first ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._by_site: dict[str, _Links] = {}
        self._unseen = _Links([self.own + 2 * self.other] * 3, {})
        self._usual = [[self.own if source == language else self.other for language in range(3)] for source in range(3)]
        """Prior counts of links between pages, by both languages."""

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> None:
        if sources := self._by_url.get(page.url):
            seen = self._by_site.setdefault(place_of(page.url).site, _Links([*self._unseen.all], {}))
            language = self.known.index(page.side)
            seen.all[language] += 1
            for source in sources:
                seen.by_source.setdefault(source, [0.0, 0.0, 0.0])[language] += 1 / len(sources)

    def observe_link(self, page: PageRecord, link: Link) -> bool:
        source = (self.known.index(page.side), link.position)
        sources = self._by_url.get(link.url, ())
        if source in sources or len(sources) >= self.most:
            return False
        self.keep(link.url, (*sources, source))
        return True

    def update(self, target: Target, belief: Belief) -> Belief | None:
        sources = self._by_url.get(target.url)
        if not sources:
            return None
        links = self._by_site.get(target.place.site, self._unseen)
        # the geometric mean of P(source | language of the page)
        first = second = neither = 1.0
        for source in sources:
            seen, usual = links.by_source.get(source, NO_COUNTS), self._usual[source[0]]
            first *= (seen[0] + usual[0]) / links.all[0]
            second *= (seen[1] + usual[1]) / links.all[1]
            neither *= (seen[2] + usual[2]) / links.all[2]
        if len(sources) > 1:
            root = 1 / len(sources)
            first, second, neither = first**root, second**root, neither**root
        return normal(belief[0] * first, belief[1] * second, belief[2] * neither)


@dataclass
class Marks(LanguageEvidence):
    """Language marks: first their usual meaning, then the languages of the pages with the mark on the site."""

    name: ClassVar[str] = "marks"
    trust: float = 0.93  # prior P(page is in the language of its mark)
    weak: float = 0.5  # factor of that for an ambiguous mark
    weight: float = 3.0  # weight of the usual meaning, in pages
    doubt: float = 0.05
    """Added to each prior belief: a mark can name a language that the folder never had."""

    def __post_init__(self) -> None:
        self._counts: defaultdict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        self._strong, self._weak = ([self._said(index, share) for index in range(3)] for share in (1.0, self.weak))

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> None:
        if mark := place_of(page.url).mark:
            self._counts[mark][self.known.index(page.side)] += 1

    def update(self, target: Target, belief: Belief) -> Belief | None:
        place = target.place
        if place.mark is None:
            return None
        named = self.known.index(self.known.pair.side(place.marked) if place.marked else None)
        said = (self._weak if place.weak else self._strong)[named]
        first, second, neither = counted(said, self._counts.get(place.mark, NO_COUNTS), self.weight)
        doubt = self.doubt
        return normal(first * (belief[0] + doubt), second * (belief[1] + doubt), neither * (belief[2] + doubt))

    def _said(self, named: int, share: float) -> Belief:
        """Belief by a mark of the language at index *named*: *share*, and the rest by the prior."""
        said = [(1 - self.trust) / 2] * 3
        said[named] = self.trust
        first, second, neither = (share * p + (1 - share) * q for p, q in zip(said, self.known.prior, strict=True))
        return first, second, neither


def label_of(link: Link) -> str | None:
    """The language that *link* names, ISO 639-3."""
    return (link.hreflang if link.hreflang != "x-default" else None) or link.label


@dataclass
class Labels(KeptByUrl[int]):
    """The language that the latest link to a URL names."""

    name: ClassVar[str] = "labels"
    trust: float = 0.85  # P(label | page is in the language that it names); 1 - *trust* for another language

    def observe_link(self, page: PageRecord, link: Link) -> bool:
        if not (label := label_of(link)):
            return False
        said = self.known.index(self.known.pair.side(label))
        news = self._by_url.get(link.url) != said
        self.keep(link.url, said)
        return news

    def update(self, target: Target, belief: Belief) -> Belief | None:
        said = self._by_url.get(target.url)
        if said is None:
            return None
        return normal(*(p * (self.trust if index == said else 1 - self.trust) for index, p in enumerate(belief)))


@dataclass
class Wording(KeptByUrl["tuple[int, int]"]):
    """The language of the longest link text of a URL, most likely its title, by Bayes' rule; learnt by site."""

    name: ClassVar[str] = "wording"
    shares: tuple[float, ...] = (0.42, 0.25, 0.19, 0.09, 0.05)
    """Prior P(step of :class:`AnchorReader` | first language); mirrored for the second, uniform for neither."""
    weight: float = 5.0  # weight of these shares, in links

    def __post_init__(self) -> None:
        super().__post_init__()
        self._reader = AnchorReader(self.known.pair)
        first = [self.weight * share for share in self.shares]
        self._usual = (first, first[::-1], [self.weight / len(first)] * len(first))
        self._by_site: dict[str, tuple[list[float], ...]] = {}

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> None:
        if page.url in self._by_url:
            rows = self._by_site.setdefault(place_of(page.url).site, tuple(map(list, self._usual)))
            rows[self.known.index(page.side)][self._by_url[page.url][1]] += 1

    def observe_link(self, page: PageRecord, link: Link) -> bool:
        length, step = self._by_url.get(link.url, (0, None))
        if len(link.text) <= length or label_of(link):
            return False
        read = self._reader.read(link.text)
        if read is None:
            return False
        self.keep(link.url, (len(link.text), read))
        return read != step

    def update(self, target: Target, belief: Belief) -> Belief | None:
        wording = self._by_url.get(target.url)
        if wording is None:
            return None
        step = wording[1]
        rows = self._by_site.get(target.place.site, self._usual)
        return normal(*(p * row[step] / sum(row) for p, row in zip(belief, rows, strict=True)))
