"""Pages with the same text in two languages."""

from __future__ import annotations

import random
import re
import time
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.crawls import crawl, crawl_with_two_workers, documents, kill_crawl
from support.redis_server import redis_server
from support.scripted import Answer, scripted
from support.webserver import ALIGNED, run_scrapy

from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.language import BY_DEFAULT
from bilingual_crawler.pages.parts import Lines, Part, Split, features, parts_of, split_by_language
from bilingual_crawler.pages.sandbox.pool import submit
from bilingual_crawler.reporting.results import read_summary
from bilingual_crawler.storage.records import read_tsv
from bilingual_crawler.urls.canonical import canonicalise
from bilingual_crawler.urls.marks import marked_language, strip_language
from bilingual_crawler.urls.variants import asked_language, bare, part, part_language

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from support.scripted import Scripted

PAGES = 24
ADDRESS = "https://example.org/en/page?id=3"
SENTENCES = [
    (
        "The harbour was built in the year {n} by people from the islands.",
        "El puerto fue construido en el año {n} por gente de las islas.",
    ),
    (
        "Every morning the boats bring fish to the market, and the cooks of the town wait for them.",
        "Cada mañana los barcos traen pescado al mercado, y los cocineros del pueblo los esperan.",
    ),
    (
        "In winter there is snow on the hills.",
        "En invierno hay nieve en las colinas.",
    ),
    (
        "The school has {n} pupils, two libraries, and a garden in which they grow beans, onions and tomatoes"
        " for the kitchen.",
        "La escuela tiene {n} alumnos, dos bibliotecas y un jardín en el que cultivan judías, cebollas y "
        "tomates para la cocina.",
    ),
    (
        "Nobody knows who painted the old church.",
        "Nadie sabe quién pintó la vieja iglesia.",
    ),
    (
        "Visitors should bring good shoes, because the path to the tower is long, steep, and wet even when "
        "the sun has been shining for weeks.",
        "Los visitantes deben traer buenos zapatos, porque el camino a la torre es largo, empinado y está "
        "mojado aunque haya hecho sol durante semanas.",
    ),
    (
        "The museum opens at nine and closes in the evening.",
        "El museo abre a las nueve y cierra por la tarde.",
    ),
    (
        "Maria Borg wrote a book about the families who left for Australia after the war, and it was read by everyone.",
        "Maria Borg escribió un libro sobre las familias que se marcharon a Australia después de la guerra, y"
        " todos lo leyeron.",
    ),
    (
        "We are looking for volunteers.",
        "Estamos buscando voluntarios para ayudar.",
    ),
    (
        "A small train, which the council bought for very little money, takes the children up to the castle "
        "on Sundays.",
        "Un pequeño tren, que el ayuntamiento compró por muy poco dinero, lleva a los niños hasta el castillo"
        " los domingos.",
    ),
]


def paragraphs(number: int, count: int = 8) -> list[tuple[str, str]]:
    """Paragraphs of a page, each in English and Spanish."""
    chosen = random.Random(number).sample(SENTENCES, count)
    # a line that many pages repeat is none of their own text
    return [(f"{number}. {en.format(n=1000 + number)}", f"{number}. {es.format(n=1000 + number)}") for en, es in chosen]


def in_columns(texts: Sequence[tuple[str, str]]) -> str:
    return "<table>" + "".join(f"<tr><td>{en}</td><td>{es}</td></tr>" for en, es in texts) + "</table>"


def in_two_blocks(texts: Sequence[tuple[str, str]]) -> str:
    english, spanish = ("".join(f"<p>{one[side]}</p>" for one in texts) for side in (0, 1))
    return f"<div lang=en>{english}</div><h2>Español</h2><div lang=es>{spanish}</div>"


def by_paragraph(texts: Sequence[tuple[str, str]]) -> str:
    return "".join(f"<p>{en}</p><p><i>{es}</i></p>" for en, es in texts)


def half_translated(texts: Sequence[tuple[str, str]]) -> str:
    middle = len(texts) // 2
    chosen = [en for en, _ in texts[:middle]] + [es for _, es in texts[middle:]]
    return "".join(f"<p>{one}</p>" for one in chosen)


