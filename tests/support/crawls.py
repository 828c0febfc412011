"""Crawls of the tests' servers, and what they leave behind."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bilingual_crawler.storage.records import read_json_lines, read_tsv
from support.webserver import Site, run_scrapy, start_scrapy


def each(option: str, *values: str) -> tuple[str, ...]:
    """Arguments of a command: *values*, with *option* before each of them."""
    return tuple(part for value in values for part in (option, value))


def crawl(folder: Path, seeds: str, *more: str, policy: str = "bfs", fresh: bool = False, pair: str = "eng-spa") -> Any:
    return run_scrapy(
        folder,
        *("crawl", "bilingual", "-a", f"pair={pair}", "-a", f"seeds={seeds}", "-a", f"policy={policy}"),
        *("-s", f"BILINGUAL_OUTPUT_DIR={folder / 'out'}"),
        *more,
        fresh=fresh,
    )


def ended_well(result: Any) -> Any:
    """The *result* of a command, which must not have failed."""
    assert result.returncode == 0, result.stderr
    return result


def kill_crawl(folder: Path, seeds: str, *more: str, when: Callable[[], bool]) -> None:
    """Begin the crawl that :func:`crawl` would make, and kill it *when* that is true."""
    process = start_crawl(folder, seeds, "-s", "DOWNLOAD_DELAY=0.05", *more)
    while not when() and process.poll() is None:
        time.sleep(0.02)
    process.kill()
    process.communicate()


def start_crawl(folder: Path, seeds: str, *more: str, fresh: bool = False) -> Any:
    given = (*each("-a", "pair=eng-spa", f"seeds={seeds}"), "-s", f"BILINGUAL_OUTPUT_DIR={folder / 'out'}")
    return start_scrapy(folder, "crawl", "bilingual", *given, *more, fresh=fresh)


def crawl_with_two_workers(folder: Path, seeds: str, frontier: str, *more: str) -> list[Path]:
    """Crawl *seeds* with two workers that share the Redis *frontier*; return their folders."""
    folders = [folder / name for name in ("a", "b")]
    for own in folders:
        own.mkdir()
    for worker in [start_crawl(own, seeds, "-s", f"BILINGUAL_FRONTIER={frontier}", *more) for own in folders]:
        end(worker)
    return folders


def end(process: Any, status: int = 0) -> str:
    """Wait for the end of a command, with this exit status; the log, which has no traceback."""
    log: str = process.communicate(timeout=300)[1]
    assert process.returncode == status, log
    assert "Traceback" not in log
    return log


def succeeds(folder: Path, *arguments: str) -> str:
    """What a command that ends well says."""
    result = ended_well(run_scrapy(folder, *arguments))
    return str(result.stdout + result.stderr)


def documents(folder: Path) -> dict[str, dict[str, Any]]:
    return {record["url"]: record for record in read_json_lines(folder / "out" / "documents.jsonl.gz")}


def pairs(folder: Path, site: Site) -> set[tuple[str, str]]:
    rows = read_tsv(folder / "out" / "pairs.tsv")
    return {(row["url_a"].removeprefix(site.url), row["url_b"].removeprefix(site.url)) for row in rows}


def outcomes(folder: Path, url: str) -> dict[str, str]:
    return {row["url"].removeprefix(url): row["outcome"] for row in read_tsv(folder / "out" / "crawl.tsv")}


def summary(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "out" / "summary.json").read_text())
    return content


def refused(folder: Path, *arguments: str) -> str:
    """The one line with which a command refuses to begin."""
    result = run_scrapy(folder, *arguments)
    said = result.stdout + result.stderr
    assert result.returncode == 2, said
    assert "Traceback" not in said
    [line] = [line for line in said.splitlines() if "rror:" in line]
    return line.partition("error: ")[2]
