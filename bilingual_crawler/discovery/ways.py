"""Sources of candidates and backlinks, by name (``kind:where``), and as hops for the search."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from bilingual_crawler.discovery.policies import Hop, Way
from bilingual_crawler.discovery.sources.base import SourceError, TsvBacklinks, TsvCandidates, check_list
from bilingual_crawler.urls.hosts import host_of, registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from bilingual_crawler.discovery.sources.base import BacklinkSource, CandidateSource, Lead, WarcRange
    from bilingual_crawler.discovery.sources.cc_pages import ArchivedPages
    from bilingual_crawler.languages.codes import LanguagePair

logger = logging.getLogger(__name__)

OWN_LINKS = "crawl"
"""The source of backlinks that is the crawl itself."""
MAX_BACKLINKS = 50  # ways back from one site, the heaviest ones


class Sources:
    """The sources that *candidates* and *backlinks* name, and *archive* with entry pages; raises SourceError."""

    def __init__(self, candidates: Sequence[str], backlinks: Sequence[str], archive: ArchivedPages | None) -> None:
        self.own_links = OWN_LINKS in backlinks
        self.archive = archive
        self.pages: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """By site, its known pages by language: those of all hosts that are candidates."""
        self.archived: dict[str, WarcRange] = {}
        """Where the archive has the entry pages of candidates, by URL."""
        self._candidates = {spec: candidate_source(spec) for spec in candidates}
        self._hosts: set[str] = set()
        self._closed = {spec: backlink_source(spec) for spec in backlinks if spec != OWN_LINKS}
        self._backlinks: list[BacklinkSource] = []

    def open(self, folder: Path) -> None:
        """Open the sources of backlinks, once all candidates are known; *folder* takes what they make.

        A damaged one is logged, and left out. This, and then :meth:`ways_back`, may be done in another thread.
        """
        for spec, opened in self._closed.items():
            try:
                source = opened(folder, self._hosts)
            except SourceError as error:
                logger.error(f"backlinks={spec}: {error}; the discovery goes on without them")
                continue
            self._backlinks.append(source)
            _log(spec, source.left_out)

    def candidates(self, pair: LanguagePair) -> Iterator[Lead]:
        """The candidates of all sources, in any thread. A source that is damaged ends there, and is logged."""
        for spec, source in self._candidates.items():
            try:
                yield from source.candidates(pair)
            except SourceError as error:
                logger.error(f"candidates={spec}: {error}; the candidates read before are visited")
            _log(spec, source.left_out)

    def ways(self, candidates: Iterable[Lead]) -> Iterator[Hop]:
        """Ways to *candidates*, once what the sources know of them is noted."""
        for one in candidates:
            self._hosts.add(host_of(one.url))
            if one.pages:
                self.pages[registered_domain(one.url)].update(one.pages)
            if self.archive and one.archived:
                self.archived[one.url] = one.archived
            yield Hop(Way.FORTH, one.url, prior=one.weight)

    def ways_back(self, url: str) -> list[Hop]:
        """Ways from the entry page *url* to the pages that link to its site; none while the sources are not open."""
        return [
            Hop(Way.BACK, link.url, url, prior=link.weight, guessed_scheme=link.guessed_scheme)
            for source in self._backlinks
            for link in source.backlinks(host_of(url))[:MAX_BACKLINKS]
        ]


def _log(spec: str, left_out: Counter[str]) -> None:
    if left_out:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in left_out.most_common())
        logger.warning(f"{spec}: left out: {reasons}")


def candidate_source(spec: str) -> CandidateSource:
    """``cc-index:PATHS`` or ``tsv:FILE``; SourceError naming the input and the fix."""
    kind, where = _split(spec, "cc-index:PATHS", "tsv:FILE")
    if kind == "tsv":
        return TsvCandidates(Path(where))
    # DuckDB is in an extra
    from bilingual_crawler.discovery.sources.cc_index import CommonCrawlIndex

    return CommonCrawlIndex(where)


def backlink_source(spec: str) -> Callable[[Path, Collection[str]], BacklinkSource]:
    """What opens ``cc-graph:DIR`` or ``tsv:FILE``; SourceError naming the input and the fix, now or when it is opened.

    It is opened with a folder and hosts. The links of a graph become a table, ``backlinks-DIR.duckdb`` in that folder,
    also for later runs and other crawls, in which those come first who link to these hosts.
    """
    kind, where = _split(spec, "cc-graph:DIR", "tsv:FILE")
    place = Path(where)
    if kind == "tsv":
        check_list(place)
        return lambda folder, likely: TsvBacklinks(place)
    # DuckDB is in an extra
    from bilingual_crawler.discovery.sources.cc_graph import CommonCrawlGraph, find_graph, prune

    if place.is_file():
        return lambda folder, likely: CommonCrawlGraph(place)
    find_graph(place)

    def open_graph(folder: Path, likely: Collection[str]) -> BacklinkSource:
        table = folder / f"backlinks-{place.resolve().name}.duckdb"
        prune(place, table, likely=likely)
        return CommonCrawlGraph(table)

    return open_graph


def _split(spec: str, *known: str) -> tuple[str, str]:
    kind, _, where = spec.partition(":")
    if not where or kind not in {form.partition(":")[0] for form in known}:
        raise SourceError(f"{spec!r} is no source; choose {' or '.join(known)}")
    return kind, where
