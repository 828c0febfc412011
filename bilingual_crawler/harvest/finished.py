"""Finished crawls: frozen sites out of them, and what they cost (Figure 7 of García-Romero 2026 on live sites)."""

import gzip
import json
import lzma
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from math import ceil
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from rich.table import Table

from bilingual_crawler.harvest.results import DECILES, SHARES, Measure, downloads_to, new_table
from bilingual_crawler.harvest.sites import SiteError, Task, read_site
from bilingual_crawler.languages.codes import UNKNOWN
from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.model import PageRecord
from bilingual_crawler.pages.sandbox.jobs import ContentError, SandboxError
from bilingual_crawler.pages.sandbox.pool import ahead, submit
from bilingual_crawler.pairing.inputs import PagesOfRecords
from bilingual_crawler.storage.archive import open_warc
from bilingual_crawler.storage.files import replacing
from bilingual_crawler.storage.records import CRAWL, PAIRS, read_tsv, tsv_line
from bilingual_crawler.storage.sites import find_sources
from bilingual_crawler.urls.hosts import registered_domain


@dataclass(slots=True)
class _Pages:
    """What a crawl has of one site, a registered domain."""

    graph: dict[str, tuple[str, int, list[str]]] = field(default_factory=dict)
    """Page -> language, characters of visible text, links."""
    pairs: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    seeds: list[str] = field(default_factory=list)


def freeze(crawls: Sequence[Path], out: Path, min_score: float) -> list[Task]:
    """Write the sites of finished crawls into the new folder *out*; return a task for each site and language pair.

    Gold are the pairs that the crawls have found with *min_score* (0 to 1) or more. Pages are read again, 5 ms each.
    Raises SiteError for a folder without pairs or archive, or a site of two crawls, and ArchiveError.
    """
    if out.exists() and any(out.iterdir()):
        raise SiteError(f"{out} is not empty; give a new folder")
    tasks: list[Task] = []
    for crawl in crawls:
        for needed in (CRAWL, PAIRS):
            if not (crawl / needed).exists():
                raise SiteError(f"{crawl} has no {needed}; give the output folder of a finished crawl")
        tasks += _freeze(crawl, out, min_score)
    if not tasks:
        raise SiteError(f"no pair of {', '.join(map(str, crawls))} has a score of {min_score:g} or more")
    rows: list[tuple[object, ...]] = [("site", "lang_a", "lang_b", "gold_pairs", "reachable_pages", "seeds")]
    for task in tasks:
        site = read_site(out / task.site)
        gold, pages = len(site.partners(task)) // 2, len(site.reachable(task.seeds))
        rows.append((task.site, task.lang_a, task.lang_b, gold, pages, " ".join(task.seeds)))
    with replacing(out / "tasks.tsv") as part:
        part.write_text("".join(map(tsv_line, rows)), encoding="utf-8")
    return tasks


def _freeze(crawl: Path, out: Path, min_score: float) -> Iterator[Task]:
    sites: defaultdict[str, _Pages] = defaultdict(_Pages)
    archives: dict[str, IO[bytes]] = {}
    with ExitStack() as files:
        for (url, record), reading in ahead(_begin(crawl)):
            try:
                page = reading.result()
            except (ContentError, SandboxError):
                # the crawl could not read it either
                continue
            domain = registered_domain(url)
            if domain not in archives:
                folder = out / domain
                if folder.exists():
                    raise SiteError(f"{crawl}: another crawl has {domain}, too; freeze one of them")
                folder.mkdir(parents=True)
                archives[domain] = files.enter_context((folder / "pages.warc.gz").open("wb"))
            # one record a member, as WARC wants it, so that each is found by its offset
            archives[domain].write(gzip.compress(record, mtime=0))
            links = [link.url for link in page.links if registered_domain(link.url) == domain]
            sites[domain].graph[url] = page.language or UNKNOWN, len(page.text), list(dict.fromkeys(links))
    for row in read_tsv(crawl / CRAWL):
        site = sites[registered_domain(row["url"])]
        if row["location"]:
            site.redirects[row["url"]] = row["location"]
        if row["depth"] == "0" and row["url"] in site.graph:
            site.seeds.append(row["url"])
    for row in read_tsv(crawl / PAIRS):
        urls, languages = (row["url_a"], row["url_b"]), row["pair"].split("-")
        site = sites[registered_domain(urls[0])]
        if float(row["score"]) >= min_score and site.graph.keys() >= set(urls):
            site.pairs.append((urls[0], languages[0], urls[1], languages[1], row["method"]))
    for domain in archives:
        yield from _write(out / domain, sites[domain])


