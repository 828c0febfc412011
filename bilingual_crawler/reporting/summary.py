"""Extension: the counts of a crawl, in ``summary.json`` while it runs, on screen and in ``report.html`` at its end."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import create_looping_call
from twisted.python.failure import Failure

import bilingual_crawler
from bilingual_crawler import noun
from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.crawl.description import default_of
from bilingual_crawler.crawl.politeness import by_site
from bilingual_crawler.crawl.signals import ERRORS, FAILED_OUTPUTS, MISSING_OUTPUTS, MODELS, output_failed
from bilingual_crawler.frontier.frontier import SlotState
from bilingual_crawler.languages.codes import language_name
from bilingual_crawler.options import without_password
from bilingual_crawler.reporting.ledger import COUNTS, NOTHING, of_all_runs, tally_of, under
from bilingual_crawler.reporting.progress import SitesExtension
from bilingual_crawler.reporting.report import contradictions, why_no_pair, write_report
from bilingual_crawler.reporting.results import ResultsError, read_summary, write_summary
from bilingual_crawler.storage.records import SUMMARY

logger = logging.getLogger(__name__)
_SIGNALS = logging.getLogger("scrapy.utils.signal")

SAVE_SECONDS = 1.0
"""Seconds of failures, traps and bytes that ``kill -9`` can lose; all else can be counted from other files."""
MAX_SEEDS = 1000
SHOWN_REASONS = 6
UNFINISHED = "unfinished"
POLITENESS = frozenset([
    "AUTOTHROTTLE_ENABLED", "AUTOTHROTTLE_START_DELAY", "AUTOTHROTTLE_MAX_DELAY", "AUTOTHROTTLE_TARGET_CONCURRENCY",
    "CLOSESPIDER_TIMEOUT", "CONCURRENT_REQUESTS", "CONCURRENT_REQUESTS_PER_DOMAIN", "DEPTH_LIMIT", "DOWNLOAD_DELAY",
    "DOWNLOAD_MAXSIZE", "DOWNLOAD_TIMEOUT", "RETRY_ENABLED", "RETRY_TIMES", "ROBOTSTXT_OBEY",
])  # fmt: skip
"""Scrapy's settings for politeness towards websites."""


