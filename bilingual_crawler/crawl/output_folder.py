"""The folders of a crawl: where it writes, and where its frontier is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import UsageError

from bilingual_crawler.files import FolderLock, LockedError, to_disk
from bilingual_crawler.frontier.job import JobError
from bilingual_crawler.options import Options, check_folder
from bilingual_crawler.records import CRAWL

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from bilingual_crawler.crawl.context import CrawlContext


def choose_output_dir(settings: BaseSettings, name: str) -> Path:
    """``BILINGUAL_OUTPUT_DIR``, or ``crawls/<name>``; a resumed crawl goes on in the folder it began in.

    Raises UsageError if the folder holds another crawl, or cannot be written.
    """
    memo = _memo(settings)
    if memo and memo.exists():
        folder = Path(memo.read_text(encoding="utf-8"))
        check_folder("BILINGUAL_OUTPUT_DIR", folder)
        return folder
    folder = (Options.of(settings).output_dir or Path("crawls", name)).absolute()
    check_folder("BILINGUAL_OUTPUT_DIR", folder)
    _check_new(folder)
    return folder


def claim_folders(crawler: Crawler, context: CrawlContext) -> None:
    """Make the job folder and the output folder, and lock both until the end of the crawl; raises UsageError."""
    try:
        locks = (context.job.keep(crawler.settings), _make_output_dir(crawler.settings, context.output_dir))
    except JobError as error:
        raise UsageError(str(error), print_help=False) from error

    def let_go() -> None:
        for lock in filter(None, locks):
            lock.close()

    crawler.signals.connect(let_go, signal=signals.engine_stopped, weak=False)


def _make_output_dir(settings: BaseSettings, folder: Path) -> FolderLock:
    """Make *folder*, and remember it beside the frontier for a resume."""
    memo = _memo(settings)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FolderLock(folder)
        if not (memo and memo.exists()):
            # another crawl may have ended there since the arguments were checked
            _check_new(folder)
        if memo and not memo.exists():
            memo.write_text(str(folder), encoding="utf-8")
            to_disk(memo)
    except LockedError as error:
        raise UsageError(f"BILINGUAL_OUTPUT_DIR={folder}: {error}; choose a new folder", print_help=False) from None
    except OSError as error:
        raise UsageError(
            f"BILINGUAL_OUTPUT_DIR={folder}: {error.strerror}; give a folder that can be written", print_help=False
        ) from error
    return lock


def _check_new(folder: Path) -> None:
    if (folder / CRAWL).exists():
        raise UsageError(
            f"BILINGUAL_OUTPUT_DIR={folder}: holds another crawl; choose a new folder (a crawl that is to be resumed "
            "needs -s JOBDIR=... from the start)",
            print_help=False,
        )


def _memo(settings: BaseSettings) -> Path | None:
    jobdir = settings["JOBDIR"]
    return Path(jobdir, "output_dir") if jobdir else None
