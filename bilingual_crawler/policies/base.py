"""What a policy is: it turns the links of a page into priorities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

from bilingual_crawler.frontier.entry import NEVER
from bilingual_crawler.pairing.book import Book

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bilingual_crawler.items import Proposal, Wanted
    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pages.model import Link, PageRecord
    from bilingual_crawler.scoring.links import LinkScore

Scores: TypeAlias = "Sequence[LinkScore] | None"
"""A score for each link; None unless the policy needs models and the page has a side."""


class PolicyError(ValueError):
    """A policy has no such part, or two of one name."""


class Promise(NamedTuple):
    """What the queued URLs of a site are expected to bring."""

    urls: int
    pairs: float


class Policy(ABC):
    """Turns the links of a page into priorities, for one pair: higher is sooner, ties go by discovery."""

    name: ClassVar[str]
    needs_models: ClassVar[bool] = False
    promises_pairs: ClassVar[bool] = False
    """Whether the priority of a URL is the number of pairs that its download is expected to bring."""

    def __init__(self, pair: LanguagePair) -> None:
        self.pair = pair
        self.book = Book(pair)
        """The documents, which a ledger adds before the policy learns them."""

    @property
    def parts(self) -> Sequence[Policy]:
        """The policies of single pairs that it consists of: they learn, and it weighs."""
        return (self,)

    def seed_priority(self, url: str) -> float:
        """Seeds come first."""
        return float("inf")

    def candidates(self, page: PageRecord, links: Sequence[Link]) -> Iterable[Proposal]:
        """Propose translations of *page* by evidence that the ledger lacks; called before :meth:`observe_page`."""
        return ()

    def observe_page(self, page: PageRecord, links: Sequence[Link], partner: str | None = None) -> None:  # noqa: B027
        """Learn a downloaded *page* and its *links*, not pushed yet; *partner*: with which it completes a pair."""

    def observe_pair(self, url: str, partner: str) -> None:  # noqa: B027
        """Learn a pair that was found after :meth:`observe_page` of both documents."""

    def proposals(self) -> Iterable[tuple[str, Proposal]]:
        """Propose pairs by what was learnt since the last call: a document, and its possible translation."""
        return ()

    def changed(self) -> Mapping[str, float]:
        """Return the new priorities of queued URLs by what was learnt since the last call."""
        return {}

    def reconsider(self, url: str, priority: float) -> float:
        """Return the priority of *url* when its turn has come; a lower one sends it back into the queue."""
        return priority

    def promise(self, site: str) -> Promise | None:
        """Return what the queued URLs of *site*, a registered domain, promise; None if the policy promises no pairs."""
        return None

    def terms(self, url: str) -> Mapping[str, float]:
        """Return the terms of the priority of *url* by name; empty if the policy does not keep them."""
        return {}

    def observe_links(self, page: PageRecord, links: Sequence[Link]) -> None:  # noqa: B027
        """Learn *links* of *page* to queued URLs in a resume, as :meth:`priorities` did."""

    def resume(self, queued: Iterable[str]) -> None:  # noqa: B027
        """Begin a run with the *queued* URLs of an earlier one, after its pages were learnt."""

    def recall(self, fact: bytes) -> None:  # noqa: B027
        """Learn a *fact* that the spider of this or an earlier run has kept of a page."""

    def wanted(self) -> Sequence[Wanted]:
        """Return URLs to fetch although no page links to them, by what was learnt since the last call."""
        return ()

    def observe_failure(self, url: str) -> None:  # noqa: B027
        """Learn that the download of *url* gave no page; :meth:`drop_url` follows."""

    def drop_url(self, url: str) -> None:  # noqa: B027
        """Forget the queued *url*: it gave no page, or was done before."""

    def observe_redirect(self, url: str, target: str) -> None:  # noqa: B027
        """Learn that *url* redirects to *target*, which is queued now or was known before."""

    @abstractmethod
    def expands(self, page: PageRecord) -> bool:
        """Return whether links of *page* are followed."""

    @abstractmethod
    def priorities(self, page: PageRecord, links: Sequence[Link], scores: Scores) -> Sequence[float]:
        """Return a priority for each link."""


class Jointly(Policy):
    """Weighs by *parts*, one for each pair: the sum of the pairs that they promise, or else the greatest priority."""

    def __init__(self, parts: Sequence[Policy]) -> None:
        self._parts = parts
        kind = type(parts[0])
        self.name, self.needs_models = kind.name, kind.needs_models  # type: ignore[misc]
        self.promises_pairs = kind.promises_pairs  # type: ignore[misc]

    @property
    def parts(self) -> Sequence[Policy]:
        return self._parts

    def seed_priority(self, url: str) -> float:
        return self._joint([part.seed_priority(url) for part in self._parts])

    def terms(self, url: str) -> Mapping[str, float]:
        return {f"{part.pair} {name}": value for part in self._parts for name, value in part.terms(url).items()}

    def changed(self) -> Mapping[str, float]:
        changed: dict[str, float] = {}
        for url, priority in chain.from_iterable(part.changed().items() for part in self._parts):
            changed[url] = max(priority, changed.get(url, NEVER))
        return {url: self.reconsider(url, priority) for url, priority in changed.items()}

    def reconsider(self, url: str, priority: float) -> float:
        return self._joint([part.reconsider(url, priority) for part in self._parts])

    def expands(self, page: PageRecord) -> bool:
        return any(part.expands(page.seen_by(part.pair)) for part in self._parts)

    def priorities(self, page: PageRecord, links: Sequence[Link], scores: Scores) -> Sequence[float]:
        weighed = [part.priorities(page.seen_by(part.pair), links, scores) for part in self._parts]
        return [
            # a part that has nothing new to say of a URL stays with what it thought
            self.reconsider(link.url, 0.0) if self.promises_pairs and max(each) != NEVER else self._joint(each)
            for link, *each in zip(links, *weighed, strict=True)
        ]

    def _joint(self, priorities: Sequence[float]) -> float:
        return sum(priorities) if self.promises_pairs else max(priorities)