def page(number: int, body: str, path: Callable[[int], str] = lambda n: f"/page-{n}") -> str:
    onward = "".join(f"<a href={path(n)}>{n}</a> " for n in range(number + 1, min(number + 6, PAGES)))
    return f"<html><head><title>Page {number}</title></head><body>{body}<nav>{onward}</nav></body></html>"


def site(layout: Callable[[Sequence[tuple[str, str]]], str]) -> Callable[[str], Answer]:
    def answer(path: str) -> Answer:
        found = re.fullmatch(r"/(?:page-(\d+))?", path)
        number = int(found[1] or 0) if found else PAGES
        return Answer(status=404) if number >= PAGES else Answer(page(number, layout(paragraphs(number))))

    return answer


# the URL of a part ----------------------------------------------------------------------------------------------------


@given(
    st.sampled_from([ADDRESS, "https://example.org/", "http://example.org/a#!lang=eng"]),
    st.sampled_from(["spa", "mlt"]),
)
def test_a_part_is_a_url_with_a_language(url: str, language: str) -> None:
    made = part(url, language)
    assert part_language(made) == language
    assert asked_language(made) is None
    assert canonicalise(made) == made
    # whatever the address of the page says
    assert marked_language(made) == language
    assert marked_language(made, ["eng"]) is None
    assert strip_language(made) == strip_language(part(url, "eng"))
    assert part_language(bare(url)) is None


# which pages are taken apart ------------------------------------------------------------------------------------------


def read(body: str) -> list[tuple[str, list[str]]]:
    html = (
        f"<html lang=en><head><title>x</title></head><body><nav><a href=/>Home of the village website</a></nav>{body}"
    )
    parts = PageJob(html.encode(), "text/html; charset=utf-8", "https://example.org/").run().parts
    return [(one.language, one.text.split("\n")) for one in parts]


@pytest.mark.parametrize("layout", [in_columns, in_two_blocks, by_paragraph])
@pytest.mark.parametrize("number", range(5))
def test_the_same_text_in_two_languages_is_two_parts(
    layout: Callable[[Sequence[tuple[str, str]]], str], number: int
) -> None:
    texts = paragraphs(number)
    found = dict(read(layout(texts)))
    assert found == {"eng": [en for en, _ in texts], "spa": [es for _, es in texts]}


def disjoint(texts: Sequence[tuple[str, str]]) -> str:
    """Two texts that have nothing to do with each other."""
    others = [es for _, es in paragraphs(77, len(SENTENCES)) if es not in {es for _, es in texts}]
    return "".join(f"<p>{one}</p>" for one in (*(en for en, _ in texts), *others))


@pytest.mark.parametrize("layout", [half_translated, disjoint])
@pytest.mark.parametrize("number", range(5))
def test_a_page_that_is_translated_in_part_is_one_document(
    layout: Callable[[Sequence[tuple[str, str]]], str], number: int
) -> None:
    assert read(layout(paragraphs(number))) == []


def test_what_is_declared_counts_more_than_what_is_identified() -> None:
    lines = Lines([es for _, es in paragraphs(1)] * 2, ["glg"] * 8 + ["spa"] * 8)
    found = split_by_language(lines, BY_DEFAULT)
    assert found is not None
    assert {found.longer.language, found.shorter.language} == {"glg", "spa"}


def test_lines_that_are_too_short_have_the_language_of_their_neighbours() -> None:
    english, spanish = zip(*paragraphs(2), strict=True)
    lines = [*english[:3], "1914", *english[3:], "1918", *spanish]
    found = split_by_language(Lines(lines, [None] * len(lines)), BY_DEFAULT)
    assert found is not None
    texts = {one.language: one.lines for one in (found.longer, found.shorter)}
    assert "1914" in texts["eng"]
    assert not any("1918" in one for one in texts.values())


@given(st.lists(st.text(max_size=80), max_size=80), st.lists(st.text(max_size=80), max_size=80))
def test_any_text_can_be_compared(one: list[str], other: list[str]) -> None:
    values = features(Split(Part("eng", tuple(one)), Part("spa", tuple(other)), 1))
    assert values is None or all(map(float("inf").__gt__, map(abs, values)))


