"""Documents as a whole: in pairs with all sentences and beads, and of one language, paired or not."""

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.crawls import succeeds
from support.finnish_texts import ENGLISH, FINNISH
from support.tables import json_lines, write_pages

from bilingual_crawler.bitext.align import LONGEST
from bilingual_crawler.bitext.monolingual import open_monolingual
from bilingual_crawler.bitext.personal import masked
from bilingual_crawler.bitext.produce import BitextProducer, open_exports
from bilingual_crawler.items import Pair
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.language import BY_DEFAULT
from bilingual_crawler.pages.origin import Origin

PAIR = LanguagePair.parse("eng-fin")
A, B = "https://a.example/en", "https://a.example/fi"

lines = st.lists(
    st.text(st.sampled_from("ab Ab.?! 5,\u3000\u00a0。你好“”»\n\x85@1234567890"), max_size=40) | st.text(max_size=20),
    max_size=8,
)


def normal(paragraphs: list[str]) -> list[str]:
    """Paragraphs with text, with single blanks, as the main text of a page has them."""
    writable = (line.encode(errors="replace").decode() for line in paragraphs)
    return [text for line in writable if (text := " ".join(line.split()))]


def produce(folder: Path, pages: dict[str, list[str]], *formats: str, mask: bool = False) -> None:
    main: Callable[[str], list[str]] = pages.__getitem__
    if mask:
        main, _ = masked(main, lambda _: Origin(), PAIR)
    producer = BitextProducer(
        PAIR, BY_DEFAULT, open_exports(formats, folder, PAIR), monolingual=open_monolingual(formats, folder, PAIR)
    )
    documents = [("eng" if url == A else "fin", url, url in (A, B), [True] * len(pages[url])) for url in pages]
    producer.add([Pair(A, B, 0.9, "url", "eng-fin")], main, documents=documents)
    producer.close()


def joined(sentences: list[dict[str, Any]]) -> list[str]:
    """The paragraphs, as docs/outputs.md says how to join them."""
    paragraphs: dict[int, str] = {}
    for sentence in sentences:
        paragraphs[sentence["paragraph"]] = paragraphs.get(sentence["paragraph"], "") + sentence["text"]
    return list(paragraphs.values())


