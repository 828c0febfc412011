"""Politeness towards servers that are busy or broken, or do not answer for robots.txt."""

import gzip
import logging
import re
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from itertools import chain, count, pairwise, repeat
from pathlib import Path
from subprocess import CompletedProcess
from time import time

import pytest
from support.crawls import crawl, documents, each, ended_well, outcomes, summary
from support.scripted import Answer, Scripted, scripted, several
from support.webserver import bilingual_site, run, serve

from bilingual_crawler.crawl.handlers import OncePerKind

SITE = bilingual_site(3)
DOCUMENTS = {path for path in SITE if path.startswith(("/en/", "/es/"))}
QUICK = ("-s", "BILINGUAL_BACKOFF_START=0.2")
SHORT = ("-s", "BILINGUAL_BACKOFF_START=0.05")
ONE_BY_ONE = ("-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1")


def page(path: str) -> Answer:
    return Answer(SITE[path]) if path in SITE else Answer(status=404)


def text(content: bytes | str, status: int = 200, **headers: str) -> Answer:
    return Answer(content, status, "text/plain", {name.replace("_", "-"): value for name, value in headers.items()})


def changed(answers: Mapping[str, tuple[Answer, ...]]) -> Callable[[str], Answer]:
    """The site, in which some paths have these answers in turn, and the last of them from then on."""
    asked: Counter[str] = Counter()

    def answer(path: str) -> Answer:
        asked[path] += 1
        given = answers.get(path) or (page(path),)
        return given[min(asked[path], len(given)) - 1]

    return answer


def robots(*answers: Answer) -> Callable[[str], Answer]:
    return changed({"/robots.txt": answers})


def busy(status: int, header: Callable[[], str]) -> Callable[[str], Answer]:
    """The site, one page of which is there at the second try only."""
    asked = count()

    def answer(path: str) -> Answer:
        if path == "/en/page-1.html" and next(asked) == 0:
            return Answer(status=status, headers={"Retry-After": header()})
        return page(path)

    return answer


def moved(target: str, status: int = 302) -> Answer:
    return Answer(status=status, headers={"Location": target})


def with_links(path: str, *targets: str, headers: Mapping[str, str] | None = None) -> Answer:
    links = "".join(f"<a href={target}>{target}</a> " for target in targets)
    return Answer(SITE[path].replace("<h1>", f"{links}<h1>"), headers=headers or {})


def tagged(number: int, tag: str) -> dict[str, tuple[Answer, ...]]:
    """A page with an X-Robots-Tag, and one that only it links to."""
    path, hidden = f"/en/page-{number}.html", f"/en/page-{number}-hidden"
    return {path: (with_links(path, hidden, headers={"X-Robots-Tag": tag}),), hidden: (page("/en/page-1.html"),)}