@pytest.mark.parametrize(("count", "parts"), [(30, 2), (10_000, 0)])
def test_a_page_of_thousands_of_lines_is_one_document(count: int, parts: int) -> None:
    # one declared line is enough for all others to be identified, more than the time limit of a page allows
    quote = f"<blockquote lang=en>{paragraphs(0)[0][0]}</blockquote>"
    texts = [paragraphs(number, 1)[0] for number in range(count)]
    job = PageJob((quote + by_paragraph(texts)).encode(), "text/html; charset=utf-8", ADDRESS)
    found = submit(job).result()
    assert len(found.parts) == parts
    assert found.page.text.count("\n") == 2 * count


@pytest.mark.slow
def test_a_long_page_is_read_in_time() -> None:
    english, spanish = zip(*(paragraphs(number, 1)[0] for number in range(20_000)), strict=True)
    lines = [*english, *spanish]
    begun = time.thread_time()
    parts_of(Lines(lines, [None] * len(lines)), BY_DEFAULT)
    assert time.thread_time() - begun < 20


# crawls ---------------------------------------------------------------------------------------------------------------


def pages_of(server: Scripted) -> list[str]:
    """Paths of the requested pages, without robots.txt and the probe for what a missing page shows."""
    return [path for path in server.paths() if re.fullmatch(r"/(page-\d+)?", path)]


def check_output(folder: Path) -> None:
    """All pages are pairs of their two parts, and nothing else is."""
    found = [(row["url_a"], row["url_b"]) for row in read_tsv(folder / "out" / "pairs.tsv")]
    assert len(found) >= PAGES - 1
    for one, other in found:
        assert (part_language(one), part_language(other)) == ("eng", "spa")
        assert one.partition("#")[0] == other.partition("#")[0]
    records = documents(folder)
    assert set(chain.from_iterable(found)) <= records.keys()
    assert all(records[one]["text"] != records[other]["text"] for one, other in found)


@pytest.mark.parametrize("layout", [in_columns, in_two_blocks, by_paragraph])
@pytest.mark.parametrize("aligned", [True, False])
def test_both_languages_on_one_page(
    tmp_path: Path, layout: Callable[[Sequence[tuple[str, str]]], str], aligned: bool
) -> None:
    with scripted(site(layout)) as server:
        more = (*ALIGNED, "-s", "BILINGUAL_BITEXT=moses") if aligned else ()
        done = crawl(tmp_path, f"{server.url}/", *more, policy="gain")
        assert done.returncode == 0, done.stderr
        assert len(pages_of(server)) == PAGES
    check_output(tmp_path)
    summary = read_summary(tmp_path / "out")
    assert summary["documents"] == {"eng": PAGES, "spa": PAGES}
    assert summary["html"] == summary["fetched"] == PAGES
    assert summary["pairs"] >= PAGES - 1
    assert summary["left_over"] == 2 * (PAGES - summary["pairs"])
    assert {row["language"] for row in read_tsv(tmp_path / "out" / "crawl.tsv") if row["outcome"] == "document"} == {
        "eng+spa"
    }
    if aligned:
        english, spanish = (
            next(file.read_text().splitlines() for file in (tmp_path / "out" / "bitext").glob(f"*.{code}"))
            for code in ("en", "es")
        )
        right = {pair for number in range(PAGES) for pair in paragraphs(number, len(SENTENCES))}
        kept = list(zip(english, spanish, strict=True))
        # a sentence that differs between pages in its number only is kept once
        assert len(kept) >= 4 * len(SENTENCES) // 5
        assert sum(pair in right for pair in kept) >= 0.95 * len(kept)


