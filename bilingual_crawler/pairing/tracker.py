"""Pairs among the documents of a running crawl, found the moment the second half arrives."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bilingual_crawler.pairing.documents import Pair, Unpaired
from bilingual_crawler.urls.markers import marked_language, strip_language

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bilingual_crawler.items import Document
    from bilingual_crawler.languages import LanguagePair

SCORES = {"hreflang+": 0.99, "hreflang": 0.95, "switcher": 0.9, "url": 0.85}
"""Confidence by method; ``hreflang+`` is announced by both pages. Order of trust, not probabilities."""

MAX_LENGTH_RATIO = 4.0
"""The longer text of a pair has at most this many times the characters of the shorter."""

MAX_VARIANTS = 50
"""Documents that are compared because their URLs are equal but for language marks, at most."""


@dataclass(frozen=True, slots=True)
class _Held:
    url: str
    side: str
    length: int
    key: str
    claims: frozenset[str]
    switches: frozenset[str]


class PairTracker:
    """Finds pairs by what pages announce and by their URLs, and checks them by the language of their content.

    Methods: ``hreflang`` (one page names the other as its translation), ``switcher`` (their language switchers lead
    to each other), ``url`` (equal but for language identifiers, and those agree with the content; CCAligned 2020,
    section 3.2.3). A page is in at most one pair: the better score wins, then the earlier.
    """

    def __init__(self, pair: LanguagePair) -> None:
        self._pair = pair
        self._languages = pair.languages
        self._held: dict[str, _Held] = {}
        self._by_key: defaultdict[str, list[str]] = defaultdict(list)
        self._claimed_by: defaultdict[str, list[str]] = defaultdict(list)
        self._aliases: dict[str, str] = {}
        self._names: defaultdict[str, list[str]] = defaultdict(list)
        self._candidates: dict[tuple[str, str], Pair] = {}
        self._partner: dict[str, Pair] = {}
        self._rejected: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._partner) // 2

    @property
    def held(self) -> int:
        """Documents seen."""
        return len(self._held)

    def alias(self, url: str, target: str) -> None:
        """*url* was found to redirect to *target*: what is said of the one is said of the other."""
        self._aliases[url] = target
        self._names[target].append(url)

    def add(self, document: Document) -> list[Pair]:
        """Take in a document; returns the pairs it completes."""
        if document.url in self._held:
            return []
        key = strip_language(document.url, self._languages)
        claims = frozenset(url for language, url in document.alternates if self._is_other(document.language, language))
        held = _Held(
            document.url,
            document.language,
            len(document.text),
            key,
            claims,
            frozenset(url for _, url in document.switches),
        )
        self._held[held.url] = held
        if len(self._by_key[key]) < MAX_VARIANTS:
            self._by_key[key].append(held.url)
        for url in claims | held.switches:
            self._claimed_by[url].append(held.url)
        found = [pair for other in self._related(held) if (pair := self._judge(held, self._held[other]))]
        return [pair for pair in sorted(found, key=lambda pair: -pair.score) if self._accept(pair)]

    def pairs(self) -> list[Pair]:
        """The best one-to-one choice among all candidates so far, best first."""
        taken: set[str] = set()
        chosen = []
        for pair in sorted(self._candidates.values(), key=lambda pair: -pair.score):
            if taken.isdisjoint((pair.url_a, pair.url_b)):
                taken |= {pair.url_a, pair.url_b}
                chosen.append(pair)
        return chosen

    def unpaired(self) -> list[Unpaired]:
        """The documents that are in no pair: ``no_candidate`` or ``taken``."""
        paired = {url for pair in self.pairs() for url in (pair.url_a, pair.url_b)}
        nearest: dict[str, tuple[str, float]] = {}
        for pair in sorted(self._candidates.values(), key=lambda pair: pair.score):
            nearest[pair.url_a] = pair.url_b, pair.score
            nearest[pair.url_b] = pair.url_a, pair.score
        return [
            Unpaired(url, "taken", *nearest[url]) if url in nearest else Unpaired(url, "no_candidate")
            for url in self._held
            if url not in paired
        ]

    def refused(self, pairs: int) -> Counter[str]:
        """Why candidates made none of the *pairs*: ``length``, ``marker_disagrees`` or ``taken``."""
        taken = len(self._candidates) - pairs
        return self._rejected + Counter(taken=taken)

    def adopt(self, pair: Pair) -> None:
        """Take in a pair that was found otherwise, in an earlier run."""
        if pair.url_a in self._held and pair.url_b in self._held:
            self._candidates[pair.url_a, pair.url_b] = pair
            self._accept(pair)

    def _is_other(self, side: str, language: str) -> bool:
        return self._pair.side(language) == self._pair.other(side)

    def _related(self, document: _Held) -> Iterator[str]:
        urls = [*self._resolved(document.claims | document.switches), *self._by_key[document.key]]
        for name in (document.url, *self._names.get(document.url, ())):
            urls += self._claimed_by[name]
        return (url for url in dict.fromkeys(urls) if url in self._held)

    def _resolved(self, urls: Iterable[str]) -> set[str]:
        return {self._aliases.get(url, url) for url in urls}

    def _judge(self, one: _Held, other: _Held) -> Pair | None:
        if one.side == other.side:
            return None
        method = self._method(one, other)
        if method is None:
            return None
        shorter, longer = sorted((one.length, other.length))
        if longer > MAX_LENGTH_RATIO * max(shorter, 1):
            self._rejected["length"] += 1
            return None
        a, b = (one, other) if one.side == self._pair.a else (other, one)
        pair = Pair(a.url, b.url, SCORES[method], method.rstrip("+"))
        self._candidates[pair.url_a, pair.url_b] = pair
        return pair

    def _method(self, one: _Held, other: _Held) -> str | None:
        claims = (other.url in self._resolved(one.claims)) + (one.url in self._resolved(other.claims))
        if claims:
            return "hreflang+" if claims == 2 else "hreflang"
        if other.url in self._resolved(one.switches) and one.url in self._resolved(other.switches):
            return "switcher"
        if one.key != other.key:
            return None
        if not (self._agrees(one) and self._agrees(other)):
            self._rejected["marker_disagrees"] += 1
            return None
        return "url"

    def _agrees(self, document: _Held) -> bool:
        """The URL's language identifier, if there is one, is that of the content."""
        marked = marked_language(document.url, self._languages)
        return marked is None or self._pair.side(marked) in (None, document.side)

    def _accept(self, pair: Pair) -> bool:
        rivals = [self._partner.get(pair.url_a), self._partner.get(pair.url_b)]
        if any(rival is not None and rival.score >= pair.score for rival in rivals):
            return False
        for rival in rivals:
            if rival is not None:
                self._partner.pop(rival.url_a, None)
                self._partner.pop(rival.url_b, None)
        self._partner[pair.url_a] = self._partner[pair.url_b] = pair
        return True