def _write(folder: Path, site: _Pages) -> Iterator[Task]:
    hosts = [host for host, _ in Counter(urlsplit(url).netloc for url in site.graph).most_common()]
    bases = [f"https://{host}/" for host in hosts]
    seeds = tuple(dict.fromkeys(site.seeds)) or (min(site.graph, key=len),)
    graph = [(url, language, text, " ".join(links)) for url, (language, text, links) in site.graph.items()]
    for name, rows in (("graph", graph), ("pairs", site.pairs)):
        with lzma.open(folder / f"{name}.tsv.xz", "wt", encoding="utf-8") as file:
            file.writelines("\t".join(map(str, row)) + "\n" for row in rows)
    (folder / "redirects.tsv").write_text("".join(map(tsv_line, site.redirects.items())), encoding="utf-8")
    description = {"site": folder.name, "base": bases[0], "bases": bases[1:], "seeds": seeds}
    (folder / "site.json").write_text(json.dumps(description, indent=1, ensure_ascii=False), encoding="utf-8")
    for lang_a, lang_b in dict.fromkeys((a, b) for _, a, _, b, _ in site.pairs):
        yield Task(folder.name, lang_a, lang_b, seeds)


def _begin(crawl: Path) -> Iterator[tuple[tuple[str, bytes], Future[PageRecord]]]:
    """Each archived HTML page once: URL and record, and what is read of it."""
    records, seen = PagesOfRecords(), set[str]()
    for path in (path for source in find_sources(crawl) for path in source.files):
        file = open_warc(path)
        for offset, head in file.heads():
            if head.status is None:
                continue
            record = file.read(offset)
            raw = records.page(record)
            if raw is not None and raw.body is not None and raw.url not in seen:
                seen.add(raw.url)
                yield (raw.url, record), submit(PageJob(raw.body, raw.content_type or "", raw.url, raw.link_headers))


@dataclass(frozen=True, slots=True)
class Run:
    """A finished crawl: what it had after each of its requests."""

    name: str
    pairs: Sequence[int]
    """Pairs of ``pairs.tsv`` with both pages downloaded, summed over sites."""
    seconds: Sequence[float]
    """Since its first request, pauses between runs included."""
    sizes: Sequence[int]
    """Bytes downloaded, by its archive; zeros without one."""

    def cost(self, percent: int, pairs: int) -> str:
        """Requests, MB and minutes until it had *percent* of *pairs*."""
        requests = downloads_to(self.pairs, percent, pairs)
        if requests is None:
            return "–"
        return f"{requests} / {self.sizes[requests - 1] / 1e6:.1f} / {self.seconds[requests - 1] / 60:.1f}"


def read_run(folder: Path) -> Run:
    """Read the outputs of a crawl; raises SiteError for a folder without any, ArchiveError for a damaged archive."""
    rows = list(read_tsv(folder / CRAWL))
    if not rows or not (folder / PAIRS).exists():
        raise SiteError(f"{folder} has no {CRAWL} and {PAIRS} of a crawl; give the output folder of a finished crawl")
    partners: defaultdict[str, set[str]] = defaultdict(set)
    for pair in read_tsv(folder / PAIRS):
        partners[pair["url_a"]].add(pair["url_b"])
        partners[pair["url_b"]].add(pair["url_a"])
    pairs = Measure(partners, len(rows), ()).curve(row["url"] if row["status"].startswith("2") else "" for row in rows)
    heads = (head for path in sorted(folder.glob("*.warc.gz")) for _, head in open_warc(path).heads())
    lengths = {head.url: head.length for head in heads if head.status is not None}
    sizes = accumulate(lengths.pop(row["url"], 0) for row in rows)
    times = [datetime.fromisoformat(row["time"]) for row in rows]
    return Run(folder.name, pairs, [(time - times[0]).total_seconds() for time in times], list(sizes))


def runs_table(runs: Sequence[Run]) -> Table:
    """The table with a line for each of *runs*: pairs by decile, and the cost of shares of the most pairs of a run."""
    most = max(run.pairs[-1] for run in runs)
    table = new_table(
        f"Pairs after each tenth of a crawl's requests, and requests / MB / minutes to {most} pairs",
        ("crawl",),
        ("requests", *(f"{percent} %" for percent in DECILES), *(f"to {share} %" for share in SHARES)),
    )
    for run in runs:
        table.add_row(
            run.name,
            str(len(run.pairs)),
            *(str(run.pairs[ceil(len(run.pairs) * percent / 100) - 1]) for percent in DECILES),
            *(run.cost(share, most) for share in SHARES),
        )
    return table
