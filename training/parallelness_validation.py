"""Scores of the pair model on held-out domains, by what it is for."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from training.negatives import KINDS
from training.parallelness_metrics import average_precision

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from training.pairs import Example

PAPER = frozenset(("positive", *KINDS))
LINKS = frozenset(("link", "link-positive"))


def validation_scores(examples: Sequence[Example], logits: NDArray[np.float32]) -> dict[str, float]:
    """F1 at .5 on WMT16 gold with the paper's negatives, average precision on real links, accuracy per kind."""
    labels = np.array([e.label for e in examples], dtype=np.int64)
    gold = np.array([e.source == "gold" and e.kind in PAPER for e in examples], dtype=bool)
    links = np.array([e.kind in LINKS for e in examples], dtype=bool)
    scores = {}
    if labels[gold].any():
        chosen = logits[gold] >= 0
        hits = int((chosen & (labels[gold] == 1)).sum())
        scores["WMT16 gold: F1"] = 2 * hits / (int(chosen.sum()) + int(labels[gold].sum()))
        scores["WMT16 gold: precision"] = hits / max(1, int(chosen.sum()))
        scores["WMT16 gold: recall"] = hits / int(labels[gold].sum())
        scores["WMT16 gold: average precision"] = average_precision(labels[gold], logits[gold])
    if labels[links].any():
        scores["links of sites: average precision"] = average_precision(labels[links], logits[links])
        by_site: dict[str, list[int]] = defaultdict(list)
        for i in np.flatnonzero(links):
            by_site[examples[int(i)].source].append(int(i))
        each = [average_precision(labels[rows], logits[rows]) for rows in by_site.values() if labels[rows].any()]
        scores[f"links of sites: mean of {len(each)} sites"] = float(np.mean(each))
    right = (logits >= 0) == (labels == 1)
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for example, correct in zip(examples, right, strict=True):
        by_kind[example.kind].append(bool(correct))
    scores |= {f"accuracy on {kind}": sum(hits) / len(hits) for kind, hits in sorted(by_kind.items())}
    return scores


def validation_table(scores: Mapping[str, float]) -> str:
    """The scores as a Markdown table."""
    return "| measure | value |\n|---|---|\n" + "\n".join(f"| {name} | {value:.3f} |" for name, value in scores.items())
