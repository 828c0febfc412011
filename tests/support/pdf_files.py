"""PDFs made for tests: parallel reports in English and Spanish, and what is wrong with PDFs on the web."""

import io
import random
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import matplotlib
from fpdf import FPDF
from fpdf.enums import EncryptionMethod
from PIL import Image, ImageDraw

FONT = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
PLACES = ("Arlanza", "Bidasoa", "Cabriel", "Duratón", "Esgueva", "Fluvià", "Guadiela", "Huerva", "Isuela", "Jiloca")
SENTENCES = {
    "en": (
        "In {year} the council of {place} opened {n} new schools for the children of the valley.",
        "The bridge over the river cost {n} thousand euros and was finished two months before the date agreed.",
        "According to the mayor of {place}, {n} families have asked for help with the rent of their homes.",
        "Nobody expected that the harvest would be so good, because it had hardly rained since {year}.",
        "The ministry will pay {n} percent of the works, and the rest will be paid by the people of {place}.",
        "Further information is given in annex {n}, which has been published on the website of the government.",
    ),
    "es": (
        "En {year} el ayuntamiento de {place} abrió {n} nuevas escuelas para los niños del valle.",
        "El puente sobre el río costó {n} mil euros y se terminó dos meses antes de la fecha acordada.",
        "Según el alcalde de {place}, {n} familias han pedido ayuda para el alquiler de sus viviendas.",
        "Nadie esperaba que la cosecha fuera tan buena, porque apenas había llovido desde {year}.",
        "El ministerio pagará el {n} por ciento de las obras, y el resto lo pagarán los vecinos de {place}.",
        "Más información se ofrece en el anexo {n}, que se ha publicado en la página web del gobierno.",
    ),
}
TITLES = {"en": "Report on {place}, number {n}", "es": "Informe sobre {place}, número {n}"}


def report(language: str, number: int, count: int = 6) -> tuple[str, list[str]]:
    """Title and *count* paragraphs of a report; those of one *number* are translations."""
    chooser = random.Random(number)
    paragraphs = []
    for _ in range(count):
        chosen = [chooser.randrange(len(SENTENCES["en"])) for _ in range(4)]
        filled = [{"year": chooser.randrange(1950, 2020), "n": chooser.randrange(2, 999)} for _ in chosen]
        places = [chooser.choice(PLACES) for _ in chosen]
        sentences = (
            SENTENCES[language][which].format(place=place, **numbers)
            for which, numbers, place in zip(chosen, filled, places, strict=True)
        )
        paragraphs.append(" ".join(sentences))
    return TITLES[language].format(place=PLACES[number % len(PLACES)], n=number), paragraphs


class Reports(FPDF):
    """With the same head and a page number on every page."""

    def header(self) -> None:
        self.set_font("text", size=8)
        self.cell(0, 6, "Government of the valley", new_x="LMARGIN", new_y="NEXT")

    def footer(self) -> None:
        self.set_y(-15)
        self.set_font("text", size=8)
        self.cell(0, 6, f"– {self.page_no()} –", align="C")


def writer(kind: type[FPDF] = FPDF) -> FPDF:
    pdf = kind()
    pdf.add_font("text", "", FONT)
    pdf.set_font("text", size=11)
    return pdf


