"""``scrapy crawl``, with arguments checked before anything starts."""

import argparse
import asyncio
import logging
import os
import select
import shlex
import shutil
import signal
import sys
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Event, Thread

from scrapy.commands import ScrapyHelpFormatter
from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.crawler import Crawler, CrawlerProcessBase
from scrapy.exceptions import UsageError
from scrapy.settings import SETTINGS_PRIORITIES, Settings
from scrapy.spiderloader import SpiderLoader
from scrapy.utils.log import configure_logging
from scrapy.utils.project import inside_project

from bilingual_crawler.commands import PROJECT_SETTINGS, SPIDERS, TOOL, adapt, check_settings, refuse_unknown
from bilingual_crawler.crawl.context import CrawlContext, Seed, job_in, memo_of
from bilingual_crawler.crawl.description import read_description, write_description
from bilingual_crawler.crawl.middlewares.backoff import NO_ANSWER
from bilingual_crawler.crawl.signals import ERRORS, FAILED_OUTPUTS, STOPPED
from bilingual_crawler.crawl.spiders.arguments import ARGUMENTS, parse_arguments, parse_discovery
from bilingual_crawler.crawl.visits import FRONTIER_LOST, WRITE_ERROR
from bilingual_crawler.discovery.sites import read_bilingual
from bilingual_crawler.frontier.frontier import BLOCKED, StoreError
from bilingual_crawler.languages.codes import language_name
from bilingual_crawler.options import PLAIN, Options, usage_error, wrong
from bilingual_crawler.pages.language import REMEDY
from bilingual_crawler.pages.sandbox.pool import command as module_command
from bilingual_crawler.reporting.ledger import under
from bilingual_crawler.reporting.results import read_summary
from bilingual_crawler.storage.records import CRAWL, DESCRIPTION, DOCUMENTS, SITES, read_tsv
from bilingual_crawler.urls.hosts import with_http

logger = logging.getLogger(__name__)

PARSERS: Mapping[str, Callable[..., CrawlContext]] = {"bilingual": parse_arguments, "discovery": parse_discovery}
"""The spiders, and what checks their arguments."""
CALLED = {"bilingual": "crawl", "discovery": "discover"}  # spider -> the command of the console script that runs it
UNFINISHED = (STOPPED, NO_ANSWER, BLOCKED, WRITE_ERROR)  # the finish_reason of crawls that a resume continues
SEEDS_NAMED = 5  # number of seeds that a message names
EXAMPLES = (
    "--pair eng-mlt --seeds https://example.org/ --contact https://your.page/about-this-crawl",
    "--pair eng-mlt --seeds seeds.txt --contact mailto:you@example.org --max-pages 5000 --status 8010",
)


