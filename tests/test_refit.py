"""Labels of a review: facts for every method, and a correction of its scores and its threshold."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.crawls import refused, succeeds
from support.frozen_sites import write_frozen
from support.tables import write_pages
from support.texts import corpus, html
from support.webserver import TEXT

from benchmarks.review import main
from bilingual_crawler.pairing.align import align, domains
from bilingual_crawler.pairing.corpus import Corpus, Domain
from bilingual_crawler.pairing.methods import Candidates, Method
from bilingual_crawler.pairing.model import LABELLED, Alignment
from bilingual_crawler.pairing.refit import RefittedMethod, best_threshold, fit_correction
from bilingual_crawler.reporting.review import Sheet
from bilingual_crawler.storage.records import read_tsv

HOST = "https://www.example.org"
NUMBERS = range(20)


def pages() -> Corpus:
    """Twenty pages in each language, with texts of their own."""

    def page(language: str, n: int) -> bytes:
        return html((*(f"{TEXT[language].strip()} {n} {k}." for k in range(3)), str(n) * 9, str(n) * 9))

    return corpus({f"{HOST}/{language}/{n}": page(language, n) for language in ("en", "es") for n in NUMBERS})


def number(url: str) -> int:
    return int(url.rsplit("/", 1)[1])


class Believing:
    """A method that is sure of announced pairs, and finds the pairs by content improbable."""

    def __call__(self, domain: Domain) -> Candidates:
        at = {number(profile.url): place for place, profile in enumerate(domain.b)}
        places = [(i, at[number(profile.url)]) for i, profile in enumerate(domain.a)]
        announced = np.array([number(domain.a[i].url) % 2 == 1 for i, _ in places])
        a, b = np.array(places, dtype=np.intp).T
        names = ["hreflang" if one else "content" for one in announced]
        return Candidates(a, b, np.where(announced, 0.99, 0.3), names, 0.5)


def urls(n: int, m: int | None = None) -> tuple[str, str]:
    return f"{HOST}/en/{n}", f"{HOST}/es/{n if m is None else m}"


def aligned(documents: Corpus, method: Method) -> Alignment:
    ((_, alignment),) = align(documents, method)
    return alignment


def numbers(alignment: Alignment) -> set[int]:
    return {number(pair.url_a) for pair in alignment.pairs}


def test_a_labelled_pair_is_given_or_not_whatever_a_method_says() -> None:
    documents = pages()
    assert numbers(aligned(documents, Believing())) == set(NUMBERS[1::2])
    documents.label({urls(1): False, urls(3, 5)[::-1]: True, urls(2): True})
    alignment = aligned(documents, Believing())
    given = {(pair.url_a, pair.url_b): pair for pair in alignment.pairs}
    assert (given[urls(2)].method, given[urls(2)].score) == (LABELLED, 1.0)
    assert given[urls(3, 5)].method == LABELLED
    assert numbers(alignment) == {2, 3, *range(7, 20, 2)}
    assert alignment.unpaired[f"{HOST}/en/1"] == LABELLED


def test_labels_teach_what_the_evidence_of_these_sites_is_worth() -> None:
    """Announcements lie here, and what content finds improbable is right."""
    documents = pages()
    documents.label({urls(n): n % 2 == 0 for n in range(10)})
    method = RefittedMethod(Believing(), domains(documents, labelled=True))
    assert method.learnt == 10
    assert numbers(aligned(documents, method)) == set(NUMBERS[::2])
    strict = RefittedMethod(Believing(), domains(documents, labelled=True), threshold=0.999)
    assert numbers(aligned(documents, strict)) == set(range(0, 10, 2))


def test_few_labels_that_agree_with_a_method_change_little() -> None:
    documents = pages()
    documents.label({urls(n): n % 2 == 1 for n in range(2)})
    method = RefittedMethod(Believing(), domains(documents, labelled=True))
    assert numbers(aligned(documents, method)) == set(NUMBERS[1::2])


def test_the_correction_without_labels_is_none_and_follows_many_labels() -> None:
    assert not fit_correction(np.zeros((0, 6)), np.zeros(0)).any()
    rows = np.tile([1.0, 2.0, 0, 0, 0, 0], (2000, 1))
    labels = (np.arange(2000) % 4 == 0).astype(float)
    assert 1 / (1 + np.exp(-(rows[0, 1] + rows[0] @ fit_correction(rows, labels)))) == pytest.approx(0.25, abs=0.01)


def test_the_threshold_is_half_of_the_best_expected_f1() -> None:
    assert best_threshold(np.zeros(0)) == 0.5
    assert best_threshold(np.ones(10)) == 0.5
    scores = np.array([0.9, 0.6, 0.35, 0.3, 0.1])
    expected = [2 * scores[:k].sum() / (k + scores.sum()) for k in range(1, 6)]
    assert best_threshold(scores[::-1]) == pytest.approx(max(expected) / 2)


def test_the_benchmark_measures_two_frozen_sites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["site\tlang_a\tlang_b\tgold_pairs\treachable_pages\tseeds"]
    for site in ("one", "two"):
        base = f"https://{site}.example/"
        pages = {
            f"{base}{language}/{n}": (code, f"<html><body><p>{TEXT[language]} {site} {n}{n}{n}</p></body></html>", ())
            for language, code in (("en", "eng"), ("es", "spa"))
            for n in range(5)
        }
        # what looks like the last pair is none
        write_frozen(tmp_path / site, base, pages, [(f"{base}en/{n}", f"{base}es/{n}") for n in range(4)])
        (tmp_path / site / "false.tsv").write_text(f"{base}en/4\teng\t{base}es/4\tspa\n")
        rows.append(f"{site}\teng\tspa\t4\t10\t{base}")
    (tmp_path / "tasks.tsv").write_text("\n".join(rows) + "\n")
    out = tmp_path / "out.json"
    monkeypatch.setattr("sys.argv", ["review", str(tmp_path), "--method", "url", "--json", str(out)])
    main()
    assert "with labels" in capsys.readouterr().out
    found = {(row["of"], row["labels"]): row for row in json.loads(out.read_text())}
    assert found.keys() == {(of, count) for of in ("own", "all", "others") for count in (0, 25, 50, 100)}
    without = found["own", 0]
    assert (without["gold"], without["recall"], without["precision"]) == (8, 1.0, 0.8)
    assert (without["recall_before"], without["precision_before"]) == (1.0, 0.8)
    for of, given, gold in (("own", 5, 0), ("all", 10, 0), ("others", 5, 8)):
        row = found[of, 25]
        assert (row["given"], row["gold"]) == (given, gold)
        assert (row["whole_recall"], row["whole_precision"]) == ((1.0, 0.8) if of == "others" else (1.0, 1.0))


def test_align_learns_from_a_filled_sheet(tmp_path: Path) -> None:
    write_pages(tmp_path, {f"https://a.fi/{tag}/{n}": f"{TEXT[tag]} {n}" for n in range(6) for tag in ("en", "es")})
    common = ("align", "pages.jsonl", "--pair", "eng-spa", "--method", "url", "-s", "BILINGUAL_ENCODER=")
    succeeds(tmp_path, *common, "--review", "sheets")
    sheet = tmp_path / "sheets"
    before = list(read_tsv(tmp_path / "pairs.tsv"))
    wrong = before[0]["url_a"]
    for row in Sheet(sheet).rows:
        Sheet(sheet).judge(row, "0" if row.cells["url_a"] == wrong else "1")
    said = succeeds(tmp_path, *common, "--labels", "sheets")
    assert f"learnt from {len(before)} of {len(before)} labelled pairs: a pair needs a score of" in said
    after = list(read_tsv(tmp_path / "pairs.tsv"))
    assert {row["url_a"] for row in after} == {row["url_a"] for row in before} - {wrong}
    assert {row["method"] for row in after} == {LABELLED}
    said = refused(tmp_path, *common, "--labels", "nowhere")
    assert said == "--labels=nowhere: No such file or directory; give the folder of scrapy align --review"
