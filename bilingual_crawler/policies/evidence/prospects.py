"""Evidence: whether similar pages find partners, and whether they have new text."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar
from urllib.parse import urlsplit

from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.policies.evidence.base import Belief, PartnerEvidence, Prospect, Target, evict_rare, place_of
from bilingual_crawler.urls.hosts import url_cache
from bilingual_crawler.urls.traps import parameters, shapes


@dataclass
class PairRate(Prospect):
    """The share of paired documents in the folder; unpaired ones without a mark, hard to recognise, count less."""

    name: ClassVar[str] = "pair_rate"
    rate: float = 0.5  # prior share
    weight: float = 2.0  # weight of the parent folder, in documents
    unrecognised: float = 0.3  # weight of an unpaired document without a language mark

    def __post_init__(self) -> None:
        self._documents: defaultdict[str, float] = defaultdict(float)
        self._paired: Counter[str] = Counter()

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> None:
        if self.book.side(page.url) is not None:
            self._count(page.url, self._alone(page.url))

    def observe_pair(self, url: str, partner: str) -> None:
        for one in (url, partner):
            self._paired.update(place_of(one).folders)
            self._count(one, 1 - self._alone(one))

    def part_pair(self, url: str, partner: str) -> None:
        for one in (url, partner):
            self._paired.subtract(place_of(one).folders)
            self._count(one, self._alone(one) - 1)

    def factor(self, target: Target) -> float:
        rate = self.rate
        for folder in target.place.folders:
            documents = self._documents.get(folder)
            # an evicted folder may lose uncounted pairs
            if not documents or documents < 0:
                break
            rate = (max(self._paired.get(folder, 0), 0) + self.weight * rate) / (documents + self.weight)
        return min(rate, 1.0)

    def _alone(self, url: str) -> float:
        """Weight of an unpaired document."""
        return 1.0 if place_of(url).mark else self.unrecognised

    def _count(self, url: str, weight: float) -> None:
        for folder in place_of(url).folders:
            self._documents[folder] += weight
        evict_rare(self._documents.__getitem__, self._documents, self._paired)


@dataclass
class Served(Prospect):
    """Discounts a URL whose fetched twins are all paired."""

    name: ClassVar[str] = "served"
    left: float = 0.3  # factor of the worth

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> Iterable[str]:
        return self.known.queued_twins(self.book.key(page.url)) if page.side else ()

    def observe_pair(self, url: str, partner: str) -> Iterable[str]:
        return self.known.queued_twins(self.book.key(partner))

    def factor(self, target: Target) -> float:
        twins = self.book.twins(target.key)
        return self.left if twins and not any(self.book.lacking(twins)) else 1.0


@dataclass
class NewText(Prospect):
    """Share of new text in the downloads of the folder, and of the script or template.

    A calendar, or a list that a script sorts in every way, gives endless pairs with the same text. Feeds, sources and
    non-documents have none; nor have dead links, which tell nothing of their folder.
    """

    name: ClassVar[str] = "new_text"
    weight: float = 2.0  # weight of the outer group, in downloads

    def __post_init__(self) -> None:
        self._downloads: defaultdict[str, float] = defaultdict(float)
        self._new: defaultdict[str, float] = defaultdict(float)

    def observe_page(self, page: PageRecord, links: Sequence[Link]) -> None:
        self._count(_groups(page.url), 0.0 if page.objection else page.novelty)

    def observe_failure(self, url: str) -> None:
        groups = _groups(url)
        # a dead link tells of its kind of page, not of all that is in the folder
        self._count(groups[-1:] if groups[0] in place_of(url).folders else groups, 0.0)

    def _count(self, groups: Iterable[str], new: float) -> None:
        for group in groups:
            self._downloads[group] += 1
            self._new[group] += new
        evict_rare(self._downloads.__getitem__, self._downloads, self._new)

    def factor(self, target: Target) -> float:
        share = 1.0
        for group in _groups(target.url):
            # a folder of dead links alone has none, though its template has
            if downloads := self._downloads.get(group):
                share = (self._new[group] + self.weight * share) / (downloads + self.weight)
        return share


_KIND = re.compile(r"(?<=/)[^/:]+:|\.(?!x?html?$)\w{1,5}$")
"""The namespace of a page, as of ``Special:Log``, or the ending of its file."""


@url_cache(1 << 16)
def _groups(url: str) -> tuple[str, ...]:
    """The folders of *url* by kind, as ``?oldid`` tells nothing of articles in its folder, and its script."""
    folders, kind = place_of(url).folders, _KIND.search(urlsplit(url).path)
    named = f"{kind[0] if kind else ''}?{parameters(url)}".rstrip("?")
    return (*(_apart(folders, named) if named else folders), shapes(url)[0])


@lru_cache(1 << 14)
def _apart(folders: tuple[str, ...], kind: str) -> tuple[str, ...]:
    """The groups of the pages in *folders* of this *kind*."""
    return tuple(f"{folder} {kind}" for folder in folders)


@dataclass
class Surplus(PartnerEvidence):
    """A page in the rarer language of a site may complete a pair: else one language may come first altogether."""

    name: ClassVar[str] = "surplus"
    trust: float = 0.2  # P(completes) if all documents are in the other language
    weight: float = 2.0  # documents for half of it

    def completes(self, target: Target, belief: Belief) -> float:
        single = self.book.unpaired_on(target.place.site)
        more = int(single[1] > single[0])
        surplus = single[more] - single[1 - more]
        return self.trust * belief[1 - more] * surplus / (single[more] + self.weight)
