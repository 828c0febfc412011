from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from pair_data import tiny_sources

from training.parallelness.comparison import compare, main
from training.parallelness.examples import Example
from training.parallelness.hand_features import hand_features

if TYPE_CHECKING:
    from pathlib import Path


def test_features_do_not_depend_on_the_order() -> None:
    pairs = [("https://a.com/en/x/1?p=2", "https://b.a.com/fr/y.html"), ("http://a.com/x", "http://a.com/x/")]
    found = hand_features([*pairs, *((v, u) for u, v in pairs)])
    np.testing.assert_array_equal(found[:2], found[2:])
    assert not np.array_equal(found[0], found[1])


def test_scores_by_hand() -> None:
    base = "https://a.com"
    examples = [Example(f"{base}/en/{i}", f"{base}/is/{i}", 1, "positive", "gold", "a") for i in range(4)]
    examples += [Example(f"{base}/en/{i}", f"{base}/is/9", 0, "random-bi", "gold", "a") for i in range(2)]
    examples += [Example(f"{base}/en/x", f"{base}/fi/x", 1, "link-positive", "site", "b")]
    examples += [Example(f"{base}/en/x", f"{base}/{end}", 0, "link", "site", "b") for end in ("sv/x", "en/z")]
    scores = compare(examples, np.array([0.9, 0.9, 0.9, 0.1, 0.8, 0.2, 0.5, 0.7, 0.1]))
    assert (scores.precision, scores.recall, scores.f1, scores.f1_of_domains) == (0.75, 0.75, 0.75, 0.75)
    assert scores.links == 0.5
    assert scores.clear_links == 1.0


def test_one_command_compares_four_systems(tmp_path: Path) -> None:
    sources = tiny_sources(tmp_path, hosts=12)
    places = ["--pairs", str(sources.pairs), "--sites", str(sources.sites), "--work", str(tmp_path / "work")]
    small = ["--epochs", "2", "--batch", "64", "--rate", "0.01", "--pieces", "300", "--folds", "2"]
    main([*places, *small, "--json", str(tmp_path / "o.json"), "--table", str(tmp_path / "o.md")])
    found = json.loads((tmp_path / "o.json").read_text())
    assert len(found) == 4
    assert found["YODA token replacement"]["f1"] > 0.9
    assert all(0 <= value <= 1 for scores in found.values() for value in scores.values())
    assert (tmp_path / "o.md").read_text().count("\n") == 6
