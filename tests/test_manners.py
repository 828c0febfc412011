"""Politeness towards servers that are busy or broken, or do not answer for robots.txt."""

from __future__ import annotations

import gzip
import logging
import socket
import sys
import threading
from collections import Counter
from contextlib import ExitStack, contextmanager
from email.utils import formatdate
from itertools import chain, count, pairwise, repeat
from time import time
from typing import TYPE_CHECKING

import pytest
from support.crawls import crawl, documents, outcomes, summary
from support.scripted import Answer, scripted
from support.webserver import bilingual_site, run, serve

from bilingual_crawler.crawl.handlers import OncePerKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

    from support.scripted import Scripted

SITE = bilingual_site(3)
DOCUMENTS = 8
QUICK = ("-s", "BILINGUAL_BACKOFF_START=0.2")


def page(path: str) -> Answer:
    return Answer(SITE[path]) if path in SITE else Answer(status=404)


def slow_crawl(folder: Path, seeds: str, *settings: str, pages: int = 6) -> CompletedProcess[str]:
    """A crawl of a few pages with delays, which other tests switch off."""
    arguments = ("-a", "pair=eng-spa", "-a", f"seeds={seeds}", "-a", "policy=bfs", "-a", f"max_pages={pages}")
    command = [sys.executable, "-m", "scrapy", "crawl", "bilingual", *arguments]
    return run(folder, [*command, *(part for one in settings for part in ("-s", one))])


@contextmanager
def several(answers: Iterable[Callable[[str], Answer]]) -> Iterator[list[Scripted]]:
    """A site for each of *answers*, at an address of its own."""
    with ExitStack() as stack:
        yield [stack.enter_context(scripted(one, f"127.0.0.{number}")) for number, one in enumerate(answers, 2)]


def english(sites: Iterable[Scripted]) -> str:
    """The English pages of *sites* as seeds."""
    return ",".join(f"{site.url}/en/" for site in sites)


def test_a_busy_host_is_left_alone_for_as_long_as_it_asks(tmp_path: Path) -> None:
    def busy(status: int, header: Callable[[], str]) -> Callable[[str], Answer]:
        asked: Counter[str] = Counter()

        def answer(path: str) -> Answer:
            asked[path] += 1
            if path == "/en/page-1.html" and asked[path] == 1:
                return Answer(status=status, headers={"Retry-After": header()})
            return page(path)

        return answer

    headers = (lambda: "2", lambda: formatdate(time() + 3, usegmt=True))
    with several(busy(status, header) for status in (429, 503) for header in headers) as sites:
        result = crawl(tmp_path, english(sites), "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1", *QUICK)
    assert result.returncode == 0, result.stderr
    assert len(documents(tmp_path)) == DOCUMENTS * len(sites)
    for site in sites:
        first, second = site.times("/en/page-1.html")
        assert second - first >= 1.9
        assert not [when for when, _ in site.asked if first < when < second]


def test_waiting_has_an_end(tmp_path: Path) -> None:
    with scripted(lambda path: page(path) if path == "/robots.txt" else Answer(status=503)) as site:
        result = crawl(tmp_path, f"{site.url}/en/", *QUICK, "-s", "BILINGUAL_HOST_FAILURES=3")
    assert "given up" in result.stderr
    assert len(site.times("/en/")) == 3
    assert outcomes(tmp_path, site.url) == {"/en/": "http-503"}


def test_a_robots_txt_that_cannot_be_had_is_asked_for_again_before_anything_else(tmp_path: Path) -> None:
    def broken(status: int) -> Callable[[str], Answer]:
        asked = count(1)

        def answer(path: str) -> Answer:
            if path == "/robots.txt":
                if next(asked) < 3:
                    return Answer(status=status)
                return Answer("User-agent: *\nDisallow: /es/page-2", kind="text/plain")
            return page(path)

        return answer

    with several(map(broken, (500, 503, 429))) as sites:
        result = crawl(tmp_path, english(sites), *QUICK)
    assert result.returncode == 0, result.stderr
    assert len(documents(tmp_path)) == (DOCUMENTS - 1) * len(sites)
    for site in sites:
        assert site.paths()[:6] == ["/robots.txt"] * 3 + ["/sitemap.xml", "/.well-known/tdmrep.json", "/en/"]
        assert outcomes(tmp_path, site.url)["/es/page-2.html"] == "robots"


