"""One output folder of the output folders of several workers."""

import heapq
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bilingual_crawler.crawl.signals import Fetch
from bilingual_crawler.items import Pair
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pairing.model import read_unpaired, replace_pairs, replace_unpaired
from bilingual_crawler.reporting.ledger import sums_of_workers
from bilingual_crawler.reporting.results import ResultsError, check_tables, one_to_one, pairs_of, read_summary
from bilingual_crawler.reporting.summary import UNFINISHED
from bilingual_crawler.storage import records
from bilingual_crawler.storage.files import FolderLock, replacing

PART = "worker-"  # start of the names of the workers' folders; a number follows


def parts_of(folder: Path) -> list[Path]:
    """Return the workers' folders in *folder*, those of earlier runs with more workers among them."""
    parts = (path for path in folder.glob(f"{PART}*") if path.is_dir())
    return sorted(parts, key=lambda path: (len(path.name), path.name))


def join(folder: Path, pairs: LanguagePairs) -> None:
    """Write what the workers' folders in *folder* hold into *folder* itself, replacing what is there; raises OSError.

    The workers' folders stay as they are, for a resume. ``pairs.tsv`` has the pairs that the workers found on the way.
    """
    parts = parts_of(folder)
    logs = (records.read_tsv(part / records.CRAWL) for part in parts)
    with replacing(folder / records.CRAWL) as new:
        log = records.TsvLog(new, Fetch)
        for row in heapq.merge(*logs, key=lambda row: row.get("time", "")):
            log.write(list(row.values()))
        log.close()
    for part in parts:
        for archive in sorted(part.glob("*.warc.gz")):
            _link(archive, folder / f"{part.name}-{archive.name}")
    _join_documents(folder, parts)
    rows = one_to_one({"pair": str(pairs)} | row for part in parts for row in records.read_tsv(part / records.PAIRS))
    found = [Pair(row["url_a"], row["url_b"], float(row["score"]), row["method"], row["pair"]) for row in rows]
    replace_pairs(folder / records.PAIRS, found, pairs)
    paired = {(pair.pair, url) for pair in found for url in (pair.url_a, pair.url_b)}
    left = {(one.pair, one.url): one for part in parts for one in read_unpaired(part / records.UNPAIRED)}
    replace_unpaired(folder / records.UNPAIRED, [one for key, one in left.items() if key not in paired], pairs)


def join_unfinished(folder: Path) -> None:
    """Join the workers' folders in *folder*, if there are any, unless their crawl has ended and joined them.

    Raises LockedError while the workers run, ResultsError and OSError.
    """
    summary = read_summary(folder)
    if parts_of(folder) and summary.get("finish_reason") == UNFINISHED:
        with FolderLock(folder):
            pairs = pairs_of(summary, folder)
            check_tables(folder, pairs)
            join(folder, pairs)


def joined_counts(parts: Sequence[Path]) -> dict[str, Any]:
    """Return the sums of the counts in the summaries of *parts*, and their sites. A part without a summary has none."""
    summaries = list(_summaries(parts))
    starts = [str(summary["started_at"]) for summary in summaries if "started_at" in summary]
    ends = [str(summary["finished_at"]) for summary in summaries if "finished_at" in summary]
    times = {"started_at": min(starts), "finished_at": max(ends)} if starts and ends else {}
    sites = {site: row for summary in summaries for site, row in summary.get("sites", {}).items()}
    return {**times, **sums_of_workers(summaries), "estimate": {}, "sites": sites}


def reasons_of(parts: Sequence[Path]) -> set[str]:
    return {str(summary.get("finish_reason")) for summary in _summaries(parts)}


def _summaries(parts: Sequence[Path]) -> Iterator[Mapping[str, Any]]:
    for part in parts:
        # a worker may not have begun to write
        with suppress(ResultsError):
            yield read_summary(part)


def _join_documents(folder: Path, parts: Sequence[Path]) -> None:
    with replacing(folder / records.DOCUMENTS) as new:
        new.unlink(missing_ok=True)
        documents = records.GzipJsonLines(new)
        seen: set[str] = set()
        for part in parts:
            for record in records.read_json_lines(part / records.DOCUMENTS):
                if record["url"] not in seen:
                    seen.add(record["url"])
                    if archive := record.get("warc_file"):
                        record["warc_file"] = f"{part.name}-{archive}"
                    documents.write(record)
        documents.close()


def _link(file: Path, target: Path) -> None:
    with replacing(target) as new:
        new.unlink(missing_ok=True)
        try:
            os.link(file, new)
        except OSError:
            # a file system without hard links
            shutil.copyfile(file, new)