class Command(CrawlCommand):
    """Scrapy's command. Wrong arguments of our spider end with one line, a crawl without a page with exit code 1."""

    settings: Settings
    crawler_process: CrawlerProcessBase
    described: Sequence[str] = ()  # the spiders whose options the help lists; none for the one that is named, or all

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        # it looks through all modules loaded so far, which are more when a crawl begins; other commands do without
        import scrapy.core.downloader.handlers.http11  # noqa: F401

        if not inside_project():
            self.settings.setdict(PROJECT_SETTINGS, priority="command")
        if self._has_our_spider():
            adapt(parser)
            # Scrapy has taken the name of the command out
            named = [name for name in sys.argv[1:2] if name in PARSERS]
            _add_options(parser, self.described or named or list(PARSERS))
        super().add_options(parser)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the arguments, too: Scrapy logs its versions before :meth:`run`, and they would hide the error."""
        ours, known = self._has_our_spider(), frozenset(self.settings)
        if ours:
            refuse_unknown(args, {*chain(*ARGUMENTS.values())})
            if len(args) == 1 and args[0] not in PARSERS:
                spiders = SpiderLoader.from_settings(self.settings).list()
                if args[0] not in spiders:
                    raise usage_error(f"no spider {args[0]}; there are: {', '.join(spiders)}")
            if len(args) > 1 and args[0] in PARSERS:
                raise usage_error(f"unexpected argument {args[1]}: give addresses as --seeds")
            given = Counter(argument.partition("=")[0] for argument in opts.spargs)
            if twice := next((name for name, number in given.items() if number > 1), None):
                # the last one alone would count
                remedy = "give all seeds in one, or a file of them" if twice == "seeds" else "give it once"
                raise usage_error(f"--{twice}: is given twice; {remedy}")
            # Scrapy takes any name for a setting, and the crawl would have no limit
            if wrongly := next((one for one in opts.set if one.partition("=")[0] in chain(*ARGUMENTS.values())), None):
                raise usage_error(f"-s {wrongly}: is an argument of the spider; give -a {wrongly}")
        described = read_description(opts.config, args[0], self.settings) if args and ours and opts.config else None
        if described:
            self.settings.setdict(described.settings, priority="cmdline")
        super().process_options(args, opts)
        if described:
            opts.spargs = {**described.arguments, **opts.spargs}
        if ours and len(args) == 1 and args[0] in PARSERS:
            with self._errors_in_one_line(opts):
                check_settings(opts.set, known)
                self._context = PARSERS[args[0]](self.settings, **opts.spargs)
                _check_feeds(self.settings, opts)
            self._in_outputs = self.settings["JOBDIR"] is None and not Options.of(self.settings).frontier
            if self._in_outputs:
                places = {"BILINGUAL_OUTPUT_DIR": self._context.output_dir, "JOBDIR": job_in(self._context.output_dir)}
                self.settings.setdict({name: str(place) for name, place in places.items()}, priority="cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not self._has_our_spider() or len(args) != 1 or args[0] not in PARSERS:
            super().run(args, opts)
            return
        crawl = self._crawl_together if Options.of(self.settings).workers > 1 else self._crawl
        with self._errors_in_one_line(opts):
            unfinished = crawl(args[0], opts)
        if unfinished:
            print(self._how_to_go_on(args[0]), file=sys.stderr)

    def _how_to_go_on(self, spider: str) -> str:
        """The command that resumes this crawl, or why none does."""
        if not (self.settings["JOBDIR"] or Options.of(self.settings).frontier):
            return "The crawl is not finished, and cannot go on: it has no job folder. Give --job DIR next time"
        program, *given = sys.argv
        command = self._command(spider, given, tool=Path(program).name == TOOL)
        if not shutil.which(command[0]):
            command[0] = str(Path(sys.executable).with_name(command[0]))
        job = ["--job", self.settings["JOBDIR"]] if self._in_outputs else []
        return f"The crawl is not finished. To go on: {shlex.join([*command, *job])}"

    def _command(self, spider: str, given: list[str], *, tool: bool) -> list[str]:
        """Return this command with what was *given* after its name; *tool*: for the console script."""
        return [TOOL, CALLED[spider], *given[1:]] if tool else ["scrapy", "crawl", *given]

    @contextmanager
    def _errors_in_one_line(self, opts: argparse.Namespace) -> Iterator[None]:
        """Have errors that the user can mend name the file of arguments, and be in the log file if there is one."""
        try:
            yield
        except (UsageError, StoreError) as error:
            if self.settings["LOG_FILE"]:
                # a Scrapyd job has no terminal; the file, or the level, may be what is wrong
                with suppress(OSError, ValueError):
                    if self.crawler_process is None:
                        configure_logging(self.settings)
                    logger.error(error)
            where = f" (with --config {opts.config})" if opts.config else ""
            raise usage_error(f"{error}{where}") from error

    def _crawl(self, spider: str, opts: argparse.Namespace) -> bool:
        """Crawl in this process; return whether a resume would go on."""
        # it would make records of every page, though no handler wants them
        logging.getLogger("scrapy").setLevel(self.settings["LOG_LEVEL"])
        crawler = self._create_crawler(spider)
        crawlers = [crawler]
        crawling = self.crawler_process.crawl(crawler, **opts.spargs)
        if opts.spargs.get("then") and isinstance(crawling, asyncio.Task):
            crawling.add_done_callback(lambda done: crawlers.extend(self._go_on(crawler, done, opts)))
        with _ends_with_its_terminal():
            self.crawler_process.start()
        if isinstance(crawling, asyncio.Task) and crawling.done() and not crawling.cancelled():
            try:
                # raises the error that kept the crawl from starting
                crawling.result()
            except OSError as error:
                place = error.filename or self._context.output_dir
                raise usage_error(f"{place}: {error.strerror}; make room, or give another folder") from error
        assert crawler.stats
        context = CrawlContext.from_crawler(crawler)
        # one of several workers may find no URL left to fetch
        spared = Options.of(self.settings).frontier and not crawler.stats.get_value("downloader/request_count")
        fruitful = _is_fruitful(context, spared=bool(spared))
        stats = [one.stats.get_stats() for one in crawlers if one.stats]
        # outputs were not written, components raised errors, or the frontier was lost
        failed = any(one.get(FAILED_OUTPUTS) or under(one, ERRORS) for one in stats)
        ends = {one.get("finish_reason") for one in stats}
        if not fruitful or self.crawler_process.bootstrap_failed or failed or ends & {WRITE_ERROR, FRONTIER_LOST}:
            self.exitcode = 1
        return not ends.isdisjoint(UNFINISHED)

    def _crawl_together(self, spider: str, opts: argparse.Namespace) -> bool:
        """Crawl with several worker processes, which get the same arguments and settings; return as `_crawl`."""
        settings, context = self.settings, self._context
        # the client of Redis comes with an extra
        from bilingual_crawler.workers.run import crawl_together

        team = (str(os.getpid()), str(Options.of(settings).workers))
        command = module_command("bilingual_crawler.commands.worker", *team, "crawl", spider, *_again(settings, opts))
        describe = partial(write_description, context, spider, opts.spargs, settings)
        with _ends_with_its_terminal():
            good = crawl_together(context, settings, describe, command)
        if not (_is_fruitful(context) and good):
            self.exitcode = 1
        return read_summary(context.output_dir).get("finish_reason") in UNFINISHED

    def _go_on(self, discovery: Crawler, done: asyncio.Task[None], opts: argparse.Namespace) -> Iterator[Crawler]:
        """Crawl the sites that *discovery* has found, unless it was stopped; yields the crawler."""
        if done.cancelled() or done.exception() or discovery.stats is None:
            return
        folder = CrawlContext.from_crawler(discovery).output_dir
        if discovery.stats.get_value("finish_reason") == STOPPED or not any(read_bilingual(folder / SITES)):
            return
        crawler = self._create_crawler("bilingual")
        places = {"BILINGUAL_OUTPUT_DIR": str(folder / "crawl")}
        if job := crawler.settings["JOBDIR"]:
            places["JOBDIR"] = str(Path(job, "crawl"))
        if shared := Options.of(crawler.settings).frontier:
            places["BILINGUAL_FRONTIER"] = f"{shared}{'-' if '#' in shared else '#'}crawl"
        for name, value in places.items():
            # the process gives its own settings, which have the priority of the command line, to every crawler again
            crawler.settings.set(name, value, SETTINGS_PRIORITIES["cmdline"] + 1)
        names = ("pair", "max_pages_per_site", "until", "render")
        given = {name: opts.spargs[name] for name in names if name in opts.spargs}
        self.crawler_process.crawl(crawler, seeds=str(folder / SITES), **given)
        yield crawler

    def _has_our_spider(self) -> bool:
        """Whether this is our project: the command replaces Scrapy's in all projects of the environment."""
        return SPIDERS in self.settings.getlist("SPIDER_MODULES")


