"""The order in which a discovery visits targets (Barbosa et al. 2011), and the classifiers that it learns."""

from __future__ import annotations

import math
import re
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import unquote, urlsplit

import numpy as np
import snowballstemmer
import stop_words

from bilingual_crawler.languages.codes import LanguagePair, base_of, language_name
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.words import LETTERS
from bilingual_crawler.plugins import SITE_ORDERS, PluginError
from bilingual_crawler.scoring.linear import logistic
from bilingual_crawler.urls.hosts import registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.pages.model import PageRecord
    from bilingual_crawler.scoring.models import LanguageModel

MAX_WORD = 40  # characters of a word; longer ones are cut into several
_WORD = re.compile(LETTERS)


def words(text: str, language: str = "un") -> list[str]:
    """The words of *text*, in order, by the stop words and the stemmer of *language* (ISO 639-3) if there are any.

    >>> words("The hotels of Málaga", "eng")
    ['hotel', 'málaga']
    """
    unwanted, stem = _tools(language)
    long = _WORD.findall(text.casefold())
    found = (word[start : start + MAX_WORD] for word in long for start in range(0, len(word), MAX_WORD))
    return [stem(word) for word in found if len(word) > 1 and word not in unwanted]


@lru_cache(maxsize=64)
def _tools(language: str) -> tuple[frozenset[str], Callable[[str], str]]:
    name = language_name(base_of(language)).casefold()
    unwanted = stop_words.get_stop_words(name) if name in stop_words.AVAILABLE_LANGUAGES else ()
    if name not in snowballstemmer.algorithms():
        return frozenset(unwanted), str
    return frozenset(unwanted), lru_cache(maxsize=65536)(snowballstemmer.stemmer(name).stemWord)


class Way(StrEnum):
    """Forth to the site of a link, back to a page with a link to a bilingual site, or inside a site."""

    FORTH = "forth"
    BACK = "back"
    INSIDE = "inside"


@dataclass(frozen=True)
class Hop:
    """A way from a page to another that may be, or may lead to, a bilingual site."""

    way: Way
    url: str
    parent: str = ""
    """The page from which it was found; empty for seeds and candidates."""
    anchor: str = ""
    around: str = ""
    """Text of the block in which the link stands."""
    language: str = "un"
    """Of that text, ISO 639-3."""
    prior: float = 0.0
    """Prior by the source of the candidate or backlink, 0 to 1."""
    guessed_scheme: bool = False
    """The source of the backlink names no scheme: https is tried first, then http."""

    @cached_property
    def site(self) -> str:
        """The registered domain to which it leads, the unit of discovery."""
        return registered_domain(self.url)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words, each with its context, once each: the same word in two contexts is two features."""
        parts = urlsplit(self.url)
        found = {f"host:{word}" for word in words(parts.hostname or "")}
        texts = {"path": unquote(f"{parts.path} {parts.query}"), "anchor": self.anchor, "around": self.around}
        for context, text in texts.items():
            found.update(f"{context}:{word}" for word in words(text, self.language))
        return tuple(sorted(found))


def entry_page(url: str) -> str:
    """The page from which the site of *url* is judged: the root of its host.

    >>> entry_page("https://www.example.org/en/rooms?x=1")
    'https://www.example.org/'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"


class OnlineLogistic:
    """Logistic regression on features hashed to *size*, a power of two, learnt by AdaGrad (Duchi 2011)."""

    def __init__(self, size: int = 1 << 18, rate: float = 0.2, bias: float = 0.0) -> None:
        self._mask, self._rate, self._bias = size - 1, rate, bias
        self._weights = np.zeros(size)
        self._squares = np.full(size, 1e-2)

    def features(self, names: Iterable[str]) -> NDArray[np.int64]:
        """The places of the features *names*; the same in every process."""
        places = [zlib.crc32(name.encode("utf-8", "surrogatepass")) & self._mask for name in names]
        return np.unique(np.array(places, dtype=np.int64))

    def probability(self, features: NDArray[np.int64]) -> float:
        return logistic(self._bias + float(self._weights[features].sum()))

    def assume(self, name: str, odds: float) -> None:
        """The feature *name* adds *odds* (natural logarithm) before anything is learnt."""
        self._weights[self.features([name])] += odds

    def observe_example(self, features: NDArray[np.int64], outcome: float) -> None:
        """Update the weights by an example with *outcome*, 0 to 1."""
        gradient = self.probability(features) - outcome
        self._squares[features] += gradient * gradient
        self._weights[features] -= self._rate * gradient / np.sqrt(self._squares[features])


