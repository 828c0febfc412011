"""Sites of kinds that the frozen ones lack, written as archives: the same at every run, but for ids of records."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.pdf_files import Reports, laid_out, report, writer

from bilingual_crawler.storage.writer import Exchange, WarcWriter

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGES = 16
FETCHED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LANGUAGES = {"en": ("eng", "English"), "es": ("spa", "Español")}
"""Tag -> ISO 639-3 and own name."""


def write_variants(folder: Path) -> str:
    """A site that chooses between two languages by ``Accept-Language``, Spanish first; returns its seed."""
    base = "https://variants.example/"
    paths = ["", *(f"page-{number}" for number in range(1, PAGES))]
    negotiated = [
        _exchange(base + path, _page(tag, number, _links(base + p for p in paths[number + 1 : number + 6])), asked)
        for number, path in enumerate(paths)
        for tag, asked in (("es", None), ("en", "eng"))
    ]
    return _write(folder, base, negotiated)


def write_pdfs(folder: Path) -> str:
    """Reports in two languages as PDFs: half of the addresses have no language mark, three lack a translation."""
    base = "https://reports.example/"
    listings = {"en": f"{base}publications.html", "es": f"{base}publicaciones.html"}
    exchanges = []
    for tag, listing in listings.items():
        numbers = [number for number in range(PAGES) if tag == "en" or number % 5]
        named = {n: f"{base}{f'files/{ord(tag[1]) * n:x}' if n % 2 else f'{tag}/report-{n}'}.pdf" for n in numbers}
        more = _announced(listings) + "".join(
            f"<li><a href={url}>{report(tag, number)[0]}</a>" for number, url in named.items()
        )
        exchanges.append(_exchange(listing, _page(tag, PAGES, more)))
        exchanges += [_exchange(url, _pdf(tag, number), kind="application/pdf") for number, url in named.items()]
    return _write(folder, listings["en"], exchanges)


def write_web(folder: Path) -> str:
    """Seven sites: a list of links, a redirect, a dead link, one in one language, three in two; returns the list."""
    hub, *others = (f"https://site{number}.example/" for number in range(7))
    redirect, dead, alone, *bilingual = others
    exchanges = [
        _exchange(hub, _page("en", 0, _links(f"{other}some/page" for other in others))),
        _exchange(redirect, b"", status=301, location=bilingual[0]),
        _exchange(alone, _page("en", 1, _links([f"{alone}2"]))),
        _exchange(f"{alone}2", _page("en", 2)),
    ]
    for place, base in enumerate(bilingual, 1):
        for number in range(6):
            at = {tag: f"{base}{f'{tag}/{number}' if number else '' if tag == 'en' else 'es/'}" for tag in LANGUAGES}
            for tag, url in at.items():
                onward = _links(f"{base}{tag}/{n}" for n in range(1, 6))
                exchanges.append(_exchange(url, _page(tag, 10 * place + number, _announced(at) + onward)))
    # the link leads to the root of the host, which is not in the archive
    assert not any(one.url.startswith(dead) for one in exchanges)
    return _write(folder, hub, exchanges)


def _write(folder: Path, seed: str, exchanges: Iterable[Exchange]) -> str:
    archive = WarcWriter(folder)
    for exchange in exchanges:
        archive.write_exchange(exchange)
    archive.close()
    return seed


def _exchange(
    url: str,
    body: bytes,
    language: str | None = None,
    *,
    status: int = 200,
    kind: str = "text/html; charset=utf-8",
    location: str = "",
) -> Exchange:
    headers = [(b"Content-Type", kind.encode())]
    if language:
        headers.append((b"Vary", b"Accept-Language"))
    if location:
        headers.append((b"Location", location.encode()))
    return Exchange(url, "GET", [], status, headers, body, FETCHED, language=language)


def _page(tag: str, number: int, more: str = "") -> bytes:
    """The page of a report; pages of one *number* are translations. *more* HTML is in front of the text."""
    title, paragraphs = report(tag, number)
    text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return (
        f"<!doctype html><html lang={tag}><head><meta charset=utf-8><title>{title}</title></head>"
        f"<body>{more}<h1>{title}</h1>{text}</body></html>"
    ).encode()


def _pdf(tag: str, number: int) -> bytes:
    pdf = writer(Reports)
    pdf.set_creation_date(FETCHED)
    laid_out(pdf, *report(tag, number))
    return bytes(pdf.output())


def _links(urls: Iterable[str]) -> str:
    return "".join(f"<li><a href={url}>{url.removeprefix('https://')}</a>" for url in urls)


def _announced(at: dict[str, str]) -> str:
    """Language switcher and ``hreflang`` of a page that is *at* these URLs by tag."""
    switch = "".join(f"<a href={url} hreflang={tag}>{LANGUAGES[tag][1]}</a> " for tag, url in at.items())
    alternates = "".join(f"<link rel=alternate hreflang={tag} href={url}>" for tag, url in at.items())
    return f"{alternates}<nav class=language-switcher>{switch}</nav>"