RULES = b"User-agent: *\nDisallow: /es/page-2\n"
FILLER = b"Disallow: /nothing\n" * 5_000
ENDLESS = chain([b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + RULES], repeat(FILLER))
TAGS = tagged(0, "noindex") | tagged(1, "otherbot: none") | tagged(2, "Bilingual-Crawler: NOFOLLOW")
NO_PAGES = ("201", "202", "204", "206", "299")
STATUSES = {
    "/en/": (with_links("/en/", *(f"/{status}" for status in NO_PAGES)),),
    "/sitemap.xml": (Answer("<urlset/>", status=202, kind="application/xml"),),
    **{f"/{status}": (Answer(SITE["/en/page-1.html"], status=int(status)),) for status in NO_PAGES},
    "/206": (Answer(SITE["/en/page-1.html"], 206, headers={"Content-Range": "bytes 0-99/5000"}),),
}
HOSTS: dict[str, Callable[[str], Answer]] = {
    **{f"busy {status}, seconds": busy(status, lambda: "2") for status in (429, 503)},
    **{f"busy {status}, date": busy(status, lambda: formatdate(time() + 3, usegmt=True)) for status in (429, 503)},
    **{f"robots later {n}": robots(Answer(status=n), Answer(status=n), text(RULES)) for n in (500, 503, 429)},
    **{f"robots missing {status}": robots(Answer(status=status)) for status in (401, 403, 404, 410)},
    "robots missing, a loop": robots(moved("/robots.txt")),
    **{f"robots obeyed {status}": robots(text(RULES, status)) for status in (202, 203, 206)},
    "robots obeyed, 21 MB": robots(text(RULES + b"#" * (21 << 20))),
    "robots obeyed, without end": robots(Answer(raw=ENDLESS)),
    "robots obeyed, a bomb": robots(text(gzip.compress(RULES + b"#" * (40 << 20), 1), Content_Encoding="gzip")),
    "robots obeyed, UTF-16": robots(text(RULES.decode().encode("utf-16"))),
    "robots obeyed, moved": changed({"/robots.txt": (moved("/r2", 301),), "/r2": (text(RULES),)}),
    "a page that breaks": changed({"/en/page-1.html": (Answer(status=500),)}),
    "other statuses": changed(STATUSES),
    "other types": changed(
        {
            "/en/page-1.html": (text("busy", 503, Retry_After="1"), page("/en/page-1.html")),
            "/gone": (Answer("{}", status=404, kind="application/json"),),
            "/old": (text("moved", 301, Location="/en/page-2.html"),),
        }
    ),
    "tags": changed(TAGS),
    "robots that never come": robots(Answer(raw=[b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"])),
    "no coding": changed({path: (Answer(SITE[path], headers={"Content-Encoding": "x-none"}),) for path in SITE}),
}
"""Sites at addresses of their own, all in one crawl."""


def hosts(beginning: str) -> list[str]:
    return [name for name in HOSTS if name.startswith(beginning)]


@dataclass
class Crawled:
    folder: Path
    log: str
    sites: dict[str, Scripted]
    dead: str

    def outcomes(self, host: str) -> dict[str, str]:
        return outcomes(self.folder, self.sites[host].url)

    def documents(self, host: str) -> set[str]:
        url = self.sites[host].url
        return {found.removeprefix(url) for found in documents(self.folder) if found.startswith(f"{url}/")}


def slow_crawl(folder: Path, seeds: str, *settings: str, pages: int = 6) -> CompletedProcess[str]:
    """A crawl of a few pages with delays, which other tests switch off."""
    arguments = each("-a", "pair=eng-spa", f"seeds={seeds}", "policy=bfs", f"max_pages={pages}")
    return run(folder, [sys.executable, "-m", "scrapy", "crawl", "bilingual", *arguments, *each("-s", *settings)])


def english(sites: Iterable[Scripted]) -> str:
    """The English pages of *sites* as seeds."""
    return ",".join(f"{site.url}/en/" for site in sites)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """A crawl of all `HOSTS`, and of one that is dead."""
    folder: Path = tmp_path_factory.mktemp("hosts")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        dead = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with several(HOSTS.values()) as sites:
        named = dict(zip(HOSTS, sites, strict=True))
        STATUSES["/robots.txt"] = (text(f"Sitemap: {named['other statuses'].url}/sitemap.xml"),)
        seeds = f"{dead}/a,{dead}/b,{dead}/c,{english(sites)}"
        result = ended_well(crawl(folder, seeds, *ONE_BY_ONE, *QUICK))
    assert "Traceback" not in result.stderr
    return Crawled(folder, result.stderr, named, dead)


@pytest.mark.parametrize("host", hosts("busy"))
def test_a_busy_host_is_left_alone_for_as_long_as_it_asks(crawled: Crawled, host: str) -> None:
    site = crawled.sites[host]
    assert crawled.documents(host) == DOCUMENTS
    first, second = site.times("/en/page-1.html")
    assert second - first >= 1.9
    assert not [when for when, _ in site.asked if first < when < second]


@pytest.mark.parametrize("host", hosts("robots later"))
def test_a_robots_txt_that_cannot_be_had_is_asked_for_again_before_anything_else(crawled: Crawled, host: str) -> None:
    begun = crawled.sites[host].paths()[:6]
    assert begun == ["/robots.txt"] * 3 + ["/sitemap.xml", "/.well-known/tdmrep.json", "/en/"]
    assert crawled.documents(host) == DOCUMENTS - {"/es/page-2.html"}
    assert crawled.outcomes(host)["/es/page-2.html"] == "robots"


@pytest.mark.parametrize("host", hosts("robots missing"))
def test_a_robots_txt_that_is_not_there_allows_everything(crawled: Crawled, host: str) -> None:
    assert crawled.documents(host) == DOCUMENTS
    assert crawled.sites[host].paths().count("/robots.txt") == (6 if "loop" in host else 1)


@pytest.mark.parametrize("host", hosts("robots obeyed"))
def test_the_beginning_of_a_robots_txt_is_obeyed_whatever_success_it_comes_with(crawled: Crawled, host: str) -> None:
    paths = crawled.sites[host].paths()
    assert paths.count("/robots.txt") == 1
    assert "/es/page-1.html" in paths
    assert "/es/page-2.html" not in paths


def test_a_robots_txt_that_never_comes_forbids_everything(crawled: Crawled) -> None:
    paths = crawled.sites["robots that never come"].paths()
    assert set(paths) == {"/robots.txt"}
    assert 3 <= len(paths) <= 4
    assert crawled.outcomes("robots that never come")["/en/"] == "robots-unreachable"


def test_a_page_that_breaks_costs_only_itself_and_its_tries_wait(crawled: Crawled) -> None:
    times = crawled.sites["a page that breaks"].times("/en/page-1.html")
    assert len(times) == 3
    assert all(later - earlier >= 0.2 for earlier, later in pairwise(times))
    assert crawled.documents("a page that breaks") == DOCUMENTS - {"/en/page-1.html"}
    assert summary(crawled.folder)["dropped"]["http-500"] == 1


def test_an_answer_that_is_not_200_is_no_page_and_has_its_row(crawled: Crawled) -> None:
    """Of a success that is not 200 the body says what became of a request, or is a part."""
    found = crawled.outcomes("other statuses")
    assert {status: found[f"/{status}"] for status in NO_PAGES} == {status: f"http-{status}" for status in NO_PAGES}
    assert crawled.documents("other statuses") == DOCUMENTS
    assert found["/sitemap.xml"] == "http-202"
    assert summary(crawled.folder)["dropped"]["http-202"] == 2


def test_a_status_counts_whatever_the_type_of_its_body(crawled: Crawled) -> None:
    found = crawled.outcomes("other types")
    assert [found[path] for path in ("/en/page-1.html", "/gone", "/old")] == ["document", "http-404", "redirect"]


def test_x_robots_tag_is_obeyed_as_the_meta_element_is(crawled: Crawled, tmp_path: Path) -> None:
    with scripted(changed(TAGS)) as site:
        crawl(tmp_path, f"{site.url}/en/", "-s", "BILINGUAL_META_ROBOTS_OBEY=0")
    for obeyed, found in ((True, crawled.outcomes("tags")), (False, outcomes(tmp_path, site.url))):
        assert found["/en/page-0.html"] == ("noindex" if obeyed else "document")
        assert found["/en/page-1.html"] == found["/en/page-2.html"] == "document"
        assert {"/en/page-0-hidden", "/en/page-1-hidden"} <= found.keys()
        assert ("/en/page-2-hidden" in found) != obeyed


def test_a_coding_that_nobody_knows_is_logged_once(crawled: Crawled) -> None:
    assert crawled.documents("no coding") == DOCUMENTS
    assert crawled.log.count("cannot decode the response") == 1


def test_a_dead_host_is_given_up_and_the_others_go_on(crawled: Crawled) -> None:
    found = outcomes(crawled.folder, crawled.dead)
    assert [found[path] for path in ("/a", "/b", "/c")].count("host-given-up") >= 1
    assert not any(found[path].startswith("http") for path in ("/a", "/b", "/c"))
    given_up = [crawled.dead, crawled.sites["robots that never come"].url]
    assert sorted(re.findall(r"(\S+) failed too often: given up", crawled.log)) == given_up


AWAY = [(Answer(status=502), 7), (Answer(raw=[]), 14)]
"""What a site answers while it is away, and for how many requests: the client sends those that are cut twice."""


def away_for_a_while(away: Answer, requests: int) -> Callable[[str], Answer]:
    asked = count(1)
    return lambda path: away if 6 <= next(asked) < 6 + requests or path == "/en/page-1.html" else page(path)


def test_a_site_that_is_away_for_some_tries_loses_only_a_page_that_never_answers(tmp_path: Path) -> None:
    with several(away_for_a_while(*given) for given in AWAY) as sites:
        ended_well(crawl(tmp_path, english(sites), *SHORT))
    for site, (_, requests) in zip(sites, AWAY, strict=True):
        assert len(site.asked) >= 6 + requests
        assert len(site.times("/en/page-1.html")) <= 8
    missing = {f"{site.url}/en/page-1.html" for site in sites}
    assert documents(tmp_path).keys() == {f"{site.url}{path}" for site in sites for path in DOCUMENTS} - missing


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
        crawl(tmp_path, f"{site.url}/en/", *SHORT)
    assert len(site.times(slow)) == 4
    assert f"{site.url}{slow}" in documents(tmp_path)


def test_a_stop_without_a_network_keeps_the_page_whose_last_try_fails(tmp_path: Path) -> None:
    asked = count(1)
    more = ("-s", "BILINGUAL_HOST_FAILURES=3", "-s", f"JOBDIR={tmp_path / 'job'}")
    with scripted(lambda path: page(path) if next(asked) < 6 else Answer(raw=[])) as site:
        crawl(tmp_path, f"{site.url}/en/", *QUICK, *ONE_BY_ONE, *more)
    counts = summary(tmp_path)
    assert counts["finish_reason"] == "no_answer"
    assert counts["failures"] == {"DownloadFailedError": 3}
    assert not [outcome for outcome in counts["dropped"] if outcome.startswith("error-")]


def test_waiting_has_an_end_but_whatever_a_host_answers_ends_a_row_of_failures(tmp_path: Path) -> None:
    paths = [f"/{number}" for number in range(12)]
    failing = paths[::2]
    answers = (moved("http://127.0.0.99/"), Answer(status=206), Answer(b"PK", kind="application/zip"))
    fails_at_first = (
        changed({path: (Answer(status=502), answer) if path in failing else (answer,) for path in paths})
        for answer in answers
    )
    with several((changed({path: (Answer(status=503),) for path in SITE}), *fails_at_first)) as (broken, *sites):
        seeds = ",".join((f"{broken.url}/en/", *(f"{site.url}{path}" for site in sites for path in paths)))
        result = crawl(tmp_path, seeds, *SHORT, *ONE_BY_ONE, "-s", "BILINGUAL_HOST_FAILURES=3")
    assert "given up" in result.stderr
    assert len(broken.times("/en/")) == 3
    assert outcomes(tmp_path, broken.url)["/en/"] == "http-503"
    for site in sites:
        found = outcomes(tmp_path, site.url)
        assert "host-given-up" not in (found[path] for path in paths)
        assert {path: len(site.times(path)) for path in paths} == {path: 1 + (path in failing) for path in paths}


@pytest.mark.slow
def test_sites_on_one_address_take_turns_if_asked_to(tmp_path: Path) -> None:
    overlapping = {}
    for politeness in ("domain", "address"):
        (tmp_path / politeness).mkdir()
        with serve(bilingual_site(4), delay=0.2) as site:
            seeds = f"{site.url}/en/,{site.url.replace('127.0.0.1', 'localhost')}/en/"
            ended_well(crawl(tmp_path / politeness, seeds, *ONE_BY_ONE, "-s", f"BILINGUAL_POLITENESS={politeness}"))
        assert len(documents(tmp_path / politeness)) == 2 * 10
        overlapping[politeness] = site.overlapping
    # until their first answers, which a busy machine delays, their common address is unknown
    assert overlapping["address"] < overlapping["domain"] / 2, overlapping


def asking_for(delay: str) -> Callable[[str], Answer]:
    return robots(text(f"User-agent: *\nCrawl-delay: {delay}"))


@pytest.mark.parametrize("throttle", [False, True])
def test_a_crawl_delay_does_not_shorten_the_delay_of_the_operator(tmp_path: Path, throttle: bool) -> None:
    delay = 0.5
    settings = (f"DOWNLOAD_DELAY={delay}", "DOWNLOAD_DELAY_JITTER=0", "AUTOTHROTTLE_START_DELAY=0.1")
    with several(map(asking_for, ("0.01", "-5", "nan"))) as sites:
        ended_well(slow_crawl(tmp_path, english(sites), *settings, f"AUTOTHROTTLE_ENABLED={throttle}", pages=99))
    for site in sites:
        times = [when for when, path in site.asked if path != "/robots.txt"]
        assert len(times) >= len(DOCUMENTS)
        # a busy machine can be late with one answer, not with all
        assert times[-1] - times[0] > 0.9 * delay * (len(times) - 1)


def test_a_crawl_delay_is_kept_by_the_slot_that_asked_for_robots_txt(tmp_path: Path) -> None:
    """Its delay, one request at a time and no jitter, although the slot was there before anybody knew."""
    settings = ("DOWNLOAD_DELAY=0.1", "AUTOTHROTTLE_START_DELAY=0.1", "DOWNLOAD_DELAY_JITTER=0.9")
    with scripted(asking_for("0.6")) as site:
        ended_well(slow_crawl(tmp_path, f"{site.url}/en/", *settings, "AUTOTHROTTLE_ENABLED=1"))
    times = [when for when, path in site.asked if path != "/robots.txt"]
    assert min(later - earlier for earlier, later in pairwise(times)) > 0.3
    assert times[-1] - times[0] > 0.9 * 0.6 * (len(times) - 1)


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
    more = each("-s", "BILINGUAL_BACKOFF_START=0.1", "BILINGUAL_HOST_FAILURES=3", 'ADDONS={"starve.Starve": 1}')
    with scripted(page) as site:
        result = ended_well(crawl(tmp_path, f"{site.url}/en/,{site.url.replace('127.0.0.1', 'localhost')}/en/", *more))
    assert "Traceback" not in result.stderr
    assert len(documents(tmp_path)) == 2 * len(DOCUMENTS)
    assert result.stderr.count("Too many open files (EMFILE)") == 1
    assert "'bilingual/machine/EMFILE'" in result.stderr
    assert "'bilingual/hosts_given_up'" not in result.stderr


def test_cookies_ask_nothing_of_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrapy looks public suffixes up; what tldextract has fetched, or tried to, it keeps in its cache."""
    cache = tmp_path / "suffixes"
    monkeypatch.setenv("TLDEXTRACT_CACHE", str(cache))
    headers = {"Set-Cookie": "visit=1; Domain=127.0.0.1; Path=/"}
    with scripted(changed({path: (Answer(SITE[path], headers=headers),) for path in SITE})) as site:
        result = ended_well(crawl(tmp_path, f"{site.url}/en/", "-s", "COOKIES_ENABLED=1", fresh=True))
    assert "Traceback" not in result.stderr
    assert not cache.exists()
    assert "Cookie: visit=1" in site.requests[-1]


def test_of_each_kind_of_message_about_a_download_the_first_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    log, quiet = logging.getLogger("scrapy.core.downloader.tls"), OncePerKind()
    log.addFilter(quiet)
    with caplog.at_level(logging.DEBUG):
        for host in ("a.example", "b.example"):
            log.warning("Remote certificate is not valid for hostname %s", host)
        log.warning("another")
    log.removeFilter(quiet)
    assert [record.levelname for record in caplog.records] == ["WARNING", "DEBUG", "WARNING"]