class NaiveBayes:
    """Multinomial Naive Bayes over bags of words with Laplace smoothing (McCallum & Nigam 1998)."""

    def __init__(self, examples: Iterable[tuple[Sequence[str], bool]]) -> None:
        self._words = {True: Counter[str](), False: Counter[str]()}
        self._examples = {True: 0, False: 0}
        for words, relevant in examples:
            self._words[relevant].update(words)
            self._examples[relevant] += 1
        vocabulary = len(self._words[True] | self._words[False])
        self._smoothed = {label: self._words[label].total() + vocabulary for label in (True, False)}

    @property
    def trained(self) -> bool:
        return all(self._examples.values())

    def probability(self, words: Iterable[str]) -> float:
        odds = math.log(self._examples[True] / self._examples[False])
        for word in words:
            if word in self._words[True] or word in self._words[False]:
                odds += math.log((self._words[True][word] + 1) / self._smoothed[True])
                odds -= math.log((self._words[False][word] + 1) / self._smoothed[False])
        return logistic(odds)


KNOWN_SITES = 100_000


class AddressReader:
    """Reads addresses of sites for a pair of languages by the language model of URLs."""

    def __init__(self, pair: LanguagePair, model: LanguageModel) -> None:
        read = model.reader(LanguagePairs((pair,)))
        self._rarer = lru_cache(KNOWN_SITES)(lambda entry: float(read([entry]).min()))

    def rarer(self, url: str) -> float:
        """Probability of the less likely language of the pair for the entry page of the site of *url*."""
        return self._rarer(entry_page(url))


MAX_HOPS = 20


@dataclass(eq=False, slots=True)
class HopSource:
    """A visited page whose links are followed."""

    url: str
    reached: HopTarget | None
    """As what it was visited; None for pages that an inspection downloaded."""
    bilingual: bool
    tried: int = 0
    """Sites that it links to and that have been judged since."""
    found: int = 0
    """Judged sites among them that are bilingual."""


@dataclass(eq=False, slots=True)
class HopTarget:
    """A page that may be visited: the entry page of a site, or a page with links to sites."""

    url: str
    way: Way
    hops: list[Hop] = field(default_factory=list)
    sources: list[HopSource] = field(default_factory=list)

    def add(self, hop: Hop, source: HopSource | None) -> None:
        if len(self.hops) < MAX_HOPS:
            self.hops.append(hop)
            if source is not None:
                self.sources.append(source)

    @property
    def backwards(self) -> bool:
        """Whether it is visited for the links that it has."""
        return self.way is not Way.FORTH

    @property
    def words(self) -> set[str]:
        return {word for hop in self.hops for word in hop.words}


RELEARN_AFTER = 20_000  # pages between two learning iterations of ``cobfc`` (section 3.1)
GAMMA = 0.5  # discount of ``both`` for a bilingual site one hop further
RATE, BIAS = 0.1, -2.0
"""Step of the online learners, and what they assume at first: one site in eight is bilingual."""
TRUST = 0.5
"""Exponent of the odds that ``both`` assumes: that a link is as good as the others of its page, and of an address."""
NEUTRAL = 0.01  # probability of the rarer language by the address of a site that speaks neither for nor against it
MAX_HALVES = 14  # steps in which the probability of a language counts, each a factor of the root of ten
ON_TOPIC = 0.5  # share of the mean likeness of the seeds to each other that makes a page one of their topic
TOPIC_TEXT = 20_000