def laid_out(pdf: FPDF, title: str, paragraphs: Iterable[str]) -> None:
    """Set a title and justified paragraphs on a new page, and as many more as they need."""
    pdf.add_page()
    pdf.set_font("text", size=20)
    pdf.multi_cell(0, None, title, align="L", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("text", size=11)
    for paragraph in paragraphs:
        pdf.ln(3)
        pdf.multi_cell(0, None, paragraph, align="J", new_x="LMARGIN", new_y="NEXT")


def text_pdf(
    title: str, paragraphs: Iterable[str], language: str = "", named: str = "", *, heads: bool = True
) -> bytes:
    """A PDF with running heads; *named* is its title in the metadata."""
    pdf = writer(Reports if heads else FPDF)
    if language:
        pdf.set_lang(language)
    if named:
        pdf.set_title(named)
    laid_out(pdf, title, paragraphs)
    return bytes(pdf.output())


def lines_pdf(*pages: Sequence[str]) -> bytes:
    """A PDF of these lines, as they are."""
    pdf = writer()
    for page in pages:
        pdf.add_page()
        for line in page:
            pdf.cell(0, 6, line, new_x="LMARGIN", new_y="NEXT")
    return bytes(pdf.output())


def long_pdf(language: str, number: int, pages: int) -> bytes:
    """A report of which each page holds a chapter."""
    title, paragraphs = report(language, number, pages)
    pdf = writer(Reports)
    for page, paragraph in enumerate(paragraphs):
        laid_out(pdf, f"{page}. {title}" if page else title, (paragraph,))
    return bytes(pdf.output())


def locked_pdf(language: str, number: int) -> bytes:
    pdf = writer()
    pdf.set_encryption("owner", "user", encryption_method=EncryptionMethod.AES_256)
    laid_out(pdf, *report(language, number))
    return bytes(pdf.output())


def scanned_pdf(language: str, number: int) -> bytes:
    """Pages that are pictures of a text."""
    title, paragraphs = report(language, number)
    picture = Image.new("L", (1240, 1754), 255)
    ImageDraw.Draw(picture).multiline_text((100, 100), "\n".join((title, *paragraphs)), fill=0)
    pdf = FPDF()
    for _ in range(3):
        pdf.add_page()
        pdf.image(picture, 0, 0, 210)
    return bytes(pdf.output())


def damaged_pdf(language: str, number: int) -> bytes:
    """The first third of a PDF: neither its pages nor a table of objects are left."""
    whole = text_pdf(*report(language, number))
    return whole[: whole.index(b"stream") // 3]


def objects_pdf(objects: Sequence[bytes]) -> bytes:
    """A PDF of raw objects, numbered from 1; the first is the catalog."""
    out = io.BytesIO(b"%PDF-1.7\n")
    out.seek(0, io.SEEK_END)
    places = []
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return out.getvalue()


def stream(data: bytes, more: bytes = b"/Filter /FlateDecode") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), more, data)


def packed(block: bytes, times: int) -> bytes:
    """*block* repeated and deflated, without ever holding it all."""
    packer = zlib.compressobj(1)
    return b"".join(packer.compress(block) for _ in range(times)) + packer.flush()


_CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
_PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
_PAGE = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> %s >> >>"
)
_TEXT = b"BT /F 9 Tf 50 700 Td (many words of a page that never ends) Tj ET\n"


def page_of_objects(content: bytes, *more: bytes, resources: bytes = b"") -> bytes:
    """A PDF of one page with this *content* object; *more* objects are numbered from 6."""
    return objects_pdf((_CATALOG, _PAGES, _PAGE % resources, content, _FONT, *more))


def _forms() -> bytes:
    """Forms in forms, fifty of the next in each."""
    form = stream(
        zlib.compress(b"/X Do " * 50),
        b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Filter /FlateDecode /Resources << /XObject << /X %d 0 R >> >>",
    )
    nested = [form.replace(b"%d", b"%d" % (7 + level)) for level in range(12)]
    text = stream(zlib.compress(_TEXT))
    return page_of_objects(stream(zlib.compress(b"/X Do")), *nested, text, resources=b"/XObject << /X 6 0 R >>")


def _pages(kids: bytes) -> bytes:
    return objects_pdf((_CATALOG, b"<< /Type /Pages /Kids [%s] /Count 2000000000 >>" % kids))


_BOMB = cache(lambda: packed(b" " * (1 << 20), 600))
HOSTILE: dict[str, Callable[[], bytes]] = {
    "bomb": lambda: page_of_objects(stream(_BOMB())),
    "bomb-twice": lambda: page_of_objects(stream(packed(_BOMB(), 1), b"/Filter [/FlateDecode /FlateDecode]")),
    "words": lambda: page_of_objects(stream(packed(_TEXT * 1000, 2000))),
    "forms": _forms,
    "circle": lambda: _pages(b" ".join([b"2 0 R"] * 1000)),
    "count": lambda: _pages(b""),
    "deep": lambda: page_of_objects(stream(zlib.compress(b"[" * (5 << 20)))),
    "states": lambda: page_of_objects(stream(packed(b"q " * 500_000, 60))),
    "references": lambda: objects_pdf((b"<< /Type /Catalog /Pages 2 0 R >>", b"2 0 R")),
    "noise": lambda: b"%PDF-1.7\n" + random.Random(1).randbytes(1 << 20),
    "endless-head": lambda: b"%PDF-1.7\n" + b"1 0 obj\n<<" * 500_000,
}
"""What a server can send to waste the memory and the time of a reader, by name."""
