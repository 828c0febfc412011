import base64
import gzip
import json
import random
import re
import zlib
from pathlib import Path

import pytest
from support.crawls import crawl, outcomes, summary
from support.webserver import TEXT, bilingual_site, serve

from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.language import BY_DEFAULT
from bilingual_crawler.pages.sandbox.jobs import ContentError

URL = "https://example.org/p"
NOISE = random.Random(1).randbytes(30_000)
PAGE = "<html><body><h1>Harvest</h1>" + f"<p>{TEXT['en']}</p>" * 30
SCRIPT = """
/* shows the menu of the page when the reader moves the pointer over it, and hides it a second later */
var menu = document.getElementById("menu"); function show(item) { if (item.open) { return; } item.open = true; }
menu.onmouseover = function (event) { show(event.target); window.clearTimeout(menu.timer); };
menu.onmouseout = function () { menu.timer = window.setTimeout(function () { menu.open = false; }, 1000); };
"""
STYLE = (
    "body { color: black; margin: 0 } h1, h2 { font: bold 2em serif; padding: 1em } p.open { display: block }\n" * 20
)


def dump(data: bytes, width: int) -> str:
    """*data* in hexadecimal digits, *width* bytes together, sixteen a line."""
    words = re.findall("." * 2 * width, data.hex())
    per_line = 16 // width
    lines = (" ".join(words[at : at + per_line]) for at in range(0, len(words), per_line))
    return "\n".join(f"{16 * number:08x}  {line}" for number, line in enumerate(lines))


RUBBISH = {
    "gzip": gzip.compress(PAGE.encode() + NOISE),
    "gzip twice": gzip.compress(gzip.compress(PAGE.encode() + NOISE)),
    "deflate": zlib.compress(PAGE.encode() + NOISE),
    "JPEG": b"\xff\xd8\xff\xe0\0\x10JFIF\0" + NOISE,
    "PDF": b"%PDF-1.7\n1 0 obj <</Filter /FlateDecode>> stream\n" + NOISE + b"endstream endobj\n",
    "WOFF": b"wOFF\0\1\0\0" + NOISE,
    "binary data on a page": b"<h1>The harvest</h1><pre>" + NOISE.replace(b"<", b"") + b"</pre>",
    "base64": base64.b64encode(NOISE),
    "base64 in lines": base64.encodebytes(NOISE),
    "base64 on a page": b"<html><body><h1>The harvest</h1><pre>" + base64.encodebytes(NOISE) + b"</pre></body></html>",
    "hexadecimal": NOISE.hex().encode(),
    "dump": dump(NOISE, 1).encode(),
    "dump on a page": f"<html><body><h1>The harvest</h1><pre>{dump(NOISE, 2)}</pre></body></html>".encode(),
    "script": SCRIPT.encode(),
    "style sheet": STYLE.encode(),
    "JSON": json.dumps([{"title": "The harvest", "text": TEXT["en"]}] * 20).encode(),
    "JSON with a function": f"show({json.dumps([{'title': 'A', 'text': TEXT['en'][:60]}] * 20)});".encode(),
}


@pytest.mark.parametrize("content_type", ["text/html", "text/html; charset=utf-8", "text/html; charset=iso-8859-1"])
@pytest.mark.parametrize("body", RUBBISH.values(), ids=RUBBISH)
def test_what_is_no_text_for_people_is_illegible(body: bytes, content_type: str) -> None:
    with pytest.raises(ContentError) as error:
        PageJob(body, content_type, URL).run()
    assert error.value.kind == "illegible"


