"""In which order discovery visits sites: ours, and those that Barbosa 2011 compares."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, ClassVar

from bilingual_crawler.discovery.hops import Way
from bilingual_crawler.discovery.learners import NaiveBayes, OnlineLogistic
from bilingual_crawler.discovery.words import words

if TYPE_CHECKING:
    from bilingual_crawler.discovery.addresses import AddressReader
    from bilingual_crawler.discovery.detector.base import DetectorPage
    from bilingual_crawler.discovery.hops import Hop
    from bilingual_crawler.discovery.targets import Source, Target

RELEARN_AFTER = 20_000
"""Pages between two learning iterations of ``cobfc`` (section 3.1)."""
GAMMA = 0.5
"""What a bilingual site one hop further on is worth to ``both``."""
RATE, BIAS = 0.1, -2.0
"""Step of the online learners, and what they assume at first: one site in eight is bilingual."""
TRUST = 0.5
"""How far ``both`` believes at first that a link is as good as the other links of its page, and the address of a site:
their odds to this power. Learning goes on from there."""
NEUTRAL = 0.01
"""Probability of the rarer language by the address of a site that speaks neither for nor against it."""
MAX_HALVES = 14
"""Steps in which the probability of a language counts, each a factor of the root of ten."""
ON_TOPIC = 0.5
"""Share of the mean likeness of the seeds to each other that makes a page one of their topic."""
TOPIC_TEXT = 20_000
"""Characters of a page that are compared with the topic."""


class OrderError(ValueError):
    """There is no such policy of discovery; the message lists them."""


class SiteOrder(ABC):
    """Gives targets their priority; higher is sooner, ties go by discovery."""

    name: ClassVar[str]
    inside: ClassVar[bool] = False
    """Whether all links within a site are followed, and not only those to pages that list links."""

    def expands(self, page: DetectorPage, target: Target | None) -> bool:
        """Whether the links of *page*, visited as *target*, are looked at."""
        return True

    def follows(self, hop: Hop, source: Source) -> bool:
        """Whether *hop*, which *source* has, leads to a target."""
        return True

    @abstractmethod
    def priority(self, target: Target) -> float:
        """From 0 to 1."""

    def judged(self, target: Target, bilingual: bool) -> None:  # noqa: B027
        """The site of *target* has been judged."""

    def led(self, target: Target, bilingual: bool) -> None:  # noqa: B027
        """The links of the page *target* led to a site that has been judged."""

    def relearnt(self, pages: int) -> bool:
        """Whether all targets are to be weighed again now that *pages* have been downloaded."""
        return False


class Forward(SiteOrder):
    """``fc``: follows the links of every page at random and without restriction, within sites too (section 3.1)."""

    name = "fc"
    inside = True

    def follows(self, hop: Hop, source: Source) -> bool:
        return hop.way is not Way.BACK

    def priority(self, target: Target) -> float:
        return int.from_bytes(blake2b(target.url.encode(), digest_size=6).digest()) / (1 << 48)


class BackAndForth(SiteOrder):
    """``obfc``: Algorithm 1, in order of discovery.

    It follows the links back to bilingual sites, and the links of the pages found so. Links of other pages, and links
    within a site, are not followed.
    """

    name = "obfc"

    def follows(self, hop: Hop, source: Source) -> bool:
        if hop.way is Way.FORTH:
            return source.reached is not None and source.reached.way is Way.BACK
        return hop.way is Way.BACK

    def priority(self, target: Target) -> float:
        return 0.0


class ClassifiedBackAndForth(BackAndForth):
    """``cobfc``: as ``obfc``, in order of two Naive Bayes classifiers, for links forth and back (section 2.3).

    They are learnt after every *relearn_after* pages from all targets visited, and then weigh the whole frontier.
    """

    name = "cobfc"

    def __init__(self, relearn_after: int = RELEARN_AFTER) -> None:
        self._relearn_after = relearn_after
        self._learnt_at = 0
        self._classifiers: dict[bool, NaiveBayes] = {}
        self._immediate: dict[Target, bool] = {}
        self._delayed: dict[Target, bool] = {}

    def priority(self, target: Target) -> float:
        classifier = self._classifiers.get(target.backwards)
        if classifier is None:
            return 0.0
        return max((classifier.probability(hop.words) for hop in target.hops), default=0.0)

    def judged(self, target: Target, bilingual: bool) -> None:
        if target.backwards:
            self._delayed.setdefault(target, False)
        else:
            self._immediate[target] = bilingual

    def led(self, target: Target, bilingual: bool) -> None:
        if target.backwards:
            self._delayed[target] = self._delayed.get(target, False) or bilingual

    def relearnt(self, pages: int) -> bool:
        if pages < self._learnt_at + self._relearn_after:
            return False
        self._learnt_at = pages
        for backwards, seen in ((False, self._immediate), (True, self._delayed)):
            examples = [(hop.words, relevant) for target, relevant in seen.items() for hop in target.hops]
            classifier = NaiveBayes(examples)
            if classifier.trained:
                self._classifiers[backwards] = classifier
        return True


class BothWays(SiteOrder):
    """``both``: follows every link, back and forth, by what it pays.

    Two online learners weigh a target: the probability that its site is bilingual (immediate benefit), and the share of
    bilingual sites among those that its links lead to (delayed benefit). Both learn from words, the way of the links,
    the verdict on the sites that have them, how often the other links of these pages were good, and how likely the
    address of the site is in the rarer language. So they learn which kind of link pays, on this web and in this crawl.
    """

    name = "both"

    def __init__(self, addresses: AddressReader) -> None:
        self._addresses = addresses
        self._immediate = OnlineLogistic(rate=RATE, bias=BIAS)
        self._delayed = OnlineLogistic(rate=RATE, bias=BIAS)
        self._judged = 0
        self._weighed_at = 0
        for learner in (self._immediate, self._delayed):
            for way in Way:
                for tenths in range(11):
                    share = min(max(tenths / 10, 0.05), 0.95)
                    odds = math.log(share / (1 - share))
                    learner.assume(_best_source(way, tenths), TRUST * (odds - BIAS))
        for halves in range(MAX_HALVES + 1):
            self._immediate.assume(_rarer(halves), TRUST * math.log(10 ** (-halves / 2) / NEUTRAL))

    def priority(self, target: Target) -> float:
        features = self._immediate.features(self._evidence(target))
        now, later = self._immediate.probability(features), self._delayed.probability(features)
        return (now + GAMMA * later) / (1 + GAMMA)

    def judged(self, target: Target, bilingual: bool) -> None:
        self._judged += 1
        self._immediate.learn(self._immediate.features(self._evidence(target)), bilingual)

    def led(self, target: Target, bilingual: bool) -> None:
        self._delayed.learn(self._delayed.features(self._evidence(target)), bilingual)

    def relearnt(self, pages: int) -> bool:
        if self._judged < 1.1 * self._weighed_at + 10:
            return False
        self._weighed_at = self._judged
        return True

    def _evidence(self, target: Target) -> set[str]:
        """Names of the features of *target*: those of all its hops, how many of them there are, and its address."""
        names = _words(target) | {f"way={target.way}"}
        bilingual = sum(source.bilingual for source in target.sources)
        names.add(f"way={target.way} linked={_few(len(target.sources))}")
        names.add(f"way={target.way} bilingual={_few(bilingual)}")
        names.add(f"way={target.way} bilingual share={round(4 * bilingual / max(1, len(target.sources)))}")
        best = max(((one.found + 0.1) / (one.tried + 1) for one in target.sources), default=0.1)
        names.add(_best_source(target.way, round(10 * best)))
        rarer = max(self._addresses.rarer(target.url), 10 ** (-MAX_HALVES / 2))
        names.add(_rarer(round(-2 * math.log10(rarer))))
        return names


class Focused(SiteOrder):
    """``focc``: the focused crawler of Chakrabarti 2002 on the topic of the seeds (section 3.1).

    A page classifier restricts the crawl to pages of the topic: only their links are followed. A link classifier,
    learnt online from its verdicts, puts the links in order. Seeds give no examples of other topics, so the page
    classifier here is the cosine to the mean of the seeds' bags of words.
    """

    name = "focc"

    def __init__(self) -> None:
        self._topic: Counter[str] = Counter()
        self._likeness: list[float] = []
        self._links = OnlineLogistic(rate=RATE)

    def expands(self, page: DetectorPage, target: Target | None) -> bool:
        bag = Counter(words(page.text[:TOPIC_TEXT], page.language))
        likeness = _cosine(bag, self._topic)
        if target is not None and not target.sources:
            if self._topic:
                self._likeness.append(likeness)
            self._topic += bag
            return True
        mean = sum(self._likeness) / len(self._likeness) if self._likeness else 1.0
        on_topic = likeness >= ON_TOPIC * mean
        if target is not None:
            self._links.learn(self._links.features(_words(target)), on_topic)
        return on_topic

    def follows(self, hop: Hop, source: Source) -> bool:
        return hop.way is not Way.BACK

    def priority(self, target: Target) -> float:
        return self._links.probability(self._links.features(_words(target)))


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    product = sum(count * other[word] for word, count in one.items())
    return (
        product / math.sqrt(sum(c * c for c in one.values()) * sum(c * c for c in other.values())) if product else 0.0
    )


def _words(target: Target) -> set[str]:
    return {word for hop in target.hops for word in hop.words}


def _best_source(way: Way, tenths: int) -> str:
    """The feature that *tenths* of the other links of the best page with the link are good."""
    return f"way={way} best source={tenths}"


def _rarer(halves: int) -> str:
    """The feature that the address gives the rarer language a probability of 10 to the power of -*halves* / 2."""
    return f"rarer language={halves}"


def _few(count: int) -> int:
    return min(count, 4)


ORDERS: dict[str, type[SiteOrder]] = {
    order.name: order for order in (BothWays, BackAndForth, ClassifiedBackAndForth, Forward, Focused)
}


def site_order(name: str, addresses: AddressReader) -> SiteOrder:
    """The policy *name*, or ``cobfc:N`` for one that is relearnt every N pages; raises OrderError.

    ``both`` looks at the *addresses* of sites.
    """
    kind, colon, pages = name.partition(":")
    if kind == ClassifiedBackAndForth.name and (not colon or (pages.isdecimal() and int(pages))):
        return ClassifiedBackAndForth(int(pages or RELEARN_AFTER))
    if name == BothWays.name:
        return BothWays(addresses)
    if name not in ORDERS:
        raise OrderError(f"policy={name}: choose one of {', '.join(ORDERS)}, or cobfc:N to relearn it every N pages")
    return ORDERS[name]()