class SiteOrder(ABC):
    """Gives targets their priority; higher is sooner, ties go by discovery. A discovery makes one."""

    name: ClassVar[str]
    inside: ClassVar[bool] = False
    """Whether all links within a site are followed, and not only those to pages that list links."""

    def __init__(self, addresses: AddressReader) -> None:
        self.addresses = addresses

    def expands(self, page: PageRecord, target: HopTarget | None) -> bool:
        """Whether the links of *page*, visited as *target*, are looked at."""
        return True

    def follows(self, hop: Hop, source: HopSource) -> bool:
        """Whether *hop*, which *source* has, leads to a target."""
        return True

    @abstractmethod
    def priority(self, target: HopTarget) -> float:
        """From 0 to 1."""

    def judged(self, target: HopTarget, bilingual: bool) -> None:  # noqa: B027
        """The site of *target*, its entry page, has been judged."""

    def led(self, target: HopTarget, bilingual: bool) -> None:  # noqa: B027
        """The links of the page *target* led to a site that has been judged."""

    def relearnt(self, pages: int) -> bool:
        """Whether all targets are to be weighed again now that *pages* have been downloaded."""
        return False


class Forward(SiteOrder):
    """``fc``: follows the links of every page at random and without restriction, within sites too (section 3.1)."""

    name = "fc"
    inside = True

    def follows(self, hop: Hop, source: HopSource) -> bool:
        return hop.way is not Way.BACK

    def priority(self, target: HopTarget) -> float:
        return int.from_bytes(blake2b(target.url.encode(), digest_size=6).digest()) / (1 << 48)


class BackAndForth(SiteOrder):
    """``obfc``: Algorithm 1, in order of discovery: links back to bilingual sites, and links of the pages found so."""

    name = "obfc"

    def follows(self, hop: Hop, source: HopSource) -> bool:
        if hop.way is Way.FORTH:
            return source.reached is not None and source.reached.way is Way.BACK
        return hop.way is Way.BACK

    def priority(self, target: HopTarget) -> float:
        return 0.0


class ClassifiedBackAndForth(BackAndForth):
    """``cobfc``: as ``obfc``, by two Naive Bayes classifiers, relearnt every *relearn_after* pages (section 2.3)."""

    name = "cobfc"

    def __init__(self, addresses: AddressReader, relearn_after: int = RELEARN_AFTER) -> None:
        super().__init__(addresses)
        self._relearn_after = relearn_after
        self._learnt_at = 0
        self._classifiers: dict[bool, NaiveBayes] = {}
        self._seen: dict[bool, dict[HopTarget, bool]] = {False: {}, True: {}}

    def priority(self, target: HopTarget) -> float:
        classifier = self._classifiers.get(target.backwards)
        if classifier is None:
            return 0.0
        return max((classifier.probability(hop.words) for hop in target.hops), default=0.0)

    def judged(self, target: HopTarget, bilingual: bool) -> None:
        self._seen[False][target] = bilingual

    def led(self, target: HopTarget, bilingual: bool) -> None:
        if target.backwards:
            self._seen[True][target] = self._seen[True].get(target, False) or bilingual

    def relearnt(self, pages: int) -> bool:
        if pages < self._learnt_at + self._relearn_after:
            return False
        self._learnt_at = pages
        for backwards, seen in self._seen.items():
            examples = [(hop.words, relevant) for target, relevant in seen.items() for hop in target.hops]
            classifier = NaiveBayes(examples)
            if classifier.trained:
                self._classifiers[backwards] = classifier
        return True


