"""The parts in projects of others: an ordinary spider, ranked, resumed, replayed, and each part left out."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from scrapy import Request, Spider
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.exceptions import NotConfigured, UsageError
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.reactor import is_reactor_installed
from support import fork_server
from support.components import free_port
from support.crawls import documents, each, summary
from support.example_site import check
from support.example_site import serve as example
from support.webserver import QUICK, bilingual_site, serve, varied

from bilingual_crawler import settings as defaults
from bilingual_crawler.addon import COMPONENTS, BilingualAddon
from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.crawl.middlewares.language import LanguageFilterMiddleware
from bilingual_crawler.crawl.middlewares.links import OrdinarySpiderMiddleware
from bilingual_crawler.crawl.middlewares.traps import TrapPagesMiddleware
from bilingual_crawler.crawl.requests import asks_for_page, of_its_own, packed, unpacked
from bilingual_crawler.options import Part
from bilingual_crawler.scheduler import RequestScheduler
from bilingual_crawler.storage.archive import open_archive
from bilingual_crawler.storage.records import read_tsv

ROOT = Path(__file__).parent.parent
PROJECT = ROOT / "examples" / "addon"
PLACES = ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES", "EXTENSIONS")

ALONE = {
    *("RobotsTxtMiddleware", "RetryMiddleware", "LogStats", "RemoteControl", "SpiderState"),
    *("KnownPagesMiddleware", "PoisonMiddleware", "RobotsMiddleware", "StatusExtension"),
}
"""Components that work without ours, or do nothing unless asked."""

TOUR = '''
"""An ordinary spider with all kinds of requests; it notes each call of a callback in a file."""
import json
import scrapy


class Tour(scrapy.Spider):
    name = "tour"
    handle_httpstatus_list = [404, 501]
    allowed_domains = ["127.0.0.1"]

    def __init__(self, site, notes):
        self.site, self.notes = site, notes

    async def start(self):
        yield scrapy.Request(self.site + "/", cb_kwargs={"by": "start"})
        yield scrapy.Request(self.site + "/first.pdf", callback=self.first)

    def note(self, kind, response, **more):
        with open(self.notes, "a") as file:
            print(json.dumps({"kind": kind, "url": response.url, "status": response.status, **more}), file=file)

    def parse(self, response, by):
        self.note("page", response, by=by, mark=response.meta.get("mark"), depth=response.meta["depth"],
                  sent=response.request.headers.get("X-Mark", b"").decode())
        if by == "start":
            yield scrapy.FormRequest(self.site + "/search", formdata={"q": "x"}, callback=self.searched)
            yield response.request.replace(dont_filter=True, callback=self.again, cb_kwargs={})
            yield scrapy.Request(self.site + "/paper.pdf", errback=self.failed)
            yield scrapy.Request("http://elsewhere.invalid/")
            yield scrapy.Request(self.site + "/en/", callback=lambda response: self.note("lambda", response))
        for link in response.css("a[href]"):
            yield response.follow(link, self.parse, cb_kwargs={"by": response.url}, headers={"X-Mark": "yes"},
                                  meta={**response.meta, "mark": ["a", 1]})
        yield {"url": response.url}

    def first(self, response):
        self.note("first", response, size=len(response.body))

    def searched(self, response):
        self.note("post", response, sent=response.request.body.decode())

    def again(self, response):
        self.note("again", response, ours="bilingual_entry" in response.meta)

    def failed(self, failure):
        self.note("failed", failure.value.response)
'''

LOSSY = '''
"""A spider whose middleware drops its items, never asks for those of one page, and doubles those of another."""
import scrapy


class Sieve:
    """Nearer to the engine than any component of ours."""

    async def process_spider_output(self, response, result):
        if response.url.endswith("/en/page-1.html"):
            return
        async for output in result:
            if not isinstance(output, dict):
                yield output
            elif response.url.endswith("/es/"):
                yield output
                yield {**output, "again": True}


class Lossy(scrapy.Spider):
    name = "lossy"
    custom_settings = {"SPIDER_MIDDLEWARES": {Sieve: 5}, "RETRY_ENABLED": False}

    def __init__(self, site, dead):
        self.site, self.dead = site, dead

    async def start(self):
        yield scrapy.Request(self.dead, errback=self.failed)
        yield scrapy.Request(self.site + "/en/")

    def parse(self, response):
        for number in range(5):
            yield {"url": response.url, "number": number}
        for link in response.css("a[href]"):
            yield response.follow(link, errback=self.failed)

    def failed(self, failure):
        yield {"failed": failure.request.url}
'''


class Plain(Spider):
    name = "plain"

    def parse_page(self, response: object) -> None: ...


def crawler_with(folder: Path, **given: Any) -> Crawler:
    """A crawler with the add-on in a project with these settings."""
    usual = {"BILINGUAL_PAIR": "eng-mlt", "BILINGUAL_OUTPUT_DIR": str(folder), "BILINGUAL_ALIGN": ""}
    crawler = Crawler(Plain, {**usual, **given})
    BilingualAddon.from_crawler(crawler).update_settings(crawler.settings)
    return crawler


def components(crawler: Crawler) -> dict[str, dict[type, int | None]]:
    return {name: {load_object(key): place for key, place in crawler.settings.getdict(name).items()} for name in PLACES}


def project(
    folder: Path, *arguments: str, settings: Mapping[str, str] | None = None, fresh: bool = False
) -> subprocess.Popen[str]:
    """Start ``scrapy`` in the example project, forked unless it is to be *fresh*."""
    environment = {name: value for name, value in os.environ.items() if name != "SCRAPY_SETTINGS_MODULE"}
    given = {"BILINGUAL_OUTPUT_DIR": str(folder / "out"), "LOG_LEVEL": "INFO", **(settings or {})}
    options = each("-s", *(f"{name}={value}" for name, value in given.items()))
    kind = subprocess.Popen if fresh else fork_server.Popen
    return kind(
        [sys.executable, "-m", "scrapy", *arguments, *QUICK, *options], cwd=PROJECT, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip


def end(process: subprocess.Popen[str], *never: str) -> None:
    """Wait for a crawl that ends well, and whose log has *never* such a word."""
    log = process.communicate(timeout=300)[0]
    assert process.returncode == 0, log
    assert not [word for word in never if word in log], log


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_parts_come_at_their_places_and_what_the_project_sets_stays(tmp_path: Path) -> None:
    crawler = crawler_with(
        tmp_path,
        DOWNLOADER_MIDDLEWARES={RetryMiddleware: 540, TrapPagesMiddleware: None},
        SPIDER_MIDDLEWARES={"bilingual_crawler.crawl.middlewares.links.OrdinarySpiderMiddleware": 310},
        ITEM_PIPELINES={"scrapy.pipelines.files.FilesPipeline": 1},
        DOWNLOAD_DELAY=7,
    )
    places = components(crawler)
    expected = {RetryMiddleware: 540, TrapPagesMiddleware: None, LanguageFilterMiddleware: 560}
    assert places["DOWNLOADER_MIDDLEWARES"].items() >= expected.items()
    assert places["SPIDER_MIDDLEWARES"][OrdinarySpiderMiddleware] == 310
    assert list(places["ITEM_PIPELINES"].values()) == [1, 900]
    assert crawler.settings["DOWNLOAD_DELAY"] == 7
    assert crawler.settings["SCHEDULER"] is RequestScheduler
    assert crawler.settings.getpriority("SCHEDULER") == 15


@pytest.mark.parametrize(
    ("parts", "scheduler"), [("frontier,language", RequestScheduler), ("language", Scheduler), ("", Scheduler)]
)
def test_a_part_that_is_left_out_is_not_there(parts: str, scheduler: type, tmp_path: Path) -> None:
    crawler = crawler_with(tmp_path, BILINGUAL_PARTS=parts)
    found = {component.__name__ for place in components(crawler).values() for component in place}
    named = {name for part in parts.split(",") if part for name in COMPONENTS[Part(part)]}
    named |= {"OrdinarySpiderMiddleware"} if "frontier" in parts else set()
    assert found == {*named, "WarcMiddleware"}
    assert load_object(crawler.settings["SCHEDULER"]) is scheduler


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"BILINGUAL_PAIR": None}, "Set BILINGUAL_PAIR, for example"),
        ({"BILINGUAL_PAIR": "eng-xx"}, "pair=eng-xx"),
        ({"BILINGUAL_PARTS": "frontier,traps"}, "traps needs frontier and language"),
        ({"BILINGUAL_PARTS": "links"}, "choose one of frontier, language, traps, pairs"),
        ({"BILINGUAL_POLICY": "best"}, "BILINGUAL_POLICY"),
        ({"BILINGUAL_REPLAY": "nowhere"}, "BILINGUAL_REPLAY"),
        ({"BILINGUAL_POLICY": "smart", "BILINGUAL_MODELS_DIR": str(ROOT / "docs")}, "MODELS_DIR names the folder"),
        ({"BILINGUAL_FRONTIER": "redis://127.0.0.1"}, "JOBDIR resumes"),
        ({"SCHEDULER": "scrapy.core.scheduler.Scheduler"}, "leave SCHEDULER out, or frontier out"),
    ],
)
def test_wrong_settings_are_named(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        crawler_with(tmp_path, **given)


def test_two_crawls_that_begin_in_the_same_second_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As two calls of a script's CrawlerProcess.crawl."""
    monkeypatch.chdir(tmp_path)
    crawlers = [crawler_with(tmp_path, BILINGUAL_OUTPUT_DIR=None) for _ in range(3)]
    folders = {CrawlContext.from_crawler(crawler).output_dir for crawler in crawlers}
    assert folders == {*(tmp_path / "crawls").iterdir()}
    assert len(folders) == 3


