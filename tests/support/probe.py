"""A loopback site with every kind of answer, and a crawl of it in a process of its own."""

import gzip
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import fork_server
from support.webserver import QuietHandler, running

HOME = """<html><head><title>Héim</title></head><body>
<a href="/gz">gzip</a> <a href="/chunked">chunked</a> <a href="/moved">moved</a> <a href="/missing">missing</a>
<a href="/moved-far">moved</a> <a href="/empty">empty</a> <a href="/latin">latin</a> <a href="/a%20b?q=%c3%a9">odd</a>
</body></html>"""
PATHS = ["gz", "chunked", "moved", "missing", "moved-far", "caf%C3%A9", "empty", "latin", "a%20b?q=%c3%a9"]
"""What is crawled besides the home page."""


_HTML = ("Content-Type", "text/html; charset=utf-8")
_ANSWERS: dict[str, tuple[int, bytes, list[tuple[str, str]]]] = {
    "/": (200, HOME.encode(), [_HTML, ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]),
    "/gz": (200, gzip.compress(b"<html>pressed</html>" * 50), [_HTML, ("Content-Encoding", "gzip")]),
    "/moved": (302, b"", [_HTML, ("Location", "/gz")]),
    "/moved-far": (301, b"gone", [_HTML, ("Location", "/caf\u00c3\u00a9")]),  # UTF-8 on the wire
    "/caf%C3%A9": (200, b"<html>coffee</html>", [_HTML]),
    "/empty": (200, b"", [_HTML]),
    "/latin": (200, "<html>það</html>".encode("latin-1"), [("Content-Type", "text/html; charset=latin-1")]),
    "/a%20b?q=%c3%a9": (200, b"<html>odd</html>", [("Content-Type", "text/html")]),
}


class _Handler(QuietHandler):
    def do_GET(self) -> None:
        if self.path == "/chunked":
            self._send_chunked(b"<html>one ", b"two ", b"three</html>")
        else:
            self.answer(*_ANSWERS.get(self.path, (404, b"<html>nothing here</html>", [_HTML])))

    def _send_chunked(self, *parts: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in (*parts, b""):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))


@contextmanager
def serve() -> Iterator[str]:
    """Serve the site; yields its URL."""
    with running(_Handler) as url:
        yield f"{url}/"


@dataclass(frozen=True)
class Probe:
    """What a crawl saw."""

    pages: dict[str, dict[str, Any]]
    stats: dict[str, Any]
    log: str


def crawl(directory: Path, *urls: str, max_file: int = resource.RLIM_INFINITY, **settings: object) -> Probe:
    """Crawl from URLs on their hosts with WARC in ``directory``; a file of *max_file* bytes fills the disk."""
    directory.mkdir(parents=True, exist_ok=True)
    out = directory / "probe.json"
    command = [sys.executable, "-m", "support.probe", str(out), str(max_file), json.dumps(settings), *urls]
    with fork_server.Popen(
        command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        _, log = process.communicate(timeout=300)
    assert process.returncode == 0, log
    return Probe(**json.loads(out.read_text()), log=log)


def _main(out: Path, max_file: int, settings: dict[str, Any], urls: list[str]) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (max_file, resource.RLIM_INFINITY))
    from types import SimpleNamespace
    from urllib.parse import urldefrag, urlsplit

    import scrapy
    from scrapy.crawler import CrawlerProcess

    from bilingual_crawler.crawl.context import CrawlContext
    from bilingual_crawler.crawl.signals import WARC_LOCATION

    pages: dict[str, dict[str, Any]] = {}
    hosts = {urlsplit(url).hostname for url in urls}

    class ProbeSpider(scrapy.Spider):
        name = "probe"
        start_urls = urls

        def parse(self, response: Any) -> Any:
            pages[response.url] = {
                "status": response.status,
                "body": response.body.decode("latin-1"),
                "headers": {
                    name.decode(): [value.decode("latin-1") for value in values]
                    for name, values in response.headers.items()
                },
                "redirects": response.meta.get("redirect_urls", []),
                "reasons": response.meta.get("redirect_reasons", []),
                "flags": response.flags,
                "location": response.meta.get(WARC_LOCATION),
                "ip": str(response.ip_address),
            }
            if "Location" in response.headers or not hasattr(response, "text"):
                return
            for link in response.css("a::attr(href)").getall():
                url = urldefrag(response.urljoin(link)).url
                if urlsplit(url).hostname in hosts:
                    yield scrapy.Request(url)

    process = CrawlerProcess(
        {
            "DOWNLOADER_MIDDLEWARES": {"bilingual_crawler.crawl.middlewares.warc.WarcMiddleware": 650},
            "HTTPERROR_ALLOW_ALL": True,
            "CONCURRENT_ITEMS": 1,
            "METAREFRESH_ENABLED": False,
            "LOG_LEVEL": "INFO",
            "REMOTE_CONTROL_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            **settings,
        }
    )
    crawler = process.create_crawler(ProbeSpider)
    CrawlContext.share(SimpleNamespace(output_dir=out.parent), crawler)  # type: ignore[arg-type]
    process.crawl(crawler)
    process.start()
    stats = {name: value for name, value in crawler.stats.get_stats().items() if isinstance(value, str | int)}
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    out.write_text(json.dumps({"pages": pages, "stats": stats}))


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4:])
