"""Faults that a crawl survives: full disks, truncated files, wrong clocks, kills. ``benchmarks/faults.py`` has more."""

import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import lmdb
import pytest
import redis
from support import webserver
from support.crawls import documents, each, ended_well, pairs, refused, summary
from support.redis_server import RedisServer, redis_server
from support.scripted import Answer, Scripted, scripted
from support.webserver import ABOUT_SITE, Site, bilingual_site, run_scrapy, scrapy_command, serve, start_scrapy, varied

from bilingual_crawler.frontier.entry import Entry, State
from bilingual_crawler.frontier.frontier import StoreError, digest
from bilingual_crawler.frontier.lmdb_store import LmdbStore
from bilingual_crawler.storage.archive import open_archive
from bilingual_crawler.storage.records import read_json_lines, read_tsv

PAGES = 10


@pytest.fixture
def site() -> Iterator[Site]:
    with serve(varied(bilingual_site(PAGES)), redirects={"/old": "/en/page-1.html"}, delay=0.01) as site:
        yield site


@pytest.fixture(params=[False, True], ids=["job", "redis"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RedisServer | None]:
    """That of the frontier, or none if it is in the job folder."""
    with redis_server(tmp_path) if request.param else nullcontext() as server:
        yield server


def arguments(
    folder: Path, site: Site | Scripted, *settings: str, server: RedisServer | None = None, policy: str = "gain"
) -> list[str]:
    frontier = [f"BILINGUAL_FRONTIER={server.url}"] if server else []
    outputs = (f"BILINGUAL_OUTPUT_DIR={folder / 'out'}", f"JOBDIR={folder / 'job'}")
    chosen = each("-a", "pair=eng-spa", f"seeds={site.url}/en/", f"policy={policy}")
    return ["crawl", "bilingual", *chosen, *each("-s", *outputs, *frontier, *settings)]


def crawl_until(folder: Path, site: Site, asked: int, how: signal.Signals, **more: Any) -> None:
    """Begin the crawl, or go on with it, and stop it when the site has been asked so often."""
    crawl = start_scrapy(folder, *arguments(folder, site, **more))
    site.wait_until_asked(asked)
    crawl.send_signal(how)
    crawl.communicate(timeout=300)


def resume(folder: Path, site: Site | Scripted, *settings: str, fresh: bool = False, **how: Any) -> str:
    """Crawl to the end; returns the log."""
    return str(ended_well(run_scrapy(folder, *arguments(folder, site, *settings, **how), fresh=fresh)).stderr)


def assert_complete(folder: Path, site: Site, *, twice: int) -> None:
    records = [record["url"] for record in read_json_lines(folder / "out" / "documents.jsonl.gz")]
    pages = [f"{site.url}{path}" for path in site.pages if path.startswith(("/en/", "/es/"))]
    assert sorted(records) == sorted(pages)
    archive = open_archive([folder / "out"])
    assert all(archive.find(url) is not None for url in pages)
    fetched = [count for path, count in site.asked.items() if path not in ABOUT_SITE]
    assert sum(count - 1 for count in fetched) <= twice, site.asked


@pytest.mark.parametrize(
    ("size", "server"), [(20_000, False), (90_000, False), (5_000, True), (12_000, True)], indirect=["server"]
)
def test_a_full_disk_stops_the_crawl_and_costs_nothing(
    tmp_path: Path, site: Site, size: int, server: RedisServer | None
) -> None:
    crawl = start_scrapy(tmp_path, *arguments(tmp_path, site, server=server))
    site.wait_until_asked(5)
    resource.prlimit(crawl.pid, resource.RLIMIT_FSIZE, (size, size))
    _, log = crawl.communicate(timeout=300)
    assert log.count("Stopping, a resume goes on from here") == 1, log
    assert crawl.returncode == 1
    resume(tmp_path, site, server=server)
    assert_complete(tmp_path, site, twice=16)


def test_a_crawl_without_room_is_refused(tmp_path: Path, site: Site) -> None:
    # a mount needs rights that tests have not
    limits = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)); "
    # compiled modules would be cut, and break what imports them later
    environment = "os.environ['PYTHONDONTWRITEBYTECODE'] = '1'; "
    command = [sys.executable, "-c", f"{limits}{environment}os.execv(sys.argv[1], sys.argv[1:])"]
    crawl = webserver.run(tmp_path, [*command, *scrapy_command(*arguments(tmp_path, site))], fresh=True)
    assert crawl.returncode == 2
    assert crawl.stderr.splitlines()[-1].endswith("/out: File too large; give a folder that can be written")
    assert "Traceback" not in crawl.stderr


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-"])
def test_a_crawl_with_closed_streams_goes_on(tmp_path: Path, site: Site, closed: str) -> None:
    command = shlex.join(scrapy_command(*arguments(tmp_path, site)))
    ended_well(webserver.run(tmp_path, ["sh", "-c", f"exec {command} {closed}"], fresh=True))
    assert_complete(tmp_path, site, twice=0)


