import csv
from collections.abc import Callable
from math import isclose
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.exceptions import UsageError
from support.crawls import ended_well, refused, succeeds
from support.reviews import PAIR, pair, write_review
from support.tables import write_pages
from support.webserver import TEXT, run_scrapy

from bilingual_crawler.bitext.overview import Sample
from bilingual_crawler.pairing.model import LABELLED, Alignment
from bilingual_crawler.reporting.review import Judged, Review, Sheet, count_judged, krippendorff, read_labels


def read_rows(sheet: Path) -> list[dict[str, str]]:
    with sheet.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def quoted(count: int) -> list[tuple[str, str]]:
    return [(f'"Yes," {number}\tsaid', f"“Kyllä” {number}") for number in range(count)]


def test_a_sample_is_drawn_evenly_and_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        review = write_review(tmp_path / name, 1000, sample=20)
        assert review.methods == {"url": 1000}
        assert review.unpaired == {"no_candidate": 1}
    assert (tmp_path / "one" / "review.tsv").read_text() == (tmp_path / "two" / "review.tsv").read_text()
    rows = [row for row in read_rows(tmp_path / "one" / "review.tsv") if row["drawn"] == "random"]
    assert len(rows) == 20
    assert rows[0]["translation"] == ""
    assert max(int(row["url_a"].rsplit("/", 1)[1]) for row in rows) > 500


def test_pairs_are_shown_side_by_side_with_their_text_escaped(tmp_path: Path) -> None:
    write_review(tmp_path, 2, shown=lambda url: [f"text of {url}", "<script>alert(1)</script>"])
    html = (tmp_path / "review.html").read_text()
    assert html.count('class="two"') == 2
    assert "text of https://a.fi/fi/1" in html
    assert "<script>" not in html
    assert "nothing in the other language resembles them" in html


def filled(folder: Path, judge: Callable[[int, dict[str, str]], str]) -> Path:
    """The sheet of 30 document pairs and 40 sentence pairs, judged by *judge* as a spreadsheet writes it."""
    write_review(folder, 30, quoted(40))
    sheet = folder / "review.tsv"
    rows = read_rows(sheet)
    with sheet.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(row | {"translation": judge(number, row)} for number, row in enumerate(rows))
    return sheet


def test_the_sheet_has_sentence_pairs_too(tmp_path: Path) -> None:
    write_review(tmp_path, 30, quoted(1000), sample=20)
    rows = read_rows(tmp_path / "review.tsv")
    assert [row["kind"] for row in rows] == ["document"] * (len(rows) - 20) + ["sentence"] * 20
    assert len([row for row in rows if row["drawn"] == "random"]) == 40
    assert [row["number"] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]
    assert rows[-1]["text_a"].startswith('"Yes," ')
    assert rows[-1]["text_b"].startswith("“Kyllä” ")
    assert "20 of 1000 sentence pairs" in (tmp_path / "review.html").read_text()


def test_long_lines_and_sentences_are_cut(tmp_path: Path) -> None:
    """Else a page of two megabytes in one line is in the sample a hundred times."""
    write_review(tmp_path, 30, [("a" * 200_000, "b" * 200_000)], lambda url: ["x" * 100_000] * 3)
    assert (tmp_path / "review.html").stat().st_size < 500_000
    (tmp_path / "review.tsv").write_text((tmp_path / "review.tsv").read_text().replace("\t\t\n", "\t1\t\n"))
    assert [judged.right for judged in count_judged(Sheet(tmp_path).rows)] == [30, 1]


def said(folder: Path, *sheets: str) -> list[str]:
    """The lines that a review of *sheets* in *folder* prints."""
    return str(ended_well(run_scrapy(folder, "review", *sheets)).stdout).splitlines()


def test_the_filled_sheet_gives_the_precision_with_an_interval(tmp_path: Path) -> None:
    filled(tmp_path, lambda n, row: {"document": "1" if n else "0", "sentence": "1" if n % 2 else ""}[row["kind"]])
    assert said(tmp_path, ".") == [
        "document pairs: 29 of 30 judged are translations, precision 0.967 (95 % interval 0.833 to 0.994); "
        "0 of the sample are not judged",
        "sentence pairs: 20 of 20 judged are translations, precision 1.000 (95 % interval 0.839 to 1.000); "
        "20 of the sample are not judged",
    ]


