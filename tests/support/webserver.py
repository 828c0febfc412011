"""A real web server on loopback with a small bilingual site, and a way to run ``scrapy`` against it."""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess

from support import fork_server

TEXT = {
    "en": "The harvest of the year was good and the people of the village went to the market with their fruit. "
    "They sold all of it before the evening and came back home with songs, because the winter would be easy. ",
    "es": "La cosecha del año fue buena y la gente del pueblo fue al mercado con su fruta. La vendieron toda antes de "
    "la tarde y volvieron a casa con canciones, porque el invierno sería fácil para todos ellos. ",
    "mt": "Il-ħsad tas-sena kien tajjeb u n-nies tar-raħal marru s-suq bil-frott tagħhom. Bigħu kollox qabel "
    "filgħaxija u reġgħu lura d-dar bil-kant, għax ix-xitwa kienet se tkun faċli għalihom ilkoll. ",
    "fi": "Vuoden sato oli hyvä ja kylän väki lähti torille hedelmineen. He myivät kaiken ennen iltaa ja palasivat "
    "kotiin laulaen, sillä talvesta tulisi helppo kaikille heille ja heidän lapsilleen. ",
}
OWN_NAMES = {"es": "Español", "mt": "Malti"}


def html(lang: str, name: str, links: str) -> str:
    return (
        f"<!doctype html><html lang={lang}><head><meta charset=utf-8><title>{name} ({lang})</title></head>"
        f"<body>{links}<h1>{name}</h1><p>{TEXT[lang] * 3}</p></body></html>"
    )


def bilingual_site(pages: int, second: str = "es") -> dict[str, str]:
    """*pages* English pages under /en/ and as many in the language *second*, behind two Finnish pages."""
    names = [f"page-{number}" for number in range(pages)]
    site = {
        "/": html("fi", "etusivu", "<a href=/fi/>alkuun</a> <a href=/paper.pdf>pdf</a>"),
        "/fi/": html("fi", "alku", f"<a href=/en/>English</a> <a href=/{second}/>{OWN_NAMES[second]}</a>"),
    }
    for lang, other in (("en", second), (second, "en")):
        listing = "".join(f"<a href=/{lang}/{name}.html>{name}</a> " for name in names)
        listing = f"<nav class=language-switcher><a href=/{other}/>{other}</a></nav>" + listing
        site[f"/{lang}/"] = html(lang, "index", listing + "<a href=/gone>gone</a> <a href=/old>old</a>")
        for name in names:
            switch = f"<nav class=language-switcher><a href=/{other}/{name}.html>{other}</a></nav>"
            site[f"/{lang}/{name}.html"] = html(lang, name, switch)
    return site


def varied(site: Mapping[str, str]) -> dict[str, str]:
    """*site* with another text on every page, as a real one has."""
    pages = {}
    for path, page in site.items():
        words = TEXT[page.partition("lang=")[2][:2]].split()
        random.Random(path).shuffle(words)
        pages[path] = page.replace("</body>", f"<p>{' '.join(words)}</p></body>")
    return pages


