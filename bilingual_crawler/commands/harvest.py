"""``scrapy harvest SITES_DIR``: measure how early each policy finds the gold pairs of archived sites."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from bilingual_crawler.commands import PROGRESS, Tool, refuse_unknown
from bilingual_crawler.harvest.curve import with_gold, write_deciles
from bilingual_crawler.harvest.run import LINK_SOURCES, Harvest, ResultStore
from bilingual_crawler.harvest.runs import read_run, runs_table
from bilingual_crawler.harvest.simulator import explain
from bilingual_crawler.harvest.sites import SiteError, Task, read_tasks
from bilingual_crawler.harvest.table import print_tables
from bilingual_crawler.harvest.together import Together, joint_table, write_joint
from bilingual_crawler.languages.codes import LanguageError, LanguagePair
from bilingual_crawler.options import (
    SITE_BUDGETS,
    Options,
    check_folder,
    each,
    plugin,
    read_value,
    share_of_pairs,
    usage_error,
    usage_errors,
    wrong,
)
from bilingual_crawler.plugins import POLICIES
from bilingual_crawler.storage.warc import ArchiveError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection


class Command(Tool, ScrapyCommand):
    """Crawl archived sites once per task and policy, then print and plot how early pairs were found."""

    def syntax(self) -> str:
        return "SITES_DIR --out DIR [options] | --runs CRAWL…"

    def short_desc(self) -> str:
        return "Measure how early crawl policies find parallel pages on archived sites"

    def long_desc(self) -> str:
        return (
            "Crawl the archived sites of SITES_DIR with each policy, one request at a time, and compare the"
            " order of downloads with that of an oracle that knows the gold pairs. Writes results.json,"
            " deciles.tsv, orders/ and harvest.png into DIR; earlier results in DIR are kept, so policies can"
            " be added later. With --until the crawls end by themselves, and until.png compares what they"
            " estimate with what they found."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--policies", help="separated by commas (bfs,cld2,smart,oracle, or gain with --together)")
        add("--out", type=Path, default=Path("harvest"), help="output folder (%(default)s)")
        add(
            "--together",
            nargs="?",
            metavar="BUDGETS",
            const=",".join(SITE_BUDGETS),
            help="crawl all sites as one for each pair, with each of these BILINGUAL_SITE_BUDGETs (%(const)s)",
        )
        add(
            "--pairs",
            "--pair",
            type=lambda pairs: pairs.split(","),
            help="only the tasks of these pairs, separated by commas",
        )
        add("--tasks", type=int, metavar="N", help="only the first N tasks")
        add("--site", metavar="ID", help="only the tasks of this site")
        add(
            "--until",
            default="1",
            metavar="SHARE",
            help="the crawls leave a site when so many of its pairs are found (%(default)s: all)",
        )
        add("--links", choices=LINK_SOURCES, default="all", help="links that are followed (%(default)s)")
        add(
            "--runs",
            nargs="+",
            type=Path,
            metavar="CRAWL",
            help="compare output folders of finished crawls of the same seeds by what they cost, and exit",
        )
        add("--explain", nargs=2, metavar=("SITE", "URL"), help="show how gain ranked this URL, and exit")
        add("--jobs", type=int, default=os.cpu_count() or 1, help="number of crawls at a time (%(default)s)")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        refuse_unknown(args)
        if opts.runs:
            if args:
                raise usage_error(f"{args[0]}: --runs compares crawls alone; leave it out")
            with usage_errors(SiteError, ArchiveError):
                Console(width=200).print(runs_table([read_run(folder) for folder in opts.runs]))
            return
        if len(args) != 1:
            raise UsageError
        assert self.settings
        Options.of(self.settings)
        check_folder("--out", opts.out)
        try:
            opts.until = share_of_pairs(opts.until)
        except ValueError as error:
            raise wrong("--until", opts.until, str(error)) from None
        try:
            # as in the tasks, whose languages may be any codes
            opts.pairs = [str(LanguagePair.parse(pair, ())) for pair in opts.pairs or ()]
        except LanguageError as error:
            raise wrong("--pairs", ",".join(opts.pairs), str(error)) from None
        if opts.tasks is not None and opts.tasks < 1:
            raise wrong("--tasks", opts.tasks, "give a whole number of 1 or more")
        with usage_errors(SiteError, ArchiveError):
            if opts.explain:
                self._explain(Path(args[0]), *opts.explain)
            elif opts.together:
                self._together(Path(args[0]).resolve(), opts)
            else:
                self._harvest(Path(args[0]).resolve(), opts)

    def _explain(self, sites: Path, site: str, url: str) -> None:
        for task in _select(read_tasks(sites), site):
            Console().print(explain(sites, task, url))

    def _harvest(self, sites: Path, opts: argparse.Namespace) -> None:
        policies = _policies(opts.policies or "bfs,cld2,smart,oracle")
        tasks = _select(read_tasks(sites), opts.site, opts.pairs)[: opts.tasks]
        store = ResultStore(opts.out / "results.json", opts.links, opts.until)
        harvest = Harvest(sites, opts.out.resolve(), opts.links, tuple(opts.set), max(opts.jobs, 1), opts.until)
        console = Console()
        failed = 0
        with (
            Progress(*PROGRESS, console=console) as progress,
            closing(harvest.run(tasks, policies)) as results,
        ):
            bar = progress.add_task("", total=len(tasks) * len(policies))
            for result in results:
                store.add(result)
                failed += result.error is not None
                progress.update(bar, advance=1, description=f"{result.task} {result.policy}")
        print_tables(store.results, console)
        write_deciles(store.results, opts.out / "deciles.tsv")
        written = ["results.json", "deciles.tsv", "orders/"]
        if curves := with_gold(store.results):
            # matplotlib takes a second to import, and every scrapy command imports this module
            from bilingual_crawler.harvest.plot import plot_estimates, plot_results

            written.append(plot_results(curves, opts.out / "harvest.png").name)
            if any(result.estimate for result in curves) and opts.until < 1:
                written.append(plot_estimates(curves, opts.out / "until.png").name)
        console.print(f"{', '.join(written[:-1])} and {written[-1]} are in {opts.out}", highlight=False)
        self.exitcode = int(failed > 0)

    def _together(self, sites: Path, opts: argparse.Namespace) -> None:
        budgets = list(dict.fromkeys(opts.together.split(",")))
        if not set(budgets) <= set(SITE_BUDGETS):
            raise wrong("--together", opts.together, f"choose among {', '.join(SITE_BUDGETS)}")
        tasks = _select(read_tasks(sites), opts.site)
        pairs = list(dict.fromkeys(task.pair for task in _select(tasks, opts.site, opts.pairs)[: opts.tasks]))
        together = Together(sites, opts.out.resolve(), tasks, opts.links, opts.set, opts.until)
        console = Console()
        crawls = []
        for policy in _policies(opts.policies or "gain"):
            for crawl in together.run(pairs, policy, budgets, max(opts.jobs, 1)):
                crawls.append(crawl)
                write_joint(crawls, opts.out / "together.json")
                if crawl.error:
                    console.print(f"failed {crawl.pair} {crawl.budget}:\n{crawl.error}", markup=False, highlight=False)
        console.print(joint_table(crawls))
        self.exitcode = int(any(crawl.error for crawl in crawls))


def _policies(names: str) -> list[str]:
    """The policies in *names*, each once: two crawls of one task and policy would write into one folder."""
    return list(dict.fromkeys(read_value("--policies", names, each(plugin(POLICIES)))))


def _select(tasks: list[Task], site: str | None, pairs: Collection[str] | None = None) -> list[Task]:
    chosen = [task for task in tasks if site in (None, task.site) and (not pairs or task.pair in pairs)]
    missing = sorted({*(pairs or ())} - {task.pair for task in tasks})
    if missing or not chosen:
        names = " and ".join(filter(None, (site, ",".join(missing or pairs or ()))))
        raise SiteError(f"no task to run{f': {names} is not among the tasks' if names else ''}")
    return chosen
