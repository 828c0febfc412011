"""A mining in its folder, stage by stage; what is done stays done, and is not done again."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from ibis import _ as row
from scrapy.settings import Settings

from bilingual_crawler.discovery.sources.base import SourceError
from bilingual_crawler.discovery.sources.cc_index import index_files
from bilingual_crawler.languages import LanguagePair
from bilingual_crawler.mining.asked import AskedPairs
from bilingual_crawler.mining.crawls import is_crawl
from bilingual_crawler.mining.errors import MiningError
from bilingual_crawler.mining.hosts import Host, MinedSite, by_size, hosts_of
from bilingual_crawler.mining.ranges import open_ranges
from bilingual_crawler.mining.results import BucketResult, add_up, result_file
from bilingual_crawler.mining.spool import export
from bilingual_crawler.mining.stored import store, stored
from bilingual_crawler.mining.urls import mine_urls
from bilingual_crawler.options import Options
from bilingual_crawler.records import SITES, replace_tsv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bilingual_crawler.mining.engine import Engine

TRIES = 2
"""Times that a bucket is mined before it is left to the next run."""
LARGEST = 10
"""Hosts in the report."""


@dataclass(frozen=True)
class Request:
    """What is to be mined."""

    inputs: tuple[str, ...]
    """Crawls, and what :class:`~bilingual_crawler.discovery.sources.cc_index.CommonCrawlIndex` reads."""
    pairs: str
    """As :class:`AskedPairs` reads them."""
    out: Path
    buckets: int
    base: str | None
    """Where the files lie that the tables name."""
    rate: float
    """Requests a second of all processes together."""
    bitext: bool
    user_agent: str
    settings: dict[str, Any]
    """Those of Scrapy that begin with ``BILINGUAL_``."""


class UrlReport(msgspec.Struct):
    """What came of the URL stage; its file says that the stage is done."""

    counts: dict[str, int]
    """See :class:`~bilingual_crawler.mining.urls.UrlStage`."""
    url_pairs: dict[str, dict[str, int]]
    """By languages and method."""
    largest: list[Host]
    pairs: list[tuple[str, str]]
    buckets: list[int]
    """Those that have pages."""


class ContentReport(msgspec.Struct):
    """What came of the content stage so far."""

    done: int
    """Buckets, those of earlier runs included."""
    total: BucketResult
    """The sum of the buckets that are done."""
    failed: dict[int, str]
    """Buckets that are left to the next run, and why."""


class Mining:
    """A mining; MiningError if its inputs cannot be read, or its folder has another one."""

    def __init__(self, request: Request) -> None:
        self._request, self._out = request, request.out.resolve()
        self._crawls = [Path(name) for name in request.inputs if is_crawl(Path(name))]
        try:
            self._files = [
                file for name in request.inputs if Path(name) not in self._crawls for file in index_files(name)
            ]
        except SourceError as error:
            raise MiningError(str(error)) from error
        self._equivalents = Options.of(Settings(request.settings)).equivalent_languages
        self._wanted = AskedPairs(request.pairs, self._equivalents)
        mark = {
            "inputs": list(request.inputs),
            "pairs": request.pairs,
            "buckets": request.buckets,
            "bitext": request.bitext,
        }
        known = stored(self._out / "mining.json", dict[str, Any])
        if known is None and self._out.exists() and any(self._out.iterdir()):
            raise MiningError(f"--out {self._out}: the folder is not empty, and of no mining; give another one")
        if known not in (None, mark):
            other = ", ".join(name for name in mark if known.get(name) != mark[name])
            raise MiningError(f"--out {self._out}: the folder has a mining with other {other}; give another one")
        store(self._out / "mining.json", mark)

    @property
    def work(self) -> Path:
        """The folder for tables on the way."""
        return self._out / "work"

    @property
    def _domains(self) -> Path:
        return self._out / "domains"

    @property
    def urls_done(self) -> UrlReport | None:
        """What came of the URL stage, if it is done."""
        return stored(self._out / "urls.json", UrlReport)

    def mine_urls(self, engine: Engine) -> UrlReport:
        """Run the URL stage; writes ``urls/``, ``plan/`` and ``domains/``."""
        for folder in ("urls", "plan", "domains"):
            shutil.rmtree(self._out / folder, ignore_errors=True)
        self.work.mkdir(exist_ok=True)
        stage = mine_urls(engine, self._crawls, self._files, self._wanted, self.work)
        engine.write(stage.found.drop("domain"), self._out / "urls", "pair")
        engine.write(stage.plan(self._request.buckets), self._out / "plan", "bucket")
        engine.write(by_size(stage.domains), self._domains)
        methods: dict[str, dict[str, int]] = {}
        for found in stage.found.group_by("pair", "method").agg(n=row.count()).to_pyarrow().to_pylist():
            methods.setdefault(found["pair"], {})[found["method"]] = found["n"]
        report = UrlReport(
            stage.counts,
            methods,
            list(islice(hosts_of(self._domains), LARGEST)),
            [(pair.a, pair.b) for pair in stage.pairs],
            sorted(int(folder.name.partition("=")[2]) for folder in (self._out / "plan").glob("bucket=*")),
        )
        store(self._out / "urls.json", report)
        shutil.rmtree(self.work)
        return report

    def write_hosts(self) -> None:
        """Write ``sites.tsv``."""
        replace_tsv(self._out / SITES, MinedSite, map(MinedSite.of_host, hosts_of(self._domains)))

    def check_content(self) -> None:
        """MiningError unless the records of all inputs can be found."""
        request = self._request
        if request.base is not None:
            open_ranges(request.base, request.rate, request.user_agent)
        elif self._files:
            raise MiningError(
                f"--base-url is missing: {self._files[0]} names files of an archive; give the folder that they are in,"
                " or its address, such as https://data.commoncrawl.org/"
            )

    def mine_content(self, engine: Engine, urls: UrlReport, on_bucket: Callable[[], None]) -> ContentReport:
        """Run the content stage for all buckets that are not done; writes ``pairs/``. *on_bucket* hears of each."""
        # what aligns takes 45 MB, which the URL stage leaves to DuckDB
        from bilingual_crawler.mining.content import BucketJob

        request = self._request
        job = BucketJob(
            self._out,
            tuple(LanguagePair(a, b, self._equivalents) for a, b in urls.pairs),
            request.base,
            request.rate / engine.processes,
            request.user_agent,
            json.dumps(request.settings, default=str),
            request.bitext,
        )
        problems: dict[int, str] = {}
        for _ in range(TRIES):
            left = [number for number in urls.buckets if not result_file(self._out, number).exists()]
            for number, error in engine.each(job, left):
                if error is None:
                    on_bucket()
                else:
                    problems[number] = f"{type(error).__name__}: {error}"
        results = {number: stored(result_file(self._out, number), BucketResult) for number in urls.buckets}
        done = [result for result in results.values() if result is not None]
        failed = {number: why for number, why in problems.items() if results[number] is None}
        return ContentReport(len(done), add_up(done), failed)

    def export(self, urls: UrlReport, formats: Iterable[str], folder: Path) -> dict[str, int]:
        """Write the bitext of the buckets that are done into *folder*; returns sentence pairs by languages."""
        return export(self._out, [LanguagePair(a, b, self._equivalents) for a, b in urls.pairs], formats, folder)
