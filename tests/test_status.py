"""A running crawl watched in a browser and by scripts, on real servers on loopback."""

import json
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from support import fork_server
from support.components import program
from support.crawls import summary
from support.waits import wait_for
from support.webserver import bilingual_site, run, scrapy_environment, serve, varied

from bilingual_crawler.options import Options
from bilingual_crawler.reporting.local_pages import MAX_CONNECTIONS

HOSTILE = "</td><script>document.title='taken'</script>"
TITLE = "<title>" + HOSTILE.replace("<", "&lt;")
SITE = {path: page.replace("<title>", TITLE) for path, page in varied(bilingual_site(6)).items()}


@dataclass
class Watched:
    """What a crawl showed while it ran, and its output folder."""

    folder: Path
    address: str = ""
    statuses: list[dict[str, Any]] = field(default_factory=list)
    page: str = ""
    drawn: str = ""
    """The page after Chromium has shown it."""
    metrics: str = ""
    explained: list[Any] = field(default_factory=list)
    refused: int = 0


def command(url: str, address: str) -> list[str]:
    arguments = ("-a", "pair=eng-spa", "-a", f"seeds={url}", "-s", "DOWNLOAD_DELAY=0.4", "-s", "AUTOTHROTTLE_ENABLED=0")
    places = ("-s", "BILINGUAL_OUTPUT_DIR=out", "-s", f"BILINGUAL_STATUS={address}")
    return [sys.executable, "-m", "scrapy", "crawl", "bilingual", *arguments, *places]


def get(address: str, accept: str = "*/*") -> str:
    with urlopen(Request(address, headers={"accept": accept}), timeout=30) as answer:
        text: str = answer.read().decode()
        return text


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    chromium = program("chromium", "chromium-browser", "google-chrome", package="chromium")
    crawl = Watched(tmp_path_factory.mktemp("status"))
    log = crawl.folder / "log"
    with serve(SITE) as site, log.open("w") as output:
        url = site.url
        arguments, environment = command(url, "127.0.0.1:0"), scrapy_environment()
        process = fork_server.Popen(arguments, cwd=crawl.folder, env=environment, stderr=output)
        while process.poll() is None:
            time.sleep(0.1)
            if not crawl.address:
                found = re.search(r"Status of the crawl: (\S+)/\n", log.read_text())
                crawl.address = found[1] if found else ""
                continue
            try:
                crawl.statuses.append(json.loads(get(f"{crawl.address}/status.json")))
            except (HTTPError, URLError, OSError):
                continue
            if crawl.page or not crawl.statuses[-1]["summary"]["pairs"]:
                continue
            crawl.page = get(f"{crawl.address}/")
            crawl.metrics = get(f"{crawl.address}/metrics")
            unseen = get(f"{crawl.address}/explain?url={url}/es/new", "application/json")
            crawl.explained = [get(f"{crawl.address}/explain?url={quote(url + '/en/', safe='')}"), json.loads(unseen)]
            show = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"{crawl.address}/"]
            crawl.drawn = subprocess.run(show, capture_output=True, text=True, timeout=300, check=True).stdout
            with pytest.raises(HTTPError) as error:
                urlopen(Request(f"{crawl.address}/status.json", headers={"host": "evil.example"}), timeout=10)
            crawl.refused = error.value.code
    assert process.returncode == 0, log.read_text()[-3000:]
    return crawl


def test_the_figures_grow_while_it_crawls_and_at_the_end_are_those_of_the_summary(watched: Watched) -> None:
    last = watched.statuses[-1]
    assert last["phase"] == "done: finished"
    assert last["summary"] == summary(watched.folder)
    assert summary(watched.folder)["pairs"] == 7
    assert last["curve"][-1] == [summary(watched.folder)["fetched"], 7]
    (site,) = last["sites"]
    assert (site["fetched"], site["pairs"]) == (summary(watched.folder)["fetched"], 7)
    fetched = [status["summary"]["fetched"] for status in watched.statuses if status["phase"] == "crawling"]
    assert fetched == sorted(fetched)
    assert len(set(fetched)) > 2


