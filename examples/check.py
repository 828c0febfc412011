"""Compares a crawl of the example site with its true pairs: ``python examples/check.py OUTPUT_DIR``.

Prints the share of the true pairs that are in ``pairs.tsv`` and those that are missing; ends with status 1 when the
share is below ``--at-least`` (default 0.9), unless the crawl ended before it had seen all pages.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from urllib.parse import urlsplit

GOLD = Path(__file__).parent / "gold.tsv"
Pairs = set[tuple[str, str]]


def gold_pairs(pairs: str) -> Pairs:
    """The true pairs of the example site in pairs of its languages, such as ``eng-eus`` or ``eng-eus,eng-spa``."""
    return {pair for languages in pairs.split(",") for pair in read_pairs(GOLD, *languages.split("-"))}


def read_pairs(path: Path, first: str = "url_a", second: str = "url_b") -> Pairs:
    """Two columns of a table, without scheme and host; rows that lack one of them are no pairs."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {(_address(row[first]), _address(row[second])) for row in rows if row[first] and row[second]}


def _address(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the pairs of a crawl with those of the example site.")
    parser.add_argument("output_dir", type=Path, metavar="OUTPUT_DIR")
    parser.add_argument("--at-least", type=float, default=0.9, metavar="SHARE", help="smallest share that is a success")
    arguments = parser.parse_args()
    summary = json.loads((arguments.output_dir / "summary.json").read_text(encoding="utf-8"))
    gold = gold_pairs(summary["pair"])
    found = read_pairs(arguments.output_dir / "pairs.tsv")
    share = len(gold & found) / len(gold)
    print(f"{len(gold & found)} of the {len(gold)} true pairs of the example site were found ({share:.0%})")
    complete = summary["finish_reason"] == "finished"
    missing = gold - found if complete else set()
    for title, pairs in (("Not found", missing), ("Found but not true", found - gold)):
        for first, second in sorted(pairs):
            print(f"{title}: {first} and {second}")
    sys.exit(complete and share < arguments.at_least)


if __name__ == "__main__":
    main()
