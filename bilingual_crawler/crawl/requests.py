"""Requests and responses: answers without the network, turns on the event loop, storage in the frontier."""

from __future__ import annotations

import asyncio
import ipaddress
import pickle
from base64 import b64decode, b64encode
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.http import Headers, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.responsetypes import responsetypes
from scrapy.utils.request import request_from_dict

from bilingual_crawler.crawl.signals import ARCHIVED_DATE, PREFIX
from bilingual_crawler.frontier.frontier import batched

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from scrapy import Request, Spider

    from bilingual_crawler.storage.warc import ArchivedResponse

    Item = TypeVar("Item")


def answer(request: Request, status: int, headers: Headers, body: bytes = b"", **more: Any) -> Response:
    """A response of the class that its headers and body ask for."""
    kind = responsetypes.from_args(headers=headers, url=request.url, body=body)
    return kind(url=request.url, status=status, headers=headers, body=body, **more)


def archived_answer(request: Request, archived: ArchivedResponse, body: bytes, flags: list[str]) -> Response:
    """What the site sent when it was archived, with *body* in place of its body; its date goes into the meta."""
    request.meta[ARCHIVED_DATE] = archived.date
    ip = ipaddress.ip_address(archived.ip) if archived.ip else None
    headers = Headers(archived.headers)
    return answer(request, archived.status, headers, body, flags=flags, ip_address=ip, protocol="HTTP/1.1")


def header(headers: Headers, name: str) -> str:
    """The last value of a header; empty without it."""
    return header_text(headers.get(name) or b"")


def header_text(value: bytes) -> str:
    """The text of a header: UTF-8, as browsers read addresses in headers, else Latin-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


PART = 100  # items of a part: the links of most pages, in some 20 ms
REST = 4.0  # pause after a part, in times of what the part took
MAX_REST = 0.2  # seconds


class Turns:
    """Bounds the share of the event loop that all large pages and sitemaps of a crawl take together."""

    def __init__(self) -> None:
        self._resting = asyncio.Lock()

    async def parts(self, items: Sequence[Item]) -> AsyncIterator[list[Item]]:
        """*items* in lists of up to 100; the first one comes at once, and at least one comes, be it empty.

        Between two lists the caller rests four times as long as it has worked. Only one caller rests at a time.
        """
        worked = 0.0
        for part in batched(items, PART) if items else [[]]:
            if worked:
                async with self._resting:
                    await asyncio.sleep(min(MAX_REST, REST * worked))
            begun = perf_counter()
            yield part
            worked = perf_counter() - begun


_START = "is_start_request"  # Scrapy's own mark of a start request


def asks_for_page(request: Request) -> bool:
    """Whether *request* is for a page: GET, filtered (Scrapy marks start requests unfiltered), with a callback."""
    filtered = not request.dont_filter or request.meta.get(_START, False)
    return request.method == "GET" and not request.body and filtered and request.callback is not NO_CALLBACK


def of_its_own(request: Request) -> Request:
    """*request* without ``bilingual_*`` keys copied from another request."""
    kept = {key: value for key, value in request.meta.items() if not key.startswith(PREFIX) and key != _START}
    return request if len(kept) == len(request.meta) else request.replace(meta=kept)


def packed(request: Request, spider: Spider) -> str | None:
    """*request* as text; None if callbacks are no methods of *spider*, or values cannot be pickled."""
    try:
        return b64encode(pickle.dumps(request.to_dict(spider=spider))).decode()
    except (pickle.PicklingError, AttributeError, TypeError, ValueError):
        return None


def unpacked(text: str, spider: Spider) -> Request:
    """What :func:`packed` made *text* of; raises ValueError if the spider's code has changed too much since then."""
    try:
        return request_from_dict(pickle.loads(b64decode(text)), spider=spider)
    except (AttributeError, ImportError, ValueError) as error:
        raise ValueError(f"a stored request needs what the spider has no more, give it back: {error}") from error