class SummaryExtension(CrawlComponent):
    """Keeps ``summary.json`` up to date while the crawl runs; at the end writes the report and prints the counts.

    Failures, traps and bytes, which are in no other output, are added up from run to run. Stats: :data:`ERRORS`.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._bytes = 0
        self._in_a_hurry = False
        self._saved: Mapping[str, Any] = {}
        self._before: Mapping[str, Any] = {}
        self._saving = create_looping_call(self._save)

    def spider_opened(self) -> None:
        if (self._context.output_dir / SUMMARY).exists():
            try:
                self._before = read_summary(self._context.output_dir)
            except ResultsError as error:
                logger.warning(f"{error}; failures, traps and bytes of earlier runs are lost")
        self._saving.start(SAVE_SECONDS)
        _SIGNALS.addFilter(self._note_logged)

    def spider_error(self, failure: Failure) -> None:
        self._note_error(failure.type)

    item_error = spider_error

    def _note_error(self, kind: type[BaseException] | None) -> None:
        self._stats.inc_value(f"{ERRORS}{kind.__name__ if kind else 'unknown'}")

    def _note_logged(self, record: logging.LogRecord) -> bool:
        """Note an exception of a handler of a signal, which Scrapy only logs."""
        if record.exc_info:
            self._note_error(record.exc_info[0])
        return True

    def bytes_received(self, data: bytes) -> None:
        self._bytes += len(data)

    def stop_now(self) -> None:
        self._in_a_hurry = True

    def spider_closed(self, reason: str) -> None:
        if self._saving.running:
            self._saving.stop()
        self._save(reason)
        self._stats.set_value("bilingual/fetched", tally_of(self._crawler).fetched)
        folder = self._context.output_dir
        if self._in_a_hurry:
            (folder / "report.html").unlink(missing_ok=True)
            logger.warning(f"To write the report: scrapy report {folder}")
            self._print()
            return
        try:
            write_report(folder)
        except (OSError, ResultsError) as error:
            self._failed("report.html", error)
        # after what Scrapy logs at the end
        self._crawler.signals.connect(self._print, signal=signals.engine_stopped)

    def _print(self) -> None:
        _SIGNALS.removeFilter(self._note_logged)
        print_summary(self._saved)

    def now(self) -> Mapping[str, Any]:
        """Return the present counts; after the crawl, ``summary.json``."""
        return self._summary(UNFINISHED) if self._saving.running else read_summary(self._context.output_dir)

    def _save(self, reason: str = UNFINISHED) -> None:
        summary = self._summary(reason)
        if summary != self._saved:
            self._saved = summary
            try:
                write_summary(self._context.output_dir, summary)
            except OSError as error:
                self._failed(SUMMARY, error, passing=reason == UNFINISHED)
                if not self._context.output_dir.exists():
                    # what is written now is in a folder that was moved, or nowhere
                    self._crawler.signals.send_catch_log(output_failed, error=error)

    def _failed(self, name: str, error: Exception, *, passing: bool = False) -> None:
        """Log that the file *name* cannot be written; *passing* if it is written again later."""
        if not passing:
            self._stats.inc_value(FAILED_OUTPUTS)
        logger.error(f"{name} cannot be written: {error}")

    def _summary(self, reason: str) -> dict[str, Any]:
        context, tally, stats = self._context, tally_of(self._crawler), self._stats.get_stats()
        frontier, remaining = self._visits.frontier, self._visits.learner.remaining
        sites = self._crawler.get_extension(SitesExtension)
        states = by_site(frontier.slot_states, lambda *states: min(states, key=list(SlotState).index))
        # at the end, when the states are known
        estimates = {site: estimate.as_dict() for site, estimate in (remaining.estimates() if states else {}).items()}
        total = remaining.total()
        return {
            **given(context, self._crawler.settings),
            "finish_reason": reason,
            **tally.counts(),
            **tally.pair_counts(stats.get("bilingual/pairs/outcomes", {}), stats.get("bilingual/pairs/documents", 0)),
            "aligned": stats.get("bilingual/pairs/aligned", ""),
            "missing": stats.get(MISSING_OUTPUTS, {}),
            "models": under(stats, MODELS),
            "bitext": under(stats, "bilingual/bitext/"),
            "bitext_dropped": under(stats, "bilingual/bitext_dropped/"),
            **(sites.counts() if sites else {}),
            **of_all_runs(self._before, stats),
            "bytes": self._before.get("bytes", 0) + self._bytes,
            "queued": frontier.remaining,
            "estimate": total.as_dict() if total else {},
            "sites": {site: {"state": state, "estimate": estimates.get(site, {})} for site, state in states.items()},
            "output_dir": str(context.output_dir),
        }


def given(context: CrawlContext, settings: BaseSettings) -> dict[str, Any]:
    """What a summary says of the version, the arguments and the settings of a crawl."""
    return {
        "version": bilingual_crawler.__version__,
        "pair": str(context.pairs),
        "policy": context.policy.name,
        "seeds": [seed.url for seed in context.seeds[:MAX_SEEDS]],
        "seed_count": len(context.seeds),
        "settings": changed_settings(settings),
    }


def changed_settings(settings: BaseSettings) -> dict[str, Any]:
    """The ``BILINGUAL_`` and ``POLITENESS`` settings that differ from the defaults, without passwords."""
    names = (str(name) for name in settings if str(name).startswith("BILINGUAL_") or name in POLITENESS)
    changed = {name: settings[name] for name in sorted(names) if _shown(settings[name]) != _shown(default_of(name))}
    return {name: without_password(_shown(value)) for name, value in changed.items()}


def print_summary(summary: Mapping[str, Any]) -> None:
    """Print one fact per line on standard error, without wrapping. Counts that an older crawl lacks are 0."""
    console = _Screen(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"\n[bold]{summary['pair']}[/bold], policy {summary.get('policy')}, {summary.get('finish_reason')}")
    for number, text in _facts(summary):
        console.print(f"[bold]{number:>8}[/bold]  {text}")
    for hint in why_no_pair(summary):
        console.print(hint, markup=False)
    console.print(f"Outputs: {summary.get('output_dir')}", markup=False)
    missing: Mapping[str, str] = summary.get("missing", {})
    for command in dict.fromkeys(missing.values()):
        names = ", ".join(name for name in missing if missing[name] == command)
        console.print(f"Missing: {names} of all documents. To make them: {command}", markup=False)


class _Screen(Console):
    def on_broken_pipe(self) -> None:
        """Print nothing more. Rich would raise SystemExit, out of the loop that is about to end the crawl."""
        self.quiet = True


def _facts(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    summary = {**NOTHING, **given}
    by_pair, several = summary["by_pair"].items(), len(summary["by_pair"]) > 1
    if "sites_judged" in given:
        yield _fact(summary["site_candidates"], "candidate site")
        yield _fact(summary["sites_judged"], "site", " judged" + _reasons(summary["sites_refused"], "not bilingual: "))
        yield _fact(summary["sites_bilingual"], "bilingual site")
        yield _fact(summary["entry_pages_archived"], "entry page", " from an archive in place of the site")
    yield _fact(summary["tried"], "address", " tried" + _reasons(summary["dropped"], "no document: "), "addresses")
    yield _fact(summary["fetched"], "page", f" fetched ({decimal(summary['bytes'])} on the wire)")
    html = ("HTML page or PDF", "HTML pages and PDFs") if summary["pdf"] else ("HTML page", "HTML pages")
    yield _fact(summary["html"], html[0], _reasons(summary["languages"]), html[1])
    for declared, found, number in contradictions(summary["contradicted"]):
        verb, read = ("declares", "reads") if number == 1 else ("declare", "read")
        yield _fact(number, "page", f" that {verb} {declared} and {read} as {found}")
    documents = {language_name(code): number for code, number in summary["documents"].items()}
    yield _fact(sum(documents.values()), "document", _reasons(documents))
    yield _fact(summary["candidates"], "candidate pair", _reasons(summary["refused"], "refused: "))
    yield _fact(summary["pairs"], "pair", _reasons({name: one["pairs"] for name, one in by_pair} if several else {}))
    unpaired = {name: one["left_over"] for name, one in by_pair} if several else summary["unpaired"]
    yield _fact(summary["left_over"], "document", " in no pair" + _reasons(unpaired))
    if summary["bitext"]:
        dropped = _reasons(summary["bitext_dropped"], "dropped: ")
        yield _fact(summary["bitext"]["kept"], "sentence pair", " in bitext/" + dropped)
    yield f"{summary['harvest_rate']:.0%}", "harvest rate: documents in pairs per page fetched"
    for count in COUNTS:
        if count.words and (table := summary[count.name]):
            one, more, rest = count.words
            yield _fact(sum(table.values()), one, rest + _reasons(table), more)
    if summary["queued"]:
        # without a pair nothing is known of their share
        queue = " still queued" + describe_queue((summary["pairs"] and summary["estimate"]) or {})
        yield _fact(summary["queued"], "address is", queue, "addresses are")


def _fact(number: int, one: str, rest: str = "", several: str = "") -> tuple[str, str]:
    return str(number), noun(number, one, several) + rest


def describe_queue(estimate: Mapping[str, float]) -> str:
    """What the *estimate* of a summary says of its queued addresses; nothing without one."""
    if not estimate:
        return ""
    remaining, unclear = round(estimate["remaining"]), int(estimate.get("unclear", 0))
    why = f"; {unclear} {noun(unclear, 'page')} may be in pairs that were not recognised" if unclear else ""
    share = f"{estimate['share']:.0%} ({estimate['low']:.0%} to {estimate['high']:.0%})"
    found = f"an estimated {share} of the pairs of the sites visited are found"
    return f", with about {remaining} {noun(remaining, 'pair')}: {found}{why}"


def _reasons(counts: Mapping[str, int], title: str = "") -> str:
    if not counts:
        return ""
    shown = ", ".join(f"{name} {count}" for name, count in list(counts.items())[:SHOWN_REASONS])
    return f" ({title}{shown}{', …' if len(counts) > SHOWN_REASONS else ''})"


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value)
