"""Evidence: documents whose URL is rewritten into that of their partner as in other pairs of the site."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from cachetools import LRUCache

from bilingual_crawler.items import Proposal
from bilingual_crawler.policies.evidence.base import PartnerEvidence, part_left
from bilingual_crawler.urls.canonical import domain_label
from bilingual_crawler.urls.rewriting import rewriting_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bilingual_crawler.items import FetchedPage
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.evidence.base import Belief, Target
    from bilingual_crawler.urls.rewriting import Rewriting

MAX_RULES = 8
"""Rules of a site, the most reliable ones."""
MAX_SINGLE = 10_000
"""Rewritings that only one pair has shown yet, of all sites."""
MAX_EXPECTED = 50_000
"""URLs at which a rule expects a page, some 500 bytes each, those that came last."""
MAX_DOCUMENTS = 1000
"""Documents of a site on which a new rule is tried, those that came last."""


@dataclass
class _Rule:
    """A rewriting of the URLs of documents in the first language into those of their partners, and back."""

    forward: Rewriting
    right: float
    """Pairs that follow the rule."""
    wrong: float
    """Documents that are not the partners of those that the rule leads to them from."""
    back: Rewriting = field(init=False)

    def __post_init__(self) -> None:
        self.back = self.forward.inverse

    @property
    def reliability(self) -> float:
        return self.right / (self.right + self.wrong)

    def target(self, url: str, index: int) -> str | None:
        """Where the partner of the document at *url*, in the language with this *index*, should be."""
        there, back = (self.back, self.forward) if index else (self.forward, self.back)
        target = there.apply(url)
        return target if target != url and target is not None and back.apply(target) == url else None


@dataclass
class Substitutions(PartnerEvidence):
    """What two pairs of a site have in common holds for others, whatever is replaced in their URLs.

    A rewriting becomes a rule of its site with the second pair that shows it. It is tried on the documents held, and on
    every later one.
    """

    name: ClassVar[str] = "substitutions"
    right: float = 1.0
    wrong: float = 1.0
    """Documents for which a rule was right, and was wrong, as if counted before it is tried."""
    least: float = 0.5
    """Reliability from which a rule proposes pairs."""
    slope: float = 2.0
    base: float = 0.4
    """The part of P(completes) that is left, ``slope`` x belief in the other language + ``base``, at most 1."""

    def __post_init__(self) -> None:
        self._rules: defaultdict[str, dict[Rewriting, _Rule]] = defaultdict(dict)
        self._single: LRUCache[tuple[str, Rewriting], str] = LRUCache(MAX_SINGLE)
        """Site and rewriting -> the document that showed it."""
        self._documents: defaultdict[str, deque[str]] = defaultdict(lambda: deque(maxlen=MAX_DOCUMENTS))
        self._expected: LRUCache[str, dict[str, _Rule]] = LRUCache(MAX_EXPECTED)
        """URL -> documents whose partner a rule expects there."""
        self._proposals: deque[tuple[str, Proposal]] = deque()

    def candidates(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[Proposal]:
        return [
            Proposal(url, self.name, rule.reliability)
            for url, rule in self._expected.get(page.url, {}).items()
            if rule.reliability >= self.least
        ]

    def proposals(self) -> Iterator[tuple[str, Proposal]]:
        while self._proposals:
            yield self._proposals.popleft()

    def observe_page(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[str]:
        for url, rule in self._expected.get(page.url, {}).items():
            rule.wrong += self.known.partner(page.url) != url
        if self.known.side(page.url) is None:
            return ()
        site = domain_label(page.url)
        self._documents[site].append(page.url)
        rules = self._rules.get(site, {}).values()
        return [url for rule in rules for url in self._expect(rule, self._targets(rule, [page.url]))]

    def observe_pair(self, url: str, partner: str) -> Iterable[str]:
        sides = self.known.side(url), self.known.side(partner)
        if None in sides:
            # a pair of an earlier run whose documents this run does not know
            return ()
        first, second = (url, partner) if sides[0] == self.known.pair.a else (partner, url)
        rewriting = rewriting_of(first, second)
        if rewriting is None:
            return ()
        site = domain_label(first)
        rules = self._rules[site]
        if rewriting in rules:
            rules[rewriting].right += 1
            return ()
        if self._single.setdefault((site, rewriting), first) == first:
            return ()
        return self._introduce(site, _Rule(rewriting, self.right, self.wrong))

    def completes(self, target: Target, belief: Belief) -> float:
        expected = self._expected.get(target.url)
        if not expected:
            return 0.0
        return max(
            (
                rule.reliability * part_left(belief[other], self.slope, self.base)
                for source, rule in expected.items()
                for _, other in self.known.lacking((source,))
            ),
            default=0.0,
        )

    def observe_redirect(self, url: str, target: str) -> None:
        if url in self._expected:
            self._expected.setdefault(target, {}).update(self._expected[url])

    def forget(self, url: str) -> None:
        self._expected.pop(url, None)

    def _introduce(self, site: str, rule: _Rule) -> Iterable[str]:
        """Try the new *rule* on the documents held; returns the queued URLs that it leads to."""
        targets = self._targets(rule, self._documents[site])
        held = [
            (url, target)
            for url, target in targets
            if self.known.side(url) == self.known.pair.a and self.known.side(target) is not None
        ]
        followed = sum(self.known.partner(url) == target for url, target in held)
        rule.right += followed
        rule.wrong += len(held) - followed
        rules = self._rules[site]
        if len(rules) >= MAX_RULES:
            worst = min(rules.values(), key=lambda one: one.reliability)
            if worst.reliability >= rule.reliability:
                return ()
            del rules[worst.forward]
        rules[rule.forward] = rule
        if rule.reliability >= self.least:
            self._proposals += (
                (url, Proposal(target, self.name, rule.reliability))
                for url, target in held
                if self.known.partner(url) is None and self.known.partner(target) is None
            )
        return self._expect(rule, targets)

    def _targets(self, rule: _Rule, urls: Iterable[str]) -> list[tuple[str, str]]:
        """The documents at *urls* that *rule* applies to, each with the URL where their partner should be."""
        targets = ((url, rule.target(url, self.known.index(self.known.side(url)))) for url in urls)
        return [(url, target) for url, target in targets if target is not None]

    def _expect(self, rule: _Rule, targets: Iterable[tuple[str, str]]) -> list[str]:
        """Remember *targets* that are not held yet; returns those that are queued."""
        awaited = [(url, target) for url, target in targets if self.known.side(target) is None]
        for url, target in awaited:
            self._expected.setdefault(target, {})[url] = rule
        return [target for _, target in awaited if self.known.is_queued(target)]
