"""The policy of a crawl for several pairs of languages."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from bilingual_crawler.frontier.entry import NEVER
from bilingual_crawler.policies.base import FetchedPage, Policy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.scoring.links import LinkScore


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
