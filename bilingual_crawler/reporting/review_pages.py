"""A review in the browser: one pair at a time, and buttons that write the sheet."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

from twisted.web.resource import Resource
from twisted.web.server import Request

from bilingual_crawler.reporting.local_pages import HTML, LimitedSite, LocalPages, Page, answer
from bilingual_crawler.reporting.markup import render
from bilingual_crawler.reporting.review import JUDGEMENTS, ReviewRow, Sheet, SheetError, count_judged, read_texts

HOST = "127.0.0.1"
MAX_FORM = 4096  # bytes of a judgement that is sent
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)


def serve(folders: Sequence[Path], on_ready: Callable[[str], None]) -> None:
    """Serve the sheets of *folders* on loopback until Ctrl-C or SIGTERM; *on_ready* takes the address.

    The address holds a secret, without which nobody, other users of the machine included, reads or judges.
    """
    # the reactor must not be imported before Scrapy has chosen it
    from twisted.internet import reactor

    secret = secrets.token_urlsafe()
    root, pages = LocalPages(HOST), Resource()
    # the only script that the pages may run: it presses buttons by keys
    keys = Page(lambda request: answer(request, render("keys.js"), "text/javascript; charset=utf-8"))
    children: dict[bytes, Any] = {b"": _Judging(folders), b"keys.js": keys}
    for path, child in children.items():
        pages.putChild(path, child)
    root.putChild(secret.encode(), cast("Any", pages))
    port = cast("Any", reactor).listenTCP(0, LimitedSite(root, MAX_FORM), interface=HOST)
    on_ready(f"http://{HOST}:{port.getHost().port}/{secret}/")
    cast("Any", reactor).run()


class _Judging(Resource):
    """GET shows the pair ``pair``, or the first without a judgement; POST writes ``judgement`` of ``pair``.

    Each request reads the sheets, so a change by hand counts at once.
    """

    isLeaf = True

    def __init__(self, folders: Sequence[Path]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._folders = folders

    def render(self, request: Request) -> Any:
        request.setHeader(b"content-security-policy", POLICY.encode())
        try:
            return super().render(request)  # type: ignore[no-untyped-call]
        except SheetError as error:
            return _refuse(request, HTTPStatus.CONFLICT, str(error))
        except OSError as error:
            # after an error in writing, the sheet is as it was
            return _refuse(
                request, HTTPStatus.INTERNAL_SERVER_ERROR, f"{error.filename or 'The judgement'}: {error.strerror}"
            )

    def render_GET(self, request: Request) -> bytes:
        pairs = self._read()
        first = next((place for place, pair in enumerate(pairs) if not pair.row.judgement), None)
        return self._show(request, pairs, _place(request, pairs) if _field(request, "pair") else first)

    def render_POST(self, request: Request) -> bytes:
        # other pages cannot know the secret; this holds if one learns it
        origin = request.getHeader(b"origin")
        if origin is not None and origin != b"http://" + (request.getHeader(b"host") or b""):
            return _refuse(request, HTTPStatus.FORBIDDEN, "The judgement comes from another page.")
        judgement = _field(request, "judgement")
        if judgement not in JUDGEMENTS:
            return _refuse(request, HTTPStatus.BAD_REQUEST, f"A judgement is one of {', '.join(JUDGEMENTS)}.")
        pairs = self._read()
        place = _place(request, pairs)
        pair = pairs[place]
        if pair.row.judgement not in (_field(request, "was"), judgement):
            request.setResponseCode(HTTPStatus.CONFLICT)
            return self._show(request, pairs, place, changed=True)
        if pair.row.judgement != judgement:
            pair.sheet.judge(pair.row, judgement)
        request.setResponseCode(HTTPStatus.SEE_OTHER)
        request.setHeader(b"location", b"./")
        return b""

    def _read(self) -> list[_Pair]:
        sheets = [(folder, Sheet(folder)) for folder in self._folders]
        return [_Pair(folder, sheet, row) for folder, sheet in sheets for row in sheet.rows]

    def _show(self, request: Request, pairs: list[_Pair], place: int | None, *, changed: bool = False) -> bytes:
        """The page of the pair at *place*, or, if that is None, of the precision: all pairs have a judgement."""
        judged = sum(bool(pair.row.judgement) for pair in pairs)
        several = len(self._folders) > 1
        common = {"judged": judged, "total": len(pairs)}
        if place is None:
            results = [
                f"{folder.name} {one}" if several else str(one)
                for folder in self._folders
                for one in count_judged(pair.row for pair in pairs if pair.folder == folder)
            ]
            page = render("judged.html", last=pairs[-1].key if pairs else "", results=results, **common)
        else:
            pair = pairs[place]
            page = render(
                "judge.html",
                pair=pair,
                place=place + 1,
                before=pairs[place - 1].key if place else "",
                after=pairs[place + 1].key if place + 1 < len(pairs) else "",
                languages=pair.folder.name if several else "",
                changed=changed,
                judgements=JUDGEMENTS,
                **common,
            )
        return answer(request, page, HTML)


@dataclass(frozen=True, slots=True)
class _Pair:
    folder: Path
    sheet: Sheet
    row: ReviewRow

    @property
    def key(self) -> str:
        return f"{self.folder.name}/{self.row.key}"

    @property
    def texts(self) -> tuple[list[str], list[str]]:
        if self.row.kind == "document":
            return read_texts(self.folder, self.row)
        return [self.row.cells.get("text_a", "")], [self.row.cells.get("text_b", "")]


def _place(request: Request, pairs: list[_Pair]) -> int:
    """The place of the pair that *request* names; SheetError if there is none."""
    wanted = _field(request, "pair")
    for place, pair in enumerate(pairs):
        if pair.key == wanted:
            return place
    raise SheetError("The sheet has changed, and the pair is no longer in it.")


def _field(request: Request, name: str) -> str:
    value: bytes = (request.args or {}).get(name.encode(), [b""])[0]
    return value.decode("utf-8", "replace")


def _refuse(request: Request, code: HTTPStatus, message: str) -> bytes:
    request.setResponseCode(code)
    return answer(request, f"{message}\n", "text/plain; charset=utf-8")
