"""An archive behind a web server on loopback that cuts files into ranges, and that can be made to misbehave."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING

from support.webserver import QuietServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class RangeSite:
    """What the server was asked for, and how it answers."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: Counter[tuple[str, int]] = Counter()
        """File and offset."""
        self.times: list[float] = []
        self.agents: set[str] = set()
        self.fault: Callable[[str, int, int], int | None] = lambda file, offset, time: None
        """By file, offset and number of the request for it: a status, or 0 for half of the range."""
        self.held: Callable[[str, int], bool] = lambda file, offset: False
        """Whether an answer is kept back, as long as this says so."""


@contextmanager
def serve_ranges(folder: Path) -> Iterator[RangeSite]:
    """Serve the files below *folder*."""
    site = RangeSite()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.times.append(time.monotonic())
            site.agents.add(self.headers["User-Agent"])
            found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"])
            assert found
            start, last = map(int, found.groups())
            name = self.path.rpartition("/")[2]
            site.asked[name, start] += 1
            while site.held(name, start):
                time.sleep(0.01)
            path = folder / self.path.lstrip("/")
            status = 206 if path.is_file() else 404
            fault = site.fault(name, start, site.asked[name, start])
            body = path.read_bytes()[start : last + 1] if status == 206 else b""
            if fault == 0:
                body = body[: len(body) // 2]
            elif fault:
                status, body = fault, b""
            self.send_response(status)
            if status == 206:
                self.send_header("Content-Range", f"bytes {start}-{start + len(body) - 1}/{path.stat().st_size}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = QuietServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
