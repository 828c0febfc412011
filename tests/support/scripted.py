"""A web server on loopback whose answers, down to the bytes on the wire, are those of a function."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message

from support.webserver import QuietHandler, running


@dataclass(frozen=True)
class Answer:
    body: bytes | str = b""
    status: int = 200
    kind: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: Iterable[bytes] | None = None
    """Bytes that are sent as they are, instead of a response."""


@dataclass
class Scripted:
    url: str
    asked: list[tuple[float, str]] = field(default_factory=list)
    """Time (monotonic seconds) and path of each request."""
    requests: list[str] = field(default_factory=list)
    """Request line and headers of every request."""

    sent: list[tuple[str, int]] = field(default_factory=list)
    """Path and bytes of the body of each answer other than 304."""

    def times(self, path: str) -> list[float]:
        return [when for when, asked in self.asked if asked == path]

    def paths(self) -> list[str]:
        return [path for _, path in self.asked]


def scripted(answer: Callable[[str], Answer], address: str = "127.0.0.1") -> AbstractContextManager[Scripted]:
    """Serve on a free port; *answer* is called with the path in a thread of the request.

    An answer with ``ETag`` or ``Last-Modified`` becomes a 304 if the request has it already.
    """
    return negotiating(lambda path, _: answer(path), address)


@contextmanager
def several(answers: Iterable[Callable[[str], Answer]]) -> Iterator[list[Scripted]]:
    """Serve a site for each of *answers*, at addresses of their own: 127.0.0.2 and those that follow."""
    with ExitStack() as stack:
        yield [stack.enter_context(scripted(one, f"127.0.0.{number}")) for number, one in enumerate(answers, 2)]


@contextmanager
def negotiating(answer: Callable[[str, Message], Answer], address: str = "127.0.0.1") -> Iterator[Scripted]:
    """The same where *answer* is called with the headers of the request as well."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            site.asked.append((time.monotonic(), self.path))
            site.requests.append(f"{self.requestline}\n{self.headers}")
            given = answer(self.path, self.headers)
            with suppress(OSError):
                if given.raw is not None:
                    self.close_connection = True
                    for part in given.raw:
                        self.wfile.write(part)
                        self.wfile.flush()
                elif _has(self.headers, given.headers):
                    self.send_response(304)
                    for name, value in given.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                else:
                    body = given.body.encode() if isinstance(given.body, str) else given.body
                    site.sent.append((self.path, len(body)))
                    self.answer(given.status, body, {"Content-Type": given.kind, **given.headers}.items())

    with running(Handler, address) as url:
        site = Scripted(url)
        yield site


def _has(request: Message, answer: Mapping[str, str]) -> bool:
    """Whether a request with these headers names the version that the answer has; an ETag is asked first."""
    for condition, validator in (("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")):
        if condition in request and validator in answer:
            return bool(request[condition] == answer[validator])
    return False