def _check_feeds(settings: Settings, opts: argparse.Namespace) -> None:
    """Raise UsageError for what several workers cannot do, and for feeds that would lose documents."""
    feeds = settings.getdict("FEEDS")
    if Options.of(settings).workers > 1 and ("_job" in opts.spargs or feeds):
        why = f"several processes cannot write one feed; leave FEEDS and -o out, {DOCUMENTS} has the documents"
        if "_job" in opts.spargs:
            why = "a job of Scrapyd is one process; schedule a job for each, with one BILINGUAL_FRONTIER"
        raise wrong("BILINGUAL_WORKERS", settings["BILINGUAL_WORKERS"], why)
    resumes = settings["JOBDIR"] and memo_of(settings["JOBDIR"]).exists()
    for feed in (str(feed) for feed, options in feeds.items() if options.get("overwrite")):
        if opts.spargs.get("then") and "%(" not in feed:
            remedy = "give each its own by %(name)s in the name, as in -O '%(name)s.jsonl'"
            why = "the crawl of then=crawl would write over the feed of the discovery"
            raise usage_error(f"-O {feed}: {why}; {remedy}")
        if resumes and Path(feed.removeprefix("file://")).exists():
            remedy = f"give -o {feed}, which adds to them, or another name ({DOCUMENTS} has all)"
            why = "has the documents of earlier runs, which a resume does not bring again"
            raise usage_error(f"-O {feed}: {why}; {remedy}")