class BothWays(SiteOrder):
    """``both``: follows every link, by two online learners: P(the site is bilingual), and P(the sites to
    which its links lead are), the immediate and the delayed benefit. So it learns which kind of link pays.
    """

    name = "both"

    def __init__(self, addresses: AddressReader) -> None:
        super().__init__(addresses)
        self._immediate = OnlineLogistic(rate=RATE, bias=BIAS)
        self._delayed = OnlineLogistic(rate=RATE, bias=BIAS)
        self._judged = self._weighed_at = 0
        for learner in (self._immediate, self._delayed):
            for way in Way:
                for tenths in range(11):
                    share = min(max(tenths / 10, 0.05), 0.95)
                    odds = math.log(share / (1 - share))
                    learner.assume(f"way={way} best source={tenths}", TRUST * (odds - BIAS))
        for halves in range(MAX_HALVES + 1):
            self._immediate.assume(f"rarer language={halves}", TRUST * math.log(10 ** (-halves / 2) / NEUTRAL))

    def priority(self, target: HopTarget) -> float:
        features = self._features(target)
        now, later = self._immediate.probability(features), self._delayed.probability(features)
        return (now + GAMMA * later) / (1 + GAMMA)

    def judged(self, target: HopTarget, bilingual: bool) -> None:
        self._judged += 1
        self._immediate.observe_example(self._features(target), bilingual)

    def led(self, target: HopTarget, bilingual: bool) -> None:
        self._delayed.observe_example(self._features(target), bilingual)

    def relearnt(self, pages: int) -> bool:
        if self._judged < 1.1 * self._weighed_at + 10:
            return False
        self._weighed_at = self._judged
        return True

    def _features(self, target: HopTarget) -> NDArray[np.int64]:
        """The words and the number of the hops to *target*, their sources, and its address."""
        way, sources = f"way={target.way}", target.sources
        bilingual = sum(source.bilingual for source in sources)
        best = max(((source.found + 0.1) / (source.tried + 1) for source in sources), default=0.1)
        rarer = max(self.addresses.rarer(target.url), 10 ** (-MAX_HALVES / 2))
        evidence = {
            way,
            f"{way} linked={min(len(sources), 4)}",
            f"{way} bilingual={min(bilingual, 4)}",
            f"{way} bilingual share={round(4 * bilingual / max(1, len(sources)))}",
            # how many tenths of the other links of the best page with the link are good
            f"{way} best source={round(10 * best)}",
            # the address gives the rarer language a probability of 10 to the power of minus half of this
            f"rarer language={round(-2 * math.log10(rarer))}",
        }
        return self._immediate.features(target.words | evidence)


class Focused(SiteOrder):
    """``focc``: the focused crawler of Chakrabarti 2002 on the topic of the seeds (section 3.1).

    Links of pages on the topic are followed, in the order of a classifier that learns it online. Seeds give no examples
    of other topics, so pages are compared by the cosine to the mean of the seeds' bags of words.
    """

    name = "focc"

    def __init__(self, addresses: AddressReader) -> None:
        super().__init__(addresses)
        self._topic: Counter[str] = Counter()
        self._likeness: list[float] = []
        self._links = OnlineLogistic(rate=RATE)

    def expands(self, page: PageRecord, target: HopTarget | None) -> bool:
        bag = Counter(words(page.text[:TOPIC_TEXT], page.language))
        product = sum(count * self._topic[word] for word, count in bag.items())
        squares = (sum(count * count for count in one.values()) for one in (bag, self._topic))
        likeness = product / math.sqrt(math.prod(squares)) if product else 0.0  # the cosine
        if target is not None and not target.sources:
            if self._topic:
                self._likeness.append(likeness)
            self._topic += bag
            return True
        mean = sum(self._likeness) / len(self._likeness) if self._likeness else 1.0
        on_topic = likeness >= ON_TOPIC * mean
        if target is not None:
            self._links.observe_example(self._links.features(target.words), on_topic)
        return on_topic

    def follows(self, hop: Hop, source: HopSource) -> bool:
        return hop.way is not Way.BACK

    def priority(self, target: HopTarget) -> float:
        return self._links.probability(self._links.features(target.words))


def site_order(text: str, addresses: AddressReader) -> SiteOrder:
    """The policy called *text*, or ``cobfc:N``, which is relearnt every N pages; raises PluginError."""
    name, pages = SITE_ORDERS.split(text)
    kind: type[SiteOrder] = SITE_ORDERS.find(name)
    if not pages:
        return kind(addresses)
    if issubclass(kind, ClassifiedBackAndForth) and pages[0].isdecimal() and int(pages[0]):
        return kind(addresses, int(pages[0]))
    raise PluginError(f"only cobfc takes a number, of 1 or more pages: cobfc:{RELEARN_AFTER}")