NUMBERS = random.Random(2)
LEGIBLE = {
    "a page": PAGE,
    "text without markup": TEXT["en"] * 20,
    "a short page": "<p>Hi",
    "no text": "<html><body><script>start()</script><a href=/en/><img src=a.png></a></body></html>",
    "a table of numbers": "<table>" + "".join(f"<tr><td>{NUMBERS.random():.6f}<td>{n:08}" for n in range(900)),
    "names": "<h1>Members</h1>" + "".join(f"<p>Ann-Marie Li {n}" for n in range(300)),
    "a page on code": f"<html><body><h1>Harvest</h1><p>{TEXT['en']}</p><pre>{SCRIPT * 9}</pre></body></html>",
    "a page on JSON": f"<html><body><h1>Harvest</h1><p>{TEXT['en']}</p><pre>{json.dumps([{'a': 1}] * 99)}</pre>",
    "addresses": "".join(f"<p>{URL}{n}/{'the-harvest-of-the-year-was-good-' * 3}.html" for n in range(99)),
    "dotted lines": "<pre>" + "".join(f"Chapter {n} {'.' * 70} {n}\n" for n in range(99)) + "</pre>",
    "a long word": "<p>" + "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft " * 20,
    "text without blanks": "<p>" + "図書館は月曜日から金曜日まで開いています。" * 100,
    "some broken characters": PAGE.replace("harvest", "h\ufffdrvest"),
    "stray control characters": PAGE.replace("<p>", "<p>\0\x0b"),
    "braces": "[1] The harvest {see below} was good; " + TEXT["en"] * 9,
}


@pytest.mark.parametrize("page", LEGIBLE.values(), ids=LEGIBLE)
def test_other_pages_are_read(page: str) -> None:
    assert PageJob(page.encode(), "text/html; charset=utf-8", URL).run().url == URL


POLISH = "Biblioteka jest otwarta od poniedziałku do piątku. Czytelnicy mogą wypożyczać książki bez opłat. "
TURKISH = "Kütüphane pazartesiden cumaya kadar açıktır. Çocuklar kitapları dört haftalığına ödünç alabilir. "
CZECH = "Městská knihovna půjčuje knihy, mapy a hudební nástroje. Čtenářský průkaz je zdarma pro každého v údolí. "
RUSSIAN = "Городская библиотека выдаёт книги, карты и музыкальные инструменты. Она закрыта в воскресенье. "


def test_text_with_wrong_letters_is_in_no_sure_language() -> None:
    for language, text, written in (("pol", POLISH, "cp1250"), ("ces", CZECH, "cp1250"), ("tur", TURKISH, "cp1254")):
        page = f"<html><body><p>{text * 5}</p></body></html>".encode(written)
        right = PageJob(page, f"text/html; charset={written}", URL).run()
        assert (right.language, right.reliable) == (language, True)
        assert not PageJob(page, "text/html; charset=iso-8859-1", URL).run().reliable, language


def test_text_with_many_broken_characters_is_in_no_sure_language() -> None:
    for language, text in (("spa", TEXT["es"]), ("rus", RUSSIAN * 2), ("eng", TEXT["en"] + "café ")):
        assert BY_DEFAULT.identify_page([text[:20] + "\ufffd" + text[21:]] * 9).reliable, language
        found = BY_DEFAULT.identify_page([text[:20] + "\ufffd\ufffd\ufffd" + text[23:]] * 9)
        assert (found.language, found.reliable) == (language, False)


@pytest.mark.parametrize(
    "text",
    [
        TEXT["es"] * 5 + "Antonín Dvořák, Łódź, Kraków, İstanbul. ",
        TEXT["en"] * 5 + "Kovačević, Đorđević, Vučić, Krležić. " * 9,
        POLISH * 5 + "Märchen von Grimm, Mönch und Bär. ",
        RUSSIAN * 5 + "Îles d’Hyères, São Paulo, Malmö. " * 9,
        CZECH * 5,
    ],
)  # fmt: skip
def test_names_from_elsewhere_are_no_wrong_letters(text: str) -> None:
    assert BY_DEFAULT.identify_page([text]).reliable


def test_a_crawl_counts_illegible_pages_and_logs_the_first(tmp_path: Path) -> None:
    pages = bilingual_site(2)
    pages["/en/"] = pages["/en/"].replace("<h1>", "<a href=/en/data>data</a> <a href=/en/code>code</a><h1>", 1)
    pages |= {"/en/data": NOISE.decode("latin-1"), "/en/code": SCRIPT}
    with serve(pages) as site:
        done = crawl(tmp_path, f"{site.url}/en/")
    found = outcomes(tmp_path, site.url)
    assert (found["/en/data"], found["/en/code"], found["/en/page-0.html"]) == ("illegible", "illegible", "document")
    assert summary(tmp_path)["dropped"]["illegible"] == 2
    assert done.stderr.count("it is no text for people") == 1
