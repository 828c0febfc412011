import base64
import gzip
import json
import lzma
import resource
from collections.abc import Iterable
from pathlib import Path

import pytest
from support import refusals
from support.tables import read_rows, write_table

from training.parallelness.evaluation import read_labelled_pairs
from training.parallelness.examples import read_positives
from training.prepare import pairs as pairs_module
from training.prepare.__main__ import main

COLUMNS = "url_a lang_a url_b lang_b source evidence label"
TMX = """<?xml version="1.0"?>
{doctype}<tmx version="1.4">
 <header adminlang="C" srclang="en" o-tmf="PlainText" creationtool="bitextor" datatype="PlainText" segtype="sentence">
 </header>
 <body>
{units}
 </body>
</tmx>
"""


def run(*arguments: object) -> None:
    main([str(argument) for argument in ("pairs", *arguments)])


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    return refusals.refused(capsys, main, ("pairs", *arguments), code=1)


def told(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().err.split())


def unit(*sides: tuple[str, list[str]], text: str = "Text &amp; more") -> str:
    variants = "".join(
        f'<tuv xml:lang="{lang}">'
        + "".join(f'<prop type="source-document">{url}</prop>' for url in urls)
        + f'<prop type="paragraph-id">p15s0</prop><seg>{text}</seg></tuv>'
        for lang, urls in sides
    )
    return f'<tu tuid="1" datatype="Text"><prop type="score-bicleaner-ai">0.962</prop>{variants}</tu>'


def tmx(units: Iterable[str], doctype: str = "") -> bytes:
    return TMX.format(units="\n".join(units), doctype=doctype).encode()


def test_addresses_of_a_tmx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "MaCoCu-is-en.tmx.gz", tmp_path / "pairs.tsv.gz"
    alda = unit(("en", ["https://en.alda.is/about-alda/"]), ("is", ["https://alda.is/um-oldu/?a=1&amp;b=2"]))
    # A corpus without repetitions lists every document that has the sentence, in no order.
    english = [f"https://{page}" for page in ("a.is/en/1", "b.is/en/1", "c.is/en/1", "c.is/en/2")]
    units = [
        *(alda, alda),
        unit(("en", ["http://justus.anglican.org/x"]), ("is", ["https://gummi.blog/y"])),
        unit(("en", english), ("is", [f"https://{host}.is/is/1" for host in "cba"])),
        unit(("en", ["https://d.is/1", "https://d.is/2"]), ("is", ["https://d.is/3"])),
        unit(("en", ["unknown"]), ("is", ["https://e.is/"])),
        unit(("en", ["https://e.is/"]), ("is", ["https://e.is/is"]), ("da", ["https://e.is/da"])),
        unit(("en", ["https://e.is/en"]), ("tlh", ["https://e.is/sr"])),
        unit(("en", ["https://f.is/"]), ("is", ["http://www.f.is"])),
    ]
    path.write_bytes(gzip.compress(tmx(units)))
    run(path, "--out", out)
    assert read_rows(out) == [
        COLUMNS.split(),
        ["https://en.alda.is/about-alda/", "eng", "https://alda.is/um-oldu/?a=1&b=2", "isl", *rest("MaCoCu-is-en")],
        ["https://a.is/en/1", "eng", "https://a.is/is/1", "isl", *rest("MaCoCu-is-en")],
        ["https://b.is/en/1", "eng", "https://b.is/is/1", "isl", *rest("MaCoCu-is-en")],
    ]
    text = told(capsys)
    for part in ("6 units", *(f"1 left out ({reason})" for reason in ("two sites", "several addresses", "one page"))):
        assert part in text
    assert "3 bad: unit 6 (no address), unit 7 (3 languages), unit 8 (no such language)" in text
    assert read_positives(out)["corpus"][0] == ("https://en.alda.is/about-alda/", "https://alda.is/um-oldu/?a=1&b=2")


def rest(source: str, evidence: str = "corpus", label: str = "1") -> list[str]:
    return [source, evidence, label]


