"""Crawls of archived sites of generators: after how many downloads so many of the known pairs are there.

    python -m benchmarks.replay ../shared/data/sites/generated [--policies bfs,gain] [--sites nikola] [--json OUT]

The spider itself, one request at a time, out of the archive in each folder of SITES that ``sites.tsv`` names. A pair of
``truth.tsv`` that the archive holds is there when both of its pages are. Every answer counts as a download but
redirects: feeds, sources, dead links. A row of the JSON is a site and a policy: ``pairs``, ``downloads`` in all, and
``to`` (percentage -> downloads; null if the crawl found fewer pairs).
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.golden import environment
from bilingual_crawler.harvest.sites import SiteError
from bilingual_crawler.storage.archive import open_archive
from training.common.options import refuse_bad_input

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PERCENTAGES = (50, 80, 95)
QUIETLY = (
    *("CONCURRENT_REQUESTS=1", "DOWNLOAD_DELAY=0", "AUTOTHROTTLE_ENABLED=False", "LOG_LEVEL=WARNING"),
    *("BILINGUAL_ALIGN=", "BILINGUAL_WARC=False", "BILINGUAL_CONTACT=https://example.org/"),
)


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a file of tab separated values with a header; raises SiteError."""
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    except OSError as error:
        raise SiteError(f"{path}: {error.strerror}: give the folder of generated sites") from error


def crawl(folder: Path, pair: str, seed: str, policy: str, out: Path) -> list[str]:
    """The addresses that the crawl downloads from the site in *folder*, in order."""
    settings = (*QUIETLY, f"BILINGUAL_REPLAY={folder.resolve()}", f"BILINGUAL_OUTPUT_DIR={out}")
    command = [
        *(sys.executable, "-m", "scrapy", "crawl", "bilingual"),
        *(part for one in (f"pair={pair}", f"seeds={seed}", f"policy={policy}") for part in ("-a", one)),
        *(part for one in settings for part in ("-s", one)),
    ]
    subprocess.run(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return [row["url"] for row in rows(out / "crawl.tsv") if not row["status"].startswith("3")]


def downloads_to(pairs: Iterable[tuple[str, str]], order: Iterable[str]) -> list[int]:
    """After how many downloads each of *pairs* is there, least first; without those that never are."""
    at: dict[str, int] = {}
    for number, url in enumerate(order, 1):
        at.setdefault(plain(url), number)
    return sorted(max(at[one], at[other]) for one, other in pairs if one in at and other in at)


def plain(url: str) -> str:
    """*url* without what servers of static files add to it."""
    return url.removesuffix("index.html").removesuffix(".html").rstrip("/")


def measure(folder: Path, pair: str, seed: str, policy: str) -> dict[str, object]:
    """The row of one crawl."""
    archive = open_archive([folder])
    known = ((row["url_a"], row["url_b"]) for row in rows(folder / "truth.tsv"))
    pairs = {(plain(one), plain(other)) for one, other in known if archive.find(one) and archive.find(other)}
    with TemporaryDirectory() as scratch:
        order = crawl(folder, pair, seed, policy, Path(scratch, "out"))
    found = downloads_to(pairs, order)
    needed = {percentage: ceil(percentage / 100 * len(pairs)) for percentage in PERCENTAGES}
    to = {percentage: found[number - 1] if number <= len(found) else None for percentage, number in needed.items()}
    return {"site": folder.name, "policy": policy, "pairs": len(pairs), "downloads": len(order), "to": to}


def seed_of(folder: Path, site: Mapping[str, str]) -> str:
    """The seed of *site*, or its first document if the archive lacks the seed, as that of MediaWiki, a redirect."""
    return rows(folder / "pages.tsv")[0]["url"] if folder.name == "mediawiki" else site["seed"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path)
    parser.add_argument("--policies", default="bfs,gain")
    parser.add_argument("--sites", dest="only", help="names, separated by commas; all by default")
    parser.add_argument("--json", type=Path, metavar="OUT")
    options = parser.parse_args()
    results = []
    with refuse_bad_input(parser):
        for site in rows(options.sites / "sites.tsv"):
            if options.only and site["site"] not in options.only.split(","):
                continue
            folder = options.sites / site["site"]
            for policy in options.policies.split(","):
                results.append(measure(folder, site["pair"], seed_of(folder, site), policy))
                print(json.dumps(results[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
