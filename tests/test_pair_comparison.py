import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from support.pair_data import tiny_sources

from training.parallelness.comparison import SITE_LINKS, calibrated, candidates, compare, main
from training.parallelness.examples import SYNTHETIC, Example
from training.parallelness.hand_features import hand_features
from training.parallelness.train import Prepared, source_splits


def test_features_do_not_depend_on_the_order() -> None:
    pairs = [("https://a.com/en/x/1?p=2", "https://b.a.com/fr/y.html"), ("http://a.com/x", "http://a.com[1]/x?y#z")]
    found = hand_features([*pairs, *((v, u) for u, v in pairs)])
    np.testing.assert_array_equal(found[:2], found[2:])
    assert not np.array_equal(found[0], found[1])


def test_scores_by_hand() -> None:
    base = "https://a.com"
    examples = [Example(f"{base}/en/{i}", f"{base}/is/{i}", 1, "positive", "gold", "a") for i in range(4)]
    examples += [Example(f"{base}/en/{i}", f"{base}/is/9", 0, "random-bi", "gold", "a") for i in range(2)]
    examples += [Example(f"{base}/en/x", f"{base}/fi/x", 1, "link-positive", "site", "b")]
    examples += [Example(f"{base}/en/x", f"{base}/{end}", 0, "link", "site", "b") for end in ("sv/x", "en/z")]
    probabilities = np.array([0.9, 0.9, 0.9, 0.1, 0.8, 0.2, 0.5, 0.7, 0.1])
    rows = candidates(examples)
    assert list(rows) == ["gold", SITE_LINKS]
    gold, links = (compare([examples[i] for i in chosen], probabilities[chosen]) for chosen in rows.values())
    assert (gold.precision, gold.recall, gold.f1) == (0.75, 0.75, 0.75)
    assert links.average_precision == 0.5


def positives(groups: list[str]) -> list[Example]:
    base = "https://a.com"
    return [Example(f"{base}/en/{i}", f"{base}/is/{i}", 1, "positive", "gold", g) for i, g in enumerate(groups)]


def test_the_mean_of_domains_does_not_depend_on_their_size() -> None:
    examples = positives(["large", "large", "small"])
    scores = compare(examples, np.array([0.9, 0.9, 0.1]))
    assert (scores.f1, scores.f1_of_domains) == (0.8, 0.5)


def test_the_worst_domains_show_what_the_mean_hides() -> None:
    """Of 40 domains four have no pair that is seen."""
    examples = positives([str(i % 40) for i in range(400)])
    scores = compare(examples, np.array([0.1 if int(e.group) < 4 else 0.9 for e in examples]))
    assert (scores.f1_of_domains, scores.f1_of_worst) == (0.9, 0.0)
    # two of seven without a pair: 5 / 7 are found, and F1 is 10 / 12
    assert scores.f1_of_draws == pytest.approx(10 / 12)
    assert scores.f1 > scores.f1_of_draws


def test_a_source_is_learnt_neither_from_itself_nor_from_its_domains() -> None:
    def example(source: str, group: str) -> Example:
        return Example("https://a.com/x", "https://a.com/y", 1, "positive", source, group)

    gold, page, made_up = example("gold", "a"), example("hreflang-html", "a"), example(SYNTHETIC, "a")
    other, sites = example("hreflang-html", "b"), [example("site-one", "c"), example("site-two", "d")]
    examples = [gold, page, made_up, other, *sites]
    by_name = {split.name: split for split in source_splits(examples)}
    assert sorted(by_name) == ["gold", "hreflang-html", "sites"]
    assert by_name["gold"].inside.tolist() == [0]
    assert by_name["gold"].outside.tolist() == [3, 4, 5]
    assert by_name["sites"].inside.tolist() == [4, 5]


@pytest.mark.slow
def test_one_command_compares_four_systems(tmp_path: Path) -> None:
    sources = tiny_sources(tmp_path, hosts=12)
    places = ["--pairs", str(sources.pairs), "--sites", str(sources.sites), "--work", str(tmp_path / "work")]
    small = ["--epochs", "2", "--batch", "64", "--rate", "0.01", "--pieces", "300"]
    main([*places, *small, "--json", str(tmp_path / "o.json"), "--table", str(tmp_path / "o.md")])
    found = json.loads((tmp_path / "o.json").read_text())
    assert len(found) == 4
    assert found["YODA token replacement"]["gold"]["f1"] > 0.9
    assert all(0 <= v <= 1 for sources in found.values() for scores in sources.values() for v in scores.values())
    assert "| worst |" in (tmp_path / "o.md").read_text()


def test_links_are_calibrated_by_links_of_other_domains() -> None:
    rng = np.random.default_rng(0)
    examples, logits = [], []
    for kinds, source, share in (
        (("positive", "random-bi"), "gold", 0.5),
        (("positive", "random-bi"), "hreflang-html", 0.5),
        (("link-positive", "link"), "site", 0.9),
    ):
        for i in range(400):
            label = int(rng.random() < share)
            kind = kinds[1 - label]
            examples.append(Example("https://a.com/x", f"https://a.com/y{i}", label, kind, source, f"{source}{i % 40}"))
            logits.append(rng.normal(2 * label - 1))
    labels = np.array([e.label for e in examples], dtype=np.float32)
    prepared = SimpleNamespace(examples=examples, labels=labels, weights=np.ones_like(labels))
    found = calibrated(cast("Prepared", prepared), source_splits(examples), np.array(logits, dtype=np.float32))
    assert found[:800].mean() == pytest.approx(0.5, abs=0.1)
    assert found[800:].mean() == pytest.approx(0.9, abs=0.05)
