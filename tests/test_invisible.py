"""Control, bidirectional and other invisible characters of pages reach no output, and every output can be read."""

import base64
import gzip
import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from support.crawls import crawl, documents, ended_well
from support.tables import json_lines, read_rows, write_table
from support.texts import ENGLISH, SPANISH
from support.webserver import run_scrapy, serve

from bilingual_crawler.bitext.align import SentencePair
from bilingual_crawler.bitext.exports import DocumentPair, Export
from bilingual_crawler.bitext.splitting import split
from bilingual_crawler.items import Document
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.plugins import EXPORTS
from bilingual_crawler.storage.records import GzipJsonLines

PAIR = LanguagePair.parse("eng-spa")
DIRT = "\x02\x1b[2J\x7f\x9b\xad\u200b\u200e\u202e\u2066\u2069\ufdd0\ufeff\U0001fffe\U000e0041"
INVISIBLE = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ud800-\udfff"
    "\ufdd0-\ufdef\ufeff\ufffe\uffff\U0001fffe\U000e0000-\U000e007f]"
)


FORMATS = "bitextor,tmx,moses,jsonl,parquet,documents,documents-parquet"
OPTIONS = f"--pair en-es --method url --bitext bitext --review review --formats {FORMATS} -s BILINGUAL_ENCODER=".split()


def read_bitext(folder: Path) -> list[str]:
    """The content of the bitext in *folder*, read by the usual readers; each format has one row per pair."""
    texts: list[str] = []
    counts: set[int] = set()
    tree = etree.fromstring(gzip.decompress((folder / "en-es.tmx.gz").read_bytes()))
    texts += map(str, tree.xpath("//text()"))
    counts.add(len(tree.xpath("//tu")))
    bitextor = {name: read_rows(folder / f"en-es.{name}.gz") for name in ("documents", "raw", "sent")}
    for rows in bitextor.values():
        assert len({len(row) for row in rows}) == 1
        texts += [cell for row in rows for cell in row]
    texts += [base64.b64decode(cell).decode() for row in bitextor["documents"][1:] for cell in row[2:4]]
    counts.add(len(bitextor["sent"]) - 1)
    for suffix in ("en", "es", "ids"):
        lines = (folder / f"en-es.{suffix}").read_text(encoding="utf-8").splitlines()
        texts += lines
        counts.add(len(lines))
    rows_of_json = json_lines(folder / "en-es.jsonl.gz")
    texts += [cell for row in rows_of_json for part in ("translation", "url") for cell in row[part].values()]
    table = pq.read_table(folder / "en-es.parquet").to_pylist()
    texts += [cell for row in table for cell in row.values() if isinstance(cell, str)]
    [whole] = json_lines(folder / "en-es.documents.jsonl.gz")
    texts += [sentence["text"] for side in whole["sentences"].values() for sentence in side]
    [row] = pq.read_table(folder / "en-es.documents.parquet").to_pylist()
    texts += [sentence["text"] for side in ("sentences_en", "sentences_es") for sentence in row[side]]
    assert counts | {len(rows_of_json), len(table)} == {len(table)}
    return texts


def page(lang: str, sentences: tuple[str, ...], links: str) -> str:
    dirty = "".join(f"<p>{sentence[:9]}{DIRT}{sentence[9:]}{DIRT}</p>" for sentence in sentences * 3)
    return f"<html lang={lang}><meta charset=utf-8><title>Ti{DIRT}tle ({lang})</title>{links}{dirty}"


def test_nothing_invisible_leaves_a_crawl_and_its_alignment(tmp_path: Path) -> None:
    links = f"<a href=/en/ hreflang=en>Eng{DIRT}lish</a> <a href=/es/ hreflang=es>Español{DIRT}</a>"
    links += f" <a href='/x{DIRT}'>x</a>"
    site = {"/en/": page("en", ENGLISH, links), "/es/": page("es", SPANISH, links)}
    with serve(site) as server:
        result = ended_well(crawl(tmp_path, f"{server.url}/en/", "-s", "BILINGUAL_WARC=0", "-O", "feed.jsonl"))
    out = tmp_path / "out"
    assert not list(out.glob("*.warc.gz"))
    found = documents(tmp_path)
    assert [record["title"] for record in found.values()] == ["Ti[2Jtle (en)", "Ti[2Jtle (es)"]
    aligned = ended_well(run_scrapy(tmp_path, "align", "out", *OPTIONS))
    bitext = read_bitext(tmp_path / "bitext")
    assert any("[2J" in text for text in bitext)
    folders = *out.iterdir(), *(tmp_path / "review").iterdir()
    written = [*filter(Path.is_file, folders), tmp_path / "feed.jsonl", tmp_path / "pairs.tsv"]
    shown = {file.name: file.read_bytes() for file in written}
    assert {"report.html", "review.html", "crawl.tsv", "summary.json", "pairs.tsv"} <= shown.keys()
    readable = [(gzip.decompress(data) if name.endswith("gz") else data).decode() for name, data in shown.items()]
    streams = [result.stdout, result.stderr, aligned.stdout, aligned.stderr]
    for text in (*bitext, *readable, *streams, *(str(record) for record in found.values())):
        assert not INVISIBLE.search(text), ascii(text[:200])


