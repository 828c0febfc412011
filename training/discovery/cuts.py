"""Frozen sites as a detector of bilingual sites meets them: whole, and cut until they are not bilingual.

A site is bilingual for a pair of languages that it has gold pairs in. It is not for a language that it lacks
(``absent``), with the pages of one language only (``mono-clean``; with ``mono-dead``, links to the others stay), and
without one half of each two translations (``disjoint``).
"""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING

import msgspec

from bilingual_crawler.discovery.detector.features import rewritten, without_folder
from bilingual_crawler.harvest.sites import SiteError
from bilingual_crawler.languages.codes import URL_LABELS, LanguagePair
from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.sandbox.jobs import ContentError
from bilingual_crawler.storage.archive import Redirect, open_archive
from bilingual_crawler.storage.warc import ArchivedResponse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from bilingual_crawler.harvest.sites import Site
    from bilingual_crawler.pages.model import PageRecord
    from bilingual_crawler.storage.archive import Archive

MAX_REDIRECTS = 10
MAX_PAIRS = 4  # maximum language pairs of a site


class Variant(StrEnum):
    """The part of a site that is left."""

    WHOLE = "pos"
    ABSENT = "absent"
    MONO_CLEAN = "mono-clean"
    MONO_DEAD = "mono-dead"
    DISJOINT = "disjoint"


@dataclass(frozen=True, slots=True)
class Instance:
    """A site to judge for a language pair; the columns of ``detector_instances.tsv``."""

    site: str
    lang_a: str
    lang_b: str
    variant: Variant
    entry: str
    kept: str = ""
    """The only language left; for the mono variants."""
    linked: bool = False
    """Whether links lead from the entry page to both languages; for the whole variant."""

    @property
    def pair(self) -> LanguagePair:
        return LanguagePair(self.lang_a, self.lang_b)


@dataclass
class FrozenWeb:
    """A frozen site that answers requests; pages are read once, as a crawl reads them."""

    site: Site
    _pages: dict[str, PageRecord | None] = field(default_factory=dict)
    _targets: dict[str, str] = field(default_factory=dict)

    @cached_property
    def _archive(self) -> Archive:
        return open_archive([self.site.directory])

    def target(self, url: str) -> str:
        """Follow the redirects of *url*."""
        if url not in self._targets:
            target = url
            for _ in range(MAX_REDIRECTS):
                answer = self._archive.find(target)
                if not isinstance(answer, Redirect):
                    break
                target = answer.url
            self._targets[url] = target
        return self._targets[url]

    def read(self, url: str) -> PageRecord | None:
        """Return the page at *url*, which is not a redirect; None without a page."""
        if url not in self._pages:
            answer = self._archive.find(url)
            self._pages[url] = _read(answer) if isinstance(answer, ArchivedResponse) else None
        return self._pages[url]


@dataclass(frozen=True)
class CutWeb:
    """A frozen site without the *removed* pages."""

    web: FrozenWeb
    removed: Collection[str]
    drops_links: bool = False
    """Whether links to removed pages are removed as well."""

    @classmethod
    def from_instance(cls, web: FrozenWeb, instance: Instance) -> CutWeb:
        """Cut the site to the variant of *instance*."""
        site = web.site
        match instance.variant:
            case Variant.MONO_CLEAN | Variant.MONO_DEAD:
                others = {url for url, language in site.languages.items() if language != instance.kept}
                return cls(web, others, instance.variant is Variant.MONO_CLEAN)
            case Variant.DISJOINT:
                return cls(web, halves(site, instance))
            case _:
                return cls(web, ())

    def fetch(self, url: str) -> PageRecord | None:
        """Return the page at *url* after redirects; None without a page."""
        target = self.web.target(url)
        read = None if target in self.removed else self.web.read(target)
        if read is None or not self.drops_links:
            return read
        links = tuple(link for link in read.links if self.web.target(link.url) not in self.removed)
        return msgspec.structs.replace(read, links=links)


def halves(site: Site, instance: Instance) -> set[str]:
    """One half of each two translations in the instance's languages, chosen with seed 0; never its entry page."""
    random = Random(0)
    removed: set[str] = set()
    for urls in _translations(site, instance.pair):
        if removed.isdisjoint(urls):
            removed.add(random.choice([url for url in urls if url != instance.entry]))
    return removed


def _translations(site: Site, pair: LanguagePair) -> Iterator[tuple[str, str]]:
    """The gold pairs of *pair*, then pages at one address but for its language mark, which gold does not all name."""
    sides = {url: pair.side(language) for url, language in site.languages.items()}
    for gold in site.pairs:
        if {sides.get(gold.url_a), sides.get(gold.url_b)} == {pair.a, pair.b}:
            yield gold.url_a, gold.url_b
    for url, side in sides.items():
        if side is not None:
            other = pair.other(side)
            for address in (*rewritten(url, other), without_folder(url) or url):
                if sides.get(address) == other:
                    yield url, address