def test_a_crash_leaves_no_half_name_of_the_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(path: Path) -> None:
        if "output_dir" in path.name:
            raise KeyboardInterrupt

    job = tmp_path / "job"
    monkeypatch.setattr("bilingual_crawler.storage.files.to_disk", crash)
    with pytest.raises(KeyboardInterrupt):
        crawler_with(tmp_path, JOBDIR=str(job))
    assert job.is_dir()
    assert not (job / "output_dir").exists()


@pytest.mark.parametrize("name", sorted(path for place in PLACES for path in getattr(defaults, place)))
def test_a_component_without_the_addon_works_or_says_what_it_needs(name: str) -> None:
    """In a project of others that uses it alone."""
    # other tests of this process may have installed any reactor
    reactor = {"TWISTED_REACTOR_ENABLED": is_reactor_installed(), "TWISTED_REACTOR": None}
    crawler = Crawler(Plain, {"TELNETCONSOLE_ENABLED": False, **reactor})
    crawler._apply_settings()
    component = load_object(name)
    refusal = pytest.raises(UsageError, match=r"bilingual_crawler\.addon\.BilingualAddon")
    with suppress(NotConfigured) if component.__name__ in ALONE else refusal:
        build_from_crawler(component, crawler)


def test_what_the_frontier_takes_and_what_scrapys_own_queue() -> None:
    def request(**given: Any) -> Request:
        return Request("https://a.mt/", **given)

    assert asks_for_page(request())
    assert asks_for_page(request(dont_filter=True, meta={"is_start_request": True}))
    others: list[dict[str, Any]] = [{"method": "POST"}, {"body": "x"}, {"dont_filter": True}, {"callback": NO_CALLBACK}]
    assert not any(asks_for_page(request(**given)) for given in others)


