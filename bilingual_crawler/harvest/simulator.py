"""A crawl over a site's link graph: no network, no pages, thousands of downloads in a second.

For trying out policies; numbers that are reported come from the real spider.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from bilingual_crawler.harvest.sites import Site


class SimulatedPolicy(Protocol):
    """What the simulator asks of a policy."""

    def expand(self, url: str, language: str) -> bool:
        """Tell whether the links of a downloaded page are followed."""

    def priorities(self, parent: str, language: str, links: Sequence[str]) -> Sequence[float]:
        """Return a priority for each link of an expanded page; the higher, the sooner."""

    def changed(self, url: str, language: str) -> Iterable[tuple[str, float]]:
        """Return queued URLs and their new priorities, now that a page has been downloaded."""


class Discovery:
    """Breadth first: priority by discovery only.

    Every page is expanded (``bfs``), or only the seeds and pages in ``languages`` (``cld2``).
    """

    def __init__(self, languages: Collection[str] | None = None, seeds: Collection[str] = ()) -> None:
        self._languages = languages
        self._seeds = frozenset(seeds)

    def expand(self, url: str, language: str) -> bool:
        return self._languages is None or language in self._languages or url in self._seeds

    def priorities(self, parent: str, language: str, links: Sequence[str]) -> Sequence[float]:
        return [0.0] * len(links)

    def changed(self, url: str, language: str) -> Iterable[tuple[str, float]]:
        return ()


def simulate(site: Site, seeds: Iterable[str], policy: SimulatedPolicy) -> list[str]:
    """Return the pages in download order: seeds first, then by priority, ties by discovery.

    A link to a queued page can only raise its priority; :meth:`SimulatedPolicy.changed` may also lower it.
    """
    queued: dict[str, float] = {}
    found: dict[str, int] = {}
    heap: list[tuple[float, int, str]] = []

    def push(url: str, priority: float) -> None:
        queued[url] = priority
        heappush(heap, (-priority, found.setdefault(url, len(found)), url))

    for url in seeds:
        if url in site.languages and url not in found:
            push(url, float("inf"))
    order: list[str] = []
    while heap:
        negative, _, url = heappop(heap)
        if queued.get(url) != -negative:
            continue
        del queued[url]
        order.append(url)
        language = site.languages[url]
        for other, priority in policy.changed(url, language):
            if other in queued:
                push(other, priority)
        if not policy.expand(url, language):
            continue
        links = [link for link in site.links[url] if link in site.languages]
        for link, priority in zip(links, policy.priorities(url, language, links), strict=True):
            if link not in found or queued.get(link, float("inf")) < priority:
                push(link, priority)
    return order
