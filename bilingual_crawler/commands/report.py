"""``scrapy report OUTPUT_DIR``: count the outputs of a crawl, and write its summary and HTML report again."""

from argparse import Namespace
from pathlib import Path

from scrapy.commands import ScrapyCommand

from bilingual_crawler.commands import Tool
from bilingual_crawler.options import usage_errors
from bilingual_crawler.reporting.report import write_report
from bilingual_crawler.reporting.results import ResultsError, read_summary
from bilingual_crawler.reporting.summary import print_summary
from bilingual_crawler.storage.files import LockedError
from bilingual_crawler.workers.outputs import PART, join_unfinished


class Command(Tool, ScrapyCommand):
    """Write ``summary.json`` and ``report.html`` into the output folder of a crawl, finished or not; print the path."""

    arguments = "OUTPUT_DIR"
    purpose = "Write the HTML report of a crawl's output folder"
    inputs = range(1, 2)

    def work(self, inputs: list[str], opts: Namespace) -> None:
        folder = Path(inputs[0])
        several = f", whose workers have a folder each: {PART}*"
        with usage_errors(OSError, ResultsError), usage_errors(LockedError, before=f"{folder} ", after=several):
            join_unfinished(folder)
            path = write_report(folder)
            # the folder may have been moved
            print_summary({**read_summary(folder), "output_dir": str(folder.absolute())})
            print(path)