def test_documents_of_older_crawls_are_cleaned_when_they_are_read(tmp_path: Path) -> None:
    crawled = tmp_path / "crawled"
    crawled.mkdir()
    file = GzipJsonLines(crawled / "documents.jsonl.gz")
    for lang, code, sentences in (("en", "eng", ENGLISH), ("es", "spa", SPANISH)):
        text = "\n".join((f"\u202e{DIRT}", *(f"{sentence[:9]}{DIRT}\ud800{sentence[9:]}" for sentence in sentences)))
        url = f"http://a.example/{lang}/"
        title = f"Ti{DIRT}tle\udfff"
        file.write(Document(url, code, [], True, title, text, "", 200, 0, None, None, None, None, [], []))
    file.write(Document(f"nowhere{DIRT}", "eng", [], True, "", "", "", 200, 0, None, None, None, None, [], []))
    file.close()
    pair = ("http://a.example/en/", "http://a.example/es/", 0.9, "url")
    write_table(crawled / "pairs.tsv", "url_a url_b score method", [pair])
    (crawled / "summary.json").write_text(json.dumps({"pair": "eng-spa", "seeds": [f"http://a.example/{DIRT}"]}))
    ended_well(run_scrapy(tmp_path, "align", "crawled", *OPTIONS))
    ended_well(run_scrapy(tmp_path, "report", "crawled"))
    report = (crawled / "report.html").read_text()
    assert "Ti[2Jtle" in report
    bitext = read_bitext(tmp_path / "bitext")
    assert sum("[2J" in text for text in bitext) > 2 * len(ENGLISH)
    review = (tmp_path / "review" / "review.html").read_text()
    assert '<p dir="auto">' in review
    for text in (*bitext, report, review, (tmp_path / "pairs.tsv").read_text()):
        assert not INVISIBLE.search(text), ascii(text[:200])


wild = st.text(st.characters(exclude_characters="<&"), max_size=40) | st.text(
    st.sampled_from(f"a{DIRT}\u200c\u200d\ud800")
)


@settings(max_examples=60, deadline=None)
@given(st.lists(wild, min_size=1, max_size=6))
def test_any_text_of_a_page_comes_out_of_every_export_readable(texts: list[str]) -> None:
    markup = "".join(f"<p>The {text} end</p><a href=x title='{text.replace(chr(39), '')}'></a>" for text in texts)
    found = parse_page(f"<title>{texts[0]}</title>{markup}", "http://a.example/en/")
    assert not INVISIBLE.search(json.dumps(msgspec.to_builtins(found), ensure_ascii=False))
    lines = found.text.split("\n")
    found_sentences = tuple(split(lines, "eng"))
    pairs = [SentencePair(s.text, s.text, 0.9, str(s.paragraph), str(s.paragraph)) for s in found_sentences]
    urls = ("http://a.example/en/", "http://a.example/es/")
    with tempfile.TemporaryDirectory() as folder:
        exports = [kind for kind in map(EXPORTS.find, EXPORTS.built_in) if issubclass(kind, Export)]
        for export in exports:
            writer = export(Path(folder), PAIR)
            documents = DocumentPair(*urls, found.text, found.text, 0.9, "url")
            writer.add(replace(documents, sentences_a=found_sentences, sentences_b=found_sentences), pairs, pairs)
            writer.close()
        bitext = read_bitext(Path(folder))
    assert sum(text.startswith("The") for text in bitext) >= len(exports) * 2
    assert not [text for text in bitext if INVISIBLE.search(text)]
