"""``scrapy freeze CRAWL…``: make frozen sites of finished crawls, for ``scrapy harvest`` and the benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from bilingual_crawler.commands import Tool, in_one_line, refuse_unknown
from bilingual_crawler.harvest.freeze import freeze
from bilingual_crawler.harvest.sites import SiteError
from bilingual_crawler.options import number, read_value
from bilingual_crawler.storage.warc import ArchiveError

if TYPE_CHECKING:
    import argparse


class Command(Tool, ScrapyCommand):
    """Write the archived sites of crawls, their links and the pairs that were found into a folder of frozen sites."""

    def syntax(self) -> str:
        return "CRAWL… --out SITES_DIR"

    def short_desc(self) -> str:
        return "Make frozen sites, which harvest reads, of finished crawls with an archive"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--out", type=Path, required=True, help="a new folder of sites, with tasks.tsv")
        told = "score from which a pair that a crawl has found is gold (%(default)s)"
        parser.add_argument("--min-score", default="0.9", metavar="SCORE", help=told)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        refuse_unknown(args)
        if not args:
            raise UsageError
        least = read_value("--min-score", opts.min_score, number(float, 0, 1, "give a number from 0 to 1"))
        with in_one_line(SiteError, ArchiveError, out=opts.out):
            for task in freeze([Path(folder) for folder in args], opts.out, least):
                print(f"{task}: seeds {' '.join(task.seeds)}")
