"""Train the judges of document pairs on frozen sites with gold pairs: ``python -m training.structure SITES``.

Every judge is a gradient boosting of small trees over one view of the evidence (see ``bilingual_crawler.pairing.
evidence``), calibrated on sites that it was not trained on. Candidates count if one of their documents is in a gold
pair; a domain gives a sample of them and weighs as its square root, so that big sites do not drown the small ones.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.progress import track
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from bilingual_crawler.harvest.sites import Task, read_site, read_tasks
from bilingual_crawler.languages import LanguagePair
from bilingual_crawler.pairing.align import read_corpus
from bilingual_crawler.pairing.classifier import FOLDER, View
from bilingual_crawler.pairing.domain import Domain
from bilingual_crawler.pairing.encoders import load_encoder
from bilingual_crawler.pairing.evidence import VIEWS, gather
from bilingual_crawler.pairing.matching import greedy
from bilingual_crawler.pairing.structure import PAPER_FEATURES
from training.trees import boosted_to_onnx, tree_to_onnx

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.pairing.embeddings import Encoder

FOLDS = 5
MOST_ROWS = 3000
"""Candidates of a domain that a judge is trained on."""
SEED = 1
THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class Examples:
    """The candidates of one domain of a task that touch a gold pair, or all of them for matching."""

    family: str
    """Tasks of one family are never on both sides of a split."""
    gold: int
    """Gold pairs of the task; 0 for all but its first domain."""
    a: NDArray[np.intp]
    b: NDArray[np.intp]
    columns: dict[str, NDArray[np.float32]]
    parallel: NDArray[np.bool_]
    judged: NDArray[np.bool_]
    """Whether one of the two documents is in a gold pair."""

    def sample(self) -> NDArray[np.intp]:
        """Judged candidates, all of a document or none, some :data:`MOST_ROWS` in a big domain."""
        judged = np.flatnonzero(self.judged)
        documents = np.random.default_rng(SEED).permutation(self.a.max(initial=0) + 1)
        share = MOST_ROWS / max(len(judged), MOST_ROWS)
        return np.asarray(judged[documents[self.a[judged]] < share * len(documents)])

    def rows(self, features: Sequence[str]) -> NDArray[np.float32]:
        """All candidates as rows of *features*."""
        return np.column_stack([self.columns[name] for name in features])


def gold_pairs(sites: Path, task: Task) -> set[tuple[str, str]]:
    """Gold pairs of a task, in the order of its languages."""
    wanted = (task.lang_a, task.lang_b)
    found = set()
    for pair in read_site(sites / task.site).pairs:
        if (pair.lang_a, pair.lang_b) == wanted:
            found.add((pair.url_a, pair.url_b))
        elif (pair.lang_b, pair.lang_a) == wanted:
            found.add((pair.url_b, pair.url_a))
    return found


def family(site: str) -> str:
    """Sites that are editions of one another: the name up to what tells editions apart."""
    return "-".join(site.removeprefix("deb.").split("-")[:2]).removesuffix("-help").removesuffix("-en")


def read_examples(sites: Path, task: Task, encoder: Encoder) -> list[Examples]:
    """Candidates with all features and labels, domain by domain."""
    pair = LanguagePair.parse(task.pair)
    corpus = read_corpus([sites / task.site], pair)
    gold = gold_pairs(sites, task)
    urls = {url for urls in gold for url in urls}
    found: list[Examples] = []
    for name in corpus.domains():
        domain = Domain.of(name, corpus, corpus.profiles(name))
        evidence = gather(domain, "auto-content", encoder)
        pairs = [(domain.a[i].url, domain.b[j].url) for i, j in zip(evidence.a, evidence.b, strict=True)]
        found.append(
            Examples(
                family(task.site),
                0 if found else len(gold),
                evidence.a,
                evidence.b,
                evidence.columns,
                np.array([one in gold for one in pairs], dtype=bool),
                np.array([not urls.isdisjoint(one) for one in pairs], dtype=bool),
            )
        )
    return found


def fit(examples: Sequence[Examples], features: Sequence[str]) -> HistGradientBoostingClassifier:
    """A judge that sees *features*."""
    chosen = [one.sample() for one in examples]
    rows = np.concatenate([one.rows(features)[kept] for one, kept in zip(examples, chosen, strict=True)])
    labels = np.concatenate([one.parallel[kept] for one, kept in zip(examples, chosen, strict=True)])
    weights = np.concatenate([np.full(len(kept), len(kept) ** -0.5) for kept in chosen if len(kept)])
    model = HistGradientBoostingClassifier(
        max_iter=100,
        learning_rate=0.1,
        max_leaf_nodes=12,
        min_samples_leaf=20,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=SEED,
    )
    return model.fit(rows, labels, sample_weight=weights / weights.mean())


def cross_validated(examples: Sequence[Examples], features: Sequence[str]) -> list[NDArray[np.float64]]:
    """Raw scores of each domain's candidates by a judge that saw no site of its family."""
    families = sorted({one.family for one in examples})
    np.random.default_rng(SEED).shuffle(families)
    scores: list[NDArray[np.float64]] = [np.zeros(0)] * len(examples)
    for fold in range(FOLDS):
        held = set(families[fold::FOLDS])
        model = fit([one for one in examples if one.family not in held], features)
        for place, one in enumerate(examples):
            if one.family in held and len(one.a):
                scores[place] = model.decision_function(one.rows(features))
    return scores