def read_instances(path: Path) -> list[Instance]:
    """Read the instances in *path* (``detector_instances.tsv``); raises SiteError."""
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return [
                Instance(
                    *(row["site"], row["lang_a"], row["lang_b"], Variant(row["variant"]), row["entry"]),
                    row["kept_language"],
                    row["link_depth_from_entry"] not in ("", "none"),
                )
                for row in csv.DictReader(lines, delimiter="\t")
            ]
    except (OSError, KeyError, ValueError) as error:
        raise SiteError(f"{path} is no list of detector instances: {error}") from error


def site_folders(sites: Path) -> list[Path]:
    """Return the folders of frozen sites in *sites*, by name; raises SiteError without any."""
    found = sorted(path.parent for path in sites.glob("*/site.json"))
    if not found:
        raise SiteError(f"{sites} holds no frozen sites: each is a folder with site.json")
    return found


def make_instances(site: Site) -> list[Instance]:
    """Instances of all variants, for the pairs of languages with most gold pairs; SiteError if it has no home page."""
    home = _home(site)
    pages = _nearest_first(site, home)
    reached = {site.languages[url] for url in site.reachable([home])}
    counts = Counter(tuple(sorted((pair.lang_a, pair.lang_b))) for pair in site.pairs)
    pairs = [(a, b) for (a, b), _ in counts.most_common(MAX_PAIRS)]
    made: list[Instance] = []
    for a, b in pairs:
        whole = Instance(site.directory.name, a, b, Variant.WHOLE, home, linked={a, b} <= reached)
        made += (whole, *_cut(site, whole, pages))
    return [*made, *_absent(site, pairs, home)]


def _home(site: Site) -> str:
    path = site.directory / "site.json"
    try:
        seeds = json.loads(path.read_bytes())["seeds"]
    except (OSError, ValueError, KeyError) as error:
        raise SiteError(f"{path} names no seeds: {error}") from error
    found = next((url for url in map(site.page, seeds) if url in site.languages), None)
    if found is None:
        raise SiteError(f"{path}: none of the seeds is a page of the site")
    return found


def _cut(site: Site, whole: Instance, pages: Sequence[str]) -> Iterator[Instance]:
    """The variants of *whole* that are not bilingual; each begins at the nearest of its *pages*."""
    languages = {whole.lang_a, whole.lang_b}
    for kept in sorted(languages & set(site.languages.values())):
        entry = next(url for url in pages if site.languages[url] == kept)
        for variant in (Variant.MONO_CLEAN, Variant.MONO_DEAD):
            yield replace(whole, variant=variant, entry=entry, kept=kept, linked=False)
    disjoint = replace(whole, variant=Variant.DISJOINT, entry="", linked=False)
    removed = halves(site, disjoint)
    left = [url for url in pages if url not in removed]
    if languages <= {site.languages[url] for url in left}:
        own = next(url for url in left if site.languages[url] in languages)
        yield replace(disjoint, entry=left[0] if left[0] == pages[0] else own)


def _absent(site: Site, pairs: Iterable[tuple[str, str]], home: str) -> Iterator[Instance]:
    """*pairs* with their second language replaced by one that the site lacks."""
    present = set(site.languages.values())
    random = Random(site.directory.name)
    for a, _ in pairs:
        # a language that identifiers confuse with one of the site is not absent
        others = (LanguagePair(a, b) for b in URL_LABELS if b not in present)
        lacking = [pair.b for pair in others if pair.b not in map(pair.side, present)]
        yield Instance(site.directory.name, a, random.choice(lacking), Variant.ABSENT, home)


def _nearest_first(site: Site, home: str) -> list[str]:
    """All pages in the order in which a breadth-first crawl meets them, then those that no link leads to."""
    found: dict[str, None] = {home: None}
    queue = deque(found)
    while queue:
        for url in site.links[queue.popleft()]:
            if url in site.languages and url not in found:
                found[url] = None
                queue.append(url)
    return [*found, *sorted(site.languages.keys() - found, key=lambda url: (len(url), url))]


def _read(answer: ArchivedResponse) -> PageRecord | None:
    """The page in *answer*; None if it is illegible."""
    headers = defaultdict(list, {name.lower(): values for name, values in answer.headers.items()})
    content_type = b"".join(headers[b"content-type"][:1]).decode("latin-1")
    links = tuple(value.decode("latin-1") for value in headers[b"link"])
    try:
        return PageJob(answer.body, content_type, answer.url, links).run()
    except ContentError:
        return None
