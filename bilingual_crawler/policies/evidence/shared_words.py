"""Evidence: names, numbers and cognates common to the links of a URL and of a document in the other language."""

import re
import unicodedata
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log, sqrt
from typing import ClassVar
from urllib.parse import unquote

from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.pages.words import western_digits, word_pattern
from bilingual_crawler.policies.evidence.base import Belief, PartnerEvidence, Reliability, Target, part_left, place_of

MAX_URLS = 20_000  # maximum indexed URLs, queued ones and documents each: the latest, some 2 kB each
MAX_KNOWN = 200_000  # maximum words with a frequency; beyond it counting starts again
MAX_WORDS = 16  # maximum words of a URL
COMMON = 30  # maximum URLs of an indexed word
STEM = 5  # letters of a stem: "presentations" and "presentazioni" are cognates
STEPS = 5  # classes of shares, each with a reliability of its own

_WORD = re.compile(word_pattern(r"[^\W_]"))


class WordIndex:
    """URLs and the words that stand for them, always in the same order."""

    def __init__(self) -> None:
        self._words: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._having: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self.weights: dict[str, float] = {}
        """Cache: URL -> sum of the rarities of its words, until the next page."""

    def words(self, url: str) -> tuple[str, ...]:
        return self._words.get(url, ())

    def having(self, word: str) -> Collection[str]:
        """The URLs with the *word*; empty if too many."""
        urls = self._having.get(word, ())
        return urls if len(urls) <= COMMON else ()

    def add(self, url: str, words: Iterable[str]) -> Sequence[str]:
        """Add *words* of *url*; return the new ones."""
        known = self.words(url)
        new = tuple(sorted(set(words).difference(known))[: MAX_WORDS - len(known)])
        if new:
            self.weights.pop(url, None)
            self._words[url] = known + new
            for word in new:
                self._having[word][url] = None
            if len(self._words) > MAX_URLS:
                self.remove(next(iter(self._words)))
        return new

    def remove(self, url: str) -> None:
        self.weights.pop(url, None)
        for word in self._words.pop(url, ()):
            del self._having[word][url]
            if not self._having[word]:
                del self._having[word]


