"""Archives of crawls, written and replayed."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.utils.test import get_crawler

from bilingual_crawler.crawl.handlers import ReplayDownloadHandler
from bilingual_crawler.storage.writer import Exchange, WarcWriter


def exchange(number: int, body: bytes = b"<html>page</html>", **changes: object) -> Exchange:
    values: dict[str, Any] = {
        "url": f"https://example.com/{number}",
        "method": "GET",
        "request_headers": [(b"User-Agent", b"tester")],
        "status": 200,
        "headers": [(b"Content-Type", b"text/html"), (b"Transfer-Encoding", b"chunked")],
        "body": body,
        "fetched": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    }
    return Exchange(**(values | changes))


def write_warc(directory: Path, *changes: dict[str, Any]) -> Path:
    """Write one exchange per mapping of changed values; returns the ``.warc.gz``."""
    writer = WarcWriter(directory)
    for number, values in enumerate(changes):
        writer.write_exchange(exchange(number, **values))
    writer.close()
    return max(directory.glob("*.warc.gz"))


def warc_record(target: str, block: bytes, kind: str = "response", more: bytes = b"", length: object = None) -> bytes:
    """A record of a WARC file, with *more* lines in its header; *length* in place of that of its block."""
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {target}\r\n".encode() + more
    size = len(block) if length is None else length
    return head + f"Content-Length: {size}\r\n\r\n".encode() + block + b"\r\n\r\n"


def page(body: str, **values: Any) -> dict[str, Any]:
    return {"body": f"<html>{body}</html>".encode(), **values}


def replay_crawler(path: Path, **settings: Any) -> Any:
    crawler = get_crawler(settings_dict={"BILINGUAL_REPLAY": [str(path)], **settings})
    crawler.spider = Spider("probe")
    return crawler


def ask(handler: ReplayDownloadHandler, request: Request) -> Any:
    coroutine = handler.download_request(request)
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    pytest.fail("the handler waited")
