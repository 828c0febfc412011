"""Policies on archived sites without a crawl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bilingual_crawler.crawl.learner import Learner
from bilingual_crawler.crawl.traps import Staleness
from bilingual_crawler.frontier.entry import Entry, State
from bilingual_crawler.frontier.frontier import Limits
from bilingual_crawler.frontier.local import LocalFrontier
from bilingual_crawler.frontier.memory_store import MemoryStore
from bilingual_crawler.frontier.scope import Scope
from bilingual_crawler.pages.decode import decode_body
from bilingual_crawler.pages.html import outline_of, page_of, parse_page, walk_through
from bilingual_crawler.pages.jobs import identified
from bilingual_crawler.pages.language import BY_DEFAULT
from bilingual_crawler.pages.sequences import sample_of
from bilingual_crawler.storage.archive import Redirect, open_archive
from bilingual_crawler.storage.sites import site_prefixes
from bilingual_crawler.storage.warc import ArchivedResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.frontier.frontier import FrontierStore
    from bilingual_crawler.harvest.sites import Site
    from bilingual_crawler.pages.model import Link, PageRecord
    from bilingual_crawler.policies.base import Policy
    from bilingual_crawler.storage.archive import Archive


def html_of(archive: Archive, url: str) -> str | None:
    """Return the HTML that *archive* holds for *url*; None if it has no page or a redirect."""
    response = archive.find(url)
    if not isinstance(response, ArchivedResponse):
        return None
    media_type, *_ = response.headers.get(b"content-type", [b""])
    return decode_body(response.body, media_type.decode("latin-1"))


def text_lengths(site: Site) -> dict[str, int]:
    """The characters of visible text of each archived page in a gold pair; 3 ms a page. Raises ArchiveError."""
    archive = open_archive([site.directory])
    gold = dict.fromkeys(url for pair in site.pairs for url in (pair.url_a, pair.url_b))
    pages = ((url, html_of(archive, url)) for url in gold)
    return {url: len(parse_page(html, url).text) for url, html in pages if html is not None}


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