@dataclass
class SharedWords(PartnerEvidence):
    """Common words of a URL, with its link texts, and an unpaired document; rare ones count most; learnt by site."""

    name: ClassVar[str] = "shared_words"
    right: float = 1.0
    wrong: float = 6.0
    """Prior counts of the nearest documents: translations, others."""
    least: float = 0.5  # minimum cosine of the words, weighted by rarity
    believed: float = 0.05  # minimum reliability on a site for documents to be looked for
    slope: float = 2.0
    base: float = 0.2
    """Factor of P(completes), see :func:`part_left`."""

    def __post_init__(self) -> None:
        self._queued, self._documents = WordIndex(), WordIndex()
        self._times: Counter[str] = Counter()  # word -> number of URLs with it
        self._seen = 0
        self._new: Counter[str] = Counter()
        self._new_urls = 0
        """The same of the links since the last page."""
        self._rarities: dict[str, float] = {}
        """Cache: word -> rarity, until the next page; many URLs are weighed between two pages."""
        self._near: dict[str, None] = {}
        """URLs with words of the latest documents, to be weighed after every second one: most are of both."""
        self._rests = False
        self._right = Reliability(self.right, self.wrong)
        """By site, and by its classes of shares."""

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> Iterable[str]:
        self._count()
        site, nearest, partner = place_of(page.url).site, self._nearest(page.url), self.book.partner(page.url)
        if nearest and (partner or page.side is None or page.side == self.book.side(nearest[0])):
            self._right.count(site, (site, _step(nearest[1])), right=partner == nearest[0])
        if self.book.side(page.url) is None:
            return ()
        new = self._documents.add(page.url, _words_of_url(page.url).union(self._queued.words(page.url)))
        if self._believed(site):
            self._near.update(dict.fromkeys(url for word in new for url in self._queued.having(word)))
        self._rests = not self._rests
        if self._rests:
            return ()
        near, self._near = self._near, {}
        return filter(self.known.is_queued, near)

    def observe_pair(self, url: str, partner: str) -> None:
        self._documents.remove(url)
        self._documents.remove(partner)

    def observe_link(self, page: PageRecord, link: Link) -> bool:
        if self.known.is_queued(link.url):
            # an evicted URL returns with the words of the text, which is no new evidence
            known = bool(self._queued.words(link.url))
            new = self._queued.add(link.url, _words_of_text(link.text)) if link.text else ()
            self._new.update(new)
            return known and bool(new)
        self._new_urls += 1
        self._new.update(self._queued.add(link.url, _words_of_text(link.text) | _words_of_url(link.url)))
        return False

    def completes(self, target: Target, belief: Belief) -> float:
        site = target.place.site
        if not self._believed(site) or not (found := self._nearest(target.url)):
            return 0.0
        document, share = found
        other = 1 - self.known.index(self.book.side(document))
        reliability = self._right.probability((site, _step(share)))
        return share * reliability * part_left(belief[other], self.slope, self.base)

    def observe_redirect(self, url: str, target: str) -> None:
        self._queued.add(target, self._queued.words(url))

    def forget(self, url: str) -> None:
        self._queued.remove(url)

    def _believed(self, site: str) -> bool:
        return self._right.probability(site) >= self.believed

    def _nearest(self, url: str) -> tuple[str, float] | None:
        """The document nearest to *url*, and the cosine of their words, weighted by rarity; or None."""
        weight = self._weight(self._queued, url)
        # a document weighs as much as what it shares, or more
        needed = self.least * self.least * weight
        words = ((word, self._documents.having(word)) for word in self._queued.words(url))
        having = [(self._rarity(word), documents) for word, documents in words if documents]
        if not weight or sum(rarity for rarity, _ in having) < needed:
            return None
        shared: dict[str, float] = {}
        for rarity, documents in having:
            for document in documents:
                shared[document] = shared.get(document, 0.0) + rarity
        best, most = "", self.least
        for document, common in shared.items():
            if common >= needed:
                cosine = min(common / sqrt(weight * self._weight(self._documents, document)), 1.0)
                if cosine > most:
                    best, most = document, cosine
        return (best, most) if best else None

    def _rarity(self, word: str) -> float:
        rarity = self._rarities.get(word)
        if rarity is None:
            rarity = self._rarities[word] = max(0.0, log((self._seen + 2) / (self._times[word] + 1)))
        return rarity

    def _weight(self, index: WordIndex, url: str) -> float:
        weight = index.weights.get(url)
        if weight is None:
            weight = index.weights[url] = sum(map(self._rarity, index.words(url)))
        return weight

    def _count(self) -> None:
        """Count what came since the page before: between pages a rarity must not depend on when it was asked for."""
        self._times.update(self._new)
        self._seen += self._new_urls
        self._new.clear()
        self._new_urls = 0
        # what one page has added is bounded, too
        if len(self._times) > MAX_KNOWN:
            self._times.clear()
            self._seen = 0
        for cache in (self._rarities, self._queued.weights, self._documents.weights):
            cache.clear()


def _step(share: float) -> int:
    return min(int(share * STEPS), STEPS - 1)


def _words_of_url(url: str) -> frozenset[str]:
    path = url.partition("://")[2].partition("?")[0].partition("#")[0].partition("/")[2]
    return _words_of(unquote(path)[:200])


def _words_of(text: str) -> frozenset[str]:
    """Numbers, and the stems of words without accents."""
    plain = western_digits(text.lower())
    if not plain.isascii():
        plain = "".join(sign for sign in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(sign))
    words = (word for word in _WORD.findall(plain) if word.isdigit() or len(word) > 2)
    return frozenset(word if word.isdigit() else word[:STEM] for word in words)


_words_of_text = lru_cache(1 << 14)(_words_of)  # cached: many links have the same text, but each has another URL
