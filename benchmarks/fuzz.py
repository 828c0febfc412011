"""Fuzzer: broken and hostile pages for all readers of pages, under limits of processor time and memory.

    python benchmarks/fuzz.py [--pages 20000] [--crawled 2000] [--seed 1]

Pages of real sites (../shared/data/sites; without it those of examples/site) are changed at random, and one in twenty
is a bomb of random size. First each is read by a helper process as in a crawl and as in `scrapy align`, and the helpers
are watched from outside. Then some, on ten hosts a mutation, are archived beside an honest site, crawled, and aligned.

  ended    pages that came to a limit, one second of processor time and 200 MB plus a share by size, and were left
  crashes  pages whose reading failed in any other way
  breaches jobs that a helper went on with for 2 s or 100 MB beyond the limit

Ends with status 1 if there was a crash or a breach, or if the crawl did not end well with all honest pairs.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.processes import PeakMemory
from support.webserver import bilingual_site, html, run_scrapy, varied

from benchmarks.measured import Measured, memory
from benchmarks.mutations import BOMBS, MUTATIONS
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.sandbox.jobs import ContentError, SandboxError
from bilingual_crawler.pages.sandbox.pool import processes, submit
from bilingual_crawler.pairing.reading import DocumentJob, RawPage
from bilingual_crawler.storage.archive import iter_responses
from bilingual_crawler.storage.records import read_tsv
from bilingual_crawler.storage.writer import Exchange, WarcWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

ROOT = Path(__file__).resolve().parent.parent
SITES = ROOT.parent / "shared" / "data" / "sites" / "train"
PAIRS = LanguagePairs.parse("eng-spa")
SOURCES = 300
LARGEST = 60_000
BOMB_SHARE = 0.05
HOSTS = 10
HONEST_PAGES = 60
HONEST = "http://honest.example"
SLACK_SECONDS, SLACK_BYTES = 2.0, 100e6
"""The kernel may count a limit in ticks, while /proc is more exact; the two differ on a loaded machine."""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Row:
    """Results of one mutation."""

    pages: int = 0
    slowest: float = 0.0
    most: float = 0.0
    """Bytes by which a helper has grown."""
    ended: Counter[str] = field(default_factory=Counter)
    crashes: list[str] = field(default_factory=list)
    breaches: dict[str, str] = field(default_factory=dict)
    """Use beyond the limit, by name of the job."""


def sources() -> list[bytes]:
    """Some pages of real sites, or of the example."""
    pages: list[bytes] = []
    if SITES.is_dir():
        for site in sorted(path for path in SITES.iterdir() if path.is_dir()):
            bodies = (response.body for response in iter_responses([site]) if response.status == 200)
            pages += [body for body, _ in zip(bodies, range(50), strict=False) if 500 < len(body) <= LARGEST][:10]
            if len(pages) >= SOURCES:
                break
        return pages[:SOURCES]
    print(f"no sites in {SITES}: pages of the example are used", file=sys.stderr)
    return example_pages()


def example_pages() -> list[bytes]:
    return [path.read_bytes() for path in sorted((ROOT / "examples" / "site").rglob("*.html"))]


def fuzzed(rng: random.Random, originals: Sequence[bytes], count: int) -> Iterator[tuple[str, bytes]]:
    """Names of mutations and pages."""
    for _ in range(count):
        name, mutate = rng.choice(list((BOMBS if rng.random() < BOMB_SHARE else MUTATIONS).items()))
        yield name, mutate(rng, rng.choice(originals))


class Watch:
    """Watches the helpers from outside."""

    def __init__(self, folder: Path, rows: dict[str, Row]) -> None:
        self._folder = folder
        self._rows = rows
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.01):
            for note in self._folder.iterdir():
                if note.name.isdigit():
                    try:
                        self._check(note)
                    except (OSError, IndexError, ValueError):
                        note.unlink(missing_ok=True) if not Path("/proc", note.name).exists() else None

    def _check(self, note: Path) -> None:
        name, seconds, held, limit, megabytes = note.read_text().split()
        stat = Path("/proc", note.name, "stat").read_text().rpartition(")")[2].split()
        used = (int(stat[11]) + int(stat[12])) / TICKS - float(seconds)
        grown = memory(note.name) - int(held)
        if not note.exists():
            return  # the job ended before its helper was watched
        mutation = name.partition("/")[0]
        row = self._rows[mutation]
        row.slowest = max(row.slowest, used)
        row.most = max(row.most, grown)
        if used > float(limit) + SLACK_SECONDS or grown > float(megabytes) * 1e6 + SLACK_BYTES:
            row.breaches[name] = f"{used:.2f} s of {limit}, {grown / 1e6:.0f} MB of {megabytes}"


def read_all(pages: Iterator[tuple[str, bytes]]) -> dict[str, Row]:
    """Each page as the crawl and as the alignment reads it."""
    rows: dict[str, Row] = defaultdict(Row)
    waiting: deque[tuple[str, bytes, Future[float]]] = deque()

    def settle() -> None:
        mutation, body, future = waiting.popleft()
        try:
            rows[mutation].slowest = max(rows[mutation].slowest, future.result())
        except ContentError:
            # most of its bytes were no text
            pass
        except SandboxError as error:
            if error.kind == "crash":
                rows[mutation].crashes.append(f"{error}: {body[:60]!r}")
            else:
                rows[mutation].ended[error.kind] += 1

    with tempfile.TemporaryDirectory() as name:
        watch = Watch(Path(name), rows)
        try:
            for number, (mutation, body) in enumerate(pages):
                url = f"http://fuzz.example/{number}"
                rows[mutation].pages += 1
                raw = RawPage(url, body, "text/html")
                for job in (PageJob(body, "text/html", url), DocumentJob(raw, PAIRS)):
                    measured = Measured(job, name, f"{mutation}/{number}/{type(job).__name__}")
                    waiting.append((mutation, body, submit(measured)))
                while len(waiting) > 4 * processes():
                    settle()
            while waiting:
                settle()
        finally:
            watch.close()
    return rows


def archive(folder: Path, pages: Iterator[tuple[str, bytes]]) -> list[str]:
    """Write *pages* and an honest site to WARC files; the seeds to begin with."""
    writer = WarcWriter(folder, info={})

    def write(url: str, body: bytes) -> None:
        head = ((b"Content-Type", b"text/html"),)
        writer.write_exchange(Exchange(url, "GET", (), 200, head, body, datetime.now(UTC)))

    linked: defaultdict[str, list[str]] = defaultdict(list)
    for number, (mutation, body) in enumerate(pages):
        host = f"http://{mutation}-{number % HOSTS}.example"
        linked[host].append(f"{host}/{mutation}/{number}.html")
        write(linked[host][-1], body)
    for host, urls in linked.items():
        write(f"{host}/", html("en", "index", "".join(f"<a href={url}>page</a> " for url in urls)).encode())
    for path, page in varied(bilingual_site(HONEST_PAGES)).items():
        write(f"{HONEST}{path}", page.encode())
    writer.close()
    return [f"{HONEST}/en/", *(f"{host}/" for host in linked)]


def crawl_and_align(pages: Iterator[tuple[str, bytes]]) -> tuple[dict[str, Counter[str]], list[str]]:
    """Outcomes of a crawl by mutation, and its errors."""
    wrong = []
    outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "archive").mkdir()
        (folder / "seeds").write_text("\n".join(archive(folder / "archive", pages)))
        settings = (
            f"BILINGUAL_REPLAY={folder / 'archive'}",
            f"BILINGUAL_OUTPUT_DIR={folder / 'out'}",
            "LOG_LEVEL=ERROR",
        )
        chosen = (part for setting in settings for part in ("-s", setting))
        commands = {
            "crawl": ("crawl", "bilingual", "-a", "pair=eng-spa", "-a", f"seeds={folder / 'seeds'}", *chosen),
            "align": ("align", str(folder / "out"), "--pair", "eng-spa", "--out", str(folder / "aligned.tsv")),
        }
        for command, arguments in commands.items():
            with PeakMemory(os.getpid(), below=True) as peak:
                result = run_scrapy(folder, *arguments, timeout=3600)
            print(
                f"{command}: exit status {result.returncode}, at most {peak.most / 1e6:,.0f} MB with all its processes"
            )
            if result.returncode or "Traceback" in result.stderr:
                wrong.append(f"{command}: {result.stderr[-2000:]}")
        for row in read_tsv(folder / "out" / "crawl.tsv"):
            mutation = row["url"].split("/")[3]
            if not row["url"].startswith(HONEST) and mutation:
                outcomes[mutation][row["outcome"]] += 1
        names = ("", *(f"page-{number}.html" for number in range(HONEST_PAGES)))
        expected = {(f"{HONEST}/en/{page}", f"{HONEST}/es/{page}") for page in names}
        for file in (folder / "out" / "pairs.tsv", folder / "aligned.tsv"):
            missing = expected - {(row["url_a"], row["url_b"]) for row in read_tsv(file)}
            if missing:
                wrong.append(f"{file.name}: {len(missing)} of {len(expected)} honest pairs are missing")
    return outcomes, wrong


def show(rows: dict[str, Row], outcomes: dict[str, Counter[str]]) -> None:
    print("| mutation | pages | slowest, s | memory, MB | ended | crashes | breaches | crawled: outcomes |")
    print("|---|--:|--:|--:|--:|--:|--:|---|")
    for name, row in sorted(rows.items()):
        crawled = ", ".join(f"{outcome} {count}" for outcome, count in outcomes.get(name, Counter()).most_common())
        ended = ", ".join(f"{kind} {count}" for kind, count in row.ended.items()) or "0"
        print(
            f"| {name} | {row.pages:,} | {row.slowest:.2f} | {row.most / 1e6:.0f} | {ended} | {len(row.crashes)} "
            f"| {len(row.breaches)} | {crawled} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--crawled", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    originals = sources()
    begun = time.monotonic()
    rows = read_all(fuzzed(random.Random(options.seed), originals, options.pages))
    print(f"{options.pages:,} pages read in {time.monotonic() - begun:.0f} s")
    outcomes, wrong = crawl_and_align(fuzzed(random.Random(options.seed + 1), originals, options.crawled))
    show(rows, outcomes)
    problems: list[Any] = [
        *wrong,
        *(text for row in rows.values() for text in (*row.crashes[:3], *map(str, row.breaches.items()))),
    ]
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
