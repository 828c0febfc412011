from __future__ import annotations

import base64
import gzip
import json
import lzma
import resource
from typing import TYPE_CHECKING

import pytest

from training.parallelness.evaluation import read_labelled_pairs
from training.parallelness.examples import read_positives
from training.prepare import pairs as pairs_module
from training.prepare.__main__ import main

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

COLUMNS = ["url_a", "lang_a", "url_b", "lang_b", "source", "evidence", "label"]
TMX = """<?xml version="1.0"?>
{doctype}<tmx version="1.4">
 <header adminlang="C" srclang="en" o-tmf="PlainText" creationtool="bitextor" datatype="PlainText" segtype="sentence">
 </header>
 <body>
{units}
 </body>
</tmx>
"""


def lines(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def run(*arguments: object) -> None:
    main([str(argument) for argument in ("pairs", *arguments)])


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as stop:
        run(*arguments)
    assert stop.value.code == 1
    return " ".join(capsys.readouterr().err.split())


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
    path = tmp_path / "MaCoCu-is-en.tmx.gz"
    units = [
        unit(("en", ["https://en.alda.is/about-alda/"]), ("is", ["https://alda.is/um-oldu/?a=1&amp;b=2"])),
        unit(("en", ["https://en.alda.is/about-alda/"]), ("is", ["https://alda.is/um-oldu/?a=1&amp;b=2"])),
        unit(("en", ["http://justus.anglican.org/x"]), ("is", ["https://gummi.blog/y"])),
        # A corpus without repetitions lists every document that has the sentence, in no order.
        unit(
            ("en", ["https://a.is/en/1", "https://b.is/en/1", "https://c.is/en/1", "https://c.is/en/2"]),
            ("is", ["https://c.is/is/1", "https://b.is/is/1", "https://a.is/is/1"]),
        ),
        unit(("en", ["https://d.is/1", "https://d.is/2"]), ("is", ["https://d.is/3"])),
        unit(("en", ["unknown"]), ("is", ["https://e.is/"])),
        unit(("en", ["https://e.is/"]), ("is", ["https://e.is/is"]), ("da", ["https://e.is/da"])),
        unit(("en", ["https://e.is/en"]), ("tlh", ["https://e.is/sr"])),
        unit(("en", ["https://f.is/"]), ("is", ["http://www.f.is"])),
    ]
    path.write_bytes(gzip.compress(tmx(units)))
    out = tmp_path / "pairs.tsv.gz"
    run(path, "--out", out)
    assert lines(out) == [
        COLUMNS,
        ["https://en.alda.is/about-alda/", "eng", "https://alda.is/um-oldu/?a=1&b=2", "isl", *rest("MaCoCu-is-en")],
        ["https://a.is/en/1", "eng", "https://a.is/is/1", "isl", *rest("MaCoCu-is-en")],
        ["https://b.is/en/1", "eng", "https://b.is/is/1", "isl", *rest("MaCoCu-is-en")],
    ]
    text = told(capsys)
    for part in (
        "6 units",
        "1 left out (two sites)",
        "1 left out (several addresses)",
        "1 left out (one page)",
        "3 bad: unit 6 (no address), unit 7 (3 languages), unit 8 (no such language)",
    ):
        assert part in text
    assert read_positives(out)["corpus"][0] == ("https://en.alda.is/about-alda/", "https://alda.is/um-oldu/?a=1&b=2")


def rest(source: str, evidence: str = "corpus", label: str = "1") -> list[str]:
    return [source, evidence, label]


def test_entities_of_a_tmx_are_not_expanded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = tmp_path / "secret"
    secret.write_text("https://secret.is/")
    doctype = f'<!DOCTYPE tmx [<!ENTITY name "en"><!ENTITY file SYSTEM "{secret.as_uri()}">]>\n'
    units = [
        unit(("en", ["https://a.is/en"]), ("is", ["https://a.is/is"]), text="&name;"),
        unit(("en", ["https://a.is/&name;"]), ("is", ["https://a.is/is/2"])),
        unit(("en", ["&file;"]), ("is", ["https://secret.is/is"])),
    ]
    path = tmp_path / "entities.tmx"
    path.write_bytes(tmx(units, doctype))
    run(path, "--out", tmp_path / "pairs.tsv.gz")
    assert [row[0] for row in lines(tmp_path / "pairs.tsv.gz")[1:]] == ["https://a.is/en"]
    assert "2 bad: unit 2 (no address), unit 3 (no address)" in told(capsys)

    bomb = '<!ENTITY e0 "boom">' + "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    path.write_bytes(tmx([unit(("en", ["&e9;"]), ("is", ["https://a.is/"]))], f"<!DOCTYPE tmx [{bomb}]>\n"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "no pair of translations" in refused(capsys, path, "--out", tmp_path / "pairs.tsv.gz")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_faults_in_the_xml_are_told_and_the_rest_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    units = [unit(("en", [f"https://a.is/en/{i}"]), ("is", [f"https://a.is/is/{i}"])) for i in range(3)]
    units[1] = units[1].replace("Text &amp; more", "Text & more\x01")
    path = tmp_path / "faulty.tmx"
    path.write_bytes(tmx(units))
    run(path, "--out", tmp_path / "pairs.tsv.gz")
    assert [row[0] for row in lines(tmp_path / "pairs.tsv.gz")[1:]] == [f"https://a.is/en/{i}" for i in range(3)]
    assert "as a line of XML" in told(capsys)


def test_tables_of_corpora(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    macocu = tmp_path / "MaCoCu-mt-en.sent.txt.gz"
    macocu.write_bytes(
        gzip.compress(
            (
                b"src_url\ttrg_url\tsrc_text\ttrg_text\tbleualign_score\n"
                b'https://a.mt/en/1\thttps://a.mt/mt/1\tA "quoted text\tB\t0.5\n'
                b"https://a.mt/en/1\thttps://a.mt/mt/1\tC\tD\t0.5\n"
                b"https://a.mt/en/2\tsomewhere\tC\tD\t0.5\n"
                b"https://a.mt/en/3\thttps://a.mt/mt/3\tonly\n"
            )
            + b"https://a.mt/en/4\thttps://a.mt/mt/\xff\tA\tB\t0.1\n"
        )
    )
    paracrawl = tmp_path / "en-mt.classify.gz"
    paracrawl.write_bytes(gzip.compress(b"https://b.com/mt/x\thttps://b.com/en/x\tC\tD\t0.5\n" * 2))
    out = tmp_path / "pairs.tsv.gz"
    assert "add them in order, like --pair eng-isl" in refused(capsys, macocu, "--out", out)
    run(macocu, "--out", out, "--pair", "en-mt")
    assert lines(out)[1:] == [["https://a.mt/en/1", "eng", "https://a.mt/mt/1", "mlt", *rest("MaCoCu-mt-en")]]
    assert "3 bad: line 4 (not a URL), line 5 (3 fields instead of 5), line 6 (not UTF-8)" in told(capsys)
    run(paracrawl, "--out", out, "--pair", "mlt-eng")
    assert lines(out)[1:] == [["https://b.com/mt/x", "mlt", "https://b.com/en/x", "eng", *rest("en-mt")]]


def lett(*documents: tuple[str, str, str]) -> bytes:
    rows = (
        [lang, "text/html", "charset=utf-8", url, base64.b64encode(html.encode()).decode(), "dGV4dA=="]
        for lang, url, html in documents
    )
    return "".join("\t".join(row) + "\n" for row in rows).encode()


def page(*links: str, head: str = "") -> str:
    anchors = "".join(f'<p><a href="{link}">to</a></p>' for link in links)
    return f"<html><head><title>A page</title>{head}</head><body>{anchors}</body></html>"


def test_links_of_wmt16_pages_that_are_no_translations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "wmt16"
    folder.mkdir()
    (folder / "train.pairs").write_text(
        "http://a.ca/en/home.html\thttp://a.ca/fr/home.html\n"
        "http://a.ca/en/lonely.html\thttp://a.ca/fr/seul.html\n"
        "nonsense\n"
    )
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
    bad = b"en\ttext/html\tutf-8\thttp://a.ca/en/short\n" + b"\t".join(
        (b"en", b"text/html", b"utf-8", b"http://a.ca/en/lonely.html", b"%%%", b"")
    )
    (folder / "a.ca.lett.gz").write_bytes(gzip.compress(documents + bad + b"\n"))
    out = tmp_path / "pairs.tsv.gz"
    run(folder, "--out", out, "--pair", "eng-fra")
    gold, html = rest("train", "gold"), ["a.ca.lett", "html-link", "0"]
    assert lines(out)[1:] == [
        ["http://a.ca/en/home.html", "eng", "http://a.ca/fr/home.html", "fra", *gold],
        ["http://a.ca/en/lonely.html", "eng", "http://a.ca/fr/seul.html", "fra", *gold],
        ["http://a.ca/en/home.html", "eng", "http://a.ca/en/news.html", "eng", *html],
        ["http://a.ca/fr/home.html", "fra", "http://a.ca/fr/nouvelles.html", "fra", *html],
    ]
    text = told(capsys)
    assert "1 bad: line 3 (1 fields instead of 2)" in text
    assert "7 documents" in text
    assert "2 left out (known page without a link to its translation)" in text
    assert "2 left out (link to no document in the two languages)" in text
    assert "document 8 (4 fields instead of 6), document 9 (HTML is not in base 64)" in text
    labelled = read_labelled_pairs(out)
    assert [row.label for row in labelled] == [1, 1, 0, 0]
    assert {evidence: len(found) for evidence, found in read_positives(out).items()} == {"gold": 2}
    assert "--pair eng-fra" in refused(capsys, folder / "a.ca.lett.gz", "--out", out)


def test_crawls_sites_and_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crawl = tmp_path / "crawls" / "one"
    crawl.mkdir(parents=True)
    (crawl / "pairs.tsv").write_text(
        "url_a\turl_b\tscore\tmethod\nhttps://a.mt/\thttps://a.mt/mt/\t0.99\threflang\n"
        "https://a.mt/x\thttps://a.mt/mt/x\t0.8\turl\n"
    )
    (crawl / "summary.json").write_text(json.dumps({"pair": "eng-mlt"}))
    several = tmp_path / "crawls" / "several"
    several.mkdir()
    (several / "pairs.tsv").write_text(
        "url_a\turl_b\tscore\tmethod\tpair\nhttps://s.is/en\thttps://s.is/is\t0.9\turl\teng-isl\n"
        "https://s.is/en\thttps://s.is/da\t0.9\turl\teng-dan\n"
    )
    (several / "summary.json").write_text(json.dumps({"pair": "eng-isl,eng-dan"}))
    site = tmp_path / "sites" / "deb.tool"
    site.mkdir(parents=True)
    frozen = "https://d.org/en\teng\thttps://d.org/eu\teus\tswitcher\nhttps://d.org/en\teng\thttps://d.org/e\telv1\tx\n"
    (site / "pairs.tsv.xz").write_bytes(lzma.compress(frozen.encode()))
    given = tmp_path / "url_pairs.tsv.gz"
    given.write_bytes(
        gzip.compress(
            b"url_a\tlang_a\turl_b\tlang_b\tsource\tevidence\n"
            b"https://a.mt/mt/\tmlt\thttps://a.mt/\teng\thtml\threflang-html\n"
            b"https://n.com/1\teng\thttps://n.com/2\tfra\tsemeval\tsame-story-1.00\n"
            b"https://n.com/3\teng\thttps://n.com/4\teng\thtml\threflang-html\n"
        )
    )
    out = tmp_path / "pairs.tsv.gz"
    run(given, tmp_path / "crawls", tmp_path / "sites", "--out", out)
    assert lines(out)[1:] == [
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
    again = tmp_path / "again.tsv.gz"
    run(out, "--out", again)
    assert again.read_bytes() == out.read_bytes()


def test_a_positive_beats_a_negative_and_memory_is_kept_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(f"https://a.is/{i % 7}/en", f"https://a.is/{i % 7}/is", str(int(i > 90))) for i in range(100)]
    path = tmp_path / "list.tsv"
    path.write_text(
        "url_a\tlang_a\turl_b\tlang_b\tlabel\n"
        + "".join(
            f"{a}\teng\t{b}\tisl\t{label}\n" if i % 2 else f"{b}\tisl\t{a}\teng\t{label}\n"
            for i, (a, b, label) in enumerate(rows)
        )
    )
    run(path, "--out", tmp_path / "one.tsv.gz")
    found = lines(tmp_path / "one.tsv.gz")[1:]
    assert len(found) == 7
    assert {row[-1] for row in found} == {"1"}
    monkeypatch.setattr(pairs_module, "GROWTH", 3)
    run(path, path, "--out", tmp_path / "often.tsv.gz")
    assert sorted(lines(tmp_path / "often.tsv.gz")) == sorted(lines(tmp_path / "one.tsv.gz"))


def test_what_cannot_be_read_ends_the_command_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_negatives_of_a_list_are_no_positives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "mine.tsv", tmp_path / "out.tsv"
    rows = [f"https://{i}.is/en\teng\thttps://{i}.is/is\tisl\tcrawl\t{i % 2}" for i in range(4)]
    path.write_text("url_a\tlang_a\turl_b\tlang_b\tevidence\tlabel\n" + "\n".join(rows) + "\n")
    run(path, "--out", out)
    assert read_positives(out) == {"crawl": [(f"https://{i}.is/en", f"https://{i}.is/is") for i in (1, 3)]}


def test_pairs_of_a_list_without_evidence_are_learnt_from_and_others_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, named, out = tmp_path / "mine.tsv", tmp_path / "named.tsv", tmp_path / "out.tsv"
    path.write_text("url_a\tlang_a\turl_b\tlang_b\nhttps://a.is/en\teng\thttps://a.is/is\tisl\n")
    named.write_text("url_a\tlang_a\turl_b\tlang_b\tevidence\nhttps://b.is/en\teng\thttps://b.is/is\tisl\tguess\n")
    run(path, named, "--out", out)
    capsys.readouterr()
    assert read_positives(out) == {"list": [("https://a.is/en", "https://a.is/is")]}
    assert capsys.readouterr().out == "out.tsv: 2 rows; 1 left out with evidence guess\n"
