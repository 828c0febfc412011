"""Crawls of archived sites of generators: after how many downloads so many of the known pairs are there.

    python -m benchmarks.replay ../shared/data/sites/generated [--policies bfs,gain] [--sites nikola] [--json OUT]

The spider itself, one request at a time, out of the archive in each folder of SITES that ``sites.tsv`` names. A pair of
``truth.tsv`` that the archive holds is there when both of its pages are. Every answer counts as a download but
redirects: feeds, sources, dead links. A row of the JSON is a site and a policy: ``pairs``, ``downloads`` in all, and
``to`` (percentage -> downloads; null if the crawl found fewer pairs).
"""

from __future__ import annotations

import argparse
import json
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bilingual_crawler.harvest.run import replay
from bilingual_crawler.harvest.sites import SiteError
from bilingual_crawler.storage.archive import open_archive
from bilingual_crawler.storage.records import read_tsv
from bilingual_crawler.storage.warc import ArchivedResponse
from training.common.options import refuse_bad_input

if TYPE_CHECKING:
    from collections.abc import Iterable

PERCENTAGES = (50, 80, 95)


def crawl(folder: Path, pair: str, seed: str, policy: str, out: Path) -> list[str]:
    """The addresses that the crawl downloads from the site in *folder*, in order; raises SiteError if it fails."""
    if error := replay(out, {"pair": pair, "policy": policy}, [seed], [folder]).error:
        raise SiteError(f"{folder}: the crawl failed: {error}")
    return [row["url"] for row in read_tsv(out / "crawl.tsv") if not row["status"].startswith("3")]


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
    """The row of one crawl, from *seed*, or from the first page of the site if the archive lacks it."""
    archive = open_archive([folder])
    known = ((row["url_a"], row["url_b"]) for row in read_tsv(folder / "truth.tsv"))
    if not isinstance(archive.find(seed), ArchivedResponse):
        seed = next(read_tsv(folder / "pages.tsv"))["url"]
    pairs = {(plain(one), plain(other)) for one, other in known if archive.find(one) and archive.find(other)}
    with TemporaryDirectory() as scratch:
        order = crawl(folder, pair, seed, policy, Path(scratch, "out"))
    found = downloads_to(pairs, order)
    needed = {percentage: ceil(percentage / 100 * len(pairs)) for percentage in PERCENTAGES}
    to = {percentage: found[number - 1] if number <= len(found) else None for percentage, number in needed.items()}
    return {"site": folder.name, "policy": policy, "pairs": len(pairs), "downloads": len(order), "to": to}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path)
    parser.add_argument("--policies", default="bfs,gain")
    parser.add_argument("--sites", dest="only", help="names, separated by commas; all by default")
    parser.add_argument("--json", type=Path, metavar="OUT")
    options = parser.parse_args()
    results = []
    with refuse_bad_input(parser):
        for site in read_tsv(options.sites / "sites.tsv"):
            if options.only and site["site"] not in options.only.split(","):
                continue
            folder = options.sites / site["site"]
            for policy in options.policies.split(","):
                results.append(measure(folder, site["pair"], site["seed"], policy))
                print(json.dumps(results[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