def test_the_page_shows_the_newest_pairs_and_nothing_of_a_site_is_run(watched: Watched) -> None:
    assert "Newest pairs" in watched.page
    assert "/es/" in watched.page
    assert HOSTILE not in watched.page
    assert HOSTILE.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;") in watched.page
    assert "taken" not in re.search("<title>(.*?)</title>", watched.drawn, re.DOTALL)[1]  # type: ignore[index]
    assert "Harvest curve" in watched.drawn


def test_metrics_are_read_by_prometheus(watched: Watched) -> None:
    families = {family.name: family for family in text_string_to_metric_families(watched.metrics)}
    assert families["bilingual_fetched"].samples[0].value >= 2
    assert {sample.labels["language"] for sample in families["bilingual_documents"].samples} == {"eng", "spa"}
    assert families["bilingual_pairs"].samples[0].labels == {"pair": "eng-spa"}


def test_a_priority_is_explained_but_not_to_a_website_through_a_name_of_its_own(watched: Watched) -> None:
    page, unseen = watched.explained
    assert "State: done" in page
    assert "belief: eng" in page
    assert unseen["state"] == "unseen"
    assert unseen["terms"]["worth"] > 0
    assert unseen["terms"]["belief: spa"] > 0.8
    assert watched.refused == 403


LIMITED = """
import asyncio, sys
from scrapy.utils.reactor import install_reactor
install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
from twisted.internet import reactor
from bilingual_crawler.reporting import local_pages, status_pages

class Crawl:
    has_begun = True

    def status(self):
        return {"figure": 1}

    def page(self):
        return "<p>page"

    async def explain(self, url):
        if "fails" in url:
            raise ZeroDivisionError
        if "never" in url:
            await asyncio.sleep(1e9)
        return {"url": url, "state": "done", "policy": "bfs", "terms": {}}

local_pages.CONNECTION_SECONDS = float(sys.argv[1])
port = reactor.listenTCP(0, status_pages.StatusSite(Crawl(), "127.0.0.1"), interface="127.0.0.1")
print(port.getHost().port, flush=True)
reactor.run()
"""
"""The status of a crawl that stands still, with connections of so many seconds."""