def test_a_robots_txt_that_never_comes_forbids_everything(tmp_path: Path) -> None:
    hang = [b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"]
    with scripted(lambda path: Answer(raw=hang) if path == "/robots.txt" else page(path)) as site:
        result = crawl(tmp_path, f"{site.url}/en/", *QUICK, "-s", "DOWNLOAD_TIMEOUT=1")
    assert result.returncode == 1
    assert set(site.paths()) == {"/robots.txt"}
    assert 3 <= len(site.paths()) <= 4
    assert outcomes(tmp_path, site.url) == {"/en/": "robots-unreachable"}


def test_a_robots_txt_that_is_not_there_allows_everything(tmp_path: Path) -> None:
    def without(status: int) -> Callable[[str], Answer]:
        return lambda path: Answer(status=status) if path == "/robots.txt" else page(path)

    with several(map(without, (401, 403, 404, 410))) as sites:
        crawl(tmp_path, english(sites))
    assert len(documents(tmp_path)) == DOCUMENTS * len(sites)


def test_of_an_endless_robots_txt_the_beginning_is_read(tmp_path: Path) -> None:
    rules = b"User-agent: *\nDisallow: /es/page-2\n"
    filler = b"Disallow: /nothing\n" * 5_000
    bomb = gzip.compress(rules + b"#" * (40 << 20))
    coded = {"Content-Encoding": "gzip"}
    robots = (
        Answer(rules + b"#" * (21 << 20), kind="text/plain"),
        Answer(raw=chain([b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + rules], repeat(filler))),
        Answer(bomb, kind="text/plain", headers=coded),
        Answer("User-agent: *\nDisallow: /es/page-2".encode("utf-16"), kind="text/plain"),
    )

    def with_robots(given: Answer) -> Callable[[str], Answer]:
        return lambda path: given if path == "/robots.txt" else page(path)

    with several(map(with_robots, robots)) as sites:
        result = crawl(tmp_path, english(sites))
    assert result.returncode == 0, result.stderr
    for site in sites:
        assert site.paths().count("/robots.txt") == 1
        assert "/es/page-1.html" in site.paths()
        assert "/es/page-2.html" not in site.paths()


def test_a_robots_txt_is_obeyed_whatever_success_it_comes_with(tmp_path: Path) -> None:
    rules = "User-agent: *\nDisallow: /es/page-2"

    def with_status(status: int) -> Callable[[str], Answer]:
        return lambda path: Answer(rules, status, "text/plain") if path == "/robots.txt" else page(path)

    with several(map(with_status, (202, 203, 206))) as sites:
        crawl(tmp_path, english(sites))
    for site in sites:
        assert "/es/page-1.html" in site.paths()
        assert "/es/page-2.html" not in site.paths()


def test_robots_txt_is_found_behind_redirects_and_a_loop_of_them_allows_everything(tmp_path: Path) -> None:
    def moved(path: str) -> Answer:
        if path == "/robots.txt":
            return Answer(status=301, headers={"Location": "/r2"})
        return Answer("User-agent: *\nDisallow: /es/", kind="text/plain") if path == "/r2" else page(path)

    with scripted(moved) as site:
        crawl(tmp_path, f"{site.url}/en/")
    assert not [path for path in site.paths() if path.startswith("/es/")]

    def looping(path: str) -> Answer:
        return Answer(status=302, headers={"Location": "/robots.txt"}) if path == "/robots.txt" else page(path)

    other = tmp_path / "loop"
    other.mkdir()
    with scripted(looping) as site:
        crawl(other, f"{site.url}/en/")
    assert site.paths().count("/robots.txt") == 6
    assert len(documents(other)) == DOCUMENTS


def test_a_page_that_breaks_costs_only_itself_and_its_tries_wait(tmp_path: Path) -> None:
    def answer(path: str) -> Answer:
        return Answer(status=500) if path == "/en/page-1.html" else page(path)

    with scripted(answer) as site:
        result = crawl(tmp_path, f"{site.url}/en/", *QUICK)
    assert result.returncode == 0, result.stderr
    times = site.times("/en/page-1.html")
    assert len(times) == 3
    assert all(later - earlier >= 0.2 for earlier, later in pairwise(times))
    assert len(documents(tmp_path)) == DOCUMENTS - 1
    assert summary(tmp_path)["dropped"]["http-500"] == 1


@pytest.mark.parametrize(("away", "requests"), [(Answer(raw=[]), 14), (Answer(status=502), 7)])
def test_a_site_that_is_away_for_some_tries_loses_only_a_page_that_never_answers(
    tmp_path: Path, away: Answer, requests: int
) -> None:
    """The client sends a request twice if the connection breaks."""
    asked = count(1)

    def answer(path: str) -> Answer:
        is_away = 6 <= next(asked) < 6 + requests or path == "/en/page-1.html"
        return away if is_away else page(path)

    with scripted(answer) as site:
        result = crawl(tmp_path, f"{site.url}/en/", "-s", "BILINGUAL_BACKOFF_START=0.05")
    assert result.returncode == 0, result.stderr
    assert next(asked) > 6 + requests
    assert len(documents(tmp_path)) == DOCUMENTS - 1
    assert len(site.times("/en/page-1.html")) <= 8


def test_a_site_that_comes_back_during_the_last_try_of_a_page_loses_nothing(tmp_path: Path) -> None:
    pages, slow, tries, back = bilingual_site(12), "/en/page-1.html", count(1), threading.Event()
    last, answered = False, list[str]()

    def answer(path: str) -> Answer:
        nonlocal last
        if path == slow and (asked := next(tries)) <= 3:
            last = asked == 3
            if last:
                back.wait(10)
            return Answer(status=502)
        if last and path in pages:
            answered.append(path)
        if len(answered) > 1:
            # this one was asked for when the first had been answered
            back.set()
        if path not in pages:
            return Answer(status=404)
        return Answer(pages[path]) if last or path == "/en/" else Answer(status=502)

    with scripted(answer) as site:
        crawl(tmp_path, f"{site.url}/en/", "-s", "BILINGUAL_BACKOFF_START=0.05")
    assert len(site.times(slow)) == 4
    assert slow in {url.removeprefix(site.url) for url in documents(tmp_path)}


def test_a_stop_without_a_network_keeps_the_page_whose_last_try_fails(tmp_path: Path) -> None:
    asked = count(1)
    one_by_one = ("-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1", "-s", "BILINGUAL_HOST_FAILURES=3")
    with scripted(lambda path: page(path) if next(asked) < 6 else Answer(raw=[])) as site:
        crawl(tmp_path, f"{site.url}/en/", *QUICK, *one_by_one, "-s", f"JOBDIR={tmp_path / 'job'}")
    counts = summary(tmp_path)
    assert counts["finish_reason"] == "no_answer"
    assert counts["failures"] == {"DownloadFailedError": 3}
    assert not [outcome for outcome in counts["dropped"] if outcome.startswith("error-")]


def test_a_dead_host_is_given_up_and_the_others_go_on(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        dead = f"http://127.0.0.1:{closed.getsockname()[1]}"
    seeds = tmp_path / "seeds.txt"
    with scripted(page) as site:
        seeds.write_text(f"{dead}/a\n{dead}/b\n{dead}/c\n{site.url}/en/\n")
        result = crawl(tmp_path, str(seeds), *QUICK)
    assert result.returncode == 0, result.stderr
    assert len(documents(tmp_path)) == DOCUMENTS
    assert Counter(outcomes(tmp_path, site.url).values())["host-given-up"] >= 1
    assert not any(outcome.startswith("http") for url, outcome in outcomes(tmp_path, dead).items() if url[0] == "/")
    assert result.stderr.count("given up") == 1


@pytest.mark.parametrize(
    "given",
    [
        Answer(status=301, headers={"Location": "http://127.0.0.3/"}),
        Answer(status=206),
        Answer(b"PK", kind="application/zip"),
    ],
)
def test_whatever_a_host_answers_ends_a_row_of_failures(tmp_path: Path, given: Answer) -> None:
    asked: Counter[str] = Counter()

    def answer(path: str) -> Answer:
        asked[path] += 1
        if path in failing and asked[path] == 1:
            return Answer(status=502)
        return given if path in paths else Answer(status=404)

    paths = [f"/{number}" for number in range(12)]
    failing = paths[::2]
    with scripted(answer, "127.0.0.2") as site:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("\n".join(f"{site.url}{path}" for path in paths))
        settings = ("-s", "BILINGUAL_HOST_FAILURES=3", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1")
        crawl(tmp_path, str(seeds), *settings, "-s", "BILINGUAL_BACKOFF_START=0.05")
    assert "host-given-up" not in outcomes(tmp_path, site.url).values()
    assert {path: asked[path] for path in paths} == {path: 1 + (path in failing) for path in paths}


@pytest.mark.slow
def test_sites_on_one_address_take_turns_if_asked_to(tmp_path: Path) -> None:
    overlapping = {}
    for politeness in ("domain", "address"):
        (tmp_path / politeness).mkdir()
        with serve(bilingual_site(4), delay=0.2) as site:
            seeds = f"{site.url}/en/,{site.url.replace('127.0.0.1', 'localhost')}/en/"
            settings = (f"BILINGUAL_POLITENESS={politeness}", "CONCURRENT_REQUESTS_PER_DOMAIN=1")
            result = crawl(tmp_path / politeness, seeds, *(part for one in settings for part in ("-s", one)))
        assert result.returncode == 0, result.stderr
        assert len(documents(tmp_path / politeness)) == 2 * 10
        overlapping[politeness] = site.overlapping
    # until their first answers, which a busy machine delays, their common address is unknown
    assert overlapping["address"] < overlapping["domain"] / 2, overlapping


@pytest.mark.parametrize("throttle", [False, True])
def test_a_crawl_delay_does_not_shorten_the_delay_of_the_operator(tmp_path: Path, throttle: bool) -> None:
    def asking_for(delay: str) -> Callable[[str], Answer]:
        robots = Answer(f"User-agent: *\nCrawl-delay: {delay}", kind="text/plain")
        return lambda path: robots if path == "/robots.txt" else page(path)

    delay = 0.5
    settings = (f"DOWNLOAD_DELAY={delay}", "DOWNLOAD_DELAY_JITTER=0", "AUTOTHROTTLE_START_DELAY=0.1")
    with several(map(asking_for, ("0.01", "-5", "nan"))) as sites:
        result = slow_crawl(tmp_path, english(sites), *settings, f"AUTOTHROTTLE_ENABLED={throttle}", pages=99)
    assert result.returncode == 0, result.stderr
    for site in sites:
        times = [when for when, path in site.asked if path != "/robots.txt"]
        assert len(times) >= DOCUMENTS
        # a busy machine can be late with one answer, not with all
        assert times[-1] - times[0] > 0.9 * delay * (len(times) - 1)


def test_a_crawl_delay_is_kept_by_the_slot_that_asked_for_robots_txt(tmp_path: Path) -> None:
    """Its delay, one request at a time and no jitter, although the slot was there before anybody knew."""

    def answer(path: str) -> Answer:
        if path == "/robots.txt":
            return Answer("User-agent: *\nCrawl-delay: 0.6", kind="text/plain")
        return page(path)

    settings = ("DOWNLOAD_DELAY=0.1", "AUTOTHROTTLE_START_DELAY=0.1", "DOWNLOAD_DELAY_JITTER=0.9")
    with scripted(answer) as site:
        result = slow_crawl(tmp_path, f"{site.url}/en/", *settings, "AUTOTHROTTLE_ENABLED=1")
    assert result.returncode == 0, result.stderr
    times = [when for when, path in site.asked if path != "/robots.txt"]
    assert min(later - earlier for earlier, later in pairwise(times)) > 0.3
    assert times[-1] - times[0] > 0.9 * 0.6 * (len(times) - 1)


def test_an_answer_that_is_not_200_is_no_page_and_has_its_row(tmp_path: Path) -> None:
    """Of a success that is not 200 the body says what became of a request, or is a part."""
    statuses = {"201": 201, "202": 202, "204": 204, "206": 206, "299": 299}
    links = "".join(f"<a href=/{name}>{name}</a> " for name in statuses)

    def answer(path: str) -> Answer:
        if path == "/robots.txt":
            return Answer(f"Sitemap: {site.url}/sitemap.xml", kind="text/plain")
        if path == "/sitemap.xml":
            return Answer("<urlset/>", status=202, kind="application/xml")
        if path.strip("/") in statuses:
            part = {"Content-Range": "bytes 0-99/5000"} if path == "/206" else {}
            return Answer(SITE["/en/page-1.html"], status=statuses[path.strip("/")], headers=part)
        return Answer(SITE[path].replace("<h1>", f"{links}<h1>")) if path in SITE else Answer(status=404)

    with scripted(answer) as site:
        result = crawl(tmp_path, f"{site.url}/en/", *QUICK)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    found = outcomes(tmp_path, site.url)
    assert {path: found[f"/{path}"] for path in statuses} == {path: f"http-{path}" for path in statuses}
    assert len(documents(tmp_path)) == DOCUMENTS
    assert found["/sitemap.xml"] == "http-202"
    assert summary(tmp_path)["dropped"]["http-202"] == 2


def test_a_status_counts_whatever_the_type_of_its_body(tmp_path: Path) -> None:
    asked: Counter[str] = Counter()

    def answer(path: str) -> Answer:
        asked[path] += 1
        if path == "/en/page-1.html" and asked[path] == 1:
            return Answer("busy", status=503, kind="text/plain", headers={"Retry-After": "1"})
        if path == "/gone":
            return Answer("{}", status=404, kind="application/json")
        if path == "/old":
            return Answer("moved", status=301, kind="text/plain", headers={"Location": "/en/page-2.html"})
        return page(path)

    with scripted(answer) as site:
        result = crawl(tmp_path, f"{site.url}/en/", *QUICK)
    assert result.returncode == 0, result.stderr
    found = outcomes(tmp_path, site.url)
    assert found["/en/page-1.html"] == "document"
    assert found["/gone"] == "http-404"
    assert found["/old"] == "redirect"


STARVE = """
import os, resource
from scrapy import signals
from scrapy.utils.asyncio import call_later
from bilingual_crawler.urls.marks import strip_language

class Starve:
    \"\"\"No file descriptor is left for three seconds from the first request on.\"\"\"

    @classmethod
    def from_crawler(cls, crawler):
        self = cls()
        strip_language("https://a.example/es/page")  # its tables are read from files when a page first needs them
        self.crawler, self.limits = crawler, resource.getrlimit(resource.RLIMIT_NOFILE)
        crawler.signals.connect(self.starve, signals.request_reached_downloader)
        return self

    def update_settings(self, settings):
        pass

    def starve(self):
        if self.limits is not None:
            free = os.dup(0)
            os.close(free)
            resource.setrlimit(resource.RLIMIT_NOFILE, (free, self.limits[1]))
            call_later(3.0, resource.setrlimit, resource.RLIMIT_NOFILE, self.limits)
            self.limits = None
"""


def test_sockets_that_this_machine_has_not_are_no_failure_of_a_host(tmp_path: Path) -> None:
    """For a connection and for the look-up of a name."""
    (tmp_path / "starve.py").write_text(STARVE)
    patience = ("-s", "BILINGUAL_BACKOFF_START=0.1", "-s", "BILINGUAL_HOST_FAILURES=3")
    with scripted(page) as site:
        seeds = [f"{site.url}/en/", f"{site.url.replace('127.0.0.1', 'localhost')}/en/"]
        result = crawl(tmp_path, ",".join(seeds), *patience, "-s", 'ADDONS={"starve.Starve": 1}')
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert len(documents(tmp_path)) == len(seeds) * DOCUMENTS
    assert result.stderr.count("Too many open files (EMFILE)") == 1
    assert "'bilingual/machine/EMFILE'" in result.stderr
    assert "'bilingual/hosts_given_up'" not in result.stderr


def test_cookies_ask_nothing_of_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrapy looks public suffixes up; what tldextract has fetched, or tried to, it keeps in its cache."""
    cache = tmp_path / "suffixes"
    monkeypatch.setenv("TLDEXTRACT_CACHE", str(cache))
    headers = {"Set-Cookie": "visit=1; Domain=127.0.0.1; Path=/"}
    with scripted(lambda path: Answer(SITE[path], headers=headers) if path in SITE else Answer(status=404)) as site:
        result = crawl(tmp_path, f"{site.url}/en/", "-s", "COOKIES_ENABLED=1", fresh=True)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert not cache.exists()
    assert "Cookie: visit=1" in site.requests[-1]


def test_x_robots_tag_is_obeyed_as_the_meta_element_is(tmp_path: Path) -> None:
    headers = {
        "/en/page-0.html": {"X-Robots-Tag": "noindex"},
        "/en/page-1.html": {"X-Robots-Tag": "otherbot: none"},
        "/en/page-2.html": {"x-robots-tag": "Bilingual-Crawler: NOFOLLOW"},
    }
    hidden = SITE["/en/page-1.html"]

    def answer(path: str) -> Answer:
        if path in headers:
            links = f"<a href={path.removesuffix('.html')}-hidden>hidden</a>"
            return Answer(SITE[path].replace("<h1>", f"{links}<h1>"), headers=headers[path])
        return Answer(hidden) if path.endswith("-hidden") else page(path)

    for obeyed in ("1", "0"):
        folder = tmp_path / obeyed
        folder.mkdir()
        with scripted(answer) as site:
            crawl(folder, f"{site.url}/en/", "-s", f"BILINGUAL_META_ROBOTS_OBEY={obeyed}")
        found = outcomes(folder, site.url)
        assert found["/en/page-0.html"] == ("noindex" if obeyed == "1" else "document")
        assert found["/en/page-1.html"] == found["/en/page-2.html"] == "document"
        assert {"/en/page-0-hidden", "/en/page-1-hidden"} <= found.keys()
        assert ("/en/page-2-hidden" in found) == (obeyed == "0")


def test_a_coding_that_nobody_knows_is_logged_once(tmp_path: Path) -> None:
    def answer(path: str) -> Answer:
        return Answer(SITE[path], headers={"Content-Encoding": "x-none"}) if path in SITE else page(path)

    with scripted(answer) as site:
        result = crawl(tmp_path, f"{site.url}/en/")
    assert len(documents(tmp_path)) == DOCUMENTS
    assert result.stderr.count("cannot decode the response") == 1


def test_of_each_kind_of_message_about_a_download_the_first_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    log, quiet = logging.getLogger("scrapy.core.downloader.tls"), OncePerKind()
    log.addFilter(quiet)
    with caplog.at_level(logging.DEBUG):
        for host in ("a.example", "b.example"):
            log.warning("Remote certificate is not valid for hostname %s", host)
        log.warning("another")
    log.removeFilter(quiet)
    assert [record.levelname for record in caplog.records] == ["WARNING", "DEBUG", "WARNING"]
