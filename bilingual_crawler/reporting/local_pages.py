"""Web pages for the user of this machine: few short connections, and loopback only by its own names."""

from __future__ import annotations

import ipaddress
import resource
from collections.abc import Callable
from typing import Any

from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel
from twisted.web.resource import ErrorPage, Resource
from twisted.web.server import Request, Site

from bilingual_crawler.urls.hosts import is_loopback

HTML = "text/html; charset=utf-8"
MAX_CONNECTIONS = 32  # open connections; a further one takes the place of the oldest
CONNECTION_SECONDS = 15.0  # seconds for a connection to send its one request and take the answer
RESERVED_FILES = 100  # file descriptors that connections leave to the crawl: its frontier, outputs and downloads


class LimitedSite(Site):
    """Serves *root*; no client can take the file descriptors of the process, or send more than *max_body* bytes."""

    def __init__(self, root: Resource, max_body: int = 0) -> None:
        super().__init__(root, timeout=None)  # type: ignore[no-untyped-call]
        self.protocol = _Channel  # type: ignore[method-assign, assignment]
        self.max_body = max_body
        self._open: dict[_Channel, None] = {}

    def opened(self, channel: _Channel) -> None:
        self._open[channel] = None
        if len(self._open) > MAX_CONNECTIONS:
            self._abort(next(iter(self._open)))
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        # the system gives the lowest number that is free
        if limit != resource.RLIM_INFINITY and channel.transport.fileno() >= max(limit - RESERVED_FILES, limit // 2):
            self._abort(channel)

    def closed(self, channel: _Channel) -> None:
        self._open.pop(channel, None)

    def _abort(self, channel: _Channel) -> None:
        self.closed(channel)
        channel.transport.abortConnection()


class _Channel(HTTPChannel):
    """A connection for one request. Twisted limits its line and headers to 16 kB."""

    site: LimitedSite
    transport: Any

    def connectionMade(self) -> None:
        super().connectionMade()  # type: ignore[no-untyped-call]
        self._deadline = self.callLater(CONNECTION_SECONDS, self.transport.abortConnection)  # type: ignore[no-untyped-call]
        self.site.opened(self)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        if self._deadline.active():
            self._deadline.cancel()
        self.site.closed(self)
        super().connectionLost(reason)  # type: ignore[no-untyped-call]

    def checkPersistence(self, request: Request, version: bytes) -> bool:
        request.setHeader(b"connection", b"close")
        return False

    def allHeadersReceived(self) -> None:
        # a body in chunks has no length
        if self.length is not None and self.length <= self.site.max_body:
            super().allHeadersReceived()  # type: ignore[no-untyped-call]
        else:
            self.transport.write(b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\n\r\n")
            self.loseConnection()  # type: ignore[no-untyped-call]


class LocalPages(Resource):
    """On loopback, answers only requests for a loopback host, which prevents DNS rebinding by a website.

    Nothing is served before *has_begun*.
    """

    def __init__(self, host: str, has_begun: Callable[[], bool] = lambda: True) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._local = ipaddress.ip_address(host).is_loopback
        self._has_begun = has_begun

    def getChildWithDefault(self, path: bytes, request: Request) -> Any:
        if self._local and not is_loopback(f"http://{request.getRequestHostname().decode('latin-1')}/"):
            return ErrorPage(403, "Forbidden", "Ask for localhost.")
        if not self._has_begun():
            request.setHeader(b"refresh", b"1")
            return ErrorPage(503, "Starting", "The crawl is starting.")
        return super().getChildWithDefault(path, request)  # type: ignore[no-untyped-call]


class Page(Resource):
    """A page by what answers GET."""

    isLeaf = True

    def __init__(self, get: Callable[[Request], Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.render_GET = get


def answer(request: Request, text: str, kind: str) -> bytes:
    """The body of an answer of the media type *kind*, with its headers set."""
    request.setHeader(b"content-type", kind.encode())
    request.setHeader(b"x-content-type-options", b"nosniff")
    request.setHeader(b"cache-control", b"no-store")
    return text.encode("utf-8", "replace")