@contextmanager
def limited(seconds: float, *, files: int = 0) -> Iterator[tuple[int, psutil.Process]]:
    """Its port and its process, which may open *files*."""

    def limit() -> None:
        if files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    command = [sys.executable, "-c", LIMITED, str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=limit) as process:
        try:
            assert process.stdout
            yield int(process.stdout.readline()), psutil.Process(process.pid)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a status whose connections outlast a test."""
    with limited(30.0) as (port, _):
        yield port


def idle(port: int, stack: ExitStack, count: int) -> list[socket.socket]:
    """*count* connections that send nothing; one that is cut off at once counts as well."""
    waiting = []
    for _ in range(count):
        with suppress(ConnectionError):
            waiting.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30)))
    return waiting


def sockets(process: psutil.Process) -> int:
    return sum(connection.status == psutil.CONN_ESTABLISHED for connection in process.net_connections())


def test_idle_connections_are_few_and_end() -> None:
    with limited(2.0) as (port, process), ExitStack() as stack:
        waiting = idle(port, stack, 3 * MAX_CONNECTIONS)
        assert get(f"http://127.0.0.1:{port}/") == "<p>page"
        assert sockets(process) <= MAX_CONNECTIONS
        # a byte now and then buys no time
        begun = time.monotonic()
        with suppress(ConnectionError):
            while True:
                waiting[-1].sendall(b"G")
                time.sleep(0.2)
                assert time.monotonic() - begun < 120
        time.sleep(max(0.0, begun + 4 - time.monotonic()))
        assert sockets(process) == 0


def test_connections_leave_file_descriptors_to_the_crawl() -> None:
    with limited(30.0, files=60) as (port, process), ExitStack() as stack:
        idle(port, stack, 200)
        with suppress(OSError):
            get(f"http://127.0.0.1:{port}/")
        # those that it accepts at once it closes a moment later
        wait_for(lambda: process.num_fds() <= 31, seconds=10)


def sent(port: int, head: str, body: Callable[[], bytes], limit: int) -> tuple[int, bytes]:
    """How many of *limit* bytes after *head* were taken, and the answer."""
    taken, answer = 0, b""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head.encode())
        with suppress(ConnectionError):
            while taken < limit:
                taken += connection.send(body())
        with suppress(ConnectionError):
            answer = connection.recv(1 << 16)
    return taken, answer


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1"])
@pytest.mark.parametrize("framing", ["Content-Length: 572000000", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_no_body_is_accepted(port: int, host: str, framing: str, method: str) -> None:
    head = f"{method} /explain HTTP/1.1\r\nHost: {host}\r\n{framing}\r\n"
    assert sent(port, f"{head}\r\n", lambda: b"", 0)[1].startswith(b"HTTP/1.1 413 ")
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    assert sent(port, f"{head}\r\n", lambda: chunk, 100 << 20)[0] < 20 << 20


@pytest.mark.parametrize("endless", [b"x" * 1000, b"a: b\r\n" * 100, b"a: b\r\n c" * 100])
def test_line_and_headers_have_limits(port: int, endless: bytes) -> None:
    taken, _ = sent(port, "GET /" if endless[:1] == b"x" else "GET / HTTP/1.1\r\n", lambda: endless, 100 << 20)
    assert taken < 20 << 20


def test_every_question_about_an_address_is_answered() -> None:
    with limited(2.0) as (port, _):
        for asked, status in (("http://[", 400), ("x", 400), ("http://fails.example/", 500)):
            with pytest.raises(HTTPError) as error:
                get(f"http://127.0.0.1:{port}/explain?url={quote(asked, safe='')}")
            assert error.value.code == status
        told = json.loads(get(f"http://127.0.0.1:{port}/explain?url=HTTP://A.example:80", "application/json"))
        assert told["url"] == "http://a.example/"
        assert "Explain" in get(f"http://127.0.0.1:{port}/explain")
        with pytest.raises(OSError, match=r"closed|reset"):
            get(f"http://127.0.0.1:{port}/explain?url=http://never.example/")
        assert get(f"http://127.0.0.1:{port}/status.json") == '{"figure": 1}'


@pytest.mark.slow
def test_idle_connections_do_not_stop_a_crawl(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serve(SITE) as site, log.open("w") as output, ExitStack() as stack:
        arguments = [*command(site.url, "127.0.0.1:0"), "-s", "JOBDIR=job"]
        process = fork_server.Popen(arguments, cwd=tmp_path, env=scrapy_environment(), stderr=output)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (256, 256))
        while not (found := re.search(r"Status of the crawl: http://127.0.0.1:(\d+)/\n", log.read_text())):
            time.sleep(0.1)
            assert process.poll() is None
        with suppress(ConnectionError):
            idle(int(found[1]), stack, 400)
        assert process.wait(300) == 0
    assert "Too many open files" not in log.read_text()
    assert summary(tmp_path)["pairs"] == 7


def test_an_address_in_use_is_an_error_at_the_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = run(tmp_path, command("http://127.0.0.1:9/", f"127.0.0.1:{taken.getsockname()[1]}")).stderr
    assert "BILINGUAL_STATUS=127.0.0.1:" in said
    assert "give another address" in said
    assert "Traceback" not in said


def test_addresses() -> None:
    local = ("127.0.0.1", 8010)
    read = {None: None, "": None, "8010": local, ":8010": local, "0.0.0.0:80": ("0.0.0.0", 80)}
    read["[::1]:8010"] = ("::1", 8010)
    assert {given: Options.of(Settings({"BILINGUAL_STATUS": given})).status for given in read} == read
    assert Options.of(Settings()).status is None, "nobody listens unless asked"


@pytest.mark.parametrize("given", ["localhost:http", "127.0.0.1:70000", "127.0.0.1:-1", "example.org:80", "8010x"])
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match=r"give an address of this machine and a port, as in 127\.0\.0\.1:8010"):
        Options.of(Settings({"BILINGUAL_STATUS": given}))
