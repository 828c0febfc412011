"""Each private name of Scrapy and Twisted that the crawler uses, tried in a running crawl of the installed version."""

import inspect
import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from bilingual_crawler.crawl import scrapy_internals

CRAWL = """
import asyncio
import json
import socketserver
import threading
import time

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.http import Response
from scrapy.utils.misc import build_from_crawler

from bilingual_crawler.crawl import scrapy_internals
from bilingual_crawler.crawl.handlers import HTTP11DownloadHandler
from bilingual_crawler.urls.hosts import split_host

found = {}

class Endless(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(1000)
        self.request.sendall(b"HTTP/1.1 200 OK\\r\\n")
        for number in range(200):
            self.request.sendall(b"X-%d: " % number + b"a" * 1000 + b"\\r\\n")
        self.request.sendall(b"Content-Length: 0\\r\\n\\r\\n")

class Site(socketserver.ThreadingTCPServer):
    daemon_threads = True

site = Site(("127.0.0.1", 0), Endless)
threading.Thread(target=site.serve_forever, daemon=True).start()
address = "http://127.0.0.1:%d/" % site.server_address[1]

async def attempt(function, *args):
    try:
        found[function.__name__] = await function(*args)
    except Exception as error:
        found[function.__name__] = f"{type(error).__name__}: {error}"

async def is_closing(engine):
    return not scrapy_internals.is_closing(engine)

async def ask_scheduler(engine):
    asked = []
    ask = engine.scheduler.next_request
    engine.scheduler.next_request = lambda: asked.append(True) or ask()
    await asyncio.sleep(0.3)
    before = len(asked)
    scrapy_internals.ask_scheduler(engine)
    await asyncio.sleep(0.3)
    return len(asked) > before

async def being_scraped(engine, request):
    return [r.url for r in scrapy_internals.being_scraped(engine)] == [request.url]

async def fail_waiting(engine):
    request = scrapy.Request("data:,b", meta={"download_slot": "slow"})
    engine.downloader.per_slot_settings["slow"] = {"delay": 60}
    await engine.download_async(request)
    waiting = asyncio.ensure_future(engine.download_async(request.replace(url="data:,c")))
    await asyncio.sleep(0.3)
    transfers = scrapy_internals.fail_waiting(engine, lambda: LookupError("left"))
    try:
        await asyncio.wait_for(waiting, 5)
    except LookupError:
        return transfers == 0
    return False

async def slow_down(engine):
    request = scrapy.Request("data:,d", meta={"download_slot": "new"})
    seconds = scrapy_internals.slow_down(engine, "new", 0.5)
    begun = time.monotonic()
    await engine.download_async(request)
    await engine.download_async(request.replace(url="data:,e"))
    waited = time.monotonic() - begun
    engine.downloader.slots["new"].delay = 0.0
    return seconds == 0.5 and waited >= 0.45

async def keep_slow(engine):
    request = scrapy.Request("data:,f", meta={"download_slot": "kept"})
    # the delay begins with the first request
    begun = time.monotonic()
    await engine.download_async(request)
    # slow_down has ended the random variation of such a slot
    engine.downloader.slots["kept"].jitter = 0
    scrapy_internals.keep_slow(engine, "kept", 0.5)
    await engine.download_async(request.replace(url="data:,g"))
    return time.monotonic() - begun >= 0.45

async def read_as_browsers(crawler):
    async def answer(limit):
        handler = build_from_crawler(HTTP11DownloadHandler, crawler)
        scrapy_internals.read_as_browsers(handler, limit)
        try:
            return (await handler.download_request(scrapy.Request(address))).status
        except Exception as error:
            return type(error).__name__
        finally:
            await handler.close()
    return await answer(1 << 20) == 200 != await answer(50_000)

async def split_cookie_domains(crawler):
    asked = []
    scrapy_internals.split_cookie_domains(lambda domain: asked.append(domain) or split_host(domain))
    cookies = build_from_crawler(CookiesMiddleware, crawler)
    answer = Response("http://www.example.org/", headers={"Set-Cookie": "a=1; Domain=example.org"})
    cookies.process_response(scrapy.Request(answer.url), answer)
    return asked == ["example.org"]

class Spider(scrapy.Spider):
    name = "internals"

    async def start(self):
        yield scrapy.Request("data:,a")

    async def parse(self, response):
        engine = self.crawler.engine
        await attempt(being_scraped, engine, response.request)
        for function in (is_closing, ask_scheduler, fail_waiting, slow_down, keep_slow):
            await attempt(function, engine)
        for function in (read_as_browsers, split_cookie_domains):
            await attempt(function, self.crawler)

process = CrawlerProcess({"LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False})
process.crawl(Spider)
process.start()
print(json.dumps(found))
"""

REMEDIES = {
    "is_closing": "what shows between stop and spider_closed that the engine closes the spider",
    "ask_scheduler": "how the engine is made to call next_request before its heartbeat of five seconds",
    "being_scraped": "where the scraper keeps the requests whose callbacks and item pipelines still run",
    "fail_waiting": "where requests wait for the delay of their slot, and how they are ended",
    "slow_down": "where delay, jitter and concurrency of a slot are kept, for slots that exist and that come later",
    "keep_slow": "where the delay of a slot is kept",
    "read_as_browsers": "which protocol reads the headers, and how the handler is given another one",
    "split_cookie_domains": "what splits the domain of a cookie, and that it fetches nothing",
}


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    run = subprocess.run([sys.executable, "-c", CRAWL], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, f"crawl/scrapy_internals.py cannot be used at all: {run.stderr[-2000:]}"
    result: dict[str, object] = json.loads(run.stdout)
    return result


@pytest.mark.parametrize("name", REMEDIES)
def test_private_name_works(name: str, found: dict[str, object]) -> None:
    assert found.get(name) is True, (
        f"scrapy_internals.{name} does not work with Scrapy {version('scrapy')} and Twisted {version('twisted')} "
        f"({found.get(name)}): find in their source {REMEDIES[name]}, and change that function alone; "
        "until then keep the range of Scrapy in pyproject.toml below this version"
    )


def test_every_function_is_tried() -> None:
    functions = inspect.getmembers(scrapy_internals, inspect.isfunction)
    assert set(REMEDIES) == {name for name, function in functions if function.__module__ == scrapy_internals.__name__}


def test_no_other_module_uses_private_names() -> None:
    private = re.compile(
        r"\b(engine|downloader|scraper|slot|cookies|_pool)\._[a-z]|^from (scrapy|twisted).* _[A-Za-z]", re.M
    )
    package = Path(scrapy_internals.__file__).parents[1]
    using = {path.name for path in package.rglob("*.py") if private.search(path.read_text(encoding="utf-8"))}
    assert not using - {"scrapy_internals.py"}, "move it into a function of crawl/scrapy_internals.py, with its reason"
