"""Read a PDF: its title, its language, and the lines of its layout as paragraphs."""

import ctypes
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, pairwise
from statistics import median
from typing import Any, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from bilingual_crawler.languages.codes import from_bcp47
from bilingual_crawler.pages.characters import composed, one_line
from bilingual_crawler.pages.model import MAX_LINES, MAX_TEXT, MAX_TITLE, PageRecord
from bilingual_crawler.pages.sandbox.jobs import ContentError
from bilingual_crawler.pages.words import SENTENCE_ENDS, is_unspaced, width_of
from bilingual_crawler.pages.wrapping import SUSPENDED

HYPHENS = ("-", "\u00ad", "\u2010")  # characters at the end of a line after which a word may go on
_EDGE = 2  # lines at the top and at the bottom of a page that may be running heads
_REPEATED = 3  # pages on which a running head comes at least
_USUAL_LEADING = 1.3  # distance of lines in heights of a line, on pages that do not tell
_MORE_LEADING = 1.25  # factor of the usual distance from which a gap parts paragraphs
_INDENT = 0.8  # indentation of a paragraph's first line, in heights of a line
_OTHER_SIZE = 0.15  # difference of sizes, as a share, from which a line is no part of the paragraph before it

_DIGITS = re.compile(r"\d+")
_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ITEM = re.compile(r"[•◦‣▪●○■□➢✓\uf0b7]|\(?\d{1,3}[.)]\s|\(?\w\)\s")
_SENTENCE_END = (*SENTENCE_ENDS, *'»”")')


class Line(NamedTuple):
    """A line of a page; lengths are in points, from the left and from the bottom of the page."""

    text: str  # not empty; it ends with one of `HYPHENS` if its last word may go on
    left: float
    right: float
    base: float  # height of its base line
    size: float  # height of its letters, ascenders and descenders included


@dataclass(slots=True)
class Paragraph:
    """A paragraph of a page; *size* is the height of its letters in points."""

    text: str
    size: float


def paragraphs(pages: Iterable[Sequence[Line]]) -> list[list[Paragraph]]:
    """The paragraphs on each page, without running heads; one that goes on on the next page is on the first."""
    pages = _without_running_heads(list(pages))
    # the last word of a line may be the half of one
    inner = (line.text.rpartition(" ")[0] for page in pages for line in page)
    known = Counter(word.lower() for text in inner for word in _HYPHENATED.findall(text))
    read: list[list[Paragraph]] = []
    last: Paragraph | None = None
    for page in pages:
        join = partial(_joined, known=known)
        found = [Paragraph(reduce(join, (line.text for line in lines)), lines[0].size) for lines in _parted(page)]
        if last is not None and found and _goes_on(last, found[0]):
            last.text = _joined(last.text, found.pop(0).text, known)
        last = found[-1] if found else last
        read.append(found)
    return read


def _without_running_heads(pages: list[Sequence[Line]]) -> list[Sequence[Line]]:
    at_edges = Counter(head for page in pages for head in set(map(_masked, (*page[:_EDGE], *page[-_EDGE:]))))
    repeated = {head for head, count in at_edges.items() if count >= _REPEATED}
    return [
        [line for place, line in enumerate(page) if _EDGE <= place < len(page) - _EDGE or _masked(line) not in repeated]
        for page in pages
    ]


def _masked(line: Line) -> tuple[str, int]:
    """Key of a running head: its height, and its text without page numbers."""
    return _DIGITS.sub("0", line.text), round(line.base)


def _parted(page: Sequence[Line]) -> Iterator[list[Line]]:
    leadings = [(a.base - b.base) / a.size for a, b in pairwise(page) if 0 < a.base - b.base < 2.5 * a.size]
    usual = median(leadings) if leadings else _USUAL_LEADING  # the distance of lines in heights of a line
    for block in _cut(page, partial(_is_apart, leading=usual)):
        yield from _cut(block, partial(_begins, edge=max(map(_end, block))))


def _cut(lines: Sequence[Line], is_cut: Callable[[Line, Line], bool]) -> Iterator[list[Line]]:
    """The parts of *lines*, which are cut between each two for which *is_cut* holds."""
    places = (place for place, neighbours in enumerate(pairwise(lines), 1) if is_cut(*neighbours))
    return (list(lines[start:end]) for start, end in pairwise((0, *places, len(lines))) if start < end)


def _is_apart(before: Line, line: Line, leading: float) -> bool:
    """Whether two lines differ in size, or do not stand below each other at the usual distance."""
    return (
        not 0 < (before.base - line.base) / before.size <= _MORE_LEADING * leading
        or abs(before.size - line.size) > _OTHER_SIZE * before.size
        or line.left >= before.right
        or before.left >= line.right
    )


