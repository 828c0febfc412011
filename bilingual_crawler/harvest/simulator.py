"""A crawl of an archived site without Scrapy: the same pages, links and policies, some hundred times as fast.

For trying out policies and what their parts contribute; numbers that are reported as results come from the real
spider.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from bilingual_crawler import settings as project
from bilingual_crawler.archive import Redirect, open_archive
from bilingual_crawler.archive.sites import site_prefixes
from bilingual_crawler.crawl.learner import Learner
from bilingual_crawler.frontier.entry import Entry, State
from bilingual_crawler.frontier.frontier import Limits
from bilingual_crawler.frontier.local import LocalFrontier
from bilingual_crawler.frontier.memory_store import MemoryStore
from bilingual_crawler.frontier.scope import Scope
from bilingual_crawler.harvest.archived import html_of
from bilingual_crawler.harvest.curve import Reference
from bilingual_crawler.harvest.sites import read_site
from bilingual_crawler.languages import LanguagePair
from bilingual_crawler.pages.html import page_of, walk_through
from bilingual_crawler.pages.language import BY_DEFAULT
from bilingual_crawler.pages.outline import Outline, outline_of
from bilingual_crawler.policies.base import FetchedPage

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.archive import Archive
    from bilingual_crawler.frontier.store import FrontierStore
    from bilingual_crawler.harvest.sites import Task
    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import Policy

Name = TypeVar("Name", bound="Hashable")

SLOT = "site"
"""Nothing is polite in a simulation, so that all URLs have one politeness slot."""


@dataclass(frozen=True, slots=True)
class FrozenPage:
    """What a crawl sees of a page."""

    language: str
    links: tuple[Link, ...]
    """Links in scope."""
    length: int
    """Characters of visible text."""
    outline: Outline


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
        html = html_of(archive, url)
        if html is None:
            continue
        walk = walk_through(html)
        page = page_of(walk, url)
        links = tuple(link for link in page.links if scope.admits(link.url))
        pages[url] = FrozenPage(BY_DEFAULT.identify(page.text).language, links, len(page.text), outline_of(walk, url))
        for link in links:
            if link.url not in targets:
                targets[link.url] = _target(archive, link.url)
    return FrozenSite(pages, {url: target for url, target in targets.items() if target != url})


def simulate(site: FrozenSite, seeds: Iterable[str], policy: Policy) -> list[str]:
    """The pages in the order in which *policy* downloads them, one request at a time."""
    frontier = LocalFrontier(MemoryStore(), Limits(), clock=float, reconsider=policy.reconsider)
    learner = Learner(policy)
    seeds = list(seeds)
    frontier.push([Entry(url, SLOT, policy.seed_priority(url)) for url in seeds])
    order: list[str] = []
    while entry := frontier.pop():
        target = site.targets.get(entry.url, entry.url)
        page = site.pages.get(target)
        if page is None:
            learner.gone(entry.url)
        elif target != entry.url:
            learner.redirected(entry.url, target)
            frontier.redirect(entry, Entry(target, SLOT, entry.priority, entry.parent, entry.depth))
        else:
            order.append(entry.url)
            side = learner.pairs.side(page.language)
            claims = tuple(link for link in page.links if link.claims)
            fetched = FetchedPage(
                entry.url,
                page.language,
                side,
                entry.url in seeds,
                entry.depth,
                page.length,
                claims,
                outline=page.outline,
            )
            learner.learn(fetched, page.links)
            frontier.rescore(policy.changed())
            if policy.expands(fetched):
                links = open_links(frontier.store, page.links)
                priorities = policy.priorities(fetched, links, None)
                frontier.push(
                    [
                        Entry(link.url, SLOT, priority, entry.url, entry.depth + 1)
                        for link, priority in zip(links, priorities, strict=True)
                    ]
                )
        frontier.finish(entry)
    return order


def open_links(store: FrontierStore, links: Sequence[Link]) -> list[Link]:
    """Those of *links* that may still be fetched."""
    states = store.states([link.url for link in links])
    return [link for link, state in zip(links, states, strict=True) if state in (None, State.QUEUED)]


def compare(
    sites: Path, tasks: Sequence[Task], policies: Callable[[LanguagePair], Mapping[Name, Policy]]
) -> dict[str, dict[Name, float]]:
    """Relative AUC of each of *policies*, which are made anew for a pair, on each of *tasks*, all of one site."""
    site = read_site(sites / tasks[0].site)
    frozen = freeze(sites / tasks[0].site, site.languages)
    lengths = {url: page.length for url, page in frozen.pages.items()}
    results = {}
    for task in tasks:
        pair = LanguagePair.parse(task.pair, equivalents=project.BILINGUAL_EQUIVALENT_LANGUAGES)
        reference = Reference(site, task, lengths)
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
