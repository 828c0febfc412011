"""What discovery may visit, and what it has visited."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bilingual_crawler.discovery.hops import Way

if TYPE_CHECKING:
    from bilingual_crawler.discovery.hops import Hop

MAX_HOPS = 20
"""Hops to one target that are kept, the first ones."""


@dataclass(eq=False, slots=True)
class Source:
    """A visited page whose links are followed."""

    url: str
    reached: Target | None
    """As what it was visited; None for pages that an inspection downloaded."""
    bilingual: bool
    """The verdict on its site."""
    tried: int = 0
    """Sites that it links to and that have been judged since."""
    found: int = 0
    """Those of them that are bilingual."""
    targets: list[Target] = field(default_factory=list)
    """What is still to be visited of what it leads to."""


@dataclass(eq=False, slots=True)
class Target:
    """A page that may be visited: the entry page of a site, or a page with links to sites."""

    url: str
    way: Way
    hops: list[Hop] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)

    def add(self, hop: Hop, source: Source | None) -> None:
        """*hop* from *source* leads here too."""
        if len(self.hops) < MAX_HOPS:
            self.hops.append(hop)
            if source is not None:
                self.sources.append(source)

    @property
    def backwards(self) -> bool:
        """Whether it is visited for the links that it has."""
        return self.way is not Way.FORTH
