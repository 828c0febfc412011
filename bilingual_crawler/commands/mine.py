"""``scrapy mine INPUT…``: find parallel documents in tables of pages and archives of any size."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.utils.misc import load_object

from bilingual_crawler import to_install
from bilingual_crawler.commands import FORMATS, PROGRESS, Tool, in_one_line, read_formats
from bilingual_crawler.discovery.sources.base import SourceError
from bilingual_crawler.encoders import EncoderError
from bilingual_crawler.languages.codes import LanguageError
from bilingual_crawler.options import PREFIX, Options, check_folder, usage_error, wrong
from bilingual_crawler.pages.language import LanguageDetectorError
from bilingual_crawler.scoring.models import ModelError
from bilingual_crawler.urls.hosts import is_loopback

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from bilingual_crawler.mining.duck import Engine
    from bilingual_crawler.mining.run import Mining


ENGINES = {"duckdb": "duck.DuckEngine", "spark": "spark.SparkEngine"}  # whose packages are imported when they are used


class Command(Tool, ScrapyCommand):
    arguments = "INPUT… --pairs eng-mlt|eng-* --out DIR [options]"
    purpose = "Find parallel documents in Common Crawl, or in many crawls"
    description = (
        "INPUT is a Parquet file of Common Crawl's columnar index or of another table with its columns, a folder"
        " or glob of them, an s3:// address, a list of such paths (.paths, .txt), or the output folder of a crawl."
        " First pairs URLs, without reading any page, then reads the pages of the domains that have both languages"
        " from their WARC or WET files and aligns them as scrapy align does. A mining that was interrupted goes on"
        " where it was if the command is repeated."
    )
    inputs = range(sys.maxsize)

    def add(self, option: Callable[..., object]) -> None:
        text = "languages, such as eng-mlt,eng-isl; eng-* pairs English with every other language"
        option("--pairs", "--pair", help=text)
        option("--out", type=Path, help="folder for everything that is found")
        option("--engine", choices=tuple(ENGINES), default="duckdb", help="what runs the queries (%(default)s)")
        option("--stage", choices=("urls", "content", "all"), default="all", help="what to do now (%(default)s)")
        option("--base-url", metavar="URL|DIR", help="where the files lie that the table names")
        option("--buckets", type=int, default=256, help="parts of the content stage (%(default)s)")
        option("--rate", type=float, default=20.0, help="requests a second, all together (%(default)s)")
        option("--bitext", type=Path, metavar="DIR", help="align sentences too, and write them into this folder")
        option("--formats", help=FORMATS)
        option("--hosts", action="store_true", help="write the domains with both languages into sites.tsv")

    def work(self, inputs: list[str], opts: Namespace) -> None:
        for name in ("pairs", "out"):
            if not inputs or not getattr(opts, name):
                raise UsageError(f"give an INPUT, --pairs and --out; {f'--{name}' if inputs else 'INPUT'} is missing")
        if opts.buckets < 1:
            raise wrong("--buckets", opts.buckets, "give 1 or more")
        if not opts.rate > 0:
            raise wrong("--rate", opts.rate, "give more than 0")
        formats = read_formats(opts.formats, opts.bitext) if opts.bitext or opts.formats else ()
        options = Options.of(self.settings)
        web = opts.base_url is not None and opts.base_url.startswith(("http://", "https://"))
        if web and not options.contact and not is_loopback(opts.base_url):
            raise usage_error("BILINGUAL_CONTACT is missing: give a page or address where the archive can reach you")
        for name, folder in (("--out", opts.out), ("--bitext", opts.bitext)):
            if folder is not None:
                check_folder(name, folder)
        try:
            # it needs an extra, and every scrapy command imports this module
            from bilingual_crawler.mining.run import Mining
            from bilingual_crawler.mining.stored import MiningError, MiningRequest
        except ImportError as error:
            raise UsageError(f"{error.name} is missing: {to_install('mine')}") from None
        errors = (MiningError, SourceError, LanguageError, LanguageDetectorError, ModelError, EncoderError)
        with in_one_line(*errors, out=opts.out):
            asked = tuple(inputs), opts.pairs, opts.out, opts.buckets, opts.base_url, opts.rate, formats
            ours = {name: value for name, value in self.settings.items() if name.startswith(PREFIX)}
            self._mine(Mining(MiningRequest(*asked, options.full_user_agent, ours)), opts)

    def _mine(self, mining: Mining, opts: Namespace) -> None:
        from bilingual_crawler.mining.run import print_content, print_urls
        from bilingual_crawler.mining.stored import store

        console = Console(highlight=False, soft_wrap=True)
        urls = mining.urls_done
        if opts.stage == "content" and urls is None:
            raise wrong("--stage", opts.stage, f"{opts.out} has no pairs of URLs yet; begin with --stage urls")
        if opts.stage != "urls":
            mining.check_content()
        engine: Engine = load_object(f"bilingual_crawler.mining.{ENGINES[opts.engine]}")(mining.work)
        if urls is None:
            with console.status("pairing URLs"):
                urls = mining.mine_urls(engine)
        print_urls(console, urls)
        if opts.hosts:
            mining.write_hosts()
        content, sentences = None, {}
        if opts.stage != "urls":
            with Progress(*PROGRESS, console=console) as progress:
                task = progress.add_task("mining buckets", total=len(urls.buckets))
                content = mining.mine_content(engine, urls, lambda: progress.advance(task))
            if opts.bitext and not content.failed:
                sentences = mining.export(urls, opts.bitext)
            print_content(console, content, sentences)
        store(opts.out / "report.json", {"urls": urls, "content": content, "sentence_pairs": sentences})
        if content is not None and content.failed:
            self.exitcode = 1
