"""Serves the example site on loopback: ``python examples/serve.py [--port N]`` prints its address.

A page is an HTML fragment in ``site/`` under a few ``key: value`` lines: ``title``, ``lang``, its translations
(``en``, ``es``, ``eu``), ``address`` where it differs from the file's path, and ``announce`` (``hreflang`` or
``sitemap``) for how translations are declared besides the language switcher. The shared frame is added here.
"""

from __future__ import annotations

import argparse
import contextlib
import mimetypes
import threading
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SITE = Path(__file__).parent / "site"
LANGUAGES = {"en": "English", "es": "Español", "eu": "Euskara"}
HOMES = {"en": "/", "es": "/es/", "eu": "/eu/"}
REDIRECTS = {"/en/": "/", "/en": "/", "/es": "/es/", "/eu": "/eu/"}


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the site; ``address`` and ``translations`` are absolute paths, with query."""

    address: str
    language: str
    title: str
    translations: Mapping[str, str]
    announce: str
    body: str


def load_pages() -> dict[str, Page]:
    """All pages by address."""
    pages = (_load_page(path) for path in sorted(SITE.rglob("*.html")) if not path.name.startswith("_"))
    return {page.address: page for page in pages}


def _load_page(path: Path) -> Page:
    head, _, body = path.read_text(encoding="utf-8").partition("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    address = "/" + path.relative_to(SITE).as_posix().removesuffix("index.html")
    return Page(
        address=fields.get("address", address),
        language=fields["lang"],
        title=fields["title"],
        translations={language: fields[language] for language in LANGUAGES if language in fields},
        announce=fields.get("announce", ""),
        body=body,
    )


def render(page: Page) -> str:
    """The page in the site's frame."""
    versions = dict(sorted({**page.translations, page.language: page.address}.items()))
    alternates = "".join(
        f'<link rel="alternate" hreflang="{language}" href="{escape(address)}">\n'
        for language, address in versions.items()
        if page.announce == "hreflang"
    )
    return Template(_part("_page.html")).substitute(
        language=page.language,
        title=escape(page.title),
        alternates=alternates,
        home=HOMES[page.language],
        header=_part(f"_header.{page.language}.html"),
        switcher="".join(_switch(language, page, versions) for language in LANGUAGES),
        body=page.body,
        footer=_part(f"_footer.{page.language}.html"),
    )


def _switch(language: str, page: Page, versions: Mapping[str, str]) -> str:
    name = LANGUAGES[language]
    if language == page.language:
        return f'<li aria-current="true">{name}</li>'
    address = escape(versions.get(language, HOMES[language]))
    return f'<li><a href="{address}" hreflang="{language}" lang="{language}">{name}</a></li>'


def _part(name: str) -> str:
    return (SITE / name).read_text(encoding="utf-8")


def sitemap(pages: Mapping[str, Page], origin: str) -> str:
    """The pages that announce their translations in the sitemap."""
    urls = "".join(
        f"<url><loc>{escape(origin + page.address)}</loc>"
        + "".join(
            f'<xhtml:link rel="alternate" hreflang="{language}" href="{escape(origin + address)}"/>'
            for language, address in {page.language: page.address, **page.translations}.items()
        )
        + "</url>\n"
        for page in pages.values()
        if page.announce == "sitemap"
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        f'xmlns:xhtml="http://www.w3.org/1999/xhtml">\n{urls}</urlset>\n'
    )


class Handler(BaseHTTPRequestHandler):
    """Answers GET requests from the pages that the server has loaded, and silently."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        origin = f"http://{self.headers.get('Host', self.server.origin)}"
        path = urlsplit(self.path).path
        if page := self.server.pages.get(self.path):
            self._send(render(page).encode(), "text/html; charset=utf-8")
        elif path in REDIRECTS:
            self._send(b"", "text/html", status=HTTPStatus.MOVED_PERMANENTLY, location=REDIRECTS[path])
        elif path == "/robots.txt":
            rules = f"User-agent: *\nDisallow: /search\n\nSitemap: {origin}/sitemap.xml\n"
            self._send(rules.encode(), "text/plain; charset=utf-8")
        elif path == "/sitemap.xml":
            self._send(sitemap(self.server.pages, origin).encode(), "application/xml")
        elif file := _static_file(path):
            self._send(file.read_bytes(), mimetypes.guess_type(file.name)[0] or "application/octet-stream")
        else:
            self._send(b"<!doctype html><title>Not found</title><h1>Not found</h1>", "text/html", HTTPStatus.NOT_FOUND)

    def _send(
        self, body: bytes, content_type: str, status: HTTPStatus = HTTPStatus.OK, *, location: str | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _static_file(path: str) -> Path | None:
    file = (SITE / path.lstrip("/")).resolve()
    served = file.is_relative_to(SITE.resolve()) and file.is_file() and file.suffix != ".html"
    return file if served else None


class Server(ThreadingHTTPServer):
    """The example site on 127.0.0.1; port 0 takes a free one."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.pages = load_pages()
        self.origin = f"127.0.0.1:{self.server_port}"


@contextlib.contextmanager
def serving(port: int = 0) -> Iterator[str]:
    """Serve the site in a thread; gives the address of its home page."""
    with Server(port) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://{server.origin}/"
        finally:
            server.shutdown()
            thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the example site on loopback.")
    parser.add_argument("--port", type=int, default=0, help="port (default: a free one)")
    arguments = parser.parse_args()
    with Server(arguments.port) as server, contextlib.suppress(KeyboardInterrupt):
        print(f"http://{server.origin}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
