"""Evidence: the language that the text of a link is written in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bilingual_crawler.policies.evidence.anchors import AnchorReader
from bilingual_crawler.policies.evidence.base import LanguageEvidence
from bilingual_crawler.policies.evidence.belief import normal
from bilingual_crawler.policies.evidence.labels import label_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import FetchedPage
    from bilingual_crawler.policies.evidence.belief import Belief
    from bilingual_crawler.policies.evidence.known import Target


@dataclass
class Wording(LanguageEvidence):
    """The longest text of a link to a URL, most likely its title, by Bayes' rule.

    How often links to pages of a language are worded in it is counted by site.
    """

    name: ClassVar[str] = "wording"
    shares: tuple[float, ...] = (0.42, 0.25, 0.19, 0.09, 0.05)
    """How often links to pages in the first language are worded in it: shares of the steps of :class:`AnchorReader`;
    mirrored for the second language, even for neither."""
    weight: float = 5.0
    """Links to pages of a language that count as much as these shares."""

    def __post_init__(self) -> None:
        self._reader = AnchorReader(self.known.pair)
        self._wordings: dict[str, tuple[int, int]] = {}
        """URL -> length of the text, step."""
        self._same: dict[tuple[int, int], tuple[int, int]] = {}
        """One object for equal wordings: there are some thousand, and millions of URLs."""
        first = [self.weight * share for share in self.shares]
        self._usual = (first, first[::-1], [self.weight / len(first)] * len(first))
        self._by_site: dict[str, tuple[list[float], ...]] = {}

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[str]:
        if page.url in self._wordings:
            site = self.known.place(page.url).site
            rows = self._by_site.get(site)
            if rows is None:
                rows = self._by_site[site] = tuple(map(list, self._usual))
            rows[self.known.index(page.side)][self._wordings[page.url][1]] += 1
        return ()

    def note(self, page: FetchedPage, link: Link) -> bool:
        length, step = self._wordings.get(link.url, (0, None))
        if len(link.text) <= length or label_of(link):
            return False
        read = self._reader.read(link.text)
        if read is None:
            return False
        wording = (len(link.text), read)
        self._wordings[link.url] = self._same.setdefault(wording, wording)
        return read != step

    def update(self, target: Target, belief: Belief) -> Belief | None:
        wording = self._wordings.get(target.url)
        if wording is None:
            return None
        step = wording[1]
        rows = self._by_site.get(target.place.site, self._usual)
        return normal(*(p * row[step] / sum(row) for p, row in zip(belief, rows, strict=True)))

    def redirected(self, url: str, target: str) -> None:
        if url in self._wordings:
            self._wordings.setdefault(target, self._wordings[url])

    def forget(self, url: str) -> None:
        self._wordings.pop(url, None)
