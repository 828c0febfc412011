"""What is read of a PDF, and what reading one may cost."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from support.pdf_files import (
    damaged_pdf,
    hostile_pdfs,
    lines_pdf,
    locked_pdf,
    report,
    scanned_pdf,
    text_pdf,
    writer,
)
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


FULL = "a line that is as long as all the others"


class TestParagraphs:
    def test_lines_are_joined_and_parted_where_a_word_would_have_had_room(self) -> None:
        lines = column(FULL, "<ends here", FULL, FULL)
        assert read(lines) == [f"{FULL} ends here", f"{FULL} {FULL}"]

    def test_a_gap_parts(self) -> None:
        below = column(FULL, FULL, top=700 - 2 * 12 - 8)
        assert read(column(FULL, FULL) + below) == [f"{FULL} {FULL}"] * 2

    def test_another_size_parts(self) -> None:
        assert read([*column(FULL, size=14), *column(FULL, FULL, top=688)]) == [FULL, f"{FULL} {FULL}"]

    def test_an_indentation_parts_but_not_in_a_list(self) -> None:
        first, second = column(FULL, FULL)
        assert read([first, second._replace(left=70)]) == [FULL, FULL]
        assert read([first._replace(text=f"• {FULL}"), second._replace(left=70)]) == [f"• {FULL} {FULL}"]

    def test_items_of_a_list_are_parted(self) -> None:
        assert read(column(f"1. {FULL}", f"2. {FULL}", f"• {FULL}")) == [f"1. {FULL}", f"2. {FULL}", f"• {FULL}"]

    def test_columns_are_parted(self) -> None:
        assert read(column(FULL, FULL) + column(FULL, FULL, left=300)) == [f"{FULL} {FULL}"] * 2

    def test_lines_from_right_to_left_end_on_the_left(self) -> None:
        full, end = "هذا سطر طويل مثل كل السطور الأخرى", "نهاية"
        right = column(full, full, full)
        right[1] = Line(end, 170, 250, right[1].base, 10)
        assert read(right) == [f"{full} {end}", full]

    def test_hyphenation_is_undone(self) -> None:
        assert read(column("the govern-", "ment and the min\u00ad", "istry of fi\u2010", "nance")) == [
            "the government and the ministry of finance"
        ]

    def test_a_hyphen_for_a_part_of_the_next_word_stays(self) -> None:
        assert read(column(f"{FULL} Vor-", "und Nachteile")) == [f"{FULL} Vor- und Nachteile"]

    def test_a_word_that_the_document_has_is_no_part_of_the_next_one(self) -> None:
        assert read(column(f"{FULL} boeken boek-", "en lezen")) == [f"{FULL} boeken boeken lezen"]

    def test_a_compound_that_the_document_has_keeps_its_hyphen(self) -> None:
        known = "a well-known man and a well-known woman"
        assert read(column(known, "and this well-", "known dog")) == [f"{known} and this well-known dog"]
        assert read(column("Austria-", "Hungary and pages 10-", "12")) == ["Austria-Hungary and pages 10- 12"]

    def test_scripts_without_blanks_are_joined_without_one(self) -> None:
        assert read(column("日本語の文章です", "次の行")) == ["日本語の文章です次の行"]
        assert read(column("ภาษาไทยเป็นภาษา", "ที่สวยงาม")) == ["ภาษาไทยเป็นภาษาที่สวยงาม"]
        assert read(column("한국어 문장입니다", "다음 줄")) == ["한국어 문장입니다 다음 줄"]

    def test_a_paragraph_goes_on_on_the_next_page(self) -> None:
        assert read(column(FULL), column(FULL)) == [f"{FULL} {FULL}"]
        assert read(column(f"{FULL}."), column(FULL)) == [f"{FULL}.", FULL]

    def test_running_heads_are_left_out(self) -> None:
        pages = [
            [*column(f"Report, page {number}", top=800), *column(f"Text {number} {FULL}.", top=700 - number)]
            for number in range(3)
        ]
        assert read(*pages) == [f"Text {number} {FULL}." for number in range(3)]
        assert len(read(*pages[:2])) == 4

    @given(
        st.lists(
            st.lists(
                st.builds(
                    Line,
                    st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=30),
                    st.floats(0, 600),
                    st.floats(0, 600),
                    st.floats(0, 800),
                    st.floats(1, 40),
                )
            ),
            max_size=2,
        )
    )
    def test_every_character_but_hyphens_and_blanks_stays(self, pages: list[list[Line]]) -> None:
        def letters(texts: list[str]) -> str:
            return "".join(filter(str.isalnum, "".join(texts)))

        assert letters(read(*pages) if pages else []) == letters([line.text for page in pages for line in page])


class TestText:
    def test_paragraphs_of_a_laid_out_report(self) -> None:
        title, written = report("es", 3, 40)
        found = read_pdf(URL, text_pdf(title, written, language="es-ES"))
        assert found.text.split("\n") == [title, *written]
        assert (found.title, found.declared, found.is_cut) == (title, ("spa",), False)

    def test_hyphens_that_pdfium_marks_itself(self) -> None:
        found = read_pdf(URL, lines_pdf(["The govern-", "ment of this country is oﬃcial."]))
        assert found.text == "The government of this country is official."

    def test_the_title_of_the_metadata_counts_if_the_page_shows_it(self) -> None:
        title, written = report("en", 3)
        assert read_pdf(URL, text_pdf(title, written, named=title.upper())).title == title.upper()
        assert read_pdf(URL, text_pdf(title, written, named="Microsoft Word - draft7.doc")).title == title

    def test_without_a_large_line_the_title_is_that_of_the_metadata(self) -> None:
        pdf = writer()
        pdf.set_title("Named")
        pdf.add_page()
        pdf.multi_cell(0, None, " ".join(report("en", 3)[1]))
        assert read_pdf(URL, bytes(pdf.output())).title == "Named"

    def test_titles_are_bounded(self) -> None:
        title, written = report("en", 3)
        long = f"{title} " * 2000
        assert len(read_pdf(URL, text_pdf(title, written, named=long)).title) <= MAX_TITLE
        pdf = writer()
        pdf.set_title(long)
        pdf.add_page()
        pdf.multi_cell(0, None, " ".join(written))
        assert 400 < len(read_pdf(URL, bytes(pdf.output())).title) <= MAX_TITLE

    def test_a_title_that_was_cut_inside_a_character(self) -> None:
        pdf = writer()
        pdf.set_title("Named \N{SMILING CAT FACE WITH HEART-SHAPED EYES}")
        pdf.add_page()
        pdf.multi_cell(0, None, " ".join(report("en", 3)[1]))
        body, whole = bytes(pdf.output()), b"d83dde3b"
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
            (locked_pdf("en", 1), "encrypted"),
            (scanned_pdf("en", 1), "no-text"),
            (damaged_pdf("en", 1), "damaged"),
            (b"", "damaged"),
            (b"<html>", "damaged"),
        ],
    )
    def test_what_cannot_be_read_says_why(self, body: bytes, kind: str) -> None:
        with pytest.raises(ContentError) as caught:
            submit(PdfJob(body, URL)).result(60)
        assert caught.value.kind == kind

    def test_a_job_gives_language_and_outline(self) -> None:
        title, written = report("es", 3)
        found = submit(PdfJob(text_pdf(title, written, heads=False), URL)).result(60)
        assert (found.title, found.links, found.language) == (title, (), "spa")
        assert found.outline is not None
        assert found.outline.count == 1 + len(written)
        assert found.outline.length == len(title) + sum(map(len, written))


@pytest.mark.parametrize("name", hostile_pdfs())
def test_a_hostile_pdf_ends_at_a_limit(name: str) -> None:
    close()
    job = PdfJob(hostile_pdfs()[name], URL)
    with PeakMemory(os.getpid(), below=True) as peak, pytest.raises((ContentError, SandboxError)):
        submit(job).result(120)
    assert peak.most < (job.limits.megabytes + 300) * 1e6


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


@pytest.mark.parametrize(
    ("value", "right"), [("html,doc", "choose one of html, pdf"), ("pdf", "give html too"), ("", "give html too")]
)
def test_wrong_formats_are_refused(value: str, right: str) -> None:
    with pytest.raises(UsageError, match=right):
        Options.of(Settings({"BILINGUAL_DOCUMENTS": value}))


def test_without_the_reader_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'bilingual-crawler\[pdf\]'"):
        Options.of(Settings({"BILINGUAL_DOCUMENTS": "html,pdf"}))
