"""Evidence: the language that a link to a URL names, as in ``<a hreflang=fi>`` or the text "Suomeksi"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bilingual_crawler.policies.evidence.base import LanguageEvidence
from bilingual_crawler.policies.evidence.belief import normal

if TYPE_CHECKING:
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import FetchedPage
    from bilingual_crawler.policies.evidence.belief import Belief
    from bilingual_crawler.policies.evidence.known import Target


def label_of(link: Link) -> str | None:
    """The language that *link* names, ISO 639-3."""
    return (link.hreflang if link.hreflang != "x-default" else None) or link.label


@dataclass
class Labels(LanguageEvidence):
    """The last link to a URL that names a language is believed."""

    name: ClassVar[str] = "labels"
    trust: float = 0.85
    """Likelihood of the label if the page is in the language that it names; the rest, if it is in another."""

    def __post_init__(self) -> None:
        self._labels: dict[str, int] = {}

    def note(self, page: FetchedPage, link: Link) -> bool:
        label = label_of(link)
        if not label:
            return False
        said = self.known.index(self.known.pair.side(label))
        news = self._labels.get(link.url) != said
        self._labels[link.url] = said
        return news

    def update(self, target: Target, belief: Belief) -> Belief | None:
        said = self._labels.get(target.url)
        if said is None:
            return None
        return normal(*(p * (self.trust if index == said else 1 - self.trust) for index, p in enumerate(belief)))

    def redirected(self, url: str, target: str) -> None:
        if url in self._labels:
            self._labels.setdefault(target, self._labels[url])

    def forget(self, url: str) -> None:
        self._labels.pop(url, None)
