"""A crawl by several worker processes: their Redis, start and watch them, show their sum, join and align outputs."""

import asyncio
import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import redis
from rich.console import Console
from scrapy.settings import BaseSettings

from bilingual_crawler.alignment.at_end import AlignedCrawl, AlignmentError, align_crawl, outputs_without_alignment
from bilingual_crawler.crawl.context import CrawlContext, lock_folders
from bilingual_crawler.crawl.middlewares.backoff import NO_ANSWER
from bilingual_crawler.crawl.signals import STOPPED, Fetch
from bilingual_crawler.crawl.visits import FRONTIER_LOST, WRITE_ERROR
from bilingual_crawler.frontier.entry import State
from bilingual_crawler.frontier.frontier import StoreError
from bilingual_crawler.frontier.job import WORKERS
from bilingual_crawler.frontier.redis_store import prefix_of
from bilingual_crawler.options import Options, usage_errors, wrong
from bilingual_crawler.pages.sandbox.pool import environment
from bilingual_crawler.reporting.progress import counts_line
from bilingual_crawler.reporting.report import write_report
from bilingual_crawler.reporting.results import ResultsError, check_tables, read_summary, write_summary
from bilingual_crawler.reporting.summary import SAVE_SECONDS, UNFINISHED, given, print_summary
from bilingual_crawler.storage.files import FolderLock
from bilingual_crawler.storage.records import CRAWL, DOCUMENTS, PAIRS, SUMMARY, TsvLog, read_json_lines
from bilingual_crawler.workers.outputs import PART, join, joined_counts, parts_of, reasons_of

logger = logging.getLogger(__name__)

_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
LOG = "worker.log"  # what a worker writes on standard output and standard error, in its output folder
NO_PAGE = 1  # exit status of a crawl without a page, as one of several workers may have, or whose summary says why
NOT_STARTED = 2  # exit status of a crawl that could not start: its Redis was away, as the arguments are checked
MAX_DEATHS = 10  # of a worker; each page kills two workers at most, so there is another cause


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its *parent* (process id) ends; other systems than Linux cannot."""
    if _prctl:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def start(command: Sequence[str], log_file: Path, **more: Any) -> subprocess.Popen[bytes]:
    """Start *command*, whose outputs go to the end of *log_file*; Ctrl-C does not reach it, the parent passes it on."""
    with log_file.open("ab") as log:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **more
        )


class WorkerProcess:
    """A process that runs *command* with its output *folder*; it is started again after a death."""

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        self.folder = folder
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._deaths = 0
        self.broken = False  # whether it has ended in a way that another start would not change

    def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self._process = start(self._command, self.folder / LOG, env=environment())

    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Send SIGTERM: the first ends the crawl in order, the second at once."""
        if self._process and self.runs():
            self._process.terminate()

    def revive(self) -> str:
        """Start the process again if it was killed, or could not start; return what happened, empty if nothing new."""
        if self.broken or self._process is None or self.runs() or self._process.returncode in (0, NO_PAGE):
            return ""
        status = self._process.returncode
        if status > 0 and status != NOT_STARTED:
            self.broken = True
            return f"{self.folder.name} ended with exit status {status}; {self.folder / LOG} says why"
        happened = "could not start" if status > 0 else f"was killed by {signal.Signals(-status).name}"
        self._deaths += 1
        if self._deaths > MAX_DEATHS:
            self.broken = True
            what = f"{happened} for the {self._deaths}th time; the other workers go on without it"
            return f"{self.folder.name} {what}; {self.folder / LOG} says why"
        self.start()
        return f"{self.folder.name} {happened}, and starts again"


CHECK_SECONDS = 0.1
PROGRAM = "redis-server"
SERVER_LOG = "redis.log"
ANSWER_SECONDS = 2.0
STOP_SECONDS = 60.0  # in which the server must end when it is stopped; what it has answered is in its file before