def test_a_request_is_kept_with_all_that_its_callback_needs() -> None:
    spider = Plain()
    asked = Request(
        "https://a.mt/x",
        callback=spider.parse_page,
        cb_kwargs={"when": (1, 2), "who": {"x"}},
        meta={"a": b"\xff", "bilingual_open": 3, "is_start_request": True},
        headers={"Accept-Language": "mt"},
        cookies={"session": "1"},
        priority=3,
    )
    text = packed(of_its_own(asked), spider)
    assert text is not None
    back = unpacked(text, spider)
    assert back.meta == {"a": b"\xff"}
    for name in ("url", "callback", "cb_kwargs", "headers", "cookies", "priority", "method"):
        assert getattr(back, name) == getattr(asked, name)
    with pytest.raises(ValueError, match="parse_page"):
        unpacked(text, Spider("renamed"))
    assert packed(Request("https://a.mt/x", callback=lambda response, **_: None), spider) is None
    assert packed(Request("https://a.mt/x", meta={"made": lambda: 1}), spider) is None


@pytest.mark.slow
def test_the_example_project_finds_pairs_and_its_archive_is_crawled_again(tmp_path: Path) -> None:
    def crawl(site: str, items: str, settings: dict[str, str], fresh: bool = False) -> list[dict[str, Any]]:
        command = ("crawl", "headings", "-a", f"site={site}", "-O", str(tmp_path / items))
        end(project(tmp_path, *command, settings=settings, fresh=fresh), "Traceback")
        return lines(tmp_path / items)

    with example.serving() as site:
        found = crawl(site, "items.jsonl", {"BILINGUAL_ALIGN": "url"}, fresh=True)
    assert {item["section"] for item in found} >= {"home", "navigation", "Blog"}
    assert sum(bool(item["headings"]) for item in found) > 50
    out, second = tmp_path / "out", tmp_path / "second"
    pairs = {tuple(urlsplit(row[side]).path for side in ("url_a", "url_b")) for row in read_tsv(out / "pairs.tsv")}
    gold = {tuple(urlsplit(url).path for url in pair) for pair in check.gold_pairs("eng-spa")}
    assert pairs == gold
    assert documents(tmp_path).keys() == {item["url"] for item in found if item["language"] in ("eng", "spa")}
    told = summary(tmp_path)
    assert (told["pairs"], told["finish_reason"]) == (len(gold), "finished")
    archive = open_archive([str(out)])
    assert all(archive.find(item["url"]) for item in found)

    # again from the archive, the site being away: only the language filter beside Scrapy's own scheduler
    alone = {"BILINGUAL_PARTS": "language", "BILINGUAL_WARC": "0", "BILINGUAL_REPLAY": str(out)}
    again = crawl(site, "again.jsonl", alone | {"BILINGUAL_OUTPUT_DIR": str(second)})
    languages, expected = ({item["url"]: item["language"] for item in items} for items in (again, found))
    assert languages == expected
    assert [path.name for path in second.iterdir()] == [".lock"]