def _begins(before: Line, line: Line, edge: float) -> bool:
    """Whether *line* begins a paragraph, in a block whose lines end at *edge* at most."""
    if _ITEM.match(line.text):
        return True
    if _start(line) - _start(before) > _INDENT * line.size and not _ITEM.match(before.text):
        return True
    width = (line.right - line.left) / len(line.text)
    word = len(line.text.partition(" ")[0])
    return not before.text.endswith(HYPHENS) and edge - _end(before) > (word + 1) * width


def _start(line: Line) -> float:
    return -line.right if _is_from_right(line.text) else line.left


def _end(line: Line) -> float:
    return -line.left if _is_from_right(line.text) else line.right


def _is_from_right(text: str) -> bool:
    return unicodedata.bidirectional(next(filter(str.isalpha, text), " ")) in ("R", "AL")


def _goes_on(last: Paragraph, following: Paragraph) -> bool:
    """Whether *following*, the first paragraph of a page, is the rest of *last*."""
    is_alike = abs(last.size - following.size) <= _OTHER_SIZE * last.size
    return is_alike and following.text[0].islower() and not last.text.endswith(_SENTENCE_END)


def _joined(text: str, more: str, known: Counter[str]) -> str:
    first, second = text[:-1].rpartition(" ")[2], more.partition(" ")[0]
    # "Vor- und Nachteile", but not a word that ends so, as "boeken" does
    is_suspended = second in SUSPENDED and not text.endswith("\u00ad") and not known[f"{first}{second}".lower()]
    if text.endswith(HYPHENS) and text[-2:-1].isalpha() and not is_suspended:
        if not more[0].islower() or _is_compound(first, second, known):
            return f"{text[:-1]}-{more}"
        return text[:-1] + more
    return text + more if is_unspaced(text[-1]) and is_unspaced(more[0]) else f"{text} {more}"


def _is_compound(first: str, second: str, known: Counter[str]) -> bool:
    """Whether the document has the word with a hyphen more often than without one."""
    hyphenated, whole = (" ".join(_HYPHENATED.findall(f"{first.lower()}{mark}{second.lower()}")) for mark in ("-", ""))
    return known[hyphenated] > known[whole]


MAX_PAGES = 300  # pages that are read of a PDF
MAX_CHARACTERS = 100_000  # characters that are read of a page
MIN_LETTERS = 20  # letters a page under which a PDF counts as one without text: scans may have stamps and page numbers
LARGE = 1.2  # size of a title, as a multiple of the usual size on its page

_WORD = re.compile(r"\w+")
_BROKEN = "\x02"  # PDFium writes this for a hyphen at the end of a line, and no line break


def read_pdf(url: str, body: bytes) -> PageRecord:
    """The paragraphs of the PDF at *url*; ContentError: ``damaged``, ``encrypted``, ``no-text`` (or hardly any)."""
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
        language = from_bcp47(_metadata(partial(raw.FPDFCatalog_GetLanguage, document)))
        declared = (language,) if language else ()
        width, is_cut = width_of(text), count > MAX_PAGES
        return PageRecord(url, title=title, text=text, length=width, declared=declared, is_cut=is_cut)


def _lines(document: pdfium.PdfDocument, number: int) -> list[Line] | None:
    """The lines of a page in the order of the file; None if the page is damaged."""
    try:
        page = document[number]
        text_page = page.get_textpage()
    except pdfium.PdfiumError:
        return None
    shown = ((first, last, one_line(composed(text))) for first, last, text in _runs(text_page))
    lines = [_line(text_page, first, last, text) for first, last, text in shown if text]
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
    """The title in the metadata, often a file name, if the first *page* with text shows it; else a large paragraph."""
    named = one_line(_metadata(partial(raw.FPDF_GetMetaText, document, b"Title")))
    words = _WORD.findall(named.lower())
    shown = _WORD.findall(" ".join(paragraph.text for paragraph in page).lower())
    if words and f" {' '.join(words)} " in f" {' '.join(shown)} ":
        return named
    size = max((paragraph.size for paragraph in page), default=0.0)
    if size < LARGE * median(paragraph.size for paragraph in page):
        return named
    return next(paragraph.text for paragraph in page if paragraph.size > size / LARGE)


def _metadata(read: Callable[[Any, int], int]) -> str:
    """The text that *read*, of PDFium, gives; pypdfium2 refuses one that was cut inside a character."""
    size = read(None, 0)
    buffer = (ctypes.c_ushort * (size // 2))()
    read(buffer, size)
    return bytes(buffer).decode("utf-16-le", "ignore").rstrip("\0")