def _again(settings: Settings, opts: argparse.Namespace) -> list[str]:
    """The arguments and settings of this command, as the options of another one."""
    arguments = [f"{name}={value}" for name, value in opts.spargs.items() if isinstance(value, str)]
    names = ("LOG_LEVEL", "LOG_ENABLED", "LOG_FILE")
    logged = [f"{name}={settings[name]}" for name in names if settings[name] is not None]
    config = ["--config", str(opts.config)] if opts.config else []
    options = [("-a", argument) for argument in arguments] + [("-s", setting) for setting in (*opts.set, *logged)]
    return [*config, *chain.from_iterable(options)]


def _is_fruitful(context: CrawlContext, *, spared: bool = False) -> bool:
    """Whether a crawl, unless it was *spared* all requests, has brought pages in all languages; log what it lacks."""
    if fruitless := _without_page(context.seeds, context.output_dir):
        shown = ", ".join(f"{url} ({fate})" for url, fate in list(fruitless.items())[:SEEDS_NAMED])
        more = f" and {len(fruitless) - SEEDS_NAMED} more" if len(fruitless) > SEEDS_NAMED else ""
        logger.warning(f"{len(fruitless)} of {len(context.seeds)} seeds gave no page: {shown}{more}")
    if spared:
        return True
    # the languages that no detector knows need a page that declares them
    documents = read_summary(context.output_dir).get("documents", {}) if context.undetectable else {}
    if unseen := [language for language in context.undetectable if not documents.get(language)]:
        names = " or ".join(map(language_name, unseen))
        logger.error(f"No page declares to be in {names}, which {context.detection} does not know. {REMEDY}")
        return False
    return any(row["language"] for row in read_tsv(context.output_dir / CRAWL))


def _without_page(seeds: Sequence[Seed], folder: Path) -> dict[str, str]:
    """The seeds that gave no page according to the log in *folder*, with the outcomes of their last targets.

    A seed that is not in the log was fetched by another worker, or is still queued.
    """
    origins: defaultdict[str, set[str]] = defaultdict(set)
    for seed in seeds:
        for address in (seed.url, with_http(seed.url)) if seed.guessed_scheme else (seed.url,):
            origins[address].add(seed.url)
    for row in read_tsv(folder / CRAWL):
        if row["location"] and row["url"] in origins:
            origins[row["location"]] |= origins[row["url"]]
    fates: dict[str, str] = {}
    for row in read_tsv(folder / CRAWL):
        for url in origins.get(row["url"], ()):
            # an empty one is that of a page
            fates[url] = "" if row["language"] or fates.get(url) == "" else row["outcome"]
    return {url: fate for url, fate in fates.items() if fate}


