"""Evidence: the languages of the pages that link to a URL, since pages link to pages in their own language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from bilingual_crawler.policies.evidence.base import LanguageEvidence
from bilingual_crawler.policies.evidence.belief import NOTHING, normal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.pages.model import Link, LinkPosition
    from bilingual_crawler.policies.base import FetchedPage
    from bilingual_crawler.policies.evidence.belief import Belief
    from bilingual_crawler.policies.evidence.known import Target

Source: TypeAlias = "tuple[int, LinkPosition]"
"""Language of the linking page (0, 1, or 2 for neither), and where on it the link is."""


class _Links:
    """Links to the pages of a site, by source and by language of these pages."""

    __slots__ = ("all", "by_source")

    def __init__(self, usual: float) -> None:
        self.by_source: dict[Source, list[float]] = {}
        self.all = [usual] * 3

    def add(self, sources: Sequence[Source], language: int) -> None:
        for source in sources:
            self.by_source.setdefault(source, [0.0, 0.0, 0.0])[language] += 1 / len(sources)
        self.all[language] += 1


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
        self._same: dict[tuple[Source, ...], tuple[Source, ...]] = {}
        """One object for equal sources: there are some thousand, and millions of URLs."""
        self._by_site: dict[str, _Links] = {}
        self._unseen = self._before_any()
        self._usual = [[self.own if source == language else self.other for language in range(3)] for source in range(3)]
        """Links from pages in each language to pages in each, before the site has shown any."""

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[str]:
        sources = self._sources.get(page.url, ())
        if sources:
            site = self.known.place(page.url).site
            if site not in self._by_site:
                self._by_site[site] = self._before_any()
            self._by_site[site].add(sources, self.known.index(page.side))
        return ()

    def note(self, page: FetchedPage, link: Link) -> bool:
        source = (self.known.index(page.side), link.position)
        sources = self._sources.get(link.url, ())
        if source in sources or len(sources) >= self.most:
            return False
        all_sources = (*sources, source)
        self._sources[link.url] = self._same.setdefault(all_sources, all_sources)
        return True

    def update(self, target: Target, belief: Belief) -> Belief | None:
        sources = self._sources.get(target.url)
        if not sources:
            return None
        links = self._by_site.get(target.place.site, self._unseen)
        # the geometric mean of how often links to pages in each language are from such sources
        first = second = neither = 1.0
        for source in sources:
            seen, usual = links.by_source.get(source, NOTHING), self._usual[source[0]]
            first *= (seen[0] + usual[0]) / links.all[0]
            second *= (seen[1] + usual[1]) / links.all[1]
            neither *= (seen[2] + usual[2]) / links.all[2]
        if len(sources) > 1:
            root = 1 / len(sources)
            first, second, neither = first**root, second**root, neither**root
        return normal(belief[0] * first, belief[1] * second, belief[2] * neither)

    def _before_any(self) -> _Links:
        return _Links(self.own + 2 * self.other)

    def redirected(self, url: str, target: str) -> None:
        if url in self._sources:
            self._sources.setdefault(target, self._sources[url])

    def forget(self, url: str) -> None:
        self._sources.pop(url, None)
