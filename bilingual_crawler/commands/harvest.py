"""``scrapy harvest SITES_DIR``: measure how early each policy finds the gold pairs of archived sites."""

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from bilingual_crawler.commands import PROGRESS, Tool
from bilingual_crawler.harvest.finished import read_run, runs_table
from bilingual_crawler.harvest.results import print_tables, with_gold, write_deciles
from bilingual_crawler.harvest.run import Harvest, ResultStore, Together, joint_table, write_joint
from bilingual_crawler.harvest.sites import SiteError, Task, read_tasks
from bilingual_crawler.languages.codes import LanguagePair
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
    whole,
    wrong,
)
from bilingual_crawler.plugins import POLICIES
from bilingual_crawler.storage.warc import ArchiveError


class Command(Tool, ScrapyCommand):
    arguments = "SITES_DIR --out DIR [options] | --runs CRAWL…"
    purpose = "Measure how early crawl policies find parallel pages on archived sites"
    description = (
        "Crawl the archived sites of SITES_DIR with each policy, one request at a time, and compare the"
        " order of downloads with that of an oracle that knows the gold pairs. Writes results.json,"
        " deciles.tsv, orders/ and harvest.png into DIR; earlier results in DIR are kept, so policies can"
        " be added later. With --until the crawls end by themselves."
    )
    inputs = range(sys.maxsize)

    def add(self, option: Callable[..., object]) -> None:
        option("--policies", help="separated by commas (bfs,cld2,smart,oracle, or gain with --together)")
        option("--out", type=Path, default=Path("harvest"), help="output folder (%(default)s)")
        text = "crawl all sites as one for each pair, with each of these BILINGUAL_SITE_BUDGETs (%(const)s)"
        option("--together", nargs="?", metavar="BUDGETS", const=",".join(SITE_BUDGETS), help=text)
        option("--pairs", "--pair", help="only the tasks of these pairs, separated by commas")
        option("--tasks", metavar="N", help="only the first N tasks")
        option("--site", metavar="ID", help="only the tasks of this site")
        text = "the crawls leave a site when so many of its pairs are found (%(default)s: all)"
        option("--until", default="1", metavar="SHARE", help=text)
        text = "compare output folders of finished crawls of the same seeds by what they cost, and exit"
        option("--runs", nargs="+", type=Path, metavar="CRAWL", help=text)
        option("--jobs", type=int, default=os.cpu_count() or 1, help="number of crawls at a time (%(default)s)")

    def work(self, inputs: list[str], opts: Namespace) -> None:
        if opts.runs:
            if inputs:
                raise usage_error(f"{inputs[0]}: --runs compares crawls alone; leave it out")
            with usage_errors(SiteError, ArchiveError):
                Console(width=200).print(runs_table([read_run(folder) for folder in opts.runs]))
            return
        if len(inputs) != 1:
            raise UsageError
        Options.of(self.settings)
        check_folder("--out", opts.out)
        opts.until = read_value("--until", opts.until, share_of_pairs)
        # as in the tasks, whose languages may be any codes
        opts.pairs = read_value("--pairs", opts.pairs, each(lambda pair: str(LanguagePair.parse(pair, ()))))
        opts.tasks = read_value("--tasks", opts.tasks, whole(1)) if opts.tasks is not None else None
        sites = Path(inputs[0])
        with usage_errors(SiteError, ArchiveError):
            if opts.together:
                self._together(sites.resolve(), opts)
            else:
                self._harvest(sites.resolve(), opts)

    def _harvest(self, sites: Path, opts: Namespace) -> None:
        policies = _policies(opts.policies or "bfs,cld2,smart,oracle")
        tasks = _select(read_tasks(sites), opts.site, opts.pairs)[: opts.tasks]
        store = ResultStore(opts.out / "results.json", opts.until)
        harvest = Harvest(sites, opts.out.resolve(), tuple(opts.set), max(opts.jobs, 1), opts.until)
        console = Console()
        failed = 0
        with Progress(*PROGRESS, console=console) as progress, closing(harvest.run(tasks, policies)) as results:
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
            from bilingual_crawler.harvest.plot import plot_results

            written.append(plot_results(curves, opts.out / "harvest.png").name)
        console.print(f"{', '.join(written[:-1])} and {written[-1]} are in {opts.out}", highlight=False)
        self.exitcode = int(failed > 0)

    def _together(self, sites: Path, opts: Namespace) -> None:
        budgets = list(dict.fromkeys(opts.together.split(",")))
        if not set(budgets) <= set(SITE_BUDGETS):
            raise wrong("--together", opts.together, f"choose among {', '.join(SITE_BUDGETS)}")
        tasks = _select(read_tasks(sites), opts.site)
        pairs = list(dict.fromkeys(task.pair for task in _select(tasks, opts.site, opts.pairs)[: opts.tasks]))
        together = Together(sites, opts.out.resolve(), tasks, opts.set, opts.until)
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