class PrivateRedis:
    """A Redis server with a socket in *place*, a folder of this user alone, and its data in *folder*.

    An answer is sent after the change has reached the operating system, so ``kill -9`` loses nothing; a power cut may
    lose the last second. The server holds *locks*, too: no second server opens its data. It ends when this process
    does.
    """

    def __init__(self, folder: Path, place: Path, locks: Sequence[FolderLock]) -> None:
        self._folder = folder
        self._socket = place / "redis.sock"
        self._locks = locks
        self.url = f"unix://{quote(str(self._socket))}"
        self._client = redis.Redis.from_url(self.url, socket_timeout=ANSWER_SECONDS, retry=None)
        self._process: subprocess.Popen[bytes] | None = None
        self._has_answered = False
        self._queued = 0

    def start(self) -> None:
        """Start the server; raises StoreError if that is not possible."""
        self._has_answered = False
        options = (
            *("--port", "0", "--unixsocket", str(self._socket), "--unixsocketperm", "700", "--dir", str(self._folder)),
            *("--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction"),
        )
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            held, dies = [lock.fileno() for lock in self._locks], partial(die_with, os.getpid())
            log = self._folder / SERVER_LOG
            self._process = start((PROGRAM, *options), log, pass_fds=held, preexec_fn=dies)
        except OSError as error:
            raise StoreError(f"{PROGRAM} cannot be started: {error}") from error

    def wait(self, interrupted: Callable[[], bool]) -> None:
        """Wait until the server has read its data and answers, or until *interrupted*; raises StoreError if it ends."""
        while not (interrupted() or self._ask()):
            self._check()
            time.sleep(0.05)

    def revive(self) -> bool:
        """Start the server again if it has ended; return whether it had. StoreError if it had not answered before."""
        has_ended = self._process is not None and self._process.poll() is not None
        if has_ended:
            if not self._has_answered:
                self._check()
            self.start()
        return has_ended

    def queued(self) -> int:
        """The number of URLs in the queue and in flight; the last known one while the server is away."""
        self._ask()
        return self._queued

    def stop(self) -> None:
        self._client.close()
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self) -> bool:
        states = [str(int(state)) for state in (State.QUEUED, State.IN_FLIGHT)]
        try:
            counts = self._client.hmget(f"{prefix_of(self.url)}counts", states)
        except redis.RedisError:
            return False
        self._queued = sum(int(count or 0) for count in counts)
        self._has_answered = True
        return True

    def _check(self) -> None:
        """Raise StoreError, with the last line of its log, if the server has ended."""
        if self._process and self._process.poll() is not None:
            lines = (self._folder / SERVER_LOG).read_text(encoding="utf-8", errors="replace").splitlines()
            raise StoreError(f"{PROGRAM} does not start: {(lines or ['no reason given'])[-1].strip()}")


def crawl_together(
    context: CrawlContext, settings: BaseSettings, describe: Callable[[], None], command: Sequence[str]
) -> bool:
    """Crawl with ``BILINGUAL_WORKERS`` processes into one output folder; return whether all went well.

    *describe* is called when the folders are locked. *command* starts a worker. Raises UsageError and StoreError.
    """
    locks = lock_folders(settings, context)
    try:
        describe()
        # the path of a socket has a hundred characters at most, that of a job folder may have more
        with TemporaryDirectory(prefix="bilingual-") as place:
            job = Path(settings["JOBDIR"] or place, WORKERS).absolute()
            if lost := next((part for part in parts_of(job) if not (context.output_dir / part.name).is_dir()), None):
                # what is joined would lack its documents
                why = f"{lost.name} is missing, which a resume needs; put it back"
                raise wrong("BILINGUAL_OUTPUT_DIR", context.output_dir, why)
            # at the end it would be too late
            with usage_errors(ResultsError):
                check_tables(context.output_dir, context.pairs)
            server = PrivateRedis(job / "redis", Path(place), locks)
            return _Team(context, settings, server, job, command).run()
    finally:
        for lock in locks:
            lock.close()


