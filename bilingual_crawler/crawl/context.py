"""The checked arguments of a crawl, its folders, and what its components share."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals

from bilingual_crawler.crawl.requests import Turns
from bilingual_crawler.crawl.scrapy_internals import split_cookie_domains
from bilingual_crawler.frontier.job import Job, JobError
from bilingual_crawler.languages.codes import base_of
from bilingual_crawler.options import Options, check_folder, usage_error, usage_errors, wrong
from bilingual_crawler.storage.files import FolderLock, LockedError, write_durably
from bilingual_crawler.storage.records import CRAWL
from bilingual_crawler.urls.hosts import split_host

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from bilingual_crawler.crawl.traps import Traps
    from bilingual_crawler.discovery.search import SiteSearch
    from bilingual_crawler.discovery.ways import Sources
    from bilingual_crawler.frontier.budget import SiteBudget
    from bilingual_crawler.frontier.scope import Scope
    from bilingual_crawler.languages.pairs import LanguagePairs
    from bilingual_crawler.pages.language import Detection
    from bilingual_crawler.policies.base import Policy


def choose_output_dir(settings: BaseSettings, name: str) -> Path:
    """``BILINGUAL_OUTPUT_DIR``, ``crawls/<name>``, or the folder of a resumed crawl; UsageError if unusable."""
    memo = _memo(settings)
    if memo and memo.exists():
        named = memo.read_text(encoding="utf-8", errors="replace").rstrip("\n")
        folder = Path(named)
        if not (named.isprintable() and folder.is_absolute()):
            why = f"{memo} names no folder; write the path of the crawl's output folder into it"
            raise wrong("JOBDIR", memo.parent, why)
        # unlike Path.exists, it is no error for a name that is too long
        if not os.path.exists(folder):
            # a new one would lack all that was found, and the frontier would not fetch it again
            why = f"its crawl writes into {folder}, which is gone; move it back, write its new place into {memo}, or"
            raise wrong("JOBDIR", memo.parent, f"{why} give another folder")
        check_folder("BILINGUAL_OUTPUT_DIR", folder)
        return folder
    folder = (Options.of(settings).output_dir or Path("crawls", name)).absolute()
    check_folder("BILINGUAL_OUTPUT_DIR", folder)
    if memo and folder.resolve() == memo.parent.resolve():
        raise wrong("BILINGUAL_OUTPUT_DIR", folder, "is the JOBDIR as well; give two folders")
    _check_new(folder)
    return folder


def named_now(prefix: str) -> str:
    """The name of the outputs of a crawl that begins now; no crawl that began in the same second has it."""
    name = f"{prefix}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    names = (name, *(f"{name}-{number}" for number in range(2, 1000)))
    return next(one for one in names if not Path("crawls", one).exists())


def claim_folders(crawler: Crawler, context: CrawlContext) -> None:
    """Lock the folders of *context* until the end of the crawl; raises UsageError."""
    for lock in lock_folders(crawler.settings, context):
        crawler.signals.connect(lock.close, signal=signals.engine_stopped, weak=False)


def lock_folders(settings: BaseSettings, context: CrawlContext) -> list[FolderLock]:
    """Make and lock the output folder and, if there is one, the job folder; raises UsageError."""
    memo = _memo(settings)
    folder = context.output_dir
    try:
        if settings["JOBDIR"] == str(job_in(folder)):
            # or the error would be that of a folder that nobody has named
            folder.mkdir(parents=True, exist_ok=True)
        with usage_errors(JobError):
            job = context.job.keep(settings)
        folder.mkdir(parents=True, exist_ok=True)
        lock = FolderLock(folder)
        # what is begun without room ends in half-open outputs
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(ROOM))
        is_new = not (memo and memo.exists())
        if is_new:
            # another crawl may have ended there since the arguments were checked
            _check_new(folder)
        if is_new and memo:
            # empty after a crash, it would name the current folder
            write_durably(memo, str(folder))
    except LockedError as error:
        raise wrong("BILINGUAL_OUTPUT_DIR", folder, f"{error}; choose a new folder") from None
    except OSError as error:
        raise wrong("BILINGUAL_OUTPUT_DIR", folder, f"{error.strerror}; give a folder that can be written") from error
    return [one for one in (job, lock) if one]


ROOM = 1 << 16  # bytes for which a folder must have room when a crawl begins there


def _check_new(folder: Path) -> None:
    if (folder / CRAWL).exists():
        resume = f", or resume it with --job {job_in(folder)}" if memo_of(job_in(folder)).exists() else ""
        raise wrong("BILINGUAL_OUTPUT_DIR", folder, f"holds another crawl; choose a new folder{resume}")


def job_in(folder: Path) -> Path:
    """The job folder of the crawl that writes into *folder*, unless another is given."""
    return folder / "job"


def _memo(settings: BaseSettings) -> Path | None:
    return memo_of(settings["JOBDIR"]) if settings["JOBDIR"] else None


def memo_of(jobdir: str | Path) -> Path:
    """The file in a job folder that names the output folder, once a crawl has begun."""
    return Path(jobdir, "output_dir")


split_cookie_domains(split_host)
ADDON = 'set ADDONS = {"bilingual_crawler.addon.BilingualAddon": 500}'


@dataclass(frozen=True, slots=True)
class Seed:
    url: str
    guessed_scheme: bool  # https is tried once, then http; if http leads to https or fails, https again

    @property
    def as_given(self) -> str:
        return self.url.removeprefix("https://") if self.guessed_scheme else self.url


@dataclass(frozen=True, kw_only=True)
class CrawlContext:
    """The checked arguments of a crawl, and what its components share."""

    pairs: LanguagePairs
    seeds: tuple[Seed, ...]
    policy: Policy
    scope: Scope
    max_pages: int = 0  # budget of pages; 0 is no limit
    max_pages_per_site: int = 0  # budget of pages of each politeness slot; 0 is no limit
    until: float = 1.0  # share of the pairs of a site after which it is left; 1 is all
    budget: SiteBudget | None = None  # whose best URL comes next; None if that is the best URL of all sites
    render: str = "never"  # when pages go through a browser: one of RENDER_MODES
    detection: Detection  # how the languages of texts are told
    formats: frozenset[str]  # of the documents that are read: some of FORMATS
    output_dir: Path
    job: Job
    traps: Traps
    turns: Turns = field(default_factory=Turns)  # long work of all components in the event loop
    suspects: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a helper process reads a response of a site that has broken a limit before."""

    def share(self, crawler: Crawler) -> None:
        """Register the context for the components of *crawler*, before Scrapy makes them."""
        _SHARED[crawler] = self

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> CrawlContext:
        """Return the context of *crawler*; raises UsageError in a project that uses a component without the add-on."""
        try:
            return _SHARED[crawler]
        except KeyError:
            fix = f"{ADDON}, which brings the components, and BILINGUAL_PAIR"
            raise usage_error(f"a component of bilingual_crawler is used without its add-on: {fix}") from None

    @property
    def undetectable(self) -> tuple[str, ...]:
        """The languages of the crawl that no detector knows."""
        return tuple(lang for lang in self.pairs.languages if base_of(lang) in self.detection.undetectable)


_SHARED: WeakKeyDictionary[Crawler, CrawlContext] = WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True)
class DiscoveryContext(CrawlContext):
    search: SiteSearch
    sources: Sources
    then: str  # crawl if the sites found are to be crawled, else empty
