"""One web server that is an honest bilingual site and everything that a crawler is to be afraid of, at once."""

import gzip
import random
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count, repeat

from support.scripted import Answer, Scripted, scripted
from support.webserver import TEXT, bilingual_site, html

PAGES = 12
HONEST = bilingual_site(PAGES)
MEGABYTE = b"<p>" + b"a" * (1 << 20)
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")
EVIL_TITLE = "<script>alert(1)</script>\x1b[2J\x1b]0;owned\x07"
XML = "application/xml"


@cache
def bomb() -> bytes:
    """200 MB when unpacked."""
    packer = zlib.compressobj(wbits=31)
    return b"".join(map(packer.compress, repeat(MEGABYTE, 200))) + packer.flush()


def english(*links: str, title: str = "page", text: str = "") -> str:
    anchors = " ".join(f'<a href="{link}">{number}</a>' for number, link in enumerate(links))
    return html("en", title, anchors + text)


class Hostile:
    """Answers by path. Traps are below folders of their own, each with its own links to ever more of the same."""

    def __init__(self, forbidden: str) -> None:
        self.url = ""
        self._forbidden = forbidden
        self._numbers = count()
        self._busy = count()
        self._robots = count()

    def __call__(self, path: str) -> Answer:
        if path in HONEST and path != "/":
            return Answer(HONEST[path])
        name = path.split("/")[1].split("?")[0]
        trap: Callable[[str], Answer] | None = getattr(self, f"answer_{name.replace('.', '_').replace('-', '_')}", None)
        return trap(path) if trap else self._soft_404(path)

    def _soft_404(self, path: str) -> Answer:
        """Everything else exists, says where it is, and links to more of it, without a scheme."""
        lost = "<p>" + TEXT["en"] * 2 + f"<p>We are sorry that {path} is lost."
        more = f"<a href='www.partner.example/{path.strip('/')[-60:]}'>partner</a> "
        more += "<a href='x/y'>x</a> <a href='en/'>en</a>"
        return Answer(html("en", "Sorry", more + lost))

    def answer_(self, path: str) -> Answer:
        traps = [name.removeprefix("answer_") for name in dir(self) if name.startswith("answer_")]
        links = [f"/{name}/" for name in traps if name not in ("", "robots_txt", "sitemap_xml", "bombs_xml")]
        nowhere = [f"/lost-{number}" for number in range(15)]
        return Answer(english("/fi/", "/en/", "/es/", *links, *nowhere))

    def answer_robots_txt(self, path: str) -> Answer:
        if next(self._robots) == 0:
            return Answer(status=503, headers={"Retry-After": "1"})
        sitemaps = ("sitemap.xml", "bombs.xml", "sitemap.xml?gz", "sitemap.xml?n=1")
        lines = [f"Sitemap: {base}/{name}" for base in (self.url, self._forbidden) for name in sitemaps]
        wild = "Disallow: /" + "*a" * 1000 + "b$"
        return Answer("\n".join(["User-agent: *", wild, *lines, "x" * 600_000]), kind="text/plain")

    def answer_sitemap_xml(self, path: str) -> Answer:
        """An index that names ever more indexes, and one that is a bomb when unpacked."""
        if path.endswith("gz"):
            return Answer(bomb(), kind="application/gzip")
        number = next(self._numbers)
        names = "".join(f"<sitemap><loc>/sitemap.xml?n={number}-{i}</loc></sitemap>" for i in range(3))
        return Answer(f"<sitemapindex>{names}<url><loc>{self._forbidden}/s</loc></url></sitemapindex>", kind=XML)

    def answer_bombs_xml(self, path: str) -> Answer:
        """A billion laughs, and a file of the crawler's own."""
        entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
        doctype = f'<!DOCTYPE x [<!ENTITY l0 "ha">{entities}<!ENTITY f SYSTEM "file:///etc/passwd">]>'
        return Answer(f"<?xml version='1.0'?>{doctype}<urlset><url><loc>/en/&l9;&f;</loc></url></urlset>", kind=XML)

    def answer_calendar(self, path: str) -> Answer:
        month = int(path.strip("/").rpartition("/")[2]) if path.strip("/")[-1].isdigit() else 0
        text = f"<p>Events of {MONTHS[month % 10]} {month}: there are none."
        return Answer(english(f"/calendar/{month + 1}", f"/calendar/{month + 7}", title="Calendar", text=text))

    def answer_shop(self, path: str) -> Answer:
        number = next(self._numbers)
        chooser = random.Random(number)
        things = " ".join(chooser.sample(("red chair", "blue table", "green lamp", "old clock", "new door"), 3))
        filters = chooser.sample(("colour", "size", "brand", "price", "sort", "page"), 3)
        links = ["/shop/?" + "&".join(f"{name}={chooser.randrange(9)}" for name in filters[:n]) for n in (1, 2, 3)]
        return Answer(english(*links, title="Shop", text=f"<p>{things}"))

    def answer_session(self, path: str) -> Answer:
        ids = [f"{random.Random(next(self._numbers)).getrandbits(64):016x}" for _ in range(3)]
        return Answer(english(*(f"/session/{number}/start?token={number}" for number in ids), title="Welcome"))

    def answer_loop(self, path: str) -> Answer:
        separator = "&" if "?" in path else "?"
        return Answer(english(f"{path}{separator}a=1", f"{path}{separator}b={next(self._numbers)}", title="Loop"))

    def answer_nest(self, path: str) -> Answer:
        links = (f"{path.rstrip('/')}/{code}/" for code in ("en", "es", "de", "fr", "is"))
        return Answer(english(*links, f"{path}a/b/", title="Languages"))

    def answer_many(self, path: str) -> Answer:
        links = "".join(f"<a href=/calendar/{'0' * 900}{number}>{number}</a>" for number in range(100_000, 101_000))
        return Answer(html("en", "Many", links))

    def answer_forbidden(self, path: str) -> Answer:
        """Ways into the crawler's own network."""
        if path == "/forbidden/jump":
            return Answer(status=302, headers={"Location": f"{self._forbidden}/redirect"})
        port = self._forbidden.rpartition(":")[2]
        names = ("127.0.0.2", "0x7f000002", "[::ffff:127.0.0.2]", "localhost", "127.2", "user@127.0.0.2")
        odd = ("file:///etc/passwd", "ftp://127.0.0.2/", "data:text/html,x", "gopher://127.0.0.2/", "javascript:x()")
        metadata = ("http://169.254.169.254/latest/meta-data/", "http://metadata.google.internal/")
        return Answer(english("/forbidden/jump", *(f"http://{name}:{port}/link" for name in names), *odd, *metadata))

    def answer_inject(self, path: str) -> Answer:
        """Lines into headers, files and logs."""
        if path == "/inject/jump":
            head = b"HTTP/1.1 302 Found\r\nLocation: /inject/a%0d%0aX-Evil:1\x1b[2J\r\nContent-Length: 0\r\n\r\n"
            return Answer(raw=[head])
        links = ("/inject/jump", "/inject/b\r\nX-Evil: 1\r\n", "/inject/c%0d%0aX-Evil:%201", "/../../../../etc/evil")
        return Answer(english(*links, "/inject/%00.warc.gz", "/inject/\x1b[31m", "/inject/\tx\ty", title=EVIL_TITLE))

    def answer_bomb(self, path: str) -> Answer:
        if path == "/bomb/":
            return Answer(english("/bomb/gzip", "/bomb/wrapped", "/bomb/deep", "/bomb/tag"))
        if path == "/bomb/deep":
            return Answer("<div>" * 1_000_000)
        if path == "/bomb/tag":
            return Answer("<p " + " ".join(f"a{number}=1" for number in range(200_000)) + ">x")
        if path == "/bomb/wrapped":
            return Answer(gzip.compress(bomb()), headers={"Content-Encoding": "gzip, gzip"})
        return Answer(bomb(), headers={"Content-Encoding": "gzip"})

    def answer_endless(self, path: str) -> Answer:
        """A body without end, headers without end, a page that comes a letter at a time."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
        endings = {
            "/endless/body": (head, b"\r\n", *repeat(MEGABYTE, 100)),
            "/endless/headers": (head, *repeat(b"X-A: b\r\n" * 10_000, 500)),
            "/endless/drip": _drip(head),
        }
        return Answer(raw=endings[path]) if path in endings else Answer(english(*endings))

    def answer_redirects(self, path: str) -> Answer:
        number = next(self._numbers)
        if path == "/redirects/":
            return Answer(english("/redirects/chain", *(f"/redirects/start/{start}" for start in range(6))))
        nowhere = ("http://" + "a" * 600 + "/", "http://1.2.3/", "//", "http://a b/", "http://[::1", "/" + "a" * 5000)
        target = nowhere[int(path[-1])] if "start" in path else f"/redirects/{number}"
        return Answer(status=301, headers={"Location": target})

    def answer_busy(self, path: str) -> Answer:
        """Asks for a little patience, then for very much."""
        if path != "/busy/":
            return Answer(status=429)
        if next(self._busy) == 0:
            return Answer(status=429, headers={"Retry-After": "1"})
        return Answer(english("/busy/ever"))


def _drip(head: bytes) -> Iterator[bytes]:
    yield head + b"\r\n"
    for _ in range(600):
        time.sleep(0.2)
        yield b"<p>x"


@contextmanager
def hostile() -> Iterator[tuple[Scripted, list[str]]]:
    """The server, and what reaches a socket on 127.0.0.2 that no crawl from 127.0.0.1 may touch."""
    contacts: list[str] = []
    listener = socket.create_server(("127.0.0.2", 0))

    def listen() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            contacts.append(connection.recv(200).decode("latin-1"))
            connection.close()

    threading.Thread(target=listen, daemon=True).start()
    try:
        server = Hostile(f"http://127.0.0.2:{listener.getsockname()[1]}")
        with scripted(server) as site:
            server.url = site.url
            yield site, contacts
    finally:
        listener.close()
