"""Pages from the archives of Common Crawl in place of their sites: one record of a WARC file at a time."""

import os
import time
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from bilingual_crawler.discovery.sources.base import SourceError, WarcRange
from bilingual_crawler.storage.files import LeftOut
from bilingual_crawler.storage.warc import MAX_RECORD, ArchivedResponse, NoRecord, check_place, parse_response, unpack

TIMEOUT = 30.0  # seconds that a server may take for its next bytes, and for all but the last of them
_CHUNK = 1 << 16
_PARTIAL = 206


class ArchivedPages:
    """The responses behind rows of the index. Their file names lie below *base*, a folder or ``http(s)://`` address;
    SourceError if it is neither.
    """

    def __init__(self, base: str, *, user_agent: str = "bilingual-crawler", max_bytes: int = MAX_RECORD) -> None:
        self._base, self._max_bytes = base.rstrip("/"), max_bytes
        # UTF-8 on the wire, as Scrapy sends it
        self._user_agent = user_agent.encode().decode("latin-1")
        self._remote = base.startswith(("http://", "https://"))
        if not self._remote and not Path(base).is_dir():
            raise SourceError(f"{base}: no such folder; give that of Common Crawl's files, or an https:// address")
        self.left_out = LeftOut()

    def read(self, place: WarcRange) -> ArchivedResponse | None:
        """The response, its body with its content coding; None, counted, without one. Blocks while it reads."""
        try:
            check_place(place.filename, place.offset, place.length, self._max_bytes)
            record = unpack(self._get(place) if self._remote else self._cut(place), self._max_bytes)
            response = parse_response(record)
            if response is None:
                raise NoRecord("no response")
        except NoRecord as reason:
            self.left_out.add(str(reason), f"{place.filename} at {place.offset}")
            return None
        return response

    def _cut(self, place: WarcRange) -> bytes:
        try:
            with (Path(self._base) / place.filename).open("rb") as file:
                return os.pread(file.fileno(), place.length, place.offset)
        except OSError as error:
            raise NoRecord("no such file") from error

    def _get(self, place: WarcRange) -> bytes:
        wanted = f"bytes={place.offset}-{place.offset + place.length - 1}"
        headers = {"Range": wanted, "User-Agent": self._user_agent}
        try:
            with urlopen(Request(f"{self._base}/{quote(place.filename)}", headers=headers), timeout=TIMEOUT) as answer:
                if answer.status != _PARTIAL:
                    raise NoRecord("server does not cut files")
                until = time.monotonic() + TIMEOUT
                body = bytearray()
                while some := answer.read1(min(_CHUNK, place.length - len(body))):
                    if time.monotonic() > until:
                        raise NoRecord("too slow")
                    body += some
                return bytes(body)
        except HTTPError as error:
            raise NoRecord(f"HTTP {error.code}") from error
        except (OSError, HTTPException) as error:
            raise NoRecord("no answer") from error
