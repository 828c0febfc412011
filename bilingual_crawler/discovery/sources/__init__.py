"""Sources of candidates for bilingual sites, and of the pages that link to a site, by name: ``kind:where``.

- ``base``: the protocols of sources, and their values.
- ``tsv``: both sources from a TSV file.
- ``cc_index``, ``cc_graph``: candidates and backlinks from Common Crawl; need the extra ``discovery``.
- ``cc_pages``: pages from Common Crawl's archives in place of their sites.
- ``database``: DuckDB, as these sources use it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bilingual_crawler.discovery.sources.base import SourceError
from bilingual_crawler.discovery.sources.tsv import TsvBacklinks, TsvCandidates, check_list

if TYPE_CHECKING:
    from collections.abc import Collection

    from bilingual_crawler.discovery.sources.base import BacklinkSource, CandidateSource

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


__all__ = ["BACKLINKS", "CANDIDATES", "SourceError", "backlink_source", "candidate_source", "check_backlinks"]