@settings(max_examples=40, deadline=None)
@given(lines, lines)
@example(["One. Two.", "Three 1999."], ["你好。我很好。", "三 1999。", "\ud800 再见。"])
@example([], ["你好。"])
@example([], ["SO0Ac:1sAA"])
@example([], ["0" * 30, "0" * 30])
def test_reading_back_and_joining_gives_the_main_text(a: list[str], b: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        produce(folder, {A: a, B: b}, *("documents", "documents-parquet"), "monolingual", "monolingual-parquet")
        [row] = json_lines(folder / "en-fi.documents.jsonl.gz")
        [column] = pq.read_table(folder / "en-fi.documents.parquet").to_pylist()
        alone = {row["url"]: row for row in json_lines(folder / "en-fi.monolingual.jsonl.gz")}
        columns = pq.read_table(folder / "en-fi.monolingual.parquet").to_pylist()
    for language, url, paragraphs in (("en", A, a), ("fi", B, b)):
        sentences = row["sentences"][language]
        assert joined(sentences) == joined(column[f"sentences_{language}"]) == normal(paragraphs)
        # the beads lead through the whole document, in order
        for beads in (row["beads"], column["beads"]):
            assert [place for bead in beads for place in bead[language]] == list(range(len(sentences)))
        # what is surely in another language is no document of this one
        if not BY_DEFAULT.identify_page(paragraphs).reliable:
            assert (url in alone) == bool(paragraphs)
        if url in alone:
            assert normal(alone[url]["paragraphs"]) == normal(list(dict.fromkeys(paragraphs)))
    assert [row["url"] for row in columns] == list(alone)
    assert all((bead["score"] is None) == (not bead["en"] or not bead["fi"]) for bead in row["beads"])


MAIL = "Write to aino@example.org, or come in.", "Kirjoita osoitteeseen aino@example.org, tai tule käymään."
ALONE = "Tämä pitkä kappale on vain suomenkielisellä sivulla, eikä sille ole käännöstä 2024."
PAGES = {A: [*ENGLISH, MAIL[0]], B: [*FINNISH[:2], ALONE, *FINNISH[2:], MAIL[1]]}


def test_beads_have_what_sentence_pairs_have_and_gaps_and_dropped_pairs_are_where_they_are(tmp_path: Path) -> None:
    menus = {A: "Home | News | Contact", B: "Etusivu | Uutiset | Yhteystiedot"}
    produce(tmp_path, {url: [*PAGES[url], menus[url]] for url in PAGES}, "documents", "jsonl", "dropped")
    [row] = json_lines(tmp_path / "en-fi.documents.jsonl.gz")
    texts: dict[str, list[str]] = {}
    for language in ("en", "fi"):
        sentences = [one["text"] for one in row["sentences"][language]]
        texts[language] = ["".join(sentences[n] for n in bead[language]).strip() for bead in row["beads"]]
    pairs = json_lines(tmp_path / "en-fi.jsonl.gz")
    kept = [n for n, bead in enumerate(row["beads"]) if bead["en"] and bead["fi"] and not bead["dropped"]]
    assert len(kept) == len(pairs) > 2
    for n, pair in zip(kept, pairs, strict=True):
        assert pair["translation"] == {language: texts[language][n] for language in ("en", "fi")}
        for name in ("score", "quality", "short"):
            assert row["beads"][n][name] == pair[name]
    assert row["document_score"] == pairs[0]["document_score"]
    assert row.keys() == pairs[0].keys() - {"translation", "score", "quality", "short"} | {"sentences", "beads"}
    gap = row["beads"][texts["fi"].index(ALONE)]
    assert (gap["en"], gap["score"], gap["dropped"]) == ([], None, "")
    assert row["beads"][-1]["dropped"] == "navigation"
    assert row["personal"] == {"en": "email", "fi": "email"}


def test_masks_hold_in_whole_documents(tmp_path: Path) -> None:
    names = ("documents", "monolingual")
    produce(tmp_path, PAGES, *names, mask=True)
    for name in names:
        text = gzip.decompress((tmp_path / f"en-fi.{name}.jsonl.gz").read_bytes()).decode()
        assert text.count("__EMAIL__") == 2
        assert "aino@" not in text
    assert {row["personal"] for row in json_lines(tmp_path / "en-fi.monolingual.jsonl.gz")} == {"email"}


def test_a_document_of_too_many_sentences_is_cut_where_the_alignment_ends(tmp_path: Path) -> None:
    produce(tmp_path, {A: [f"One {n}. Two." for n in range(LONGEST)], B: FINNISH}, "documents", "monolingual")
    [row] = json_lines(tmp_path / "en-fi.documents.jsonl.gz")
    assert len(row["sentences"]["en"]) == LONGEST
    assert len(json_lines(tmp_path / "en-fi.monolingual.jsonl.gz")[0]["paragraphs"]) == LONGEST


def test_the_main_text_of_a_document_decides_whether_it_is_in_its_language(tmp_path: Path) -> None:
    """A page in English with long menus in Finnish counts as Finnish; its main text does not."""
    contact, short, code = (f"https://a.example/fi/{name}" for name in ("contact", "2024", "code"))
    english = ["Your name and your e-mail address", "By submitting this form, you accept the privacy policy."]
    pages = {**PAGES, contact: english, short: ["OK 2024"], code: ["SO0Ac:1sAA"]}
    produce(tmp_path, pages, "monolingual", "monolingual-parquet")
    rows = json_lines(tmp_path / "en-fi.monolingual.jsonl.gz")
    assert [row["url"] for row in rows] == [A, B, short, code]
    assert pq.read_table(tmp_path / "en-fi.monolingual.parquet")["url"].to_pylist() == [A, B, short, code]


def test_documents_of_one_language_come_once_without_boilerplate(tmp_path: Path) -> None:
    """Ten pairs, an English page alone, with a near-duplicate and on a second site; a menu on every page."""
    english = "Wind and rain came over the hills of the north on day {0} of the year, and nobody went out.", "Day {0}"
    spanish = "El viento y la lluvia llegaron el día {0} del año a los montes del norte y nadie salió.", "Día {0}"
    texts = {}
    for n in range(10):
        texts[f"https://a.example/en/{n}"] = ["Home News Contact us", *(line.format(n) for line in english)]
        texts[f"https://a.example/es/{n}"] = ["Inicio Noticias Contacto", *(line.format(n) for line in spanish)]
    letters = (f"The {n}th letter of the smith tells of copper and of iron in the hills." for n in range(40))
    lonely = ["Home News Contact us", *letters]
    smiths = {"a.example/en/print/smith": lonely[:-1], "a.example/en/smith": lonely, "b.example/smith": lonely[1:]}
    texts |= {f"https://{url}": text for url, text in smiths.items()}
    write_pages(tmp_path, {url: "\n".join(text) for url, text in texts.items()})
    bitext = ("--bitext", "bitext", "--formats", "monolingual,monolingual-parquet", "-s", "BILINGUAL_ENCODER=")
    succeeds(tmp_path, "align", "pages.jsonl", "--pair", "en-es", "--method", "url", *bitext)
    rows = {row["url"]: row for row in json_lines(tmp_path / "bitext" / "en-es.monolingual.jsonl.gz")}
    assert len(rows) == 21
    assert {url for url, row in rows.items() if row["paired"]} == {url for url in texts if url[-1].isdigit()}
    [alone] = [row for row in rows.values() if not row["paired"]]
    assert (alone["language"], alone["paragraphs"]) == ("en", lonely[1:])
    assert not [row for row in rows.values() if "Contact" in "".join(row["paragraphs"])]
    columns = pq.read_table(tmp_path / "bitext" / "en-es.monolingual.parquet").to_pylist()
    unknown = [{name: "" if value is None else value for name, value in row.items()} for row in columns]
    assert unknown == list(rows.values())
