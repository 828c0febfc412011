"""Evidence: URL rewrite rules from the pairs of a site."""

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

    from bilingual_crawler.pages.model import Link, PageRecord
    from bilingual_crawler.policies.evidence.base import Belief, Target
    from bilingual_crawler.urls.rewriting import Rewriting

MAX_RULES = 8
"""Maximum rules of a site, the most reliable ones."""
MAX_SINGLE = 10_000
"""Maximum rewritings with a single pair, of all sites."""
MAX_EXPECTED = 50_000
"""Maximum URLs at which a rule expects a page, the latest, some 500 bytes each."""
MAX_DOCUMENTS = 1000
"""Maximum documents of a site on which a new rule is tried, the latest."""


@dataclass
class _Rule:
    """A rewriting of the URLs of documents in the first language into those of their partners, and back."""

    forward: Rewriting
    right: float
    """Pairs that follow the rule."""
    wrong: float
    """Documents at a target of the rule that are not the partner."""
    back: Rewriting = field(init=False)

    def __post_init__(self) -> None:
        self.back = self.forward.inverse

    @property
    def reliability(self) -> float:
        return self.right / (self.right + self.wrong)

    def target(self, url: str, index: int) -> str | None:
        """URL of the partner of *url*, a document in the language with this *index*, by the rule, or None."""
        there, back = (self.back, self.forward) if index else (self.forward, self.back)
        target = there.apply(url)
        return target if target != url and target is not None and back.apply(target) == url else None


@dataclass
class Substitutions(PartnerEvidence):
    """Learns URL rewrite rules from confirmed pairs.

    The second pair with the same rewriting makes it a rule of its site. The rule is tried on all documents held, and on
    every later one.
    """

    name: ClassVar[str] = "substitutions"
    right: float = 1.0
    wrong: float = 1.0
    """Prior counts of a rule: right, wrong."""
    least: float = 0.5
    """Minimum reliability of a rule that proposes pairs."""
    slope: float = 2.0
    base: float = 0.4
    """Factor of P(completes): ``slope`` x belief in the other language + ``base``, at most 1."""

    def __post_init__(self) -> None:
        self._rules: defaultdict[str, dict[Rewriting, _Rule]] = defaultdict(dict)
        self._single: LRUCache[tuple[str, Rewriting], str] = LRUCache(MAX_SINGLE)
        """Site and rewriting -> its first document."""
        self._documents: defaultdict[str, deque[str]] = defaultdict(lambda: deque(maxlen=MAX_DOCUMENTS))
        self._expected: LRUCache[str, dict[str, _Rule]] = LRUCache(MAX_EXPECTED)
        """URL -> documents whose partner is expected there, with the rule."""
        self._proposals: deque[tuple[str, Proposal]] = deque()

    def candidates(self, page: PageRecord, links: Sequence[Link]) -> Iterable[Proposal]:
        return [
            Proposal(url, self.name, rule.reliability)
            for url, rule in self._expected.get(page.url, {}).items()
            if rule.reliability >= self.least
        ]

    def proposals(self) -> Iterator[tuple[str, Proposal]]:
        while self._proposals:
            yield self._proposals.popleft()

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> Iterable[str]:
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
            # a pair of an earlier run, whose documents are unknown
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
        """Try the new *rule* on the documents held; return its queued targets."""
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
        """The documents at *urls* that *rule* applies to, each with the target of the rule."""
        targets = ((url, rule.target(url, self.known.index(self.known.side(url)))) for url in urls)
        return [(url, target) for url, target in targets if target is not None]

    def _expect(self, rule: _Rule, targets: Iterable[tuple[str, str]]) -> list[str]:
        """Store the *targets* that are not held yet; return the queued ones."""
        awaited = [(url, target) for url, target in targets if self.known.side(target) is None]
        for url, target in awaited:
            self._expected.setdefault(target, {})[url] = rule
        return [target for _, target in awaited if self.known.is_queued(target)]
