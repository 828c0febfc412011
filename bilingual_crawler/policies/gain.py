"""Expected gain: which download completes a pair, or half of one, judged by all that the crawl knows."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from bilingual_crawler.frontier.entry import NEVER
from bilingual_crawler.items import Proposal
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.policies.base import Policy, PolicyError, Promise, Scores
from bilingual_crawler.policies.evidence.base import (
    Belief,
    Evidence,
    Known,
    LanguageEvidence,
    PartnerEvidence,
    Prospect,
    Target,
)
from bilingual_crawler.policies.evidence.claims import Claimed, CrossLinks, Hreflang, Mirrors, Switchers
from bilingual_crawler.policies.evidence.language import Folders, Labels, LinkingPages, Marks, Wording
from bilingual_crawler.policies.evidence.parallel_links import ParallelLinks
from bilingual_crawler.policies.evidence.prospects import NewText, PairRate, Served, Surplus
from bilingual_crawler.policies.evidence.shared_words import SharedWords

Kind = TypeVar("Kind", bound=Evidence)
Partners: TypeAlias = tuple[type[PartnerEvidence], ...]

LANGUAGE: tuple[tuple[type[LanguageEvidence], ...], ...] = ((Folders,), (LinkingPages,), (Marks,), (Labels, Wording))
"""Of each group, the first kind with something to say counts."""
PARTNER: Partners = (Hreflang, Switchers, CrossLinks, Mirrors, ParallelLinks, SharedWords, Surplus)
PROSPECTS: tuple[type[Prospect], ...] = (PairRate, Served)
TEXT: tuple[type[Prospect], ...] = (NewText, Claimed)
EVIDENCE: Mapping[str, type[Evidence]] = {kind.name: kind for kind in (*chain(*LANGUAGE), *PARTNER, *PROSPECTS, *TEXT)}


@dataclass(frozen=True, slots=True)
class GainWeights:
    """What the formula weighs itself; chosen on training sites, as are the weights of each kind of evidence."""

    prior: Belief = (0.3, 0.3, 0.4)
    """What is believed of the language of a page before anything is known of its site."""
    future: float = 0.25  # worth of a document whose other half is still to be fetched, as part of a pair
    counterpart: float = 0.8  # how far it is believed that the two halves of a pair are queued
    balance: float = 10.0
    """Documents that a language may have without a partner before more of it wait for the other language."""
    seed: float = 0.3  # added worth of a seed that is in a language of the pair


@dataclass(slots=True)
class Worth:
    """The terms of a URL's priority."""

    belief: Belief
    """That it is in the first language, in the second, in neither."""
    chances: Mapping[str, float]
    """Chance that it completes a pair, by each kind of partner evidence."""
    later: float
    """Worth as one half of a pair to come."""
    new_text: float
    """Part of the worth that is left, 0 to 1, by how many such pages are there, and how much new text they have."""
    seed: float

    @property
    def completes(self) -> float:
        return max(self.chances.values(), default=0.0)

    @property
    def total(self) -> float:
        return expected(self.completes, self.later, self.new_text, self.seed)


def expected(completes: float, later: float, new_text: float, seed: float) -> float:
    """Return the worth of a URL by its terms, see :class:`Worth`."""
    return (completes + later * (1 - completes)) * new_text + seed