def calibrate(examples: Sequence[Examples], scores: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """Slope and shift of Platt scaling on the pairs that matching would make."""
    x, y = [], []
    for one, score in zip(examples, scores, strict=True):
        chosen = greedy(one.a, one.b, score, -np.inf)
        chosen = chosen[one.judged[chosen]]
        x.append(score[chosen])
        y.append(one.parallel[chosen])
    model = LogisticRegression(C=1.0).fit(np.concatenate(x)[:, None], np.concatenate(y))
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def measure(examples: Sequence[Examples], scores: Sequence[NDArray[np.float64]], least: float) -> tuple[float, float]:
    """Recall of gold, and precision of the pairs that touch gold, pooled over tasks; *least* is a raw score."""
    right = judged = 0
    for one, score in zip(examples, scores, strict=True):
        chosen = greedy(one.a, one.b, score, least)
        right += int(one.parallel[chosen].sum())
        judged += int(one.judged[chosen].sum())
    return right / sum(one.gold for one in examples), right / max(judged, 1)


def main() -> None:
    """Train all views, print their cross-validated quality, write models and configuration."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, help="folder of frozen sites with tasks.tsv")
    parser.add_argument("--encoder", default="e5-small", help="sentence encoder (%(default)s)")
    parser.add_argument(
        "--cache", type=Path, default=Path("~/.cache/bilingual-crawler"), help="of vectors (%(default)s)"
    )
    parser.add_argument("--out", type=Path, default=Path("models") / FOLDER, help="model folder (%(default)s)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    encoder = load_encoder(args.encoder, args.cache.expanduser())
    examples = [one for task in track(read_tasks(args.sites)) for one in read_examples(args.sites, task, encoder)]
    views = {}
    for name, features in VIEWS.items():
        scores = cross_validated(examples, features)
        slope, shift = calibrate(examples, scores)
        recall, precision = measure(examples, scores, (np.log(THRESHOLD / (1 - THRESHOLD)) - shift) / slope)
        print(f"{name}: recall {recall:.4f}, precision {precision:.4f} on sites not trained on")
        views[name] = asdict(View(tuple(features), slope, shift, THRESHOLD))
        (args.out / f"{name}.onnx").write_bytes(boosted_to_onnx(fit(examples, features)))
    tree = DecisionTreeClassifier(max_depth=6, min_samples_leaf=20, random_state=SEED)
    rows = np.concatenate([one.rows(PAPER_FEATURES)[one.judged] for one in examples])
    tree.fit(rows, np.concatenate([one.parallel[one.judged] for one in examples]))
    (args.out / "pplocator.onnx").write_bytes(tree_to_onnx(tree))
    # the tree gives a probability: spread it out, so that the scale of a logit does no harm to one half
    views["pplocator"] = asdict(View(PAPER_FEATURES, 20.0, -10.0, THRESHOLD))
    (args.out / "config.json").write_text(json.dumps({"format": 1, "views": views}, indent=1) + "\n")


if __name__ == "__main__":
    main()
