"""Discovery on a graph in memory: the search of real crawls, a frontier without delays, a detector that is told."""

from __future__ import annotations

import heapq
import random
from itertools import count
from typing import TYPE_CHECKING

from benchmarks.graph_web import linking
from bilingual_crawler.discovery.detector.base import Detector, Reason, Verdict
from bilingual_crawler.discovery.policies import Hop, Way
from bilingual_crawler.discovery.search import SiteSearch, Topic
from bilingual_crawler.frontier.entry import NEVER
from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.urls.hosts import registered_domain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.graph_web import Node
    from bilingual_crawler.discovery.policies import SiteOrder
    from bilingual_crawler.languages.codes import LanguagePair

DOWNLOADS = (0, 1, 1, 2, 3)  # pages that are downloaded to refuse a site, each as often; one confirms a bilingual site
INSIDE = 5  # pages of a site to which its home page links, beside a page of links
_OUTLINE = PageJob(b"<p>", "text/html", "http://example.org/").run().outline


class _Told:
    """The inspection of a site whose verdict is known."""

    def __init__(self, node: Node) -> None:
        downloads = 1 if node.bilingual else random.Random(node.host).choice(DOWNLOADS)
        self._left = [f"{node.home}{number}" for number in range(downloads)]
        reason = Reason.BILINGUAL if node.bilingual else Reason.ONE_LANGUAGE
        self.verdict = Verdict(node.bilingual, float(node.bilingual), reason, downloads=downloads)

    def next(self) -> str | None:
        return self._left[0] if self._left else None

    def observe_page(self, url: str, page: PageRecord | None) -> None:
        self._left.remove(url)


class _Detector:
    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes

    def inspect(self, pair: LanguagePair, entry: PageRecord) -> _Told:
        return _Told(self._nodes[registered_domain(entry.url)])


def simulate(
    nodes: Sequence[Node],
    order: SiteOrder,
    pair: LanguagePair,
    seeds: Sequence[Node],
    limit: int,
    *,
    known_backlinks: float,
    seed: int,
    topic: str = "",
    restricted: bool = False,
) -> list[int]:
    """Crawl until *limit* pages are downloaded; returns the downloads after which each bilingual site was found.

    With a *topic*, sites about it count; a *restricted* search knows it.
    """
    by_site = {registered_domain(node.home): node for node in nodes}
    back = linking(nodes, known_backlinks, seed)

    def ways_back(url: str) -> list[Hop]:
        return [Hop(Way.BACK, source.links_page, url) for source in back.get(by_site[registered_domain(url)].host, ())]

    known: Detector = _Detector(by_site)
    search = SiteSearch(pair, known, order, topic=Topic(topic, pair) if restricted else None)
    found: list[int] = []

    def judged(name: str, site: object) -> None:
        if by_site[name].bilingual and (not topic or topic in by_site[name].topics):
            found.append(search.pages)

    search.judged = judged
    queue = _Queue()
    for node in seeds:
        search.seed_priority(node.home)
        queue.put(node.home, float("inf"))
    while search.pages < limit and (url := queue.take()):
        search.read(_page(by_site[registered_domain(url)], url, with_topics=bool(topic)))
        for entry in search.found():
            search.go_back(ways_back(entry))
        for wanted in search.wanted():
            queue.put(wanted.url, wanted.priority)
        for changed, priority in search.changed().items():
            queue.change(changed, priority)
    return found


class _Queue:
    """URLs by priority, then in order of discovery; each is taken once."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, str]] = []
        self._entries: dict[str, tuple[float, int]] = {}
        self._taken: set[str] = set()
        self._order = count()

    def put(self, url: str, priority: float) -> None:
        if url not in self._taken and (url not in self._entries or priority > -self._entries[url][0]):
            order = self._entries[url][1] if url in self._entries else next(self._order)
            self._entries[url] = (-priority, order)
            heapq.heappush(self._heap, (-priority, order, url))

    def change(self, url: str, priority: float) -> None:
        if url in self._entries:
            self._entries[url] = (-priority, self._entries[url][1])
            heapq.heappush(self._heap, (*self._entries[url], url))

    def take(self) -> str | None:
        while self._heap:
            priority, order, url = heapq.heappop(self._heap)
            if self._entries.get(url) == (priority, order) and priority != -NEVER:
                del self._entries[url]
                self._taken.add(url)
                return url
        return None


def _page(node: Node, url: str, *, with_topics: bool) -> PageRecord:
    links = []
    text = " ".join((node.name, *sorted(node.topics))) if with_topics else node.name
    if url == node.home:
        links = [Link(f"{node.home}{number}", "More") for number in range(INSIDE)]
        if node.hub:
            links.append(Link(node.links_page, "Links"))
    if url == node.links_page:
        links += [Link(target.home, target.name, around=target.name) for target in node.links]
    return PageRecord(url, node.language, links=tuple(links), text=text, outline=_OUTLINE)