class _Team:
    """The worker processes of a crawl and its Redis, with their job folders in *job*."""

    def __init__(
        self, context: CrawlContext, settings: BaseSettings, server: PrivateRedis, job: Path, command: Sequence[str]
    ) -> None:
        self._context = context
        self._settings = settings
        self._options = Options.of(settings)
        self._folder = context.output_dir
        self._server = server
        places = [self._folder / f"{PART}{number}" for number in range(1, self._options.workers + 1)]
        commands = {one: [*command, *_settings(server.url, job / one.name, one)] for one in places}
        self._workers = [WorkerProcess(*one) for one in commands.items()]
        self._stops = self._stops_passed_on = 0
        self._failed = self._unaligned = False
        self._missing: dict[str, str] = {}  # outputs that the alignment has not made -> the command that makes each
        self._status = Console(stderr=True).status("starting") if sys.stderr.isatty() else None
        self._phase = ""
        self._logs_every = settings.getfloat("LOGSTATS_INTERVAL")

    def run(self) -> bool:
        # from now on the folder holds a crawl
        TsvLog(self._folder / CRAWL, Fetch).close()
        with self._signals_counted(), self._status or nullcontext():
            self._server.start()
            try:
                self._server.wait(lambda: self._stops > 0)
                logger.info(f"{len(self._workers)} workers crawl; their logs: {self._folder / f'{PART}*' / LOG}")
                for worker in self._workers:
                    worker.start()
                self._watch()
                queued = self._server.queued()
                if self._reason() == NO_ANSWER:
                    resumes = f". To resume: --job {self._settings['JOBDIR']}" if self._settings["JOBDIR"] else ""
                    logger.error(f"No host answered any more, the network of this machine may be gone{resumes}")
            finally:
                self._server.stop()
            try:
                aligned = self._join()
                write_summary(self._folder, self._summary(self._reason(), queued, aligned))
                write_report(self._folder)
            except OSError as error:
                logger.error(f"The outputs of the workers, {self._folder / f'{PART}*'}, are not joined: {error}")
                return False
        print_summary(read_summary(self._folder))
        broken = any(worker.broken for worker in self._workers)
        return not (broken or self._unaligned) and self._reason() not in (WRITE_ERROR, FRONTIER_LOST, UNFINISHED)

    def _watch(self) -> None:
        """Until all workers have ended: start again what was killed, pass signals on, show the counts."""
        began = saved = logged = time.monotonic()
        fetched_first = fetched_before = -1
        while any([self._runs(worker) for worker in self._workers]):
            time.sleep(CHECK_SECONDS)
            try:
                if self._server.revive():
                    logger.warning("The Redis of the workers has ended, and starts again; they wait for it")
            except StoreError as error:
                if not self._failed:
                    logger.error(f"Stopping, a resume goes on from here: {error}")
                    self._failed = True
                    self._stop()
            if self._stops > self._stops_passed_on:
                self._stops_passed_on += 1
                self._stop()
            now = time.monotonic()
            if now - saved < SAVE_SECONDS:
                continue
            saved = now
            summary = self._summary(UNFINISHED, self._server.queued())
            try:
                write_summary(self._folder, summary)
            except OSError as error:
                logger.error(f"{SUMMARY} cannot be written: {error}")
            if fetched_first < 0:
                fetched_first = fetched_before = summary["fetched"]
            self._show(_line(summary, now - began, fetched_first))
            if self._logs_every and now - logged >= self._logs_every:
                logger.info(_line(summary, now - logged, fetched_before))
                logged, fetched_before = now, summary["fetched"]

    def _runs(self, worker: WorkerProcess) -> bool:
        if not (self._stops or self._failed) and (happened := worker.revive()):
            logger.warning(happened)
        return worker.runs()

    def _stop(self) -> None:
        for worker in self._workers:
            worker.stop()
        self._phase = "stopping at once: " if self._stops > 1 else "stopping: "

    def _join(self) -> AlignedCrawl | None:
        """Join the outputs, and align them unless the crawl was stopped; None if the pairs stay those on the way."""
        self._show("joining the outputs of the workers")
        pairs = self._context.pairs
        join(self._folder, pairs)
        if not self._options.align or next(iter(read_json_lines(self._folder / DOCUMENTS)), None) is None:
            return None
        why = "the crawl was stopped"
        if not (self._stops or self._failed):
            crawl = self._folder, pairs, self._context.detection, self._settings
            try:
                if aligned := asyncio.run(align_crawl(*crawl, lambda: self._stops > 0, self._show)):
                    return aligned
            except AlignmentError as error:
                why = str(error)
                self._unaligned = True
        self._missing = outputs_without_alignment(self._folder, self._options)
        again = self._missing[PAIRS]
        logger.warning(f"{PAIRS} has the pairs that the workers found on the way: {why}. For all: {again}")
        return None

    def _summary(self, reason: str, queued: int, aligned: AlignedCrawl | None = None) -> dict[str, Any]:
        counts = joined_counts(parts_of(self._folder))
        if aligned:
            outcomes = aligned.outcomes.items()
            counts["by_pair"] = {name: {"refused": one.refused, "unpaired": one.unpaired} for name, one in outcomes}
        return {
            **given(self._context, self._settings),
            "finish_reason": reason,
            **counts,
            "aligned": self._options.align if aligned else "",
            "missing": self._missing,
            "bitext": aligned.bitext if aligned else {},
            "bitext_dropped": aligned.dropped if aligned else {},
            "queued": queued,
            "output_dir": str(self._folder),
        }

    def _reason(self) -> str:
        if self._failed:
            return WRITE_ERROR
        if self._stops:
            return STOPPED
        reasons = reasons_of([worker.folder for worker in self._workers])
        # what a worker without a network has left, the others have fetched if they have finished
        usual = sorted(reasons - {"finished", NO_ANSWER, UNFINISHED})
        by_weight = (WRITE_ERROR, FRONTIER_LOST, *usual, "finished", NO_ANSWER)
        return next((reason for reason in by_weight if reason in reasons), UNFINISHED)

    def _show(self, line: str) -> None:
        if self._status:
            self._status.update(self._phase + line)

    @contextmanager
    def _signals_counted(self) -> Iterator[None]:
        """Meanwhile SIGINT and SIGTERM stop the crawl, the second of them at once."""

        def count(*_: object) -> None:
            self._stops += 1

        before = {number: signal.signal(number, count) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _settings(frontier: str, job: Path, folder: Path) -> list[str]:
    """The options that make a command that of one worker. The joined outputs are aligned, not those of each."""
    places = (f"BILINGUAL_FRONTIER={frontier}", f"BILINGUAL_OUTPUT_DIR={folder}", f"JOBDIR={job}")
    settings = ("BILINGUAL_WORKERS=1", *places, "BILINGUAL_ALIGN=", "BILINGUAL_BITEXT=")
    return [part for setting in settings for part in ("-s", setting)]


def _line(summary: dict[str, Any], seconds: float, fetched: int) -> str:
    """The counts, and the pages per second in *seconds*, before which *fetched* pages were fetched."""
    documents = summary["documents"].values()
    counts = counts_line(summary["fetched"], sum(documents), summary["pairs"], summary["queued"])
    return f"{counts}, {(summary['fetched'] - fetched) / seconds:.1f} pages/s"
