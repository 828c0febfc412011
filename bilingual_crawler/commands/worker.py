"""The process of one of several workers: ``python -m bilingual_crawler.commands.worker PARENT COUNT crawl …``."""

import os
import sys

from scrapy.cmdline import execute

from bilingual_crawler.commands import project_settings
from bilingual_crawler.pages.sandbox import pool as sandbox


def main() -> None:
    """Run a command of Scrapy as one of COUNT processes, until the process PARENT ends."""
    # the client of Redis comes with an extra, and scrapy imports this module to list the commands
    from bilingual_crawler.workers.run import die_with

    parent, count, *arguments = sys.argv[1:]
    die_with(int(parent))
    sandbox.use(max(1, (os.cpu_count() or 1) // int(count)))
    execute(["scrapy", *arguments], project_settings())


if __name__ == "__main__":
    main()
