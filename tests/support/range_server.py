"""An archive behind a web server on loopback that cuts files into ranges, and that can be made to misbehave."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from support.webserver import QuietHandler, running


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

    class Handler(QuietHandler):
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
            fault = site.fault(name, start, site.asked[name, start])
            if fault or not path.is_file():
                self.answer(fault or 404)
                return
            body = path.read_bytes()[start : last + 1]
            if fault == 0:
                body = body[: len(body) // 2]
            place = f"bytes {start}-{start + len(body) - 1}/{path.stat().st_size}"
            self.answer(206, body, [("Content-Range", place)])

    with running(Handler) as site.url:
        yield site
