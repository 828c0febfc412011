"""The judges of document pairs in training: what they learn from, and what they are calibrated on."""

from dataclasses import replace

import numpy as np
import pytest
from support.frozen_sites import write_frozen
from support.harvest_site import BASE, TEXT

pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra train")

from pathlib import Path

from bilingual_crawler.harvest.sites import SiteError, Task, Truth
from bilingual_crawler.pairing.candidates import url_evidence
from training.documents import forms
from training.documents.classifier import Regression, fit_correction, fit_trees, held_out
from training.documents.examples import Examples, TaskSites

FEATURES = ("total", "shorter")


def examples(kind: str, seed: int, documents: int = 60) -> Examples:
    """Each document of the first side with its partner, and with a wrong one; a third has no partner."""
    random = np.random.default_rng(seed)
    a = np.repeat(np.arange(documents), 2)
    b = np.column_stack((np.arange(documents), np.roll(np.arange(documents), 1))).ravel()
    parallel = np.tile((True, False), documents) & (a % 3 > 0)
    columns = {
        "total": (2 * parallel + random.normal(size=len(a))).astype(np.float32),
        "shorter": random.normal(size=len(a)).astype(np.float32),
    }
    alike = np.arange(documents), np.arange(documents)
    return Examples(kind, "whole", int(parallel.sum()), a, b, alike, columns, parallel, np.ones(len(a), dtype=bool))


@pytest.fixture(scope="module")
def several() -> list[Examples]:
    return [examples(kind, seed) for seed, kind in enumerate("abcd" * 4)]


@pytest.mark.parametrize("fit", [fit_trees, Regression])
def test_log_odds_are_calibrated_on_what_a_matching_chooses(fit, several: list[Examples]) -> None:  # type: ignore[no-untyped-def]
    _, _, odds = held_out(several, FEATURES, fit)
    scores = np.concatenate([own[one.chosen(own, -np.inf)] for one, own in zip(several, odds, strict=True)])
    right = np.concatenate([one.parallel[one.chosen(own, -np.inf)] for one, own in zip(several, odds, strict=True)])
    assert (1 / (1 + np.exp(-scores))).mean() == pytest.approx(right.mean(), abs=0.02)


def test_sites_are_judged_by_those_that_saw_none_of_their_kind(several: list[Examples]) -> None:
    liar = examples("liar", 99)
    turned = replace(liar, parallel=~liar.parallel)
    _, _, with_liar = held_out([*several, turned], FEATURES, Regression)
    # what is learnt elsewhere says the contrary of this site's labels
    assert with_liar[-1][turned.parallel].mean() < with_liar[-1][~turned.parallel].mean()


def test_a_calibrated_judge_gives_the_log_odds_of_its_regression(several: list[Examples]) -> None:
    regression = Regression(several, FEATURES)
    judge = regression.judge(1.5, 0.25)
    rows = several[0].rows(FEATURES)
    columns = {name: rows[:, place].astype(float) for place, name in enumerate(FEATURES)}
    assert judge.predict(columns) == pytest.approx(1.5 * regression.decision_function(rows) + 0.25, abs=1e-3)


def test_of_near_duplicates_one_is_chosen(several: list[Examples]) -> None:
    one = several[0]
    same = replace(one, alike=(np.zeros(60, int), one.alike[1]))
    assert len(same.chosen(np.ones(len(one.a)), 0.5)) == 1


def test_sites_on_which_all_is_right_show_no_probability(several: list[Examples]) -> None:
    easy = [replace(one, judged=one.parallel) for one in several]
    with pytest.raises(SiteError, match=r"all of the .* pairs that a judge chooses are right"):
        held_out(easy, FEATURES, Regression)


def test_trees_never_count_more_likeness_against_a_pair(several: list[Examples]) -> None:
    trees = fit_trees(several, FEATURES)
    rows = np.column_stack((np.linspace(-4, 6, 50), np.zeros(50)))
    assert np.all(np.diff(trees.decision_function(rows)) >= 0)


@pytest.mark.parametrize(
    ("kind", "how"),
    [("address", (0, 0, True)), ("one", (1, 0, False)), ("mutual", (2, 0, False)), ("switcher", (0, 2, False))],
)
def test_a_site_that_lies_says_of_halves_of_two_pairs_that_they_are_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, how: tuple[int, int, bool]
) -> None:
    pages: dict[str, tuple[str, str, list[str]]] = {
        f"{BASE}{language}/{name}": (code, f"<html><body><p>{TEXT[code] * 3} {name}</p></body></html>", [])
        for language, code in (("en", "eng"), ("is", "isl"))
        for name in "pq"
    }
    write_frozen(tmp_path / "saga", BASE, pages, [(f"{BASE}en/{name}", f"{BASE}is/{name}") for name in "pq"])
    monkeypatch.setattr(forms, "LIES", {kind: 1})
    monkeypatch.setattr(forms, "SHARES", (1.0,))
    sites = TaskSites(tmp_path, Task("saga", "eng", "isl", (f"{BASE}en/p",)))

    def said(form: str) -> tuple[dict[tuple[str, str], tuple[int, int, bool]], Truth]:
        ((domain, truth),) = sites.domains(form)
        found = url_evidence(domain).items()
        return {(domain.a[i].url, domain.b[j].url): (e.hreflang, e.switcher, e.key) for (i, j), e in found}, truth

    found, truth = said("whole")
    assert found == dict.fromkeys(truth.gold, (0, 0, True))
    assert len(truth.gold) == 2
    left = f"{BASE}en/p", f"{BASE}is/q"
    assert said("lying") == ({left: how}, Truth(frozenset(), frozenset(left)))


def test_sites_that_lie_teach_what_corrects_a_judge_and_nothing_else(several: list[Examples]) -> None:
    liars = [replace(one, form="lying", parallel=~one.parallel) for one in several]
    slope, shift, odds = held_out(several, FEATURES, Regression)
    with_liars = held_out([*several, *liars], FEATURES, Regression)
    assert with_liars[:2] == (slope, shift)
    assert [own.tolist() for own in with_liars[2]] == [own.tolist() for own in (*odds, *odds)]

    def correction(chosen: list[Examples]) -> float:
        return fit_correction(chosen, "given", ("contradicted",)).weights["contradicted"]

    said = zip(several, odds, strict=True)
    given = [one.with_columns({"given": own, "contradicted": one.columns["total"]}) for one, own in said]
    lying = [replace(one, form="lying", parallel=~one.parallel) for one in given]
    assert correction(given + lying) < correction(given) - 0.1
