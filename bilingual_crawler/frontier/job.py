"""The job of a frontier. A run with other pairs, another scope or other seeds would mix two crawls."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from bilingual_crawler.frontier import lmdb_store
from bilingual_crawler.frontier.frontier import StoreError, ignore
from bilingual_crawler.options import Options, check_folder
from bilingual_crawler.plugins import FRONTIER_STORES
from bilingual_crawler.storage.files import FolderLock, LockedError, write_durably

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.settings import BaseSettings

    from bilingual_crawler.frontier.redis_store import RedisLink

NAME = "job"
"""Name of the file in a job folder, and of the value in Redis."""
FRONTIER, WORKERS = "frontier", "workers"
"""Subfolders of a job folder: the frontier of one process, or the job folders of several workers."""
OTHER_FOLDER = "or give another folder"


class JobError(ValueError):
    """The frontier cannot be used or belongs to another job; the message names it and the fix."""


@dataclass(frozen=True, slots=True)
class Job:
    """The arguments that all runs on one frontier share; further runs may add *seeds*."""

    pair: str
    scope: str
    prefixes: tuple[str, ...]
    seeds: tuple[str, ...]
    politeness: str = ""
    """Empty in jobs of versions that did not record it."""

    def check(self, settings: BaseSettings) -> None:
        """Raise JobError if the job folder or the crawl in Redis cannot be used or belongs to another job."""
        with _lock(settings) or nullcontext(), _keepers(settings) as keepers:
            for keeper in keepers:
                self._compare(keeper)

    def keep(self, settings: BaseSettings) -> FolderLock | None:
        """Record this job in the job folder or in Redis; raises JobError as :meth:`check` does.

        Returns the lock on the job folder, if there is one: a second process would replace the frontier under the
        first.
        """
        lock = _lock(settings, make=True)
        text = json.dumps(asdict(self), ensure_ascii=False)
        with _keepers(settings) as keepers:
            for keeper in keepers:
                keeper.begin(text)
                if self._compare(keeper) != self:
                    keeper.write(text)
        return lock

    def _compare(self, keeper: _Keeper) -> Job | None:
        try:
            text = keeper.read()
            if text is None:
                return None
            kept = msgspec.json.decode(text, type=Job)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise JobError(f"{keeper.name}: {NAME} is damaged ({error}): repair it, {keeper.fix}") from error
        if difference := self._difference(kept):
            raise JobError(f"{keeper.name}: {difference}, {keeper.fix}")
        return kept

    def _difference(self, kept: Job) -> str | None:
        if set(self.pair.split(",")) != set(kept.pair.split(",")):
            several = "those pairs" if "," in kept.pair else "that pair"
            return f"holds a crawl with pair={kept.pair}, not {self.pair}: give {several}"
        if self.scope != kept.scope:
            return f"holds a crawl with scope={kept.scope}, not {self.scope}: give that scope"
        if self.prefixes != kept.prefixes:
            return f"holds a crawl with BILINGUAL_SCOPE_PREFIXES={','.join(kept.prefixes)}: give these"
        if kept.politeness and (self.politeness == "host") != (kept.politeness == "host"):
            # queued URLs would keep their slots, and a host would have two; "address" names slots by domains, too
            wanted = kept.politeness
            return f"holds a crawl with BILINGUAL_POLITENESS={wanted}, not {self.politeness}: give {wanted}"
        if missing := set(kept.seeds) - set(self.seeds):
            return f"holds a crawl with the seed {min(missing)}: give all of its seeds, and more if you like"
        return None


class _Keeper(NamedTuple):
    """A place that records the job of a frontier."""

    name: str
    fix: str
    read: Callable[[], bytes | None]
    write: Callable[[str], object]
    begin: Callable[[str], object] = ignore
    """Writes the value unless another process has."""


def _folder(jobdir: Path) -> _Keeper:
    file = jobdir / f"{NAME}.json"

    def read() -> bytes | None:
        return file.read_bytes() if file.exists() else None

    return _Keeper(f"JOBDIR={jobdir}", OTHER_FOLDER, read, partial(write_durably, file))


def _redis(link: RedisLink) -> _Keeper:
    read, write, begin = (partial(link.command, command, "named", NAME) for command in ("HGET", "HSET", "HSETNX"))
    name = f"BILINGUAL_FRONTIER with the keys {link.prefix}*"
    return _Keeper(name, "or name another crawl with #name", read, write, begin)


@contextmanager
def _keepers(settings: BaseSettings) -> Iterator[list[_Keeper]]:
    """The places that record the job of this run's frontier."""
    keepers: list[_Keeper] = []
    options = Options.of(settings)
    jobdir, url = settings["JOBDIR"], options.frontier
    try:
        with ExitStack() as stack:
            if jobdir:
                folder = Path(jobdir)
                holds = f"JOBDIR={jobdir}: holds a crawl of"
                if options.workers > 1 and (folder / FRONTIER).exists():
                    raise JobError(f"{holds} one process: leave BILINGUAL_WORKERS out, {OTHER_FOLDER}")
                if options.workers == 1 and (folder / WORKERS).exists():
                    raise JobError(f"{holds} several workers: give BILINGUAL_WORKERS, {OTHER_FOLDER}")
                lmdb_store.check(folder / FRONTIER)
                keepers.append(_folder(folder))
            if url.partition("://")[0] in FRONTIER_STORES.built_in:
                # the client of Redis is in an extra
                from bilingual_crawler.frontier import redis_store

                link = stack.enter_context(closing(redis_store.RedisLink(url)))
                redis_store.check(link)
                keepers.append(_redis(link))
            yield keepers
    except StoreError as error:
        raise JobError(str(error)) from error
    except OSError as error:
        raise _unusable(jobdir, error) from error


def _lock(settings: BaseSettings, *, make: bool = False) -> FolderLock | None:
    """The lock on the job folder; None if the folder does not exist and *make* is false."""
    if not settings["JOBDIR"]:
        return None
    folder = Path(settings["JOBDIR"])
    check_folder("JOBDIR", folder)
    try:
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        return FolderLock(folder) if folder.exists() else None
    except LockedError as error:
        raise JobError(f"JOBDIR={folder}: {error}; stop it or wait for its end, or give another folder") from None
    except OSError as error:
        raise _unusable(folder, error) from error


def _unusable(jobdir: str | Path, error: OSError) -> JobError:
    return JobError(f"JOBDIR={jobdir}: {error.strerror}; give a folder that can be written")
