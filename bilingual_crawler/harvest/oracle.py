"""The greedy oracle: the reference download order, with full knowledge of graph and gold pairs."""

from __future__ import annotations

from collections import defaultdict, deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bilingual_crawler.harvest.sites import Partners, Site, Task

_UNREACHED = 10**6
_COMPLETES, _GOLD, _BRIDGE = range(3)
_Tier: TypeAlias = tuple[int, int]


def oracle_order(site: Site, task: Task) -> list[str]:
    """Return pages in the order in which the oracle downloads them, up to the last gold page.

    First a linked page whose partner is already downloaded, then a page of some gold pair, then the page
    nearest (in links) to a gold page not yet downloaded; ties by discovery. It is a strong reference, not a
    strict bound.
    """
    return _Oracle(site, site.partners(task)).run(task.seeds)


def oracle_urls(site: Site, task: Task, forms: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the oracle's order with each page followed by the ``forms`` that redirect to it."""
    return [url for page in oracle_order(site, task) for url in (page, *forms.get(page, ()))]


class _Oracle:
    def __init__(self, site: Site, partners: Partners) -> None:
        self._site = site
        self._partners = partners
        self._missing = set(partners)
        self._seen: set[str] = set()
        self._found: dict[str, int] = {}
        self._heap: list[tuple[_Tier, int, str]] = []
        self._parents: defaultdict[str, list[str]] = defaultdict(list)
        for url, links in site.links.items():
            for link in links:
                self._parents[link].append(url)
        self._distance = self._distances()

    def run(self, seeds: tuple[str, ...]) -> list[str]:
        order: list[str] = []
        outdated = False
        for url in seeds:
            self._push(url)
        while self._heap and self._missing:
            tier, _, url = heappop(self._heap)
            if url in self._seen:
                continue
            if tier[0] == _BRIDGE and outdated:
                self._distance = self._distances()
                outdated = False
                self._heap = [(self._tier(u), n, u) for u, n in self._found.items() if u not in self._seen]
                heapify(self._heap)
                continue
            if self._tier(url) != tier:
                self._push(url)
                continue
            order.append(url)
            self._seen.add(url)
            outdated |= url in self._missing
            self._missing.discard(url)
            for partner in self._partners.get(url, ()):
                if partner in self._found:
                    self._push(partner)
            for link in self._site.links[url]:
                self._push(link)
        return order

    def _push(self, url: str) -> None:
        if url in self._site.languages and url not in self._seen:
            discovered = self._found.setdefault(url, len(self._found))
            heappush(self._heap, (self._tier(url), discovered, url))

    def _tier(self, url: str) -> _Tier:
        partners = self._partners.get(url)
        if partners is None:
            return _BRIDGE, self._distance.get(url, _UNREACHED)
        return (_GOLD if partners.isdisjoint(self._seen) else _COMPLETES), 0

    def _distances(self) -> dict[str, int]:
        distance = dict.fromkeys(self._missing, 0)
        queue = deque(self._missing)
        while queue:
            url = queue.popleft()
            for parent in self._parents[url]:
                if parent not in distance:
                    distance[parent] = distance[url] + 1
                    queue.append(parent)
        return distance
