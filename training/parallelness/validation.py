"""Scores of the pair model on held-out domains, by what it is for."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from training.common.scores import average_precision, calibration_error
from training.parallelness.examples import MADE_UP, is_refused
from training.parallelness.negatives import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from training.parallelness.examples import Example

PAPER = frozenset(("positive", *KINDS))
LINKS = frozenset(("link", "link-positive"))


def is_link(examples: Sequence[Example]) -> NDArray[np.bool_]:
    """Which examples [N] are a page and one of its links; the others are any two documents of a site."""
    return np.array([example.kind in LINKS for example in examples], dtype=bool)


def validation_scores(
    examples: Sequence[Example], logits: NDArray[np.float32], weights: NDArray[np.float32]
) -> dict[str, float]:
    """F1 at .5 on WMT16 gold with the paper's negatives, average precision on real links, calibration, accuracies."""
    labels = np.array([e.label for e in examples], dtype=np.int64)
    probabilities = 1 / (1 + np.exp(-logits.clip(-50, 50)))
    gold = np.array([e.source == "gold" and e.kind in PAPER for e in examples], dtype=bool)
    links = is_link(examples)
    refused = np.array([is_refused(e) for e in examples], dtype=bool)
    real = (weights > 0) & np.array([e.source not in MADE_UP for e in examples], dtype=bool)
    scores = {}
    if labels[gold].any():
        chosen = logits[gold] >= 0
        hits = int((chosen & (labels[gold] == 1)).sum())
        scores["WMT16 gold: F1"] = 2 * hits / (int(chosen.sum()) + int(labels[gold].sum()))
        scores["WMT16 gold: precision"] = hits / max(1, int(chosen.sum()))
        scores["WMT16 gold: recall"] = hits / int(labels[gold].sum())
        scores["WMT16 gold: average precision"] = average_precision(labels[gold], logits[gold])
    for name, chosen in (("links of sites", links), ("links of sites without refused ones", links & ~refused)):
        if labels[chosen].any():
            scores[f"{name}: average precision"] = average_precision(labels[chosen], logits[chosen])
            each = by_source(examples, labels, logits, chosen)
            scores[f"{name}: mean of {len(each)} sites"] = float(np.mean(each))
    if real.any():
        scores["expected calibration error"] = calibration_error(probabilities[real], labels[real], weights[real])
    right = (logits >= 0) == (labels == 1)
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for example, correct in zip(examples, right, strict=True):
        by_kind[example.kind].append(bool(correct))
    scores |= {f"accuracy on {kind}": sum(hits) / len(hits) for kind, hits in sorted(by_kind.items())}
    return scores


def by_source(
    examples: Sequence[Example], labels: NDArray[np.int64], logits: NDArray[np.float32], chosen: NDArray[np.bool_]
) -> list[float]:
    """Average precision of the chosen examples of each source that has a positive."""
    rows: dict[str, list[int]] = defaultdict(list)
    for i in np.flatnonzero(chosen):
        rows[examples[int(i)].source].append(int(i))
    return [average_precision(labels[some], logits[some]) for some in rows.values() if labels[some].any()]


def validation_table(scores: Mapping[str, float]) -> str:
    """The scores as a Markdown table."""
    return "| measure | value |\n|---|---|\n" + "\n".join(f"| {name} | {value:.3f} |" for name, value in scores.items())
