"""A mining: URL stage, content stage, and the report of both on screen and as ``report.json``."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from ibis import _ as row
from scrapy.settings import Settings

from bilingual_crawler import noun
from bilingual_crawler.bitext.monolingual import monolingual
from bilingual_crawler.discovery.sources.cc_index import index_files
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.mining.records import open_ranges
from bilingual_crawler.mining.stored import AskedPairs, BucketResult, MiningError, result_file, store, stored
from bilingual_crawler.mining.urls import Host, MinedSite, by_size, hosts_of, mine_urls
from bilingual_crawler.options import PREFIX, Options
from bilingual_crawler.storage.records import DOCUMENTS, SITES, read_json_lines, replace_tsv

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import Console

    from bilingual_crawler.mining.duck import Engine
    from bilingual_crawler.mining.stored import MiningRequest

_COUNTS = {
    "rows": "rows read",
    "in_languages": "in languages of the pairs",
    "in_domains": "in domains with both languages of a pair",
    "duplicates": "duplicates among them (scheme, www.)",
    "domains": "domains with both languages of a pair",
    "url_pairs": "pairs of URLs",
}


def print_urls(console: Console, urls: UrlReport) -> None:
    for name, text in _COUNTS.items():
        console.print(f"{urls.counts[name]:>12,}  {text}")
    _print_pairs(console, "pairs of URLs", urls.url_pairs)
    for host in urls.largest:
        pages = ", ".join(f"{count} {language}" for language, count in host.pages.items())
        console.print(f"  {host.domain}: {pages}; {host.url_pairs} pairs of URLs")


def print_content(console: Console, content: ContentReport, sentences: Mapping[str, int]) -> None:
    total = content.total
    done = noun(content.done, "bucket is", "buckets are")
    console.print(f"{content.done} {done} done: {total.read:,} documents of {total.planned:,} pages")
    for reason, count in sorted(total.left_out.items(), key=lambda item: -item[1]):
        example = total.examples.get(reason)
        console.print(f"  left out, {reason}: {count}" + (f", such as {example}" if example else ""))
    _print_pairs(console, "pairs of documents", total.pairs)
    for pair, count in sentences.items():
        console.print(f"{pair}: {count:,} sentence pairs")
    if content.failed:
        failed = len(content.failed)
        console.print(f"{failed} {noun(failed, 'bucket')} failed; the same command tries again:")
        for number, why in sorted(content.failed.items())[:10]:
            console.print(f"  bucket {number}: {why}")


def _print_pairs(console: Console, what: str, pairs: Mapping[str, Mapping[str, int]]) -> None:
    for pair, methods in sorted(pairs.items(), key=lambda item: -sum(item[1].values())):
        listed = ", ".join(f"{count} by {method}" for method, count in sorted(methods.items(), key=lambda m: -m[1]))
        console.print(f"{pair}: {sum(methods.values()):,} {what} ({listed})")


TRIES = 2  # tries of a bucket in one run; the next run tries again
LARGEST = 10


class UrlReport(msgspec.Struct):
    """Counts of the URL stage; its file marks the stage as done."""

    counts: dict[str, int]
    """See :class:`~bilingual_crawler.mining.urls.UrlStage`."""
    url_pairs: dict[str, dict[str, int]]
    largest: list[Host]
    pairs: list[tuple[str, str]]
    buckets: list[int]


class ContentReport(msgspec.Struct):
    """Counts of the content stage so far."""

    done: int
    """Done buckets, earlier runs included."""
    total: BucketResult
    failed: dict[int, str]


class Mining:
    """A mining in a folder; raises MiningError if the folder holds another one, SourceError."""

    def __init__(self, request: MiningRequest) -> None:
        self._request, self._out = request, request.out.resolve()
        self.work = self._out / "work"
        self._crawls = [Path(name) for name in request.inputs if (Path(name) / DOCUMENTS).exists()]
        self._files = [file for name in request.inputs if Path(name) not in self._crawls for file in index_files(name)]
        known = stored(self._out / "mining.json", dict[str, Any])
        # a mining that keeps documents keeps those of all buckets, so that the format can be chosen again
        keeps = known is not None and known.get("monolingual", False)
        self._monolingual = bool(request.formats) and (keeps or bool(monolingual(request.formats)))
        options = Options.of(Settings(request.settings))
        self._equivalents = options.equivalent_languages
        self._wanted = AskedPairs(request.pairs, self._equivalents)
        mark = {
            "inputs": list(request.inputs),
            "pairs": request.pairs,
            "buckets": request.buckets,
            "bitext": bool(request.formats),
            "monolingual": self._monolingual,
            # what is done stays as it is, so that one folder would hold the results of two
            "BILINGUAL_MIN_SCORE": options.min_score,
            "BILINGUAL_DETECTORS": ",".join(options.detectors),
            "BILINGUAL_EQUIVALENT_LANGUAGES": ",".join(sorted(" ".join(sorted(one)) for one in self._equivalents)),
            "BILINGUAL_MASK_PERSONAL": options.mask_personal,
            "BILINGUAL_SENTENCE_FILTERS": ",".join(options.sentence_filters),
        }
        if known is None and self._out.exists() and any(self._out.iterdir()):
            raise MiningError(f"--out {self._out}: the folder is not empty, and of no mining; give another one")
        # a folder of an earlier version has no "monolingual", and no settings
        before = {name: value for name, value in mark.items() if name.startswith(PREFIX)} | (known or {})
        if other := ", ".join(name for name in mark if known is not None and before.get(name, False) != mark[name]):
            raise MiningError(f"--out {self._out}: the folder has a mining with other {other}; give another one")
        store(self._out / "mining.json", mark)

    @property
    def urls_done(self) -> UrlReport | None:
        """The report of the URL stage; None until it is done."""
        return stored(self._out / "urls.json", UrlReport)

    def mine_urls(self, engine: Engine) -> UrlReport:
        """Run the URL stage; writes ``urls/``, ``plan/`` and ``domains/``."""
        for folder in ("urls", "plan", "domains"):
            shutil.rmtree(self._out / folder, ignore_errors=True)
        self.work.mkdir(exist_ok=True)
        stage = mine_urls(engine, self._crawls, self._files, self._wanted, self.work)
        engine.write(stage.found.drop("domain"), self._out / "urls", "pair")
        engine.write(stage.plan(self._request.buckets), self._out / "plan", "bucket")
        engine.write(by_size(stage.domains), self._out / "domains")
        methods: dict[str, dict[str, int]] = {}
        for found in stage.found.group_by("pair", "method").agg(n=row.count()).to_pyarrow().to_pylist():
            methods.setdefault(found["pair"], {})[found["method"]] = found["n"]
        largest = list(islice(hosts_of(self._out / "domains"), LARGEST))
        pairs = [(pair.a, pair.b) for pair in stage.pairs]
        buckets = sorted(int(folder.name.partition("=")[2]) for folder in (self._out / "plan").glob("bucket=*"))
        report = UrlReport(stage.counts, methods, largest, pairs, buckets)
        store(self._out / "urls.json", report)
        shutil.rmtree(self.work)
        return report

    def write_hosts(self) -> None:
        replace_tsv(self._out / SITES, MinedSite, map(MinedSite.from_host, hosts_of(self._out / "domains")))

    def check_content(self) -> None:
        """Check that the records of all inputs can be found; raises MiningError."""
        request = self._request
        for folder in self._crawls:
            if not any(folder.glob("*.warc.gz")) and any(read_json_lines(folder / DOCUMENTS)):
                remedy = "leave it out, or pair URLs only (--stage urls); scrapy align reads its texts"
                raise MiningError(f"{folder} has no archive to read the pages from (BILINGUAL_WARC); {remedy}")
        if request.base is not None:
            open_ranges(request.base, request.rate, request.user_agent)
        elif self._files:
            remedy = "give the folder that they are in, or its address, such as https://data.commoncrawl.org/"
            raise MiningError(f"--base-url is missing: {self._files[0]} names files of an archive; {remedy}")

    def mine_content(self, engine: Engine, urls: UrlReport, on_bucket: Callable[[], None]) -> ContentReport:
        """Run the content stage, writing ``pairs/``; *on_bucket* is called for each bucket that is done."""
        # what aligns takes 45 MB, which the URL stage leaves to DuckDB
        from bilingual_crawler.mining.content import BucketJob

        request = replace(self._request, out=self._out, rate=self._request.rate / engine.processes)
        job = BucketJob(request, self._pairs(urls), self._monolingual)
        problems: dict[int, str] = {}
        files = {number: result_file(self._out, number) for number in urls.buckets}
        for _ in filter(Path.exists, files.values()):
            on_bucket()
        for _ in range(TRIES):
            for number, error in engine.each(job, [number for number, file in files.items() if not file.exists()]):
                if error is None:
                    on_bucket()
                else:
                    problems[number] = f"{type(error).__name__}: {error}"
        report = ContentReport(0, BucketResult(), {})
        for number, file in files.items():
            if result := stored(file, BucketResult):
                report.done += 1
                report.total.add(result)
            elif number in problems:
                report.failed[number] = problems[number]
        return report

    def export(self, urls: UrlReport, folder: Path) -> dict[str, int]:
        from bilingual_crawler.mining.content import export

        return export(self._out, self._pairs(urls), self._request.formats, folder)

    def _pairs(self, urls: UrlReport) -> tuple[LanguagePair, ...]:
        return tuple(LanguagePair(a, b, self._equivalents) for a, b in urls.pairs)
