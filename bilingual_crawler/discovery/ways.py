"""Sources of candidates and backlinks, by name (``kind:where``), and as hops for the search."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from bilingual_crawler.discovery.policies import Hop, Way
from bilingual_crawler.discovery.sources.base import SourceError
from bilingual_crawler.discovery.sources.tsv import TsvBacklinks, TsvCandidates, check_list
from bilingual_crawler.urls.hosts import host_of, registered_domain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from bilingual_crawler.discovery.sources.base import BacklinkSource, Candidate, CandidateSource, WarcRange
    from bilingual_crawler.discovery.sources.cc_pages import ArchivedPages
    from bilingual_crawler.languages.codes import LanguagePair

logger = logging.getLogger(__name__)

OWN_LINKS = "crawl"
"""The source of backlinks that is the crawl itself."""
MAX_BACKLINKS = 50
"""Ways back from one site, the heaviest ones."""


class Sources:
    """The sources that *candidates* and *backlinks* name: ``tsv:FILE`` and so on; *archive* has entry pages.

    Raises SourceError if a source is missing, or one of candidates cannot be used.
    """

    def __init__(
        self, candidates: Sequence[str], backlinks: Sequence[str], archive: ArchivedPages | None = None
    ) -> None:
        self.own_links = OWN_LINKS in backlinks
        self.archive = archive
        self.pages: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """By site, its known pages by language: those of all hosts that are candidates."""
        self.archived: dict[str, WarcRange] = {}
        """Where the archive has the entry pages of candidates, by URL."""
        self._candidates = {spec: candidate_source(spec) for spec in candidates}
        self._hosts: set[str] = set()
        """Hosts of the candidates."""
        self._named = [spec for spec in backlinks if spec != OWN_LINKS]
        self._backlinks: list[BacklinkSource] = []
        for spec in self._named:
            check_backlinks(spec)

    def open(self, folder: Path) -> None:
        """Open the sources of backlinks, once all candidates are known; *folder* takes what they make.

        A source that turns out to be damaged is logged, and left out. This may be done in another thread, as may
        :meth:`ways_back` afterwards.
        """
        for spec in self._named:
            try:
                source = backlink_source(spec, folder, self._hosts)
            except SourceError as error:
                logger.error(f"backlinks={spec}: {error}; the discovery goes on without them")
                continue
            self._backlinks.append(source)
            _log(spec, source.left_out)

    def candidates(self, pair: LanguagePair) -> Iterator[Candidate]:
        """The candidates of all sources. A source that turns out to be damaged ends there, and is logged.

        They may be read in another thread.
        """
        for spec, source in self._candidates.items():
            try:
                yield from source.candidates(pair)
            except SourceError as error:
                logger.error(f"candidates={spec}: {error}; the candidates read before are visited")
            _log(spec, source.left_out)

    def ways(self, candidates: Iterable[Candidate]) -> Iterator[Hop]:
        """Ways to *candidates*, once what the sources know of them is noted."""
        for one in candidates:
            self._hosts.add(host_of(one.url))
            if one.pages:
                self.pages[registered_domain(one.url)].update(one.pages)
            if self.archive and one.archived:
                self.archived[one.url] = one.archived
            yield Hop(Way.FORTH, one.url, prior=one.prior)

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


CANDIDATES = ("cc-index:PATHS", "tsv:FILE")
BACKLINKS = ("cc-graph:DIR", "tsv:FILE")


def candidate_source(spec: str) -> CandidateSource:
    """``cc-index:PATHS`` or ``tsv:FILE``; SourceError naming the input and the fix."""
    match _split(spec, CANDIDATES):
        case "cc-index", where:
            # DuckDB is in an extra
            from bilingual_crawler.discovery.sources.cc_index import CommonCrawlIndex

            return CommonCrawlIndex(where)
        case _, where:
            return TsvCandidates(Path(where))


def check_backlinks(spec: str) -> None:
    """Raise SourceError as :func:`backlink_source` does, without reading the source."""
    match _split(spec, BACKLINKS):
        case "cc-graph", where:
            # DuckDB is in an extra
            from bilingual_crawler.discovery.sources.cc_graph import find_graph

            if not Path(where).is_file():
                find_graph(Path(where))
        case _, where:
            check_list(Path(where))


def backlink_source(spec: str, folder: Path, likely: Collection[str] = ()) -> BacklinkSource:
    """``cc-graph:DIR`` or ``tsv:FILE``; SourceError naming the input and the fix.

    The links of a graph become a table, ``backlinks-DIR.duckdb`` in *folder*, in which the hosts come first that link
    to *likely* ones. It serves later runs, and other crawls as ``cc-graph:FOLDER/backlinks-DIR.duckdb``.
    """
    match _split(spec, BACKLINKS):
        case "cc-graph", where:
            # DuckDB is in an extra
            from bilingual_crawler.discovery.sources.cc_graph import CommonCrawlGraph, prune

            table = Path(where)
            if not table.is_file():
                table = folder / f"backlinks-{table.resolve().name}.duckdb"
                prune(Path(where), table, likely=likely)
            return CommonCrawlGraph(table)
        case _, where:
            return TsvBacklinks(Path(where))


def _split(spec: str, known: tuple[str, ...]) -> tuple[str, str]:
    kind, _, where = spec.partition(":")
    if not where or kind not in {form.partition(":")[0] for form in known}:
        raise SourceError(f"{spec!r} is no source; choose {' or '.join(known)}")
    return kind, where
