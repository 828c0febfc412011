"""``scrapy freeze CRAWL…``: make frozen sites of finished crawls, for ``scrapy harvest`` and the benchmarks."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from scrapy.commands import ScrapyCommand

from bilingual_crawler.commands import Tool, in_one_line
from bilingual_crawler.harvest.finished import freeze
from bilingual_crawler.harvest.sites import SiteError
from bilingual_crawler.options import read_value, share
from bilingual_crawler.storage.warc import ArchiveError


class Command(Tool, ScrapyCommand):
    arguments = "CRAWL… --out SITES_DIR"
    purpose = "Make frozen sites, which harvest reads, of finished crawls with an archive"

    def add(self, option: Callable[..., object]) -> None:
        option("--out", type=Path, required=True, help="a new folder of sites, with tasks.tsv")
        text = "score from which a pair that a crawl has found is gold (%(default)s)"
        option("--min-score", default="0.9", metavar="SCORE", help=text)

    def work(self, inputs: list[str], opts: Namespace) -> None:
        least = read_value("--min-score", opts.min_score, share)
        with in_one_line(SiteError, ArchiveError, out=opts.out):
            for task in freeze(list(map(Path, inputs)), opts.out, least):
                print(f"{task}: seeds {' '.join(task.seeds)}")
