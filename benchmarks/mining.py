r"""The URL stage of ``scrapy mine`` on frozen sites laid out as an index: recall, precision, time, memory.

    python -m benchmarks.mining ../shared/data/sites/dev ../shared/data/sites/train
    python -m benchmarks.mining ../shared/data/sites/dev ../shared/data/sites/train --copies 45 --engine spark
    python -m benchmarks.mining ../shared/data/sites/dev ../shared/data/sites/train --copies 256 --only longest \
        --memory 800MB

Each page is a row: its language by CLD2, the length of its text as that of its record, the site as its domain. Copies
are under other hosts and domains. Recall is the share of gold pairs that are found. Precision: of the pairs with a
document in gold, the share that is gold, and the same for those between languages that gold has on the site. Times are
seconds of processor time of all processes, without making the table.
"""

from __future__ import annotations

import argparse
import lzma
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from bilingual_crawler.harvest.sites import read_site
from bilingual_crawler.languages import from_cld2
from bilingual_crawler.mining.asked import AskedPairs
from bilingual_crawler.mining.candidates import longest
from bilingual_crawler.mining.duck import MEMORY, DuckEngine
from bilingual_crawler.mining.tables import read_tables
from bilingual_crawler.mining.urls import mine_urls

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bilingual_crawler.mining.engine import Engine

Gold = dict[tuple[str, str, str], frozenset[str]]
"""Site and URLs of a gold pair, in alphabetical order, to its languages."""

_COPIES = """
COPY (
    SELECT replace(url, '://', '://' || copy || '.') AS url, copy || '.' || url_host_private_domain
        AS url_host_private_domain, * EXCLUDE (url, url_host_private_domain, copy)
    FROM read_parquet($source), (SELECT 'copy-' || range AS copy FROM range($copies))
) TO '{target}' (FORMAT parquet)"""


def sites_of(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(site for site in folder.iterdir() if (site / "graph.tsv.xz").exists())


def write_index(folders: Sequence[Path], file: Path) -> None:
    rows = []
    for site in sites_of(folders):
        with lzma.open(site / "graph.tsv.xz", "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                url, language, size, *_ = line.rstrip("\n").split("\t")
                rows.append((url, site.name, from_cld2(language), f"{site.name}.warc.gz", number, int(size)))
    names = ("url", "url_host_private_domain", "content_languages", "warc_filename", "warc_record_offset")
    pq.write_table(pa.table(dict(zip((*names, "warc_record_length"), zip(*rows, strict=True), strict=True))), file)


def read_gold(folders: Sequence[Path]) -> Gold:
    return {
        (site.name, *sorted((pair.url_a, pair.url_b))): frozenset((pair.lang_a, pair.lang_b))
        for site in sites_of(folders)
        for pair in read_site(site).pairs
    }


def languages_of(folders: Sequence[Path]) -> set[str]:
    return set().union(*read_gold(folders).values())


def measure(found: pa.Table, gold: Gold) -> str:
    pairs = {
        (row["domain"], *sorted((row["url_a"], row["url_b"]))): frozenset(row["pair"].split("-"))
        for row in found.to_pylist()
    }
    documents = {(site, url) for site, *urls in gold for url in urls}
    languages = {(site, languages) for (site, *_), languages in gold.items()}
    hits = len(pairs.keys() & gold.keys())
    judged = [pair for pair in pairs if (pair[0], pair[1]) in documents or (pair[0], pair[2]) in documents]
    known = [pair for pair in judged if pair in gold or (pair[0], pairs[pair]) in languages]
    return (
        f"recall {hits / len(gold):.3f} of {len(gold):,}, precision {hits / len(judged):.3f};"
        f" between languages of gold {hits / len(known):.3f}"
    )


def processor_seconds() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def engine_of(name: str, work: Path, memory: str) -> Engine:
    if name == "spark":
        from bilingual_crawler.mining.spark import SparkEngine

        return SparkEngine(work)
    return DuckEngine(work, memory)


def main() -> None:
    """Make the table, run the stage or a part of it, and print what it found and took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="+", type=Path)
    parser.add_argument("--copies", type=int, default=0)
    parser.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb")
    parser.add_argument("--only", choices=("longest",))
    parser.add_argument("--memory", default=MEMORY)
    options = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    with tempfile.TemporaryDirectory() as folder:
        work, index = Path(folder, "work"), Path(folder, "index.parquet")
        write_index(options.sites, index)
        if options.copies:
            source, index = index, Path(folder, "copies.parquet")
            with duckdb.connect() as db:
                db.execute(_COPIES.format(target=index), {"source": str(source), "copies": options.copies})
        engine = engine_of(options.engine, work, options.memory)
        before, began = processor_seconds(), time.monotonic()
        if options.only:
            rows = read_tables(engine, [], [str(index)], work)
            console.print(f"{engine.keep(longest(rows), 'longest').count().execute():,} rows stay")
            stage = None
        else:
            asked = AskedPairs(",".join(f"{language}-*" for language in sorted(languages_of(options.sites))), ())
            stage = mine_urls(engine, [], [str(index)], asked, work)
            console.print(stage.counts)
        spent, rows_read = processor_seconds() - before, pq.ParquetFile(index).metadata.num_rows
        console.print(
            f"{spent:.1f} s of processor time, {1e6 * spent / rows_read:.1f} µs a row,"
            f" {time.monotonic() - began:.0f} s;"
            f" peak of the main process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB,"
            f" of others {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB"
        )
        if stage is not None and not options.copies:
            console.print(measure(stage.found.to_pyarrow(), read_gold(options.sites)))


if __name__ == "__main__":
    main()