@pytest.mark.slow
def test_archive_kept_texts_and_recrawl_have_the_same_parts(tmp_path: Path) -> None:
    with scripted(site(by_paragraph)) as server:
        assert crawl(tmp_path, f"{server.url}/", policy="gain").returncode == 0
        known = ("-s", f"BILINGUAL_KNOWN={tmp_path / 'out'}")
        (tmp_path / "again").mkdir()
        assert crawl(tmp_path / "again", f"{server.url}/", *known, policy="gain").returncode == 0
        assert len(pages_of(server)) == 2 * PAGES
        seeds = f"{server.url}/"
    (tmp_path / "replay").mkdir()
    replay = ("-s", f"BILINGUAL_REPLAY={tmp_path / 'out'}")
    assert crawl(tmp_path / "replay", seeds, *replay, policy="gain").returncode == 0
    for name in ("again", "replay"):
        check_output(tmp_path / name)
        assert documents(tmp_path / name).keys() == documents(tmp_path).keys()
    expected = {(row["url_a"], row["url_b"]) for row in read_tsv(tmp_path / "out" / "pairs.tsv")}
    [warc] = (tmp_path / "out").glob("*.warc.gz")
    for source in (tmp_path / "out", warc, tmp_path / "out" / "documents.jsonl.gz"):
        target = tmp_path / "pairs.tsv"
        done = run_scrapy(tmp_path, "align", str(source), "--pair", "eng-spa", "--out", str(target))
        assert done.returncode == 0, done.stderr
        found = {(row["url_a"], row["url_b"]) for row in read_tsv(target)}
        # all sentences of a page may be on other pages, too: then it has no text of its own
        assert found <= expected
        assert len(found) >= PAGES - 1
        target.unlink()
    mined = tmp_path / "mined"
    done = run_scrapy(tmp_path, "mine", str(tmp_path / "out"), "--pair", "eng-spa", "--out", str(mined))
    assert done.returncode == 0, done.stderr
    [table] = mined.glob("pairs/**/*.parquet")
    assert {(row["url_a"], row["url_b"]) for row in pq.read_table(table).to_pylist()} == found


def test_a_killed_crawl_loses_no_part(tmp_path: Path) -> None:
    job = ("-s", f"JOBDIR={tmp_path / 'job'}")
    with scripted(site(in_columns)) as server:
        kill_crawl(tmp_path, f"{server.url}/", *job, when=lambda: len(pages_of(server)) >= 10)
        assert len(pages_of(server)) < PAGES
        assert crawl(tmp_path, f"{server.url}/", *job, policy="gain").returncode == 0
    check_output(tmp_path)
    assert len(documents(tmp_path)) == 2 * PAGES


def test_two_workers_lose_no_part(tmp_path: Path) -> None:
    with (
        scripted(site(in_columns)) as one,
        scripted(site(by_paragraph), "127.0.0.2") as two,
        redis_server(tmp_path) as server,
    ):
        folders = crawl_with_two_workers(tmp_path, f"{one.url}/,{two.url}/", server.url)
    found = [url for folder in folders for url in documents(folder)]
    assert len(found) == len(set(found)) == 2 * 2 * PAGES


def test_a_part_is_the_document_of_its_language_for_other_pairs(tmp_path: Path) -> None:
    """A page in English and Spanish, and its Finnish translation, which it announces."""
    finnish = (
        "<p>Satama rakennettiin vuonna 1000 saarten väen voimin, ja joka aamu veneet tuovat kalaa torille.</p>"
        "<p>Talvella kukkuloilla on lunta, ja koulussa on puutarha, jossa kasvatetaan papuja ja sipulia.</p>" * 3
    )

    def answer(path: str) -> Answer:
        head = "<link rel=alternate hreflang=fi href=/fi/page>"
        if path == "/en/page":
            return Answer(f"<html><head>{head}</head><body>{by_paragraph(paragraphs(0))}<a href=/fi/page>Suomi</a>")
        return Answer(f"<html><body>{finnish}") if path == "/fi/page" else Answer(status=404)

    with scripted(answer) as server:
        chosen = ("-a", f"seeds={server.url}/en/page", "-a", "languages=eng,spa,fin", "-a", "policy=gain")
        folder = ("-s", f"BILINGUAL_OUTPUT_DIR={tmp_path / 'out'}")
        done = run_scrapy(tmp_path, "crawl", "bilingual", *chosen, *folder)
        assert done.returncode == 0, done.stderr
        found = {(row["url_a"], row["url_b"]) for row in read_tsv(tmp_path / "out" / "pairs.tsv")}
        whole = f"{server.url}/en/page"
        assert (part(whole, "eng"), part(whole, "spa")) in found
    assert sorted(map(part_language, documents(tmp_path)), key=str) == [None, "eng", "spa"]
