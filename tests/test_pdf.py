"""What is read of a PDF, and what reading one may cost."""

import os
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from support.pdf_files import HOSTILE, damaged_pdf, lines_pdf, locked_pdf, report, scanned_pdf, text_pdf, writer
from support.processes import PeakMemory

from bilingual_crawler import options
from bilingual_crawler.options import Options
from bilingual_crawler.pages.jobs import PageJob, PdfJob, SitemapJob
from bilingual_crawler.pages.model import MAX_TITLE
from bilingual_crawler.pages.pdf import MAX_PAGES, Line, paragraphs, read_pdf
from bilingual_crawler.pages.sandbox.jobs import ContentError, SandboxError
from bilingual_crawler.pages.sandbox.pool import close, submit

URL = "https://example.org/report.pdf"


def read(lines: list[Line], *more: list[Line]) -> list[str]:
    return [paragraph.text for page in paragraphs([lines, *more]) for paragraph in page]


def column(*texts: str, left: float = 50, width: float = 200, top: float = 700, size: float = 10) -> list[Line]:
    """Lines below each other that end at the right edge, or before it if they begin with ``<``."""
    return [
        Line(text.removeprefix("<"), left, left + width * (0.4 if text[0] == "<" else 1), top - 12 * number, size)
        for number, text in enumerate(texts)
    ]


ANY_TEXT = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=30)
ANY_LINE = st.builds(Line, ANY_TEXT, st.floats(0, 600), st.floats(0, 600), st.floats(0, 800), st.floats(1, 40))
FULL = "a line that is as long as all the others"
KNOWN = "a well-known man and a well-known woman"
FIRST, SECOND = column(FULL, FULL)
ARABIC, END = "هذا سطر طويل مثل كل السطور الأخرى", "نهاية"
TO_THE_LEFT = [column(ARABIC)[0], Line(END, 170, 250, 688, 10), column(ARABIC, top=676)[0]]
PARAGRAPHS = {
    "a word would have had room": (column(FULL, "<ends here", FULL, FULL), [f"{FULL} ends here", f"{FULL} {FULL}"]),
    "from right to left": (TO_THE_LEFT, [f"{ARABIC} {END}", ARABIC]),
    "gap": (column(FULL, FULL) + column(FULL, FULL, top=700 - 2 * 12 - 8), [f"{FULL} {FULL}"] * 2),
    "size": ([*column(FULL, size=14), *column(FULL, FULL, top=688)], [FULL, f"{FULL} {FULL}"]),
    "indentation": ([FIRST, SECOND._replace(left=70)], [FULL, FULL]),
    "indentation in a list": ([FIRST._replace(text=f"• {FULL}"), SECOND._replace(left=70)], [f"• {FULL} {FULL}"]),
    "items": (column(f"1. {FULL}", f"2. {FULL}", f"• {FULL}"), [f"1. {FULL}", f"2. {FULL}", f"• {FULL}"]),
    "columns": (column(FULL, FULL) + column(FULL, FULL, left=300), [f"{FULL} {FULL}"] * 2),
    "hyphenation is undone": (
        column("the govern-", "ment and the min\u00ad", "istry of fi\u2010", "nance"),
        ["the government and the ministry of finance"],
    ),
    "hyphen of a part of the next word": (column(f"{FULL} Vor-", "und Nachteile"), [f"{FULL} Vor- und Nachteile"]),
    "a word of the document is none": (column(f"{FULL} boeken boek-", "en lezen"), [f"{FULL} boeken boeken lezen"]),
    "hyphen of a known compound": (column(KNOWN, "and this well-", "known dog"), [f"{KNOWN} and this well-known dog"]),
    "names, numbers": (column("Austria-", "Hungary and pages 10-", "12"), ["Austria-Hungary and pages 10- 12"]),
    "Japanese": (column("日本語の文章です", "次の行"), ["日本語の文章です次の行"]),
    "Thai": (column("ภาษาไทยเป็นภาษา", "ที่สวยงาม"), ["ภาษาไทยเป็นภาษาที่สวยงาม"]),
    "Korean": (column("한국어 문장입니다", "다음 줄"), ["한국어 문장입니다 다음 줄"]),
}
"""Lines, and the paragraphs that they make, by what joins or parts them."""


class TestParagraphs:
    @pytest.mark.parametrize(("lines", "joined"), PARAGRAPHS.values(), ids=PARAGRAPHS)
    def test_lines_are_joined_and_parted_by(self, lines: list[Line], joined: list[str]) -> None:
        assert read(lines) == joined

    def test_a_paragraph_goes_on_on_the_next_page(self) -> None:
        assert read(column(FULL), column(FULL)) == [f"{FULL} {FULL}"]
        assert read(column(f"{FULL}."), column(FULL)) == [f"{FULL}.", FULL]

    def test_running_heads_are_left_out(self) -> None:
        texts = [f"Text {number} {FULL}." for number in range(3)]
        heads = [column(f"Report, page {number}", top=800) for number in range(3)]
        pages = [[*heads[number], *column(texts[number], top=700 - number)] for number in range(3)]
        assert read(*pages) == texts
        assert len(read(*pages[:2])) == 4

    @given(st.lists(st.lists(ANY_LINE), max_size=2))
    def test_every_character_but_hyphens_and_blanks_stays(self, pages: list[list[Line]]) -> None:
        def letters(texts: list[str]) -> str:
            return "".join(filter(str.isalnum, "".join(texts)))

        assert letters(read(*pages) if pages else []) == letters([line.text for page in pages for line in page])


