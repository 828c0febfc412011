"""Title, text and language of a PDF, read by PDFium. It needs the extra ``pdf``."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from dataclasses import dataclass
from itertools import chain
from statistics import median
from typing import TYPE_CHECKING

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from bilingual_crawler.characters import one_line
from bilingual_crawler.languages import from_bcp47
from bilingual_crawler.pages.model import MAX_LINES, MAX_TEXT, MAX_TITLE
from bilingual_crawler.pages.paragraphs import HYPHENS, Line, paragraphs
from bilingual_crawler.sandbox import ContentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bilingual_crawler.pages.paragraphs import Paragraph

MAX_PAGES = 300
"""Pages that are read of a PDF."""
MAX_CHARACTERS = 100_000
"""Characters that are read of a page."""
MIN_LETTERS = 20
"""Letters a page under which a PDF counts as one without text: scans may have stamps and page numbers."""
LARGE = 1.2
"""Size of a title, as a multiple of the usual size on its page."""

_WORD = re.compile(r"\w+")
# PDFium writes this for a hyphen at the end of a line, and no line break.
_BROKEN = "\x02"
# Ligatures, and Arabic letters in the form that they have at their place in a word.
_FORMS = re.compile("[\ufb00-\ufdff\ufe70-\ufefc]+")


@dataclass(frozen=True, slots=True)
class PdfText:
    title: str
    text: str
    """One line per paragraph."""
    language: str | None
    """The language that the document declares, ISO 639-3."""
    is_cut: bool
    """Whether it has more pages than were read."""


def read_pdf(body: bytes) -> PdfText:
    """The text of the first 300 pages of a PDF.

    Raises ContentError: ``damaged``, ``encrypted`` (it needs a password), ``no-text`` (fewer than 20 letters a page).
    """
    try:
        document = pdfium.PdfDocument(body)
    except pdfium.PdfiumError as error:
        locked = error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY)
        raise ContentError("encrypted" if locked else "damaged", str(error)) from error
    with document:
        count = len(document)
        pages = [lines for number in range(min(count, MAX_PAGES)) if (lines := _lines(document, number)) is not None]
        if not pages:
            raise ContentError("damaged", "no page of it can be read")
        read = paragraphs(pages)
        text = "\n".join([paragraph.text for paragraph in chain(*read)][:MAX_LINES])[:MAX_TEXT]
        if sum(map(str.isalpha, text)) < MIN_LETTERS * len(pages):
            raise ContentError("no-text", "it has no text, or hardly any; it may be a scan")
        title = _title(document, next(filter(None, read)))[:MAX_TITLE].rstrip()
        return PdfText(title, text, _language(document), count > MAX_PAGES)


def _lines(document: pdfium.PdfDocument, number: int) -> list[Line] | None:
    """The lines of a page in the order of the file; None if the page is damaged."""
    try:
        page = document[number]
        text_page = page.get_textpage()
    except pdfium.PdfiumError:
        return None
    lines = []
    for first, last, text in _runs(text_page):
        shown = one_line(_FORMS.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text))
        if shown:
            lines.append(_line(text_page, first, last, shown))
    text_page.close()
    page.close()
    return lines


def _runs(text_page: pdfium.PdfTextPage) -> Iterator[tuple[int, int, str]]:
    """Each line of a page as the places of its first and last visible character, and its text."""
    run: list[str] = []
    first = last = -1
    for place in range(min(text_page.count_chars(), MAX_CHARACTERS)):
        code = raw.FPDFText_GetUnicode(text_page, place)
        character = chr(code) if code < 0x110000 else ""
        if character not in ("\r", "\n"):
            run.append(HYPHENS[0] if character == _BROKEN else character)
            if character > " ":
                first, last = place if first < 0 else first, place
        if character in ("\n", _BROKEN) and first >= 0:
            yield first, last, "".join(run)
            run, first = [], -1
    if first >= 0:
        yield first, last, "".join(run)


def _line(text_page: pdfium.PdfTextPage, first: int, last: int, text: str) -> Line:
    boxes = [text_page.get_charbox(place, loose=True) for place in (first, last)]
    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(text_page, first, x, y)
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    size = max(top - bottom for top, bottom in zip(tops, bottoms, strict=True))
    return Line(text, min(lefts), max(rights), y.value, max(size, 1.0))


def _title(document: pdfium.PdfDocument, page: list[Paragraph]) -> str:
    """The title that the metadata name, if the first *page* with text shows it; else its first large paragraph.

    Metadata often name a file, a template, or the document in the language it was written in.
    """
    named = one_line(document.get_metadata_value("Title"))
    words = _WORD.findall(named.lower())
    shown = _WORD.findall(" ".join(paragraph.text for paragraph in page).lower())
    if words and f" {' '.join(words)} " in f" {' '.join(shown)} ":
        return named
    size = max((paragraph.size for paragraph in page), default=0.0)
    if size < LARGE * median(paragraph.size for paragraph in page):
        return named
    return next(paragraph.text for paragraph in page if paragraph.size > size / LARGE)


def _language(document: pdfium.PdfDocument) -> str | None:
    size = raw.FPDFCatalog_GetLanguage(document, None, 0)
    buffer = (ctypes.c_ushort * (size // 2))()
    raw.FPDFCatalog_GetLanguage(document, buffer, size)
    return from_bcp47(bytes(buffer).decode("utf-16-le", "replace").rstrip("\0"))
