"""Answers to requests that do not come from the network."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from scrapy.http import Headers
from scrapy.responsetypes import responsetypes

from bilingual_crawler.crawl.meta import ARCHIVED_DATE

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from bilingual_crawler.archive import ArchivedResponse


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