def of_one_size(title: str) -> bytes:
    """A PDF whose title is in the metadata alone."""
    pdf = writer()
    pdf.set_title(title)
    pdf.add_page()
    pdf.multi_cell(0, None, " ".join(report("en", 3)[1]))
    return bytes(pdf.output())


class TestText:
    def test_paragraphs_of_a_laid_out_report(self) -> None:
        title, written = report("es", 3, 40)
        found = read_pdf(URL, text_pdf(title, written, language="es-ES"))
        assert found.text.split("\n") == [title, *written]
        assert (found.title, found.declared, found.is_cut) == (title, ("spa",), False)

    def test_hyphens_that_pdfium_marks_itself(self) -> None:
        found = read_pdf(URL, lines_pdf(["The govern-", "ment of this country is oﬃcial."]))
        assert found.text == "The government of this country is official."

    def test_the_title_of_the_metadata_counts_if_the_page_shows_it_or_has_no_large_line(self) -> None:
        title, written = report("en", 3)
        assert read_pdf(URL, text_pdf(title, written, named=title.upper())).title == title.upper()
        assert read_pdf(URL, text_pdf(title, written, named="Microsoft Word - draft7.doc")).title == title
        assert read_pdf(URL, of_one_size("Named")).title == "Named"
        assert len(read_pdf(URL, text_pdf(title, written, named=f"{title} " * 2000)).title) <= MAX_TITLE
        assert 400 < len(read_pdf(URL, of_one_size(f"{title} " * 2000)).title) <= MAX_TITLE

    def test_a_title_that_was_cut_inside_a_character(self) -> None:
        body, whole = of_one_size("Named \N{SMILING CAT FACE WITH HEART-SHAPED EYES}"), b"d83dde3b"
        assert body.count(whole) == 1
        assert read_pdf(URL, body.replace(whole, b"d83d0021")).title == "Named !"

    def test_a_long_one_is_read_up_to_a_page(self) -> None:
        names = (str(page).translate(str.maketrans("0123456789", "abcdefghij")) for page in range(MAX_PAGES + 5))
        pages = [[f"{name} begins a page that has a text of its own"] for name in names]
        found = read_pdf(URL, lines_pdf(*pages[:MAX_PAGES]))
        assert (found.text.count("page"), found.is_cut) == (MAX_PAGES, False)
        assert read_pdf(URL, lines_pdf(*pages)) == replace(found, is_cut=True)

    @pytest.mark.parametrize(
        ("body", "kind"),
        [
            (locked_pdf, "encrypted"), (scanned_pdf, "no-text"), (damaged_pdf, "damaged"),
            (b"", "damaged"), (b"<html>", "damaged"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_read_says_why(self, body: bytes | Callable[[str, int], bytes], kind: str) -> None:
        with pytest.raises(ContentError) as caught:
            submit(PdfJob(body("en", 1) if callable(body) else body, URL)).result(60)
        assert caught.value.kind == kind

    def test_a_job_gives_language_and_outline(self) -> None:
        title, written = report("es", 3)
        found = submit(PdfJob(text_pdf(title, written, heads=False), URL)).result(60)
        assert (found.title, found.links, found.language) == (title, (), "spa")
        assert found.outline is not None
        assert found.outline.count == 1 + len(written)
        assert found.outline.length == len(title) + sum(map(len, written))


def test_hostile_pdfs_end_at_a_limit() -> None:
    close()
    with PeakMemory(os.getpid(), below=True) as peak:
        for name, body in HOSTILE.items():
            job, peak.most = PdfJob(body(), URL), 0
            assert isinstance(submit(job).exception(120), ContentError | SandboxError), name
            assert peak.most < (job.limits.megabytes + 300) * 1e6, name


LINKS = "<a href=a.pdf>a</a><a href=A.PDF?x=1>b</a><a href=c.docx>c</a><a href=d.jpg>d</a><a href=e>e</a>"


def test_links_to_documents_are_counted_and_those_asked_for_are_links() -> None:
    counted = {"pdf": 2, "docx": 1}
    for formats, names in ((("html",), ["e"]), (("html", "pdf"), ["a.pdf", "A.PDF?x=1", "e"])):
        page = PageJob(LINKS.encode(), "text/html", "https://example.org/", (), frozenset(formats)).run()
        assert [link.url.removeprefix("https://example.org/") for link in page.links] == names
        assert page.documents == counted


def test_sitemaps_list_documents() -> None:
    body = b"https://example.org/a.pdf\nhttps://example.org/b\n"
    for formats, count in ((("html",), 1), (("html", "pdf"), 2)):
        sitemap = SitemapJob(body, "https://example.org/sitemap.txt", frozenset(formats)).run()
        assert (len(sitemap.links), sitemap.documents) == (count, {"pdf": 1})


def test_wrong_formats_and_those_without_a_reader_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "find_spec", lambda name: None)
    to_install = r"pip install 'bilingual-crawler\[pdf\]'"
    wrong = {"html,doc": "choose one of html, pdf", "pdf": "give html too", "": "give html too"}
    for value, right in (wrong | {"html,pdf": to_install}).items():
        with pytest.raises(UsageError, match=right):
            Options.of(Settings({"BILINGUAL_DOCUMENTS": value}))