def test_all_requests_reach_their_callbacks_in_the_order_of_the_policy_also_after_a_kill(tmp_path: Path) -> None:
    number = 30
    notes, spider = tmp_path / "notes.jsonl", tmp_path / "tour.py"
    spider.write_text(TOUR)
    settings = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS_PER_DOMAIN": "2", "BILINGUAL_POLICY": "gain"}
    with serve(varied(bilingual_site(number)), redirects={"/old": "/es/page-1.html"}, delay=0.05) as site:
        command = ("runspider", str(spider), "-a", f"site={site.url}", "-a", f"notes={notes}")
        first = project(tmp_path, *command, settings=settings)
        site.wait_until_asked(30)
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
        seen_before = len(lines(notes))
        end(project(tmp_path, *command, settings=settings), "Traceback")
        asked, home = dict(site.asked), site.url
    called = lines(notes)
    assert 5 < seen_before < len(called) - 20

    pages = {note["url"].removeprefix(home): note for note in called if note["kind"] == "page"}
    paths = [f"/{lang}/page-{page}.html" for lang in ("en", "es") for page in range(number)]
    assert set(pages) == {"/", "/fi/", "/en/", "/es/", "/gone", *paths}
    first_note = {"kind": "page", "url": f"{home}/", "status": 200, "by": "start", "mark": None, "depth": 0, "sent": ""}
    assert pages["/"] == first_note
    for path in paths:
        assert (pages[path]["mark"], pages[path]["sent"]) == (["a", 1], "yes")
        assert pages[path]["by"].startswith(home)
    assert (pages["/gone"]["status"], pages["/en/"]["depth"]) == (404, 2)
    # what was in flight at the kill is fetched again, and nothing else
    assert sum(asked[path] - 1 for path in paths) <= 4

    others = {note["kind"]: note for note in called if note["kind"] != "page"}
    assert (others["post"]["status"], others["post"]["sent"]) == (501, "q=x")
    assert (others["again"]["url"], others["again"]["ours"]) == (f"{home}/", False)
    assert others["failed"]["url"].endswith("/paper.pdf")
    assert others["first"]["size"] > 1000
    assert others["lambda"]["url"] == f"{home}/en/"

    assert len(list(read_tsv(tmp_path / "out" / "pairs.tsv"))) == number + 1
    tried = list(read_tsv(tmp_path / "out" / "crawl.tsv"))
    assert all(row["url"].startswith(home) for row in tried)
    rows = [row for row in tried if row["outcome"] == "document"]
    half = [row["url"].removeprefix(home) for row in rows][: number + 1]
    # in the order of discovery, all pages of one language would come first
    assert sum(path.replace("/en/", "/es/") in half for path in half if path.startswith("/en/")) > number / 3
    assert all(row["priority"] for row in rows)


def test_items_that_others_drop_or_an_errback_yields_do_not_keep_the_crawl(tmp_path: Path) -> None:
    items, spider = tmp_path / "items.jsonl", tmp_path / "lossy.py"
    spider.write_text(LOSSY)
    dead = f"http://127.0.0.1:{free_port()}/"
    with serve(varied(bilingual_site(5))) as site:
        arguments = ("runspider", str(spider), "-a", f"site={site.url}", "-a", f"dead={dead}", "-O", str(items))
        job = {"JOBDIR": str(tmp_path / "job")}
        end(project(tmp_path, *arguments, settings=job), "Error caught on signal handler", "AttributeError")
        found = lines(items)
        pages, asked = set(site.pages) - {"/", "/fi/"}, dict(site.asked)
        end(project(tmp_path, *arguments, settings=job))
    assert pages <= asked.keys()
    assert dict(site.asked) == asked, "all were finished"
    assert {"failed": dead} in found
    assert [item["number"] for item in found if item.get("again")] == [0, 1, 2, 3, 4]