def test_telling_pairs_stand_beside_the_sample_and_count_not_for_its_precision(tmp_path: Path) -> None:
    """Uncertain scores, given or not, and unlike lengths; no pair that has a label."""
    pairs = [*(pair(n, 0.51 if n < 3 else 1.0) for n in range(300)), pair("known", 1.0, LABELLED)]
    review = Review(PAIR, sample=10)
    found = Alignment(("a.fi",), tuple(pairs), {}, near_misses=(pair("miss", 0.4, ""),))
    review.add(found, lambda url: ["x" * (90 if url.endswith("fi/7") else 50)])
    review.write(tmp_path)
    rows = Sheet(tmp_path).rows
    assert sum(row.is_random for row in rows) == 10
    drawn = {row.cells["url_a"].removeprefix("https://a.fi/en/"): row.cells["drawn"] for row in rows}
    assert len(rows) == len(drawn)
    assert {"0", "1", "2", "7", "miss"} <= drawn.keys()
    assert "known" not in drawn
    assert drawn["miss"] == "uncertain"
    assert {drawn["0"], drawn["1"], drawn["2"]} <= {"uncertain", "random"}
    assert drawn["7"] in ("lengths", "random")
    for row in rows:
        Sheet(tmp_path).judge(row, "1" if row.is_random else "0")
    assert [(one.right, one.judged, one.drawn) for one in count_judged(Sheet(tmp_path).rows)] == [(10, 10, 10)]
    labels = read_labels(tmp_path)
    assert len(labels) == len(rows)
    assert labels["https://a.fi/en/miss", "https://a.fi/fi/miss"] is False


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
    anna, ben, agreement = said(tmp_path, "anna", "ben.tsv")
    assert anna.startswith("anna document pairs: 8 of 10 judged")
    assert ben.startswith("ben.tsv document pairs: 8 of 10 judged")
    # 2 of 10 units differ: D_o = .2, D_e = 2 · 4 · 16 / (20 · 19)
    assert agreement == "document pairs: 10 judged by several people, Krippendorff's α 0.406"


def test_the_precision_of_one_pair_of_languages_does_not_wait_for_the_others(tmp_path: Path) -> None:
    filled(tmp_path / "eng-dan", lambda n, row: "")
    filled(tmp_path / "eng-isl", lambda n, row: "1")
    unjudged, documents, _ = said(tmp_path, ".")
    assert unjudged == "eng-dan pairs: nothing is judged"
    assert documents.startswith("eng-isl document pairs: 30 of 30 judged")


def test_a_filled_sheet_is_never_overwritten(tmp_path: Path) -> None:
    write_pages(tmp_path, {f"https://a.fi/{tag}/{n}": f"{TEXT[tag]} {n}" for n in range(3) for tag in ("en", "es")})
    align = ("align", "pages.jsonl", "--pair", "eng-spa", "--method", "url", "--review", "sheets")
    sheet = tmp_path / "sheets" / "review.tsv"
    # a sheet that nobody has touched may be written again
    for _ in range(2):
        succeeds(tmp_path, *align, "-s", "BILINGUAL_ENCODER=")
    assert len(read_rows(sheet)) >= 3
    filled = sheet.read_text().replace("\t\t\n", "\t1\tgood\n")
    sheet.write_text(filled)
    (tmp_path / "pairs.tsv").unlink()
    told = refused(tmp_path, *align, "-s", "BILINGUAL_ENCODER=")
    assert told.startswith("--review=sheets: review.tsv was filled in there; give another folder, and learn from")
    assert not (tmp_path / "pairs.tsv").exists(), "refused before anything is aligned"
    with pytest.raises(UsageError, match="filled in"):
        Review(PAIR).write(sheet.parent)
    assert sheet.read_text() == filled


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda sheet: None, "review.tsv: No such file or directory; give the folder of scrapy align --review"),
        (lambda sheet: filled(sheet.parent, lambda n, row: ""), "nothing is judged; write 1 (translations) or 0"),
        (lambda sheet: filled(sheet.parent, lambda n, row: "yes"), "line 2: translation is 'yes'; write 1, 0, ? or"),
        (lambda sheet: sheet.write_text("a,b\n"), "there is no column kind"),
        (lambda sheet: sheet.write_text("kind\ttranslation\n" + "x" * 200_000), "line 2: field"),
    ],
)
def test_a_sheet_that_cannot_be_read_is_one_line(tmp_path: Path, write: Callable[[Path], object], message: str) -> None:
    write(tmp_path / "review.tsv")
    assert message in refused(tmp_path, "review", ".")


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
    assert (sample.drawn, sample.offered) == ([0, 1, 2, 3, 4], 5)