def test_entities_of_a_tmx_are_not_expanded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret, path, out = (tmp_path / name for name in ("secret", "entities.tmx", "pairs.tsv.gz"))
    secret.write_text("https://secret.is/")
    doctype = f'<!DOCTYPE tmx [<!ENTITY name "en"><!ENTITY file SYSTEM "{secret.as_uri()}">]>\n'
    units = [
        unit(("en", ["https://a.is/en"]), ("is", ["https://a.is/is"]), text="&name;"),
        unit(("en", ["https://a.is/&name;"]), ("is", ["https://a.is/is/2"])),
        unit(("en", ["&file;"]), ("is", ["https://secret.is/is"])),
    ]
    path.write_bytes(tmx(units, doctype))
    run(path, "--out", out)
    assert [row[0] for row in read_rows(out)[1:]] == ["https://a.is/en"]
    assert "2 bad: unit 2 (no address), unit 3 (no address)" in told(capsys)

    bomb = '<!ENTITY e0 "boom">' + "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    path.write_bytes(tmx([unit(("en", ["&e9;"]), ("is", ["https://a.is/"]))], f"<!DOCTYPE tmx [{bomb}]>\n"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "no pair of translations" in refused(capsys, path, "--out", out)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_faults_in_the_xml_are_told_and_the_rest_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "faulty.tmx", tmp_path / "pairs.tsv.gz"
    units = [unit(("en", [f"https://a.is/en/{i}"]), ("is", [f"https://a.is/is/{i}"])) for i in range(3)]
    units[1] = units[1].replace("Text &amp; more", "Text & more\x01")
    path.write_bytes(tmx(units))
    run(path, "--out", out)
    assert [row[0] for row in read_rows(out)[1:]] == [f"https://a.is/en/{i}" for i in range(3)]
    assert "as a line of XML" in told(capsys)


