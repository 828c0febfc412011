"""What a policy is: it turns the links of a page into priorities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from bilingual_crawler.frontier.entry import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bilingual_crawler.items import FetchedPage, Proposal, Wanted
    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.scoring.links import LinkScore


SEED_PRIORITY = float("inf")
"""Sooner than everything else."""


class PolicyError(ValueError):
    """There is no such policy, or it has no such part."""


class Policy(ABC):
    """Turns the links of a page into priorities; higher is sooner, ties go by discovery."""

    name: ClassVar[str]
    needs_models: ClassVar[bool] = False
    promises_pairs: ClassVar[bool] = False
    """Whether the priority of a URL is the number of pairs that its download is expected to bring."""

    def __init__(self, pair: LanguagePair) -> None:
        self.pair = pair

    @property
    def parts(self) -> Sequence[Policy]:
        """The policies of single pairs that it consists of: they learn, and it weighs."""
        return (self,)

    def seed_priority(self, url: str) -> float:
        """Seeds come first."""
        return SEED_PRIORITY

    def candidates(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[Proposal]:
        """Documents that may be the translation of *page*; called before :meth:`learn`.

        Only by evidence that the ledger of pairs does not know itself.
        """
        return ()

    def learn(self, page: FetchedPage, links: Sequence[Link], partner: str | None = None) -> None:  # noqa: B027
        """*page* was downloaded; *links* are all of its links, *partner* is the document that it makes a pair with.

        Called once a page, before its links are pushed.
        """

    def paired(self, url: str, partner: str) -> None:  # noqa: B027
        """Two documents turned out to be a pair later than :meth:`learn` of both."""

    def proposals(self) -> Iterable[tuple[str, Proposal]]:
        """Documents that may be pairs by what was learnt last, each with its possible translation."""
        return ()

    def changed(self) -> Mapping[str, float]:
        """Queued URLs whose priority is another since what was learnt last, with that priority."""
        return {}

    def reconsider(self, url: str, priority: float) -> float:
        """The priority of *url* now that its turn has come; a lower one sends it back to its place in the queue."""
        return priority

    def terms(self, url: str) -> Mapping[str, float]:
        """What the priority of *url* is made of now, by name; empty if the policy does not keep that."""
        return {}

    def note(self, page: FetchedPage, links: Sequence[Link]) -> None:  # noqa: B027
        """*page* had *links* to queued URLs before the crawl was resumed: what :meth:`priorities` learns from them."""

    def resume(self, queued: Iterable[str]) -> None:  # noqa: B027
        """All that was learnt so far was learnt in an earlier run, whose queue holds *queued* with their priorities."""

    def recall(self, fact: bytes) -> None:  # noqa: B027
        """The spider has told this *fact* of a page, in this run or in an earlier one."""

    def wanted(self) -> Sequence[Wanted]:
        """URLs beside those that pages link to, wanted by what was learnt since the last call."""
        return ()

    def gone(self, url: str) -> None:  # noqa: B027
        """*url* gave no page."""

    def redirected(self, url: str, target: str) -> None:  # noqa: B027
        """*url* gave a redirect to *target*, which is in the queue now or was known before."""

    @abstractmethod
    def expands(self, page: FetchedPage) -> bool:
        """Whether links of *page* are followed."""

    @abstractmethod
    def priorities(
        self, page: FetchedPage, links: Sequence[Link], scores: Sequence[LinkScore] | None
    ) -> Sequence[float]:
        """A priority for each link; *scores* are given if the policy needs models and the page has a side."""


class Jointly(Policy):
    """Weighs by *parts*, policies of one kind, one for each pair.

    If they promise pairs, the worth of a URL is the sum of what it is worth to each; else it is the greatest.
    """

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

    def expands(self, page: FetchedPage) -> bool:
        return any(part.expands(page.seen_by(part.pair)) for part in self._parts)

    def priorities(
        self, page: FetchedPage, links: Sequence[Link], scores: Sequence[LinkScore] | None
    ) -> Sequence[float]:
        weighed = [part.priorities(page.seen_by(part.pair), links, scores) for part in self._parts]
        return [self._weigh(link.url, priorities) for link, *priorities in zip(links, *weighed, strict=True)]

    def _weigh(self, url: str, priorities: Sequence[float]) -> float:
        """The joint priority of *url*; a part that has nothing new to say of it stays with what it thought."""
        if self.promises_pairs and max(priorities) != NEVER:
            return self.reconsider(url, 0.0)
        return self._joint(priorities)

    def _joint(self, priorities: Sequence[float]) -> float:
        return sum(priorities) if self.promises_pairs else max(priorities)
