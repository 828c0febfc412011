"""Evidence: the languages of the pages that link to a URL, since pages link to pages in their own language."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from bilingual_crawler.policies.evidence.base import LanguageEvidence
from bilingual_crawler.policies.evidence.belief import normal
from bilingual_crawler.urls.canonical import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.pages.model import Link, LinkPosition
    from bilingual_crawler.policies.base import FetchedPage
    from bilingual_crawler.policies.evidence.belief import Belief

Source: TypeAlias = "tuple[int, LinkPosition]"
"""Language of the linking page (0, 1, or 2 for neither), and where on it the link is."""


@dataclass
class LinkingPages(LanguageEvidence):
    """Bayes' rule over the languages of linking pages and the positions of links, counted by site.

    Several sources count together as much as one: links of one template repeat each other.
    """

    name: ClassVar[str] = "linking_pages"
    own: float = 3.0
    other: float = 1.0
    """Links from pages in the same language, and in each other one, as if counted before the site has shown any."""
    most: int = 3
    """Different sources of a URL that are looked at, the first ones."""

    def __post_init__(self) -> None:
        self._sources: dict[str, tuple[Source, ...]] = {}
        self._by_site: dict[str, tuple[dict[Source, float], ...]] = {}
        """Site -> for each language of linked pages: source -> links."""

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[str]:
        sources = self._sources.get(page.url, ())
        if sources:
            counts = self._by_site.setdefault(registered_domain(page.url), ({}, {}, {}))[self.known.index(page.side)]
            for source in sources:
                counts[source] = counts.get(source, 0.0) + 1 / len(sources)
        return ()

    def note(self, page: FetchedPage, link: Link) -> bool:
        source = (self.known.index(page.side), link.position)
        sources = self._sources.get(link.url, ())
        if source in sources or len(sources) >= self.most:
            return False
        self._sources[link.url] = (*sources, source)
        return True

    def update(self, url: str, belief: Belief) -> Belief | None:
        sources = self._sources.get(url)
        if not sources:
            return None
        by_language = self._by_site.get(registered_domain(url), ({}, {}, {}))
        likelihoods = (self._likelihood(sources, language, counts) for language, counts in enumerate(by_language))
        return normal(*(p * likelihood for p, likelihood in zip(belief, likelihoods, strict=True)))

    def _likelihood(self, sources: Sequence[Source], language: int, counts: dict[Source, float]) -> float:
        """How often links to pages in the *language* are from such *sources*: the geometric mean."""
        seen = sum(counts.values()) + self.own + 2 * self.other
        shares = (
            (counts.get(source, 0.0) + (self.own if source[0] == language else self.other)) / seen for source in sources
        )
        return float(prod(shares) ** (1 / len(sources)))

    def redirected(self, url: str, target: str) -> None:
        if url in self._sources:
            self._sources.setdefault(target, self._sources[url])

    def forget(self, url: str) -> None:
        self._sources.pop(url, None)