class Gain(Policy):
    """The expected number of pairs that a download brings; docs/gain.md has the formula and each kind of evidence.

    *weights* replaces weights by name, ``kind.weight`` (``gain.weight`` for :class:`GainWeights`); the kinds *without*
    learn, but have no say; *added* are further kinds. Raises PolicyError for an unknown kind, and for two of one name.
    Links of pages in other languages, *bridges*, are followed. A worth is computed when a link is found, when a
    document arrives that it may belong to, and when its turn comes: the cost of a page never depends on the length of
    the queue.
    """

    name = "gain"
    promises_pairs = True

    def __init__(
        self,
        pair: LanguagePair,
        *,
        bridges: bool = True,
        weights: Mapping[str, Any] | None = None,
        without: Collection[str] = (),
        added: Collection[type[Evidence]] = (),
    ) -> None:
        super().__init__(pair)
        self._bridges = bridges
        given: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for key, value in (weights or {}).items():
            kind_name, _, weight = key.partition(".")
            given[kind_name][weight] = value
        names = [*EVIDENCE, *(kind.name for kind in added)]
        if twice := next((name for name in names if names.count(name) > 1 or name == self.name), None):
            raise PolicyError(f"gain has another evidence {twice}: give the class another name")
        for name in (*given, *without):
            if name not in names and name != self.name:
                raise PolicyError(f"gain has no evidence {name}; there are {', '.join(names)}")
        self._weights = GainWeights(**given[self.name])
        self._known = Known(self.book, self._weights.prior)
        self.book.listeners.append(self._part)

        def make(kinds: Iterable[type[Kind]]) -> list[Kind]:
            return [kind(self._known, **given[kind.name]) for kind in kinds]

        def asked(kinds: Iterable[Kind]) -> list[Kind]:
            return [kind for kind in kinds if kind.name not in without]

        groups = (*LANGUAGE, *((kind,) for kind in added if issubclass(kind, LanguageEvidence)))
        language = [make(group) for group in groups]
        partner = make((*PARTNER, *(kind for kind in added if issubclass(kind, PartnerEvidence))))
        prospects = make((*PROSPECTS, *(kind for kind in added if issubclass(kind, Prospect))))
        text = make(TEXT)
        self._evidence: list[Evidence] = [*chain(*language), *partner, *prospects, *text]
        # most kinds of evidence do not read the links of a page, or see no couples of queued URLs
        self._noting = [kind for kind in self._evidence if type(kind).observe_link is not Evidence.observe_link]
        self._language = [asked(group) for group in language]
        self._partner, self._prospects, self._text = asked(partner), asked(prospects), asked(text)
        self._couples = [kind for kind in self._partner if type(kind).counterpart is not PartnerEvidence.counterpart]
        self._changed: dict[str, None] = {}
        """Queued URLs to be weighed anew, in an order that does not depend on hashes."""
        self._seeds: set[str] = set()

    def explain(self, url: str) -> Worth:
        """Return the terms of what *url* is worth now: the formula of docs/gain.md."""
        target = self._known.target(url)
        belief = self._belief(target)
        chances = {kind.name: kind.completes(target, belief) for kind in self._partner}
        return Worth(belief, chances, *self._other_terms(target, belief))

    def _belief(self, target: Target) -> Belief:
        """What is believed of the language of *target*."""
        belief = self._known.prior
        for group in self._language:
            for kind in group:
                updated = kind.update(target, belief)
                if updated is not None:
                    belief = updated
                    break
        return belief

    def _other_terms(self, target: Target, belief: Belief) -> tuple[float, float, float]:
        """Worth as one half of a pair to come, part of the worth by new text, worth as a seed."""
        counterpart, prospect, new_text = 0.0, 1.0, 1.0
        for kind in self._couples:
            counterpart = max(counterpart, kind.counterpart(target))
        for each in self._prospects:
            prospect *= each.factor(target)
        for each in self._text:
            new_text *= each.factor(target)
        first, second = (single + self._weights.balance for single in self.book.unpaired_on(target.place.site))
        # nobody weighs the other language again, but it comes to the head of the queue when the worths there fall
        half = belief[0] * min(1.0, second / first) + belief[1] * min(1.0, first / second)
        later = self._weights.future * half * max(self._weights.counterpart * counterpart, prospect)
        seed = self._weights.seed * (belief[0] + belief[1]) if target.url in self._seeds else 0.0
        return later, new_text, seed

    def terms(self, url: str) -> Mapping[str, float]:
        worth = self.explain(url)
        languages = (self._known.pair.a, self._known.pair.b, "neither")
        return {
            "worth": worth.total,
            **{f"belief: {language}": share for language, share in zip(languages, worth.belief, strict=True)},
            **{f"completes a pair, by {kind}": chance for kind, chance in worth.chances.items()},
            "pair to come": worth.later,
            "new text": worth.new_text,
            "seed": worth.seed,
        }

    def seed_priority(self, url: str) -> float:
        """Seeds are worth more than other URLs, but not if they are known to be in another language."""
        self._seeds.add(url)
        self._known.enqueue(url)
        return self._weigh(url)

    def expands(self, page: PageRecord) -> bool:
        return self._bridges or page.seed or page.side is not None

    def candidates(self, page: PageRecord, links: Sequence[Link]) -> Iterable[Proposal]:
        return chain.from_iterable(kind.candidates(page, links) for kind in self._evidence)

    def proposals(self) -> Iterable[tuple[str, Proposal]]:
        return chain.from_iterable(kind.proposals() for kind in self._evidence)

    def observe_page(self, page: PageRecord, links: Sequence[Link], partner: str | None = None) -> None:
        self._known.dequeue(page.url)
        for kind in self._evidence:
            self._changed.update(dict.fromkeys(kind.observe_page(page, links) or ()))
            if partner:
                self._changed.update(dict.fromkeys(kind.observe_pair(page.url, partner) or ()))
            kind.forget(page.url)
        self._forget_lapsed()

    def observe_pair(self, url: str, partner: str) -> None:
        for kind in self._evidence:
            self._changed.update(dict.fromkeys(kind.observe_pair(url, partner) or ()))
        self._forget_lapsed()

    def priorities(self, page: PageRecord, links: Sequence[Link], scores: Scores) -> Sequence[float]:
        return [self._weigh(link.url) if self._is_news(page, link) else NEVER for link in links]

    def observe_links(self, page: PageRecord, links: Sequence[Link]) -> None:
        for link in links:
            self._is_news(page, link)

    def resume(self, queued: Iterable[str]) -> None:
        self._changed.clear()
        for url in queued:
            self._known.enqueue(url)
            self._weigh(url)

    def changed(self) -> Mapping[str, float]:
        changed, self._changed = self._changed, {}
        return {url: self._weigh(url) for url in changed}

    def reconsider(self, url: str, priority: float) -> float:
        return self._weigh(url)

    def promise(self, site: str) -> Promise:
        return self._known.promise(site)

    def observe_failure(self, url: str) -> None:
        for kind in self._evidence:
            kind.observe_failure(url)

    def drop_url(self, url: str) -> None:
        self._known.dequeue(url)
        for kind in self._evidence:
            kind.forget(url)

    def observe_redirect(self, url: str, target: str) -> None:
        for kind in self._evidence:
            kind.observe_redirect(url, target)
        self.drop_url(url)
        self._known.enqueue(target)

    def _weigh(self, url: str) -> float:
        """What *url* is worth now, noted for what its site promises; as :meth:`explain`, without the terms."""
        target = self._known.target(url)
        belief = self._belief(target)
        completes = max([kind.completes(target, belief) for kind in self._partner], default=0.0)
        worth = expected(completes, *self._other_terms(target, belief))
        self._known.note_worth(target, worth)
        return worth

    def _part(self, url: str, partner: str, number: int) -> None:
        if number < 0:
            for kind in self._evidence:
                kind.part_pair(url, partner)

    def _forget_lapsed(self) -> None:
        for url in self._known.lapsed():
            for kind in self._evidence:
                kind.forget(url)

    def _is_news(self, page: PageRecord, link: Link) -> bool:
        """Whether the link changes what its URL is worth; most lead to a queued URL and say nothing new of it."""
        news = False
        for kind in self._noting:
            news = kind.observe_link(page, link) or news
        return self._known.enqueue(link.url) or news
