"""Policies simulated on archived sites, without a crawl, and compared."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from bilingual_crawler.crawl.learner import Learner
from bilingual_crawler.crawl.traps import Staleness
from bilingual_crawler.frontier.entry import Entry, State
from bilingual_crawler.frontier.frontier import Limits
from bilingual_crawler.frontier.local import LocalFrontier
from bilingual_crawler.frontier.memory_store import MemoryStore
from bilingual_crawler.frontier.scope import Scope
from bilingual_crawler.harvest.results import Reference
from bilingual_crawler.harvest.sites import html_of, read_site
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.html import outline_of, page_of, walk_through
from bilingual_crawler.pages.jobs import identified
from bilingual_crawler.pages.language import BY_DEFAULT
from bilingual_crawler.pages.sequences import sample_of
from bilingual_crawler.settings import BILINGUAL_EQUIVALENT_LANGUAGES
from bilingual_crawler.storage.archive import Redirect, open_archive
from bilingual_crawler.storage.sites import site_prefixes

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.frontier.frontier import FrontierStore
    from bilingual_crawler.harvest.sites import Task
    from bilingual_crawler.pages.model import Link, PageRecord
    from bilingual_crawler.policies.base import Policy

Name = TypeVar("Name", bound="Hashable")
MAX_REDIRECTS = 10
SLOT = "site"
"""The politeness slot of all URLs: a simulation is not polite."""


@dataclass(frozen=True, slots=True)
class FrozenSite:
    """Every page of an archived site, parsed once."""

    pages: Mapping[str, PageRecord]
    """With their links in scope, without their text."""
    targets: Mapping[str, str]
    """Linked URL that is redirected -> page."""


def freeze(directory: Path, urls: Iterable[str]) -> FrozenSite:
    """Parse the pages *urls* of the site folder *directory*."""
    archive = open_archive([directory])
    scope = Scope("web", (), prefixes=site_prefixes([directory]))
    pages: dict[str, PageRecord] = {}
    targets: dict[str, str] = {}
    for url in urls:
        html = html_of(archive, url)
        if html is None:
            continue
        walk = walk_through(html)
        page = identified(page_of(walk, url), walk.own_lines, BY_DEFAULT, None)
        links = tuple(link for link in page.links if scope.admits(link.url))
        # a replay obeys no opt-outs
        kept = replace(page.without_text(), links=links, objection=None)
        pages[url] = replace(kept, outline=outline_of(walk, url), sample=sample_of(page.text))
        for link in (link for link in links if link.url not in targets):
            target = link.url
            for _ in range(MAX_REDIRECTS):
                answer = archive.find(target)
                if not isinstance(answer, Redirect):
                    break
                target = answer.url
            targets[link.url] = target
    return FrozenSite(pages, {url: target for url, target in targets.items() if target != url})


def simulate(
    site: FrozenSite, seeds: Iterable[str], policy: Policy, goes_on: Callable[[Learner, str], bool] = lambda *_: True
) -> list[str]:
    """Return the pages in the order in which *policy* downloads them, one request at a time, while *goes_on*, which is
    called with each page that was learnt, returns True.
    """
    frontier = LocalFrontier(MemoryStore(), Limits(), clock=float, reconsider=policy.reconsider)
    learner, staleness = Learner(policy), Staleness(0)
    seeds = list(seeds)
    frontier.push([Entry(url, SLOT, policy.seed_priority(url)) for url in seeds])
    order: list[str] = []
    while entry := frontier.pop():
        target = site.targets.get(entry.url, entry.url)
        page = site.pages.get(target)
        if page is None:
            learner.observe_failure(entry.url)
        elif target != entry.url:
            learner.observe_redirect(entry.url, target)
            frontier.redirect(entry, Entry(target, SLOT, entry.priority, entry.parent, entry.depth))
        else:
            order.append(entry.url)
            side = learner.pairs.side(page.language)
            new_text = staleness.learn(entry.url, page.sample)[1]
            fetched = replace(page, side=side, seed=entry.url in seeds, depth=entry.depth, new_text=new_text)
            learner.observe_page(fetched, page.links)
            frontier.rescore(policy.changed())
            if policy.expands(fetched):
                links = open_links(frontier.store, page.links)
                priorities = policy.priorities(fetched, links, None)
                found = zip(links, priorities, strict=True)
                frontier.push([Entry(link.url, SLOT, worth, entry.url, entry.depth + 1) for link, worth in found])
        frontier.finish(entry)
        if page is not None and target == entry.url and not goes_on(learner, entry.url):
            break
    return order


def open_links(store: FrontierStore, links: Sequence[Link]) -> list[Link]:
    """Those of *links* that may still be fetched."""
    states = store.states([link.url for link in links])
    return [link for link, state in zip(links, states, strict=True) if state in (None, State.QUEUED)]


def compare(
    sites: Path,
    tasks: Sequence[Task],
    policies: Callable[[LanguagePair], Mapping[Name, Policy]],
    first: int | None = None,
) -> dict[str, dict[Name, float]]:
    """Relative AUC of each of *policies*, which are made anew for a pair, on each of *tasks*, all of one site.

    With *first*, each crawl ends after so many downloads, and tasks are left out in which these can have no pair.
    """
    site = read_site(sites / tasks[0].site)
    frozen = freeze(sites / tasks[0].site, site.languages)
    lengths = {url: page.length for url, page in frozen.pages.items()}
    results = {}
    for task in tasks:
        pair = LanguagePair.parse(task.pair, equivalents=BILINGUAL_EQUIVALENT_LANGUAGES)
        reference = Reference(site, task, lengths, first)
        if first is not None and not reference.by_number.oracle_auc:
            continue
        orders = {name: simulate(frozen, task.seeds, policy, _until(first)) for name, policy in policies(pair).items()}
        results[str(task)] = {name: reference.measure(str(name), order).relative_auc for name, order in orders.items()}
    return results


def _until(downloads: int | None) -> Callable[[Learner, str], bool]:
    """Goes on until there are so many *downloads*; None for all pages."""
    number = count(1)
    return lambda *_: downloads is None or next(number) < downloads
