"""The requests of a spider of another project: which are for the frontier, and how it stores them."""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

from scrapy.http.request import NO_CALLBACK
from scrapy.utils.request import request_from_dict

from bilingual_crawler.crawl.meta import PREFIX

if TYPE_CHECKING:
    from scrapy import Request, Spider

_START = "is_start_request"
"""Scrapy's own mark of a start request, all of which Scrapy sends unfiltered."""


def asks_for_page(request: Request) -> bool:
    """Whether *request* is a plain one for a page: GET, filtered, and with an answer that a callback takes.

    Start requests count as filtered, although Scrapy makes them with ``dont_filter``.
    """
    filtered = not request.dont_filter or request.meta.get(_START, False)
    return request.method == "GET" and not request.body and filtered and request.callback is not NO_CALLBACK


def of_its_own(request: Request) -> Request:
    """*request* without what components said of the one from whose meta it was copied."""
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
