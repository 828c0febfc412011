"""What a frontier belongs to: a run with another pair, scope or other seeds would mix two crawls."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bilingual_crawler.frontier import lmdb_store
from bilingual_crawler.frontier.checkpoint import to_disk
from bilingual_crawler.frontier.store import StoreError
from bilingual_crawler.options import Options, check_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

    from bilingual_crawler.frontier.redis_link import RedisLink

NAME = "job"
"""Of the file in a job folder, and of the value in Redis."""


class JobError(ValueError):
    """The frontier cannot be used, or is of another job; the message names it and the fix."""


@dataclass(frozen=True, slots=True)
class Job:
    """What the runs on one frontier have in common; *seeds* may become more."""

    pair: str
    scope: str
    prefixes: tuple[str, ...]
    seeds: tuple[str, ...]

    def check(self, settings: BaseSettings) -> None:
        """Raise JobError if the job folder or the crawl in Redis cannot be used, or is of another job."""
        with _places(settings) as places:
            for place in places:
                self._compare(place)

    def keep(self, settings: BaseSettings) -> None:
        """From now on job folder and crawl in Redis are of this job; raises JobError as :meth:`check` does."""
        text = json.dumps(asdict(self), ensure_ascii=False)
        with _places(settings) as places:
            for place in places:
                place.begin(text)
                if self._compare(place) != self:
                    place.write(text)

    def _compare(self, place: _Place) -> Job | None:
        try:
            text = place.read()
            if text is None:
                return None
            values = json.loads(text)
            kept = Job(values["pair"], values["scope"], tuple(values["prefixes"]), tuple(values["seeds"]))
        except (ValueError, TypeError, KeyError) as error:
            raise JobError(f"{place.name}: {NAME} is damaged ({error}): mend it, {place.fix}") from error
        if difference := self._difference(kept):
            raise JobError(f"{place.name}: {difference}, {place.fix}")
        return kept

    def _difference(self, kept: Job) -> str | None:
        if self.pair != kept.pair:
            return f"holds a crawl with pair={kept.pair}, not {self.pair}: give that"
        if self.scope != kept.scope:
            return f"holds a crawl with scope={kept.scope}, not {self.scope}: give that"
        if self.prefixes != kept.prefixes:
            return f"holds a crawl with BILINGUAL_SCOPE_PREFIXES={','.join(kept.prefixes)}: give that"
        if missing := set(kept.seeds) - set(self.seeds):
            return f"holds a crawl with the seed {min(missing)}: give all of its seeds, and more if you like"
        return None


class _Place(Protocol):
    name: str
    fix: str

    def read(self) -> str | None: ...

    def begin(self, text: str) -> None:
        """Write unless something is there."""

    def write(self, text: str) -> None: ...


class _Folder:
    fix = "or another folder"

    def __init__(self, jobdir: Path) -> None:
        self.name = f"JOBDIR={jobdir}"
        self._file = jobdir / f"{NAME}.json"

    def read(self) -> str | None:
        return self._file.read_text(encoding="utf-8") if self._file.exists() else None

    def begin(self, text: str) -> None:
        if not self._file.exists():
            self.write(text)

    def write(self, text: str) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        new = self._file.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        to_disk(new)
        new.replace(self._file)


class _Redis:
    fix = "or another crawl with #name"

    def __init__(self, link: RedisLink) -> None:
        self.name = f"BILINGUAL_FRONTIER with the keys {link.prefix}*"
        self._link = link

    def read(self) -> str | None:
        text: bytes | None = self._link.command("HGET", "named", NAME)
        return text.decode() if text else None

    def begin(self, text: str) -> None:
        self._link.command("HSETNX", "named", NAME, text)

    def write(self, text: str) -> None:
        self._link.command("HSET", "named", NAME, text)


@contextmanager
def _places(settings: BaseSettings) -> Iterator[list[_Place]]:
    """Where this run's frontier says whose it is."""
    places: list[_Place] = []
    jobdir, url = settings["JOBDIR"], Options.of(settings).frontier
    try:
        with ExitStack() as stack:
            if jobdir:
                check_folder("JOBDIR", Path(jobdir))
                lmdb_store.check(Path(jobdir) / "frontier")
                places.append(_Folder(Path(jobdir)))
            if url:
                # the client of Redis comes with an extra
                from bilingual_crawler.frontier import redis_store
                from bilingual_crawler.frontier.redis_link import RedisLink

                link = stack.enter_context(closing(RedisLink(url)))
                redis_store.check(link)
                places.append(_Redis(link))
            yield places
    except StoreError as error:
        raise JobError(str(error)) from error
    except OSError as error:
        raise JobError(f"JOBDIR={jobdir}: {error.strerror}; give a folder that can be written") from error