def test_tables_of_corpora(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    macocu, paracrawl, out = (tmp_path / f"{name}.gz" for name in ("MaCoCu-mt-en.sent.txt", "en-mt.classify", "out"))
    rows = (
        b"src_url\ttrg_url\tsrc_text\ttrg_text\tbleualign_score",
        b'https://a.mt/en/1\thttps://a.mt/mt/1\tA "quoted text\tB\t0.5',
        b"https://a.mt/en/1\thttps://a.mt/mt/1\tC\tD\t0.5",
        b"https://a.mt/en/2\tsomewhere\tC\tD\t0.5",
        b"https://a.mt/en/3\thttps://a.mt/mt/3\tonly",
        b"https://a.mt/en/4\thttps://a.mt/mt/\xff\tA\tB\t0.1",
    )
    macocu.write_bytes(gzip.compress(b"\n".join(rows) + b"\n"))
    paracrawl.write_bytes(gzip.compress(b"https://b.com/mt/x\thttps://b.com/en/x\tC\tD\t0.5\n" * 2))
    assert "add them in order, like --pair eng-isl" in refused(capsys, macocu, "--out", out)
    run(macocu, "--out", out, "--pair", "en-mt")
    assert read_rows(out)[1:] == [["https://a.mt/en/1", "eng", "https://a.mt/mt/1", "mlt", *rest("MaCoCu-mt-en")]]
    assert "3 bad: line 4 (not a URL), line 5 (3 fields instead of 5), line 6 (not UTF-8)" in told(capsys)
    run(paracrawl, "--out", out, "--pair", "mlt-eng")
    assert read_rows(out)[1:] == [["https://b.com/mt/x", "mlt", "https://b.com/en/x", "eng", *rest("en-mt")]]


def lett(*documents: tuple[str, str, str]) -> bytes:
    coded = ((lang, url, base64.b64encode(html.encode()).decode()) for lang, url, html in documents)
    return "".join(f"{lang}\ttext/html\tcharset=utf-8\t{url}\t{html}\tdGV4dA==\n" for lang, url, html in coded).encode()


def page(*links: str, head: str = "") -> str:
    anchors = "".join(f'<p><a href="{link}">to</a></p>' for link in links)
    return f"<html><head><title>A page</title>{head}</head><body>{anchors}</body></html>"


def test_links_of_wmt16_pages_that_are_no_translations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = tmp_path / "wmt16", tmp_path / "pairs.tsv.gz"
    folder.mkdir()
    known = [("home", "home"), ("lonely", "seul")]
    lines = [*(f"http://a.ca/en/{one}.html\thttp://a.ca/fr/{other}.html\n" for one, other in known), "nonsense\n"]
    (folder / "train.pairs").write_text("".join(lines))
    alternate = '<link rel="alternate" hreflang="fr" href="/fr/home.html">'
    documents = lett(
        ("en", "http://a.ca/en/home.html", page("news.html", "/de/home.html", "http://x.org/", "#top", head=alternate)),
        ("fr", "http://a.ca/fr/home.html", page("/en/home.html", "nouvelles.html", "nouvelles.html?utm_source=x")),
        ("en", "http://a.ca/en/news.html", page("home.html")),
        ("fr", "http://a.ca/fr/nouvelles.html", page("/en/home.html")),
        ("de", "http://a.ca/de/home.html", page()),
        ("en", "http://a.ca/en/lonely.html", page("news.html")),
        ("fr", "http://a.ca/fr/seul.html", page()),
    )
    bad = b"en\ttext/html\tutf-8\thttp://a.ca/en/short\nen\ttext/html\tutf-8\thttp://a.ca/en/lonely.html\t%%%\t\n"
    (folder / "a.ca.lett.gz").write_bytes(gzip.compress(documents + bad))
    run(folder, "--out", out, "--pair", "eng-fra")
    gold, html = rest("train", "gold"), ["a.ca.lett", "html-link", "0"]
    assert read_rows(out)[1:] == [
        ["http://a.ca/en/home.html", "eng", "http://a.ca/fr/home.html", "fra", *gold],
        ["http://a.ca/en/lonely.html", "eng", "http://a.ca/fr/seul.html", "fra", *gold],
        ["http://a.ca/en/home.html", "eng", "http://a.ca/en/news.html", "eng", *html],
        ["http://a.ca/fr/home.html", "fra", "http://a.ca/fr/nouvelles.html", "fra", *html],
    ]
    text = told(capsys)
    for part in (
        "1 bad: line 3 (1 fields instead of 2)",
        "7 documents",
        "2 left out (known page without a link to its translation)",
        "2 left out (link to no document in the two languages)",
        "document 8 (4 fields instead of 6), document 9 (HTML is not in base 64)",
    ):
        assert part in text
    assert [row.label for row in read_labelled_pairs(out)] == [1, 1, 0, 0]
    assert {evidence: len(found) for evidence, found in read_positives(out).items()} == {"gold": 2}
    assert "--pair eng-fra" in refused(capsys, folder / "a.ca.lett.gz", "--out", out)


def crawl(folder: Path, pair: str, columns: str, *rows: str) -> None:
    folder.mkdir(parents=True)
    write_table(folder / "pairs.tsv", f"url_a url_b score method{columns}", rows)
    (folder / "summary.json").write_text(json.dumps({"pair": pair}))


def test_crawls_sites_and_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = ("https://a.mt/\thttps://a.mt/mt/\t0.99\threflang", "https://a.mt/x\thttps://a.mt/mt/x\t0.8\turl")
    crawl(tmp_path / "crawls" / "one", "eng-mlt", "", *one)
    several = (f"https://s.is/en\thttps://s.is/{to[:2]}\t0.9\turl\teng-{to}" for to in ("isl", "dan"))
    crawl(tmp_path / "crawls" / "several", "eng-isl,eng-dan", " pair", *several)
    site = tmp_path / "sites" / "deb.tool"
    site.mkdir(parents=True)
    frozen = "https://d.org/en\teng\thttps://d.org/eu\teus\tswitcher\nhttps://d.org/en\teng\thttps://d.org/e\telv1\tx\n"
    (site / "pairs.tsv.xz").write_bytes(lzma.compress(frozen.encode()))
    listed = [
        "https://a.mt/mt/\tmlt\thttps://a.mt/\teng\thtml\threflang-html",
        "https://n.com/1\teng\thttps://n.com/2\tfra\tsemeval\tsame-story-1.00",
        "https://n.com/3\teng\thttps://n.com/4\teng\thtml\threflang-html",
    ]
    given = write_table(tmp_path / "url_pairs.tsv.gz", "url_a lang_a url_b lang_b source evidence", listed)
    out, again = tmp_path / "pairs.tsv.gz", tmp_path / "again.tsv.gz"
    run(given, tmp_path / "crawls", tmp_path / "sites", "--out", out)
    assert read_rows(out)[1:] == [
        ["https://a.mt/mt/", "mlt", "https://a.mt/", "eng", *rest("html", "hreflang-html")],
        ["https://n.com/1", "eng", "https://n.com/2", "fra", *rest("semeval", "same-story-1.00", "0")],
        ["https://a.mt/x", "eng", "https://a.mt/mt/x", "mlt", *rest("one", "crawl")],
        ["https://s.is/en", "eng", "https://s.is/is", "isl", *rest("several", "crawl")],
        ["https://s.is/en", "eng", "https://s.is/da", "dan", *rest("several", "crawl")],
        ["https://d.org/en", "eng", "https://d.org/eu", "eus", *rest("deb.tool", "site")],
    ]
    text = told(capsys)
    assert "1 left out (one language)" in text
    assert "line 2 (no such language: eng or elv1)" in text
    run(out, "--out", again)
    assert again.read_bytes() == out.read_bytes()


def test_a_positive_beats_a_negative_and_memory_is_kept_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = []
    for i in range(100):
        sides = [f"https://a.is/{i % 7}/en\teng", f"https://a.is/{i % 7}/is\tisl"]
        rows.append("\t".join([*(sides if i % 2 else reversed(sides)), str(int(i > 90))]))
    path = write_table(tmp_path / "list.tsv", "url_a lang_a url_b lang_b label", rows)
    run(path, "--out", tmp_path / "one.tsv.gz")
    found = read_rows(tmp_path / "one.tsv.gz")
    assert [row[-1] for row in found[1:]] == ["1"] * 7
    monkeypatch.setattr(pairs_module, "GROWTH", 3)
    run(path, path, "--out", tmp_path / "often.tsv.gz")
    assert sorted(read_rows(tmp_path / "often.tsv.gz")) == sorted(found)


def test_what_cannot_be_read_ends_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("just some text\n")
    (tmp_path / "empty.tmx").write_bytes(tmx([]))
    (tmp_path / "cut.tmx.gz").write_bytes(gzip.compress(tmx([unit(("en", ["https://a.is/"]))] * 999))[:300])
    (tmp_path / "nothing").mkdir()
    before = sorted(tmp_path.iterdir())
    for name, message in (
        ("notes.txt", "none of the formats that are read: TMX, .lett"),
        ("empty.tmx", "no pair of translations"),
        ("cut.tmx.gz", "cut.tmx.gz: "),
        ("nothing", "in this folder"),
        ("absent.tmx", "No such file"),
    ):
        assert message in refused(capsys, tmp_path / name, "--out", tmp_path / "pairs.tsv.gz")
    assert sorted(tmp_path.iterdir()) == before


def test_only_positives_with_known_evidence_or_none_are_learnt_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = "url_a lang_a url_b lang_b"
    labelled = [f"https://{i}.is/en\teng\thttps://{i}.is/is\tisl\tcrawl\t{i % 2}" for i in range(4)]
    guessed = "https://b.is/en\teng\thttps://b.is/is\tisl\tguess"
    lists = [
        write_table(tmp_path / "labelled.tsv", f"{columns} evidence label", labelled),
        write_table(tmp_path / "mine.tsv", columns, ["https://a.is/en\teng\thttps://a.is/is\tisl"]),
        write_table(tmp_path / "named.tsv", f"{columns} evidence", [guessed]),
    ]
    run(*lists, "--out", tmp_path / "out.tsv")
    capsys.readouterr()
    crawled = [(f"https://{i}.is/en", f"https://{i}.is/is") for i in (1, 3)]
    assert read_positives(tmp_path / "out.tsv") == {"crawl": crawled, "list": [("https://a.is/en", "https://a.is/is")]}
    assert capsys.readouterr().out == "out.tsv: 6 rows; 1 left out with evidence guess\n"