@contextmanager
def _ends_with_its_terminal() -> Iterator[None]:
    """Meanwhile a terminal that is closed, or a pipe that nobody reads any more, ends the process as SIGTERM does."""

    def hang_up(*_: object) -> None:
        # the shell and the kernel may both send it, and the second SIGTERM cuts transfers off
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.raise_signal(signal.SIGTERM)

    def watch() -> None:
        broken = pipes.poll()
        # an error of a later write would cut the end off
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for pipe, _ in broken:
            os.dup2(nowhere, pipe)
        if not over.is_set():
            logger.warning("Standard output or standard error has no reader any more")
            os.kill(os.getpid(), signal.SIGTERM)

    # nohup has it ignored
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, hang_up)
    pipes, over = select.poll(), Event()
    # LOG_STDOUT replaces sys.stdout; a stream that was closed before the start is None
    for output in (stream.fileno() for stream in (sys.__stdout__, sys.__stderr__) if stream):
        # a terminal has its own signal; a file has no errors, which are all that is waited for
        if not os.isatty(output):
            pipes.register(output, 0)
    Thread(target=watch, name="pipe-watch", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _add_options(parser: argparse.ArgumentParser, spiders: Sequence[str]) -> None:
    """Add options for arguments of *spiders* and for settings, and tell the other arguments."""
    tool = parser.prog == TOOL
    called = [f"{TOOL} {CALLED[name]}" if tool else f"scrapy crawl {name}" for name in spiders]
    parser.usage = f"{' | '.join(called)} --pair eng-mlt --seeds URL --contact ADDRESS [options]"
    parser.description = "Options stand for arguments (-a) and settings (-s). Defaults are in brackets."
    parser.epilog = "examples:\n" + "\n".join(f"  {one} {options}" for one in called for options in EXAMPLES)
    parser.formatter_class = _LinesAsTheyAre
    arguments = dict(chain.from_iterable(ARGUMENTS[name].items() for name in reversed(spiders)))
    group = parser.add_argument_group("What to crawl")
    add = partial(group.add_argument, action="append", default=[])
    for name, one in arguments.items():
        if one.metavar:
            also = ["--pairs"] if name == "pair" else []
            option = f"--{name.replace('_', '-')}"
            add(option, *also, dest="spargs", type=f"{name}={{}}".format, metavar=one.metavar, help=one.help)
    group = parser.add_argument_group("How to crawl")
    add = partial(group.add_argument, action="append", default=[])
    for name, (option, metavar, words) in PLAIN.items():
        add(option, dest="set", type=f"{name}={{}}".format, metavar=metavar, help=words)
    words = f"TOML file with [arguments] and [settings], such as {DESCRIPTION} of a crawl; options here win"
    group.add_argument("--config", type=Path, metavar="FILE", help=words)
    if tool:
        words = "log each step, not only warnings and errors"
        group.add_argument("-v", "--verbose", dest="loglevel", action="store_const", const="INFO", help=words)
    width, indent = shutil.get_terminal_size().columns - 4, 24
    fill = partial(textwrap.fill, width=width, subsequent_indent=" " * indent, break_on_hyphens=False)
    for name in spiders:
        more = {one: argument.help for one, argument in ARGUMENTS[name].items() if not argument.metavar}
        listed = "\n".join(fill(f"{f'-a {one}=':<{indent}}{words}") for one, words in more.items())
        parser.add_argument_group(f"More arguments of {CALLED[name] if tool else name}", listed)


class _LinesAsTheyAre(argparse.RawDescriptionHelpFormatter, ScrapyHelpFormatter):
    """Scrapy's help, with the line breaks of the text."""