@dataclass(eq=False)
class Site:
    """What a server serves and what it was asked for."""

    pages: Mapping[str, str]
    redirects: Mapping[str, str]
    delay: float
    robots: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    agents: set[str] = field(default_factory=set)
    times: list[float] = field(default_factory=list)
    overlapping: int = 0
    """Requests that came while another one was under way."""
    under_way: int = 0
    url: str = ""
    answers: threading.Event = field(default_factory=threading.Event)
    """While it is cleared, all requests wait."""

    def wait_until_asked(self, count: int) -> None:
        """Until the site has answered, or is about to answer, *count* requests."""
        deadline = time.monotonic() + 300
        while self.asked.total() < count and time.monotonic() < deadline:
            time.sleep(0.01)
        assert self.asked.total() >= count


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Crawlers that are killed cut their connections."""


class QuietServerV6(QuietServer):
    address_family = socket.AF_INET6


class QuietHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def answer(self, status: int, body: bytes = b"", headers: Iterable[tuple[str, str]] = ()) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def running(handler: type[BaseHTTPRequestHandler], address: str = "127.0.0.1") -> Iterator[str]:
    """The URL of a server on a free port, without a slash at its end."""
    server = (QuietServerV6 if ":" in address else QuietServer)((address, 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    host = f"[{address}]" if ":" in address else address
    try:
        yield f"http://{host}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def serve(
    pages: Mapping[str, str],
    *,
    redirects: Mapping[str, str] | None = None,
    delay: float = 0.0,
    address: str = "127.0.0.1",
) -> Iterator[Site]:
    """Serve *pages* (path to HTML) on a free port; /paper and paths that end in .pdf are PDFs, others are 404."""
    site = Site(pages, redirects or {}, delay)
    site.answers.set()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            site.asked[self.path] += 1
            site.agents.add(self.headers["User-Agent"])
            site.times.append(time.monotonic())
            site.overlapping += site.under_way > 0
            site.under_way += 1
            site.answers.wait()
            time.sleep(site.delay)
            site.under_way -= 1
            if self.path in site.redirects:
                self.send(b"", "text/html", 301, ("Location", site.redirects[self.path]))
            elif self.path == "/robots.txt" and site.robots:
                self.send(site.robots.encode(), "text/plain")
            elif self.path.endswith((".pdf", "/paper")):
                self.send(b"%PDF-1.4 " + b"x" * 1000, "application/pdf")
            elif self.path in site.pages:
                kind = "text/javascript" if self.path.endswith(".js") else "text/html"
                self.send(site.pages[self.path].encode(), kind)
            else:
                self.send(b"<title>gone</title>", "text/html", 404)

        def send(self, body: bytes, kind: str, status: int = 200, *headers: tuple[str, str]) -> None:
            self.answer(status, body, [("Content-Type", kind), *headers])

    with running(Handler, address) as site.url:
        yield site


ABOUT_SITE = ("/robots.txt", "/.well-known/tdmrep.json", "/sitemap.xml")
"""What each run of a crawl asks a site for beside its pages."""
QUICK = ("-s", "DOWNLOAD_DELAY=0", "-s", "AUTOTHROTTLE_ENABLED=0", "-s", "BILINGUAL_ALIGN=")
"""Without delays, and without the alignment at the end, which takes two more processes."""
ALIGNED = ("-s", "BILINGUAL_ALIGN=auto")
"""With it."""


def scrapy_command(command: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "scrapy", command, *QUICK, *arguments]


def scrapy_environment() -> dict[str, str]:
    return {**os.environ, "SCRAPY_SETTINGS_MODULE": "bilingual_crawler.settings"}


def start(folder: Path, command: Sequence[str], *, fresh: bool = False) -> subprocess.Popen[str]:
    """Start *command*, ``python -m …``, in *folder* and a process group of its own, with the project's settings.

    In tests it is forked from a process that has the imports, unless environment variables have been changed or it is
    to be *fresh*: where a test measures memory, or is about the process itself.
    """
    kind = fork_server.Popen if fork_server.used and not fresh else subprocess.Popen
    return kind(
        command,
        cwd=folder,
        env=scrapy_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(folder: Path, command: Sequence[str], *, timeout: float = 300, fresh: bool = False) -> CompletedProcess[str]:
    process = start(folder, command, fresh=fresh)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return CompletedProcess(process.args, process.returncode, out, err)


def start_scrapy(folder: Path, *arguments: str, fresh: bool = False) -> subprocess.Popen[str]:
    """Start ``scrapy`` with *arguments* and the settings of `QUICK`."""
    return start(folder, scrapy_command(*arguments), fresh=fresh)


def run_scrapy(folder: Path, *arguments: str, timeout: float = 300, fresh: bool = False) -> CompletedProcess[str]:
    return run(folder, scrapy_command(*arguments), timeout=timeout, fresh=fresh)
