"""Byte ranges of archive files, from a folder, S3 or a web server."""

from __future__ import annotations

import threading
import time
from functools import cache
from typing import Protocol
from urllib.parse import quote

import urllib3
from pyarrow import fs
from urllib3.exceptions import HTTPError

from bilingual_crawler.mining.stored import MiningError
from bilingual_crawler.storage.warc import NoRecord

TRIES = 5
TIMEOUT = 30.0
"""Seconds that a server may take for its next bytes, and for all but the last of them."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds without requests after an answer that asks for fewer; each further one in a row doubles them."""
_BUSY = frozenset((403, 408, 429, 500, 502, 503, 504))
"""Common Crawl answers 403 and 503 to those who ask too much."""
_CHUNK = 1 << 16


class Unavailable(Exception):
    """The archive does not answer now; later it may."""


class Ranges(Protocol):
    """Bytes of files."""

    def get(self, file: str, offset: int, length: int) -> bytes:
        """*length* bytes from *offset*, fewer if there are no more to be had; raises NoRecord or Unavailable."""


class StoredRanges:
    """Files below *base*, a folder or ``s3://bucket/folder``; MiningError if it is neither."""

    def __init__(self, base: str) -> None:
        try:
            system, path = fs.FileSystem.from_uri(base) if "://" in base else (fs.LocalFileSystem(), base)
            if system.get_file_info(path).type != fs.FileType.Directory:
                raise FileNotFoundError("no such folder")
        except (OSError, ValueError) as error:
            raise MiningError(
                f"--base-url {base}: {error}; give the folder below which the files of the table lie, or an s3:// or"
                " https:// address"
            ) from error
        self._files = fs.SubTreeFileSystem(path, system)

    def get(self, file: str, offset: int, length: int) -> bytes:
        try:
            with self._files.open_input_file(file) as opened:
                return bytes(opened.read_at(min(length, max(opened.size() - offset, 0)), offset))
        except FileNotFoundError as error:
            raise NoRecord("no such file") from error
        except OSError as error:
            raise Unavailable(f"{file}: {error}") from error


class HttpRanges:
    """Files below the address *base*, asked by all threads together.

    A request begins at least 1 / *rate* seconds after the one before, however long either takes. A server that asks for
    fewer requests (403, 429, 503, ``Retry-After``) gets none for a while.
    """

    def __init__(self, base: str, rate: float, user_agent: str) -> None:
        self._base, self._interval = base.rstrip("/"), 1 / rate
        self._pool = urllib3.PoolManager(
            maxsize=8,
            retries=False,
            timeout=TIMEOUT,
            # UTF-8 on the wire, as Scrapy sends it
            headers={"User-Agent": user_agent.encode().decode("latin-1"), "Accept-Encoding": "identity"},
        )
        self._next = time.monotonic()
        self._refused = 0
        self._lock = threading.Lock()

    def get(self, file: str, offset: int, length: int) -> bytes:
        problem, most = "", b""
        for _ in range(TRIES):
            self._wait()
            try:
                answer = self._pool.request(
                    "GET",
                    f"{self._base}/{quote(file)}",
                    headers={**self._pool.headers, "Range": f"bytes={offset}-{offset + length - 1}"},
                    preload_content=False,
                    redirect=False,
                )
                with answer:
                    if answer.status == 206:
                        body = self._read(answer, length)
                        expected = _left(answer.headers.get("Content-Range", ""), offset, length)
                        if len(body) >= expected:
                            return body
                        most = max(most, body, key=len)
                        continue
                    problem = f"HTTP {answer.status}"
                    if answer.status == 200:
                        raise NoRecord("server does not cut files")
                    if answer.status not in _BUSY:
                        raise NoRecord(problem)
                    self._rest(answer.headers.get("Retry-After", ""))
            except (HTTPError, OSError) as error:
                problem = f"no answer ({type(error).__name__})"
                self._rest("")
        if most:
            return most
        raise Unavailable(f"{file} at {offset}: {problem}")

    def _wait(self) -> None:
        while (left := self._take_turn()) > 0:
            time.sleep(left)

    def _take_turn(self) -> float:
        """Seconds until somebody may ask; not more than 0 if it is the caller, now."""
        with self._lock:
            now = time.monotonic()
            left = self._next - now
            if left <= 0:
                self._next = now + self._interval
            return left

    def _rest(self, retry_after: str) -> None:
        """Let nobody ask for a while."""
        with self._lock:
            pause = min(FIRST_PAUSE * 2**self._refused, LONGEST_PAUSE)
            if retry_after.isdecimal():
                pause = min(max(pause, float(retry_after)), 10 * LONGEST_PAUSE)
            self._refused += 1
            self._next = max(self._next, time.monotonic() + pause)

    def _read(self, answer: urllib3.BaseHTTPResponse, length: int) -> bytes:
        until = time.monotonic() + TIMEOUT
        body = bytearray()
        for chunk in answer.stream(_CHUNK):
            body += chunk
            if len(body) >= length or time.monotonic() > until:
                break
        with self._lock:
            self._refused = 0
        return bytes(body[:length])


def _left(content_range: str, offset: int, length: int) -> int:
    """Bytes that the file has in the range, by the header ``Content-Range``."""
    size = content_range.rpartition("/")[2]
    return min(length, max(int(size) - offset, 0)) if size.isdecimal() else length


@cache
def open_ranges(base: str, rate: float, user_agent: str) -> Ranges:
    """The files below *base*, the same for all who ask in this process, so that they keep the rate together."""
    return HttpRanges(base, rate, user_agent) if base.startswith(("http://", "https://")) else StoredRanges(base)
