"""Evidence: the languages of the pages that link to a URL, since pages link to pages in their own language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from bilingual_crawler.policies.evidence.base import LanguageEvidence
from bilingual_crawler.policies.evidence.belief import normal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.pages.model import Link, LinkPosition
    from bilingual_crawler.policies.base import FetchedPage
    from bilingual_crawler.policies.evidence.belief import Belief

Source: TypeAlias = "tuple[int, LinkPosition]"
"""Language of the linking page (0, 1, or 2 for neither), and where on it the link is."""


class _Links:
    """Links to the pages of a site that are in one language, by source."""

    __slots__ = ("all", "by_source")

    def __init__(self, usual: float) -> None:
        self.by_source: dict[Source, float] = {}
        self.all = usual

    def add(self, sources: Sequence[Source]) -> None:
        for source in sources:
            self.by_source[source] = self.by_source.get(source, 0.0) + 1 / len(sources)
        self.all += 1


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
        self._by_site: dict[str, tuple[_Links, ...]] = {}
        """Site -> the links to pages in each language."""
        self._unseen = self._before_any()

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[str]:
        sources = self._sources.get(page.url, ())
        if sources:
            site = self.known.place(page.url).site
            if site not in self._by_site:
                self._by_site[site] = self._before_any()
            self._by_site[site][self.known.index(page.side)].add(sources)
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
        by_language = self._by_site.get(self.known.place(url).site, self._unseen)
        first, second, neither = (self._likelihood(sources, language, by_language[language]) for language in range(3))
        return normal(belief[0] * first, belief[1] * second, belief[2] * neither)

    def _before_any(self) -> tuple[_Links, ...]:
        return tuple(_Links(self.own + 2 * self.other) for _ in range(3))

    def _likelihood(self, sources: Sequence[Source], language: int, links: _Links) -> float:
        """How often links to pages in the *language* are from such *sources*: the geometric mean."""
        product = 1.0
        for source in sources:
            usual = self.own if source[0] == language else self.other
            product *= (links.by_source.get(source, 0.0) + usual) / links.all
        return product if len(sources) == 1 else product ** (1 / len(sources))

    def redirected(self, url: str, target: str) -> None:
        if url in self._sources:
            self._sources.setdefault(target, self._sources[url])

    def forget(self, url: str) -> None:
        self._sources.pop(url, None)
