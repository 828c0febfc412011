from __future__ import annotations

import csv
import json
from math import isclose
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.exceptions import UsageError
from support.webserver import TEXT, run_scrapy

from bilingual_crawler.bitext.align import SentencePair
from bilingual_crawler.bitext.exports import DocumentPair
from bilingual_crawler.bitext.overview import Sample
from bilingual_crawler.items import Pair
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pairing.model import LABELLED, Alignment
from bilingual_crawler.reporting.review import (
    Judged,
    Review,
    Sheet,
    count_judged,
    krippendorff,
    read_labels,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAIR = LanguagePair.parse("eng-fin")


def alignment(count: int) -> Alignment:
    pairs = tuple(Pair(f"https://a.fi/en/{n}", f"https://a.fi/fi/{n}", 0.9, "url", "eng-fin") for n in range(count))
    return Alignment(("a.fi",), pairs, {"https://a.fi/x": "no_candidate"})


def test_a_sample_is_drawn_evenly_and_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        review = Review(PAIR, sample=20)
        review.add(alignment(1000), lambda url: [f"text of {url}", "<script>alert(1)</script>"])
        review.write(tmp_path / name)
        assert review.methods == {"url": 1000}
        assert review.unpaired == {"no_candidate": 1}
    sheet = (tmp_path / "one" / "review.tsv").read_text()
    assert sheet == (tmp_path / "two" / "review.tsv").read_text()
    rows = list(csv.DictReader(sheet.splitlines(), delimiter="\t"))
    assert len(rows) == 20
    assert rows[0]["translation"] == ""
    assert max(int(row["url_a"].rsplit("/", 1)[1]) for row in rows) > 500


def test_pairs_are_shown_side_by_side_with_their_text_escaped(tmp_path: Path) -> None:
    review = Review(PAIR)
    review.add(alignment(2), lambda url: [f"text of {url}", "<script>alert(1)</script>"])
    review.write(tmp_path)
    html = (tmp_path / "review.html").read_text()
    assert html.count('class="two"') == 2
    assert "text of https://a.fi/fi/1" in html
    assert "<script>" not in html
    assert "nothing in the other language resembles them" in html


def sentences(review: Review, count: int) -> None:
    documents = DocumentPair("https://a.fi/en/1", "https://a.fi/fi/1", "", "", 0.9, "url")
    kept = [SentencePair(f'"Yes," {n}\tsaid', f"“Kyllä” {n}", 0.8, "0", "0") for n in range(count)]
    review.sentences.add(documents, [*kept, *kept], kept)


def filled(folder: Path, judge: Callable[[int, dict[str, str]], str]) -> Path:
    """The sheet of 30 document pairs and 40 sentence pairs, judged by *judge* as a spreadsheet writes it."""
    review = Review(PAIR)
    review.add(alignment(30), lambda url: [url])
    sentences(review, 40)
    review.write(folder)
    sheet = folder / "review.tsv"
    with sheet.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    with sheet.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(row | {"translation": judge(number, row)} for number, row in enumerate(rows))
    return sheet


def test_the_sheet_has_sentence_pairs_too(tmp_path: Path) -> None:
    review = Review(PAIR, sample=20)
    review.add(alignment(30), lambda url: [url])
    sentences(review, 1000)
    review.write(tmp_path)
    with (tmp_path / "review.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [row["kind"] for row in rows] == ["document"] * 20 + ["sentence"] * 20
    assert [row["number"] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]
    assert rows[-1]["text_a"].startswith('"Yes," ')
    assert rows[-1]["text_b"].startswith("“Kyllä” ")
    assert "20 of 1000 sentence pairs" in (tmp_path / "review.html").read_text()


def test_long_lines_and_sentences_are_cut(tmp_path: Path) -> None:
    """Else a page of two megabytes in one line is in the sample a hundred times."""
    review = Review(PAIR)
    review.add(alignment(30), lambda url: ["x" * 100_000] * 3)
    documents = DocumentPair("https://a.fi/en/1", "https://a.fi/fi/1", "", "", 0.9, "url")
    kept = [SentencePair("a" * 200_000, "b" * 200_000, 0.8, "0", "0")]
    review.sentences.add(documents, kept, kept)
    review.write(tmp_path)
    assert (tmp_path / "review.html").stat().st_size < 500_000
    (tmp_path / "review.tsv").write_text((tmp_path / "review.tsv").read_text().replace("\t\t\n", "\t1\t\n"))
    assert [judged.right for judged in count_judged(Sheet(tmp_path).rows)] == [30, 1]


def test_the_filled_sheet_gives_the_precision_with_an_interval(tmp_path: Path) -> None:
    filled(tmp_path, lambda n, row: {"document": "1" if n else "0", "sentence": "1" if n % 2 else ""}[row["kind"]])
    result = run_scrapy(tmp_path, "review", ".")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "document pairs: 29 of 30 judged are translations, precision 0.967 (95 % interval 0.833 to 0.994); "
        "0 of the sample are not judged",
        "sentence pairs: 20 of 20 judged are translations, precision 1.000 (95 % interval 0.839 to 1.000); "
        "20 of the sample are not judged",
    ]


def test_pairs_with_a_label_are_not_drawn_and_the_precision_is_that_of_random_rows(tmp_path: Path) -> None:
    """Sheets of older versions have uncertain pairs, too."""
    known = Pair("https://a.fi/en/known", "https://a.fi/fi/known", 1.0, LABELLED, "eng-fin")
    review = Review(PAIR)
    review.add(Alignment(("a.fi",), (*alignment(10).pairs, known), {}), lambda url: [url])
    review.write(tmp_path)
    sheet = tmp_path / "review.tsv"
    header, *lines = sheet.read_text().splitlines()
    assert len(lines) == 10
    assert "known" not in "".join(lines)
    older = [f"{line}\t{'uncertain' if n < 3 else 'random'}" for n, line in enumerate(lines)]
    sheet.write_text("\n".join([f"{header}\tdrawn", *older, ""]))
    for row in Sheet(tmp_path).rows:
        Sheet(tmp_path).judge(row, "1" if row.is_random else "0")
    assert [(one.right, one.judged, one.drawn) for one in count_judged(Sheet(tmp_path).rows)] == [(7, 7, 7)]
    assert sorted(read_labels(tmp_path).values()) == [False] * 3 + [True] * 7


def test_krippendorffs_example() -> None:
    """Krippendorff (2011), Computing Krippendorff's alpha-reliability, sections A and C."""
    one, two = "0100000010", "1110010000"
    assert krippendorff([*zip(one, two, strict=True)]) == pytest.approx(0.095, abs=0.0005)
    rows = ("1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .")
    units = zip(*map(str.split, rows), strict=True)
    given = [[value for value in unit if value != "."] for unit in units]
    assert krippendorff(given) == pytest.approx(0.743, abs=0.0005)
    assert krippendorff(["11", "1"]) is None


def test_sheets_of_several_people_show_their_agreement(tmp_path: Path) -> None:
    for name, wrong in (("anna", {3, 4}), ("ben", {4, 5})):
        filled(tmp_path / name, lambda n, row, wrong=wrong: "0" if n in wrong else "1" if n < 10 else "?")  # type: ignore[misc]
    (tmp_path / "ben" / "review.tsv").rename(tmp_path / "ben.tsv")
    result = run_scrapy(tmp_path, "review", "anna", "ben.tsv")
    assert result.returncode == 0, result.stderr
    anna, ben, agreement = result.stdout.splitlines()
    assert anna.startswith("anna document pairs: 8 of 10 judged")
    assert ben.startswith("ben.tsv document pairs: 8 of 10 judged")
    # 2 of 10 units differ: D_o = .2, D_e = 2 · 4 · 16 / (20 · 19)
    assert agreement == "document pairs: 10 judged by several people, Krippendorff's α 0.406"


def test_the_precision_of_one_pair_of_languages_does_not_wait_for_the_others(tmp_path: Path) -> None:
    filled(tmp_path / "eng-dan", lambda n, row: "")
    filled(tmp_path / "eng-isl", lambda n, row: "1")
    result = run_scrapy(tmp_path, "review", ".")
    assert result.returncode == 0, result.stderr
    unjudged, documents, _ = result.stdout.splitlines()
    assert unjudged == "eng-dan pairs: nothing is judged"
    assert documents.startswith("eng-isl document pairs: 30 of 30 judged")


def test_a_filled_sheet_is_never_overwritten(tmp_path: Path) -> None:
    documents = [
        {"url": f"https://a.example/{lang}/{n}", "text": f"{TEXT[short]} {n}"}
        for n in range(3)
        for lang, short in (("en", "en"), ("es", "es"))
    ]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
    align = ("align", "pages.jsonl", "--pair", "eng-spa", "--method", "url", "--review", "sheets")
    sheet = tmp_path / "sheets" / "review.tsv"
    # a sheet that nobody has touched may be written again
    for _ in range(2):
        result = run_scrapy(tmp_path, *align, "-s", "BILINGUAL_ENCODER=")
        assert result.returncode == 0, result.stderr
    with sheet.open(newline="") as file:
        assert len(list(csv.DictReader(file, delimiter="\t"))) >= 3
    filled = sheet.read_text().replace("\t\t\n", "\t1\tgood\n")
    sheet.write_text(filled)
    (tmp_path / "pairs.tsv").unlink()
    refused = run_scrapy(tmp_path, *align, "-s", "BILINGUAL_ENCODER=")
    assert refused.returncode == 2
    assert "--review=sheets: review.tsv was filled in there; give another folder, and learn from" in refused.stderr
    assert not (tmp_path / "pairs.tsv").exists(), "refused before anything is aligned"
    assert sheet.read_text() == filled
    review = Review(PAIR)
    with pytest.raises(UsageError, match="filled in"):
        review.write(sheet.parent)
    assert sheet.read_text() == filled


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda folder: None, "review.tsv: No such file or directory; give the folder of scrapy align --review"),
        (lambda folder: filled(folder, lambda n, row: ""), "nothing is judged; write 1 (translations) or 0"),
        (lambda folder: filled(folder, lambda n, row: "yes"), "line 2: translation is 'yes'; write 1, 0, ? or nothing"),
        (lambda folder: (folder / "review.tsv").write_text("a,b\n"), "there is no column kind"),
        (
            lambda folder: (folder / "review.tsv").write_text("kind\ttranslation\n" + "x" * 200_000),
            "line 2: field",
        ),
    ],
)
def test_a_sheet_that_cannot_be_read_is_an_error_in_one_line(
    tmp_path: Path, write: Callable[[Path], object], message: str
) -> None:
    write(tmp_path)
    result = run_scrapy(tmp_path, "review", ".")
    assert result.returncode == 2
    assert message in result.stderr + result.stdout
    assert "Traceback" not in result.stderr + result.stdout


@given(st.integers(1, 10_000).flatmap(lambda judged: st.tuples(st.integers(0, judged), st.just(judged))))
def test_the_interval_holds_the_precision_and_shrinks_with_the_sample(counts: tuple[int, int]) -> None:
    right, judged = counts
    one, ten = Judged("document", right, judged, judged), Judged("document", 10 * right, 10 * judged, 10 * judged)
    low, high = one.interval
    assert 0 <= low <= one.right / one.judged + 1e-9
    assert one.right / one.judged - 1e-9 <= high <= 1
    assert ten.interval[1] - ten.interval[0] < high - low
    assert isclose(low, 1 - Judged("document", judged - right, judged, judged).interval[1], abs_tol=1e-9)


def test_a_sample_keeps_everything_until_it_is_full() -> None:
    sample: Sample[int] = Sample(5)
    for number in range(5):
        sample.offer(lambda number=number: number)  # type: ignore[misc]
    assert sample.drawn == list(range(5))
    assert sample.offered == 5
