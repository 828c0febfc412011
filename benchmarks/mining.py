r"""The URL stage of ``scrapy mine`` on frozen sites laid out as an index: recall, precision, time, memory.

    python -m benchmarks.mining ../shared/data/sites/dev ../shared/data/sites/train
    python -m benchmarks.mining ../shared/data/sites/dev ../shared/data/sites/train --copies 45 --pairs eng-* \
        --engine both
    python -m benchmarks.mining ../shared/data/sites/dev ../shared/data/sites/train --copies 256 --only longest \
        --memory 800MB
    python -m benchmarks.mining ../shared/data/sites/dev --pairs eng-* --content

Each page is a row: its language by CLD2, the length of its text as that of its record, the site as its domain. Copies
are under other hosts and domains. Recall is the share of gold pairs that are found. Precision is the share of gold
among the found pairs that have a document in gold, between languages for which gold has pairs on the site: it says
nothing of others. It is printed for all languages, too, as if each pair that is not gold were wrong. Times are seconds
of processor time of all processes, without making the table. With ``--content`` the pages are laid out as WARC
files, too, and the content stage is measured without an encoder. ``--engine both`` compares all rows of both engines.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import multiprocessing
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from bilingual_crawler.harvest.sites import read_site
from bilingual_crawler.languages.codes import DEFAULT_EQUIVALENTS, UNKNOWN, from_bcp47
from bilingual_crawler.mining.duck import MEMORY, DuckEngine
from bilingual_crawler.mining.run import Mining
from bilingual_crawler.mining.stored import AskedPairs, MiningRequest
from bilingual_crawler.mining.urls import longest, mine_urls, read_tables
from bilingual_crawler.storage.archive import open_warc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import ibis.expr.types as ir

    from bilingual_crawler.mining.duck import Engine
    from bilingual_crawler.mining.urls import UrlStage

Figures = dict[str, str | int | float]
"""Time in processor microseconds a page (a row of the table), memory of the main process, shares by gold."""
Gold = dict[tuple[str, str, str], frozenset[str]]
"""Site and URLs of a gold pair, in alphabetical order, to its languages."""

NAMES = (
    *("url", "url_host_private_domain", "content_languages"),
    *("warc_filename", "warc_record_offset", "warc_record_length"),
)
_COPIES = """
COPY (
    SELECT replace(url, '://', '://' || copy || '.') AS url, copy || '.' || url_host_private_domain
        AS url_host_private_domain, * EXCLUDE (url, url_host_private_domain, copy)
    FROM read_parquet($source), (SELECT 'copy-' || range AS copy FROM range($copies))
) TO '{target}' (FORMAT parquet)"""


def sites_of(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(site for site in folder.iterdir() if (site / "graph.tsv.xz").exists())


def write_index(folders: Sequence[Path], copies: int, folder: Path) -> Path:
    rows, file = [], folder / "index.parquet"
    for site in sites_of(folders):
        with lzma.open(site / "graph.tsv.xz", "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                url, language, size, *_ = line.rstrip("\n").split("\t")
                found = from_bcp47(language) or UNKNOWN
                rows.append((url, site.name, found, f"{site.name}.warc.gz", number, int(size)))
    pq.write_table(pa.table(dict(zip(NAMES, zip(*rows, strict=True), strict=True))), file)
    if not copies:
        return file
    target = folder / "copies.parquet"
    with duckdb.connect(config={"memory_limit": "400MB", "preserve_insertion_order": "false"}) as db:
        db.execute("SET enable_progress_bar = false")
        db.execute(_COPIES.format(target=target), {"source": str(file), "copies": copies})
    return target


def write_archive(folders: Sequence[Path], folder: Path) -> None:
    """The pages of the sites as WARC files of one gzip member a record, and their index."""
    rows = []
    for site in sites_of(folders):
        languages = read_site(site).languages
        with (folder / f"{site.name}.warc.gz").open("wb") as target:
            warc = open_warc(site / "pages.warc.xz")
            for offset, head in warc.heads():
                if head.url in languages:
                    member = gzip.compress(warc.read(offset))
                    place = (f"{site.name}.warc.gz", target.tell(), target.write(member))
                    rows.append((head.url, site.name, from_bcp47(languages[head.url]) or UNKNOWN, *place))
    pq.write_table(pa.table(dict(zip(NAMES, zip(*rows, strict=True), strict=True))), folder / "index.parquet")


def mine_content(folders: Sequence[Path], pairs: str, folder: Path) -> Figures:
    """Mine the sites to the end; returns what the content stage took."""
    (folder / "archive").mkdir()
    write_archive(folders, folder / "archive")
    request = MiningRequest(
        inputs=(str(folder / "archive" / "index.parquet"),),
        pairs=pairs,
        out=folder / "out",
        buckets=16,
        base=str(folder / "archive"),
        rate=1.0,
        formats=(),
        user_agent="",
        settings={"BILINGUAL_ENCODER": ""},
    )
    mining = Mining(request)
    engine = DuckEngine(mining.work)
    urls = mining.mine_urls(engine)
    before = processor_seconds()
    content = mining.mine_content(engine, urls, lambda: None)
    spent, pages = processor_seconds() - before, content.total.planned
    found = sum(sum(methods.values()) for methods in content.total.pairs.values())
    return {"name": "content", "pages": pages, "pairs": found, "microseconds": 1e6 * spent / pages}


def read_gold(folders: Sequence[Path]) -> Gold:
    return {
        (site.name, min(pair.url_a, pair.url_b), max(pair.url_a, pair.url_b)): frozenset((pair.lang_a, pair.lang_b))
        for site in sites_of(folders)
        for pair in read_site(site).pairs
    }


def languages_of(folders: Sequence[Path]) -> set[str]:
    return set().union(*read_gold(folders).values())


def measure(found: pa.Table, gold: Gold) -> Figures:
    pairs = {
        (row["domain"], *sorted((row["url_a"], row["url_b"]))): frozenset(row["pair"].split("-"))
        for row in found.to_pylist()
    }
    documents = {(site, url) for site, *urls in gold for url in urls}
    languages = {(site, languages) for (site, *_), languages in gold.items()}
    hits = len(pairs.keys() & gold.keys())
    judged = [pair for pair in pairs if (pair[0], pair[1]) in documents or (pair[0], pair[2]) in documents]
    known = [pair for pair in judged if pair in gold or (pair[0], pairs[pair]) in languages]
    shares = {"recall": hits / len(gold), "precision": hits / len(known), "strict": hits / len(judged)}
    return {"gold": len(gold), **shares}


def processor_seconds() -> float:
    ended = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    # Spark's Java is still there
    return ended + sum(sum(child.cpu_times()[:4]) for child in psutil.Process().children(recursive=True))


def differences(one: UrlStage, other: UrlStage) -> list[str]:
    """The tables that are not the same, row for row."""
    tables = {
        "pairs of URLs": (one.found, other.found),
        "domains": (one.domains, other.domains),
        "plan": (one.plan(256), other.plan(256)),
    }
    return [name for name, (a, b) in tables.items() if not in_order(a).equals(in_order(b).cast(in_order(a).schema))]


def in_order(table: ir.Table) -> pa.Table:
    columns = sorted(table.columns)
    return table.select(columns).to_pyarrow().sort_by([(column, "ascending") for column in columns])


def engine_of(name: str, work: Path, memory: str) -> Engine:
    if name == "spark":
        from bilingual_crawler.mining.spark import SparkEngine

        return SparkEngine(work)
    return DuckEngine(work, memory)


def report(rows: Sequence[Figures], out: Path | None, console: Console) -> None:
    """Print *rows*, and write them to *out*."""
    for row in rows:
        console.print(
            *(f"{name} {value:,.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items())
        )
    if out:
        out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Make the table, run the stage or a part of it, and print what it found and took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="+", type=Path)
    parser.add_argument("--copies", type=int, default=0)
    parser.add_argument(
        "--engine", choices=("duckdb", "spark", "both"), default="duckdb", help="both: are they the same?"
    )
    parser.add_argument("--only", choices=("longest",))
    parser.add_argument("--memory", default=MEMORY)
    parser.add_argument("--pairs", help="those of --content and --copies (all languages)")
    parser.add_argument("--content", action="store_true")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures, for benchmarks.report")
    options = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    with tempfile.TemporaryDirectory() as folder:
        # another process makes the table, because its memory does not count
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            known = pool.submit(languages_of, options.sites)
            index = pool.submit(write_index, options.sites, options.copies, Path(folder)).result()
        pairs = options.pairs or ",".join(f"{language}-*" for language in sorted(known.result()))
        if options.content:
            report([mine_content(options.sites, pairs, Path(folder))], options.json, console)
            return
        stages, rows = [], []
        for name in ("duckdb", "spark") if options.engine == "both" else (options.engine,):
            work = Path(folder, name)
            engine = engine_of(name, work, options.memory)
            before, began = processor_seconds(), time.monotonic()
            if options.only:
                table = read_tables(engine, [], [str(index)], work)
                console.print(f"{engine.keep(longest(table), 'longest').count().execute():,} rows stay")
            else:
                work.mkdir(exist_ok=True)
                stages.append(mine_urls(engine, [], [str(index)], AskedPairs(pairs, DEFAULT_EQUIVALENTS), work))
                console.print(stages[-1].counts)
            spent, rows_read = processor_seconds() - before, pq.ParquetFile(index).metadata.num_rows
            rows.append(
                {
                    **{"name": name, "pages": rows_read, "microseconds": 1e6 * spent / rows_read},
                    "seconds": time.monotonic() - began,
                    "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
                }
            )
        if len(stages) == 2:
            console.print(f"tables that differ: {differences(*stages) or 'none'}")
        elif stages and not (options.copies or options.pairs):
            rows[0] |= measure(stages[0].found.to_pyarrow(), read_gold(options.sites))
        report(rows, options.json, console)


if __name__ == "__main__":
    main()