def test_outputs_that_were_cut_between_runs_are_named(tmp_path: Path, site: Site) -> None:
    resume(tmp_path, site)
    (archive,) = (tmp_path / "out").glob("*.warc.gz")
    os.truncate(archive, archive.stat().st_size // 2)
    assert f"{archive} is cut off: it lacks pages of documents" in resume(tmp_path, site)
    cut = tmp_path / "out/documents.jsonl.gz"
    os.truncate(cut, cut.stat().st_size - 1)  # half of it may be the end of a document
    aligned = ended_well(run_scrapy(tmp_path, "align", "out", "--out", "pairs.tsv"))
    assert "out/documents.jsonl.gz: " in aligned.stderr
    assert "bytes at its end, where it is cut off or damaged: left out (cut_file)" in aligned.stderr
    assert "1 cut_file" in aligned.stdout


def test_a_full_store_says_so_and_keeps_what_it_has(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path, map_size=1 << 20)
    done = 0

    def fill() -> None:
        """Fetch pages: their links are pushed, and when they are finished, the store keeps what was done."""
        nonlocal done
        while True:
            store.push([Entry(f"https://a.example/{done} {n}", "a.example", 0.5) for n in range(100)])
            taken = store.pop("a.example")
            assert taken
            store.finish(taken.url)
            done += 1

    with pytest.raises(StoreError, match="make room"):
        fill()
    assert done
    with pytest.raises(StoreError, match="make room"):
        store.pop("a.example")
    store.close()
    reopened = LmdbStore(tmp_path)
    assert reopened.count(State.DONE) == done
    assert reopened.count(State.QUEUED) == sum(1 for _ in reopened.queued("a.example")) == 99 * done
    reopened.close()


CLOCKS = """
import time
real, begun = time.time, time.monotonic()
def jumping():
    return real() + (86_400 if int(2 * (time.monotonic() - begun)) % 2 else -86_400)
time.time = jumping
"""


@pytest.mark.slow
def test_a_clock_that_jumps_by_a_day_changes_nothing(
    tmp_path: Path, site: Site, server: RedisServer | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(CLOCKS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    resume(tmp_path, site, server=server, fresh=True)
    # Twisted's time-outs go by the wall clock: a download in flight may be broken off, and is retried
    assert_complete(tmp_path, site, twice=16)


class Deadly:
    """A site with one page that kills every process that requests it, while other URLs are in flight if possible."""

    PAGE = "/en/deadly.html"

    def __init__(self) -> None:
        self.pages = varied(bilingual_site(PAGES))
        self.pages["/en/"] = self.pages["/en/"].replace("<body>", f"<body><a href={self.PAGE}>deadly</a>")
        self.crawl: subprocess.Popen[str] | None = None
        self.under_way: set[str] = set()
        self.died_with: list[set[str]] = []

    def answer(self, path: str) -> Answer:
        self.under_way.add(path)
        time.sleep(0.1)
        if path == self.PAGE:
            assert self.crawl
            patience = 0 if self.died_with else 300
            while len(self.under_way) <= 2 and patience:
                time.sleep(0.01)
                patience -= 1
            self.died_with.append(set(self.under_way))
            self.crawl.kill()
            self.crawl.wait()
            self.under_way.clear()
        self.under_way.discard(path)
        return Answer(self.pages[path]) if path in self.pages else Answer(status=404)


def test_a_page_that_kills_the_crawl_twice_is_left_and_no_other(tmp_path: Path, server: RedisServer | None) -> None:
    """A resume, or with Redis another worker, dies of it once more, but the third one does not."""
    deadly = Deadly()
    folders = [tmp_path / (name if server else "only") for name in ("first", "second", "third")]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    leased: Counter[bytes | str] = Counter()
    how: dict[str, Any] = {"server": server, "policy": "bfs"}
    with scripted(deadly.answer) as site:
        for deaths, folder in enumerate(folders[:2], start=1):
            # the link to the deadly page is the first one, so the others are still to come
            command = arguments(folder, site, "CONCURRENT_REQUESTS_PER_DOMAIN=8", **how)
            deadly.crawl = start_scrapy(folder, *command)
            deadly.crawl.communicate(timeout=300)
            assert len(deadly.died_with) == deaths
            if server:
                leased += leases(server)
                silent_for_long(server)
        log = resume(folders[2], site, "CONCURRENT_REQUESTS_PER_DOMAIN=8", **how)
    url = site.url + deadly.PAGE
    assert f"{url}: not fetched again, because the crawl died twice while it was in flight" in log
    assert len(deadly.died_with[0]) > 2
    assert deadly.died_with[1] == {deadly.PAGE}
    assert site.paths().count(deadly.PAGE) == 2
    outputs = {folder / "out" for folder in folders}
    records = [record["url"] for out in outputs for record in read_json_lines(out / "documents.jsonl.gz")]
    pages = [f"{site.url}{path}" for path in deadly.pages if path.startswith(("/en/", "/es/"))]
    assert {*records} == {*pages}
    # a dead worker may have written what Redis has not yet heard of; another one writes that again into its own outputs
    assert Counter(map(digest, records)) - Counter(map(digest, pages)) <= leased
    rows = [row for row in read_tsv(folders[2] / "out" / "crawl.tsv") if row["outcome"] == "poison"]
    assert [row["url"] for row in rows] == [url]
    assert summary(folders[2])["dropped"]["poison"] == 1


def leases(server: RedisServer) -> Counter[bytes | str]:
    """Digests of the URLs that are in flight for Redis; none if no worker has it for a frontier."""
    client = redis.Redis(port=server.port)
    return Counter(key for worker in client.scan_iter("bilingual:crawl:flight:*") for key in client.smembers(worker))


def silent_for_long(server: RedisServer) -> None:
    """All workers are silent until they count as dead."""
    client = redis.Redis(port=server.port)
    for name in client.zrange("bilingual:crawl:workers", 0, -1):
        client.zadd("bilingual:crawl:workers", {name: 0})  # type: ignore[type-var]


@pytest.mark.parametrize(("policy", "how"), [("bfs", signal.SIGINT), ("gain", signal.SIGKILL)])
def test_a_stopped_crawl_goes_on_without_loss_and_only_a_death_makes_suspects(
    tmp_path: Path, site: Site, policy: str, how: signal.Signals
) -> None:
    site.delay = 0.2
    crawl_until(tmp_path, site, 6, how, policy=policy)
    before = len(site.asked)
    died = how is signal.SIGKILL
    assert (tmp_path / "job" / "frontier" / "in-flight").exists() == died
    assert ("it is fetched again, alone" in resume(tmp_path, site, policy=policy)) == died
    assert before < len(site.asked)
    assert_complete(tmp_path, site, twice=2 if died else 0)
    assert len(pairs(tmp_path, site)) == PAGES + 1
    # the documents and what is gone; what has moved is none more
    assert summary(tmp_path)["fetched"] == 2 * (PAGES + 1) + 1
    asked = site.asked.total()
    resume(tmp_path, site, policy=policy)
    assert site.asked.total() <= asked + 1, "nothing was left to do, which is no failure"


def test_kills_at_any_moment_lose_nothing_and_garbled_ends_are_left_behind(
    tmp_path: Path, site: Site, server: RedisServer | None
) -> None:
    kills = 3
    for number in range(1, kills + 1):
        crawl_until(tmp_path, site, 6 * number, signal.SIGKILL, server=server)
    out = tmp_path / "out"
    for name in ("documents.jsonl.gz", "crawl.tsv", max(path.name for path in out.glob("*.warc.gz"))):
        with (out / name).open("ab") as file:
            file.write(b"\x1f\x8b\x08\x00half a record")
    # a new interpreter has another hash seed
    log = resume(tmp_path, site, server=server, fresh=True)
    for name in ("documents.jsonl.gz", "crawl.tsv"):
        assert f"{out / name} is damaged after" in log
    assert_complete(tmp_path, site, twice=16 * kills)


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["terminal", "stdout", "stderr"])
def test_a_crawl_ends_in_order_with_its_terminal_or_pipe(tmp_path: Path, site: Site, closed: str) -> None:
    site.delay = 0.2
    crawl = start_scrapy(tmp_path, *arguments(tmp_path, site), fresh=True)
    assert crawl.stdout
    assert crawl.stderr
    try:
        site.wait_until_asked(6)
        if closed == "terminal":
            # the kernel and the shell both send it
            for _ in range(2):
                crawl.send_signal(signal.SIGHUP)
        else:
            {"stdout": crawl.stdout, "stderr": crawl.stderr}[closed].close()
        assert crawl.wait(60) == 0
    finally:
        crawl.kill()
    before = site.asked.total()
    told = summary(tmp_path)
    assert told["finish_reason"] == "shutdown"
    assert told["queued"]
    assert (tmp_path / "out" / "report.html").exists()
    site.delay = 0.0
    resume(tmp_path, site)
    assert site.asked.total() > before
    assert_complete(tmp_path, site, twice=0)


@pytest.mark.slow
def test_nohup_keeps_a_crawl_running(tmp_path: Path, site: Site) -> None:
    site.delay = 0.1
    command = shlex.join(scrapy_command(*arguments(tmp_path, site)))
    crawl = webserver.start(tmp_path, ["sh", "-c", f"exec nohup {command} >log 2>&1"], fresh=True)
    try:
        site.wait_until_asked(6)
        crawl.send_signal(signal.SIGHUP)
        assert crawl.wait(300) == 0
    finally:
        crawl.kill()
    assert_complete(tmp_path, site, twice=0)


def test_a_frontier_whose_end_was_not_copied_is_named(tmp_path: Path, site: Site) -> None:
    ended_well(run_scrapy(tmp_path, *arguments(tmp_path, site), "-a", "max_pages=4"))
    data = tmp_path / "job" / "frontier" / "data.mdb"
    whole = data.read_bytes()
    data.write_bytes(whole[: len(whole) // 8192 * 4096])
    asked = site.asked.total()
    said = refused(tmp_path, *arguments(tmp_path, site))
    assert f"{data}: the end of the file is missing; copy it again" in said
    assert site.asked.total() == asked
    data.write_bytes(whole)
    resume(tmp_path, site)
    assert_complete(tmp_path, site, twice=0)


def test_a_sound_frontier_may_end_before_its_last_page(tmp_path: Path) -> None:
    """LMDB does not write pages that were freed in the transaction that took them."""
    store = LmdbStore(tmp_path)
    store.push([Entry("https://a.example/", "a.example", 1.0)])
    store.close()
    with lmdb.open(str(tmp_path), max_dbs=8) as env:
        meta = env.open_db(b"meta")
        with env.begin(write=True) as txn:
            txn.put(b"large", bytes(1 << 20), db=meta)
            txn.delete(b"large", db=meta)
        pages = env.info()["last_pgno"] + 1
        size = env.stat()["psize"]
    assert (tmp_path / "data.mdb").stat().st_size < pages * size
    store = LmdbStore(tmp_path)
    assert store.count(State.QUEUED) == 1
    store.close()


def test_a_network_that_is_gone_costs_no_queued_page(tmp_path: Path, server: RedisServer | None) -> None:
    """The crawl is resumed without it: the hosts, among them a seed that was not asked before, do not answer."""
    # some of the first site are left when the second one is away for a while
    pages, away, until_gone = varied(bilingual_site(12)), False, 10_000

    def answer(path: str) -> Answer:
        nonlocal until_gone
        until_gone -= 1
        if away or -9 <= until_gone < 0:
            return Answer(raw=[])
        return Answer(pages[path]) if path in pages else Answer(status=404)

    quick = ("BILINGUAL_BACKOFF_START=0.02", "BILINGUAL_BACKOFF_MAX=0.02")
    with scripted(answer) as site, scripted(answer, "127.0.0.2") as other:
        whole = arguments(tmp_path, site, *quick, server=server)
        ended_well(run_scrapy(tmp_path, *whole, "-s", "CLOSESPIDER_PAGECOUNT=3"))
        whole[whole.index(f"seeds={site.url}/en/")] += f",{other.url}/en/"
        away = True
        stopped = run_scrapy(tmp_path, *whole)
        assert "Stopping: no host answers any more" in stopped.stderr
        assert "given up" not in stopped.stderr
        assert summary(tmp_path)["finish_reason"] == "no_answer"
        # nor does one that is gone for some tries, while both sites are asked, and no answer is under way
        away, until_gone = False, 8
        ended_well(run_scrapy(tmp_path, *whole, "-s", "CONCURRENT_REQUESTS=1"))
        assert until_gone < -9
    of_the_pair = [path for path in pages if path.startswith(("/en/", "/es/"))]
    assert documents(tmp_path).keys() == {f"{one.url}{path}" for one in (site, other) for path in of_the_pair}
