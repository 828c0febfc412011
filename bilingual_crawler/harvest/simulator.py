"""A crawl of an archived site without Scrapy: the same pages, links and policies, some hundred times as fast.

For trying out policies and what their parts contribute; numbers that are reported as results come from the real
spider.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, TypeVar

from bilingual_crawler import settings as project
from bilingual_crawler.archive import ArchivedResponse, Redirect, open_archive
from bilingual_crawler.archive.sites import site_prefixes
from bilingual_crawler.frontier.entry import NEVER
from bilingual_crawler.frontier.scope import Scope
from bilingual_crawler.harvest.curve import Reference
from bilingual_crawler.harvest.sites import read_site
from bilingual_crawler.languages import LanguagePair
from bilingual_crawler.pages.decode import decode_body
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.pages.language import identify
from bilingual_crawler.policies.base import FetchedPage

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.archive import Archive
    from bilingual_crawler.harvest.sites import Task
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import Policy

Name = TypeVar("Name", bound="Hashable")


@dataclass(frozen=True, slots=True)
class FrozenPage:
    """What a crawl sees of a page."""

    language: str
    links: tuple[Link, ...]
    """Links in scope."""
    length: int
    """Characters of visible text."""


@dataclass(frozen=True, slots=True)
class FrozenSite:
    """Every page of an archived site, parsed once."""

    pages: Mapping[str, FrozenPage]
    targets: Mapping[str, str]
    """Linked URL that is redirected -> page."""


def freeze(directory: Path, urls: Iterable[str]) -> FrozenSite:
    """Parse the pages *urls* of the site folder *directory*."""
    archive = open_archive([directory])
    scope = Scope("web", (), prefixes=site_prefixes([directory]))
    pages: dict[str, FrozenPage] = {}
    targets: dict[str, str] = {}
    for url in urls:
        response = archive.find(url)
        if not isinstance(response, ArchivedResponse):
            continue
        content_type = next(
            (values[0] for name, values in response.headers.items() if name.lower() == b"content-type"), b""
        )
        page = parse_page(decode_body(response.body, content_type.decode("latin-1")), url)
        links = tuple(link for link in page.links if scope.admits(link.url))
        pages[url] = FrozenPage(identify(page.text).language, links, len(page.text))
        for link in links:
            if link.url not in targets:
                targets[link.url] = _target(archive, link.url)
    return FrozenSite(pages, {url: target for url, target in targets.items() if target != url})


def simulate(site: FrozenSite, seeds: Iterable[str], policy: Policy) -> list[str]:
    """The pages in the order in which *policy* downloads them, one request at a time."""
    queue: dict[str, float] = {}
    found: dict[str, int] = {}
    depths: dict[str, int] = {}
    heap: list[tuple[float, int, str]] = []

    def put(url: str, priority: float) -> None:
        queue[url] = priority
        if priority != NEVER:
            heappush(heap, (-priority, found.setdefault(url, len(found)), url))

    seeds = list(seeds)
    for url in seeds:
        depths[url] = 0
        put(url, policy.seed_priority(url))
    order: list[str] = []
    while heap:
        negative, _, url = heappop(heap)
        if queue.get(url) != -negative:
            continue
        priority = policy.reconsider(url, -negative)
        if priority < -negative:
            put(url, priority)
            continue
        del queue[url]
        target = site.targets.get(url, url)
        if target != url and target in site.pages:
            policy.redirected(url, target)
            if target not in found or target in queue:
                depths.setdefault(target, depths[url])
                put(target, max(priority, queue.get(target, NEVER)))
            continue
        page = site.pages.get(url)
        if page is None:
            policy.gone(url)
            continue
        order.append(url)
        side = policy.pair.side(page.language)
        fetched = FetchedPage(url, page.language, side, url in seeds, depths[url], page.length)
        policy.learn(fetched, page.links)
        for other, changed in policy.changed().items():
            if other in queue:
                put(other, changed)
        if not policy.expands(fetched):
            continue
        links = [link for link in page.links if link.url != url and (link.url not in found or link.url in queue)]
        for link, priority in zip(links, policy.priorities(fetched, links, None), strict=True):
            if queue.get(link.url, NEVER) < priority:
                depths.setdefault(link.url, depths[url] + 1)
                put(link.url, priority)
    return order


def compare(
    sites: Path, tasks: Sequence[Task], policies: Callable[[LanguagePair], Mapping[Name, Policy]]
) -> dict[str, dict[Name, float]]:
    """Relative AUC of each of *policies*, which are made anew for a pair, on each of *tasks*, all of one site."""
    site = read_site(sites / tasks[0].site)
    frozen = freeze(sites / tasks[0].site, site.languages)
    results = {}
    for task in tasks:
        pair = LanguagePair.parse(task.pair, equivalents=project.BILINGUAL_EQUIVALENT_LANGUAGES)
        reference = Reference(site, task)
        orders = {name: simulate(frozen, task.seeds, policy) for name, policy in policies(pair).items()}
        results[str(task)] = {name: reference.measure(str(name), order).relative_auc for name, order in orders.items()}
    return results


def _target(archive: Archive, url: str) -> str:
    """Where the redirects of the archive lead from *url*."""
    for _ in range(10):
        answer = archive.find(url)
        if not isinstance(answer, Redirect):
            break
        url = answer.url
    return url
