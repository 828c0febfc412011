"""Fit the quality score of sentence pairs: ``python -m training.sentences SITES [SITES …] [--encoder ""]``.

Each argument is a folder of frozen sites with tasks.tsv. The pages of a site are paired and their sentences aligned as
for a user; what is aligned then counts as right. Then the documents are corrupted: sentences are missing or cut in
half on one side, come in another order, or are of another page. Of what the aligner makes of these, a sentence pair is
right if it was aligned before. Pairs that no rule of cleaning drops count, each once; a site weighs as the square root
of its pairs. Prints the weights for ``bilingual_crawler/bitext/quality.py``, and how well the score is
calibrated on sites that it was not fitted on.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np
from rich.progress import track
from scrapy.settings import Settings
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict

from bilingual_crawler.bitext.align import SentenceAligner, SentencePair, whole
from bilingual_crawler.bitext.cleaning import Cleaner
from bilingual_crawler.bitext.quality import WITH_ENCODER, WITHOUT_ENCODER
from bilingual_crawler.bitext.splitting import Sentence
from bilingual_crawler.encoders.base import load_encoder
from bilingual_crawler.harvest.sites import read_tasks
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pairing.align import align, read_corpus
from bilingual_crawler.pairing.methods import method_of
from bilingual_crawler.scoring.linear import LinearModel
from training.common.data import DataError
from training.common.options import refuse_bad_input
from training.common.scores import calibration_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.bitext.align import Sides
    from bilingual_crawler.encoders.base import Encoder
    from bilingual_crawler.harvest.sites import Task

SEED = 1
MAX_PAIRS = 24  # document pairs of a task that are read
MAX_SENTENCES = 50  # sentences of a document that are read
SMALL_SITE = 3  # document pairs of a site with a lexicon of its own
SURE = 0.8  # least score of an aligned pair that counts as right; others count neither way
BINS = 10
FOLDS = 10


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence pair with its features and whether it is right."""

    site: str
    row: dict[str, float]
    right: bool


def examples(folder: Path, task: Task, encoder: Encoder | None) -> Iterable[list[Example]]:
    """The examples of a task: without the encoder, then with it if there is one. It knows best what is right."""
    pair = LanguagePair(task.lang_a, task.lang_b)
    pairs = LanguagePairs((pair,))
    found = [
        (domain.main_text(one.url_a), domain.main_text(one.url_b))
        for domain, alignment in align(read_corpus([folder / task.site], pairs), method_of("auto", Settings()))
        for one in alignment.pairs[:: -(-len(alignment.pairs) // MAX_PAIRS) or 1]
    ]
    yield from examples_of(task.site, pair, found, encoder)


def examples_of(
    site: str, pair: LanguagePair, found: Iterable[tuple[list[str], list[str]]], encoder: Encoder | None
) -> Iterable[list[Example]]:
    """The examples of the document pairs *found*, in lines: without the encoder, then with it if there is one."""
    known = SentenceAligner(pair.a, pair.b, encoder)
    read = (known.read(a, b) for a, b in found)
    documents: list[Sides] = [(whole(a)[0][:MAX_SENTENCES], whole(b)[0][:MAX_SENTENCES]) for a, b in read]
    known.learn_lexicon(documents)
    gold = {(one.text_a, one.text_b): one.score for a, b in documents for one in _with_joined(known.align(a, b))}
    corrupted = list(corrupt(documents, Random(f"{SEED} {site}")))
    cleaner = Cleaner(pair)
    for one in (None, encoder)[: 2 if encoder else 1]:
        found_here: list[Example] = []
        # a small site teaches no lexicon
        for size in (len(corrupted), SMALL_SITE):
            aligner = SentenceAligner(pair.a, pair.b, one)
            by_text: dict[tuple[str, str], Example] = {}
            for start in range(0, len(corrupted), size):
                aligner.learn_lexicon(corrupted[start : start + size])
                for a, b in corrupted[start : start + size]:
                    beads, quality = aligner.judged_beads(a, b)
                    for row, sentences in zip(quality.rows(beads), aligner.align(a, b), strict=True):
                        texts = sentences.text_a, sentences.text_b
                        is_certain = texts not in gold or gold[texts] >= SURE
                        if is_certain and cleaner.objection(sentences) in ("", "quality"):
                            by_text.setdefault(texts, Example(site, row, texts in gold))
            found_here += by_text.values()
        yield found_here


def _with_joined(pairs: Sequence[SentencePair]) -> Iterable[SentencePair]:
    """*pairs*, and each two neighbours as one pair, which is right if both are."""
    yield from pairs
    for one, other in itertools.pairwise(pairs):
        joined = f"{one.text_a} {other.text_a}", f"{one.text_b} {other.text_b}"
        yield SentencePair(*joined, min(one.score, other.score), "", "")


def corrupt(documents: Sequence[Sides], random: Random) -> Iterable[Sides]:
    """*documents*, of which six of ten are nearly whole; the others are corrupted, each in one way."""
    for place, (a, b) in enumerate(documents):
        kind = random.random()
        if kind < 0.6:
            yield _with_gaps(a, 0.01, random), _with_gaps(b, 0.01, random)
        elif kind < 0.8:
            share = random.uniform(0.05, 0.4)
            yield _halved(_with_gaps(a, share, random), random), _halved(_with_gaps(b, share, random), random)
        elif kind < 0.93:
            yield a, documents[(place + 1) % len(documents)][1]
        else:
            yield a, sorted(b, key=lambda sentence: sentence.text)


def _with_gaps(side: Sequence[Sentence], share: float, random: Random) -> list[Sentence]:
    return [sentence for sentence in side if random.random() >= share]


def _halved(side: Sequence[Sentence], random: Random) -> list[Sentence]:
    """*side* with one of twenty sentences cut in half."""
    return [Sentence(_half(s.text), s.paragraph) if random.random() < 0.05 else s for s in side]


def _half(text: str) -> str:
    words = text.split()
    return " ".join(words[: max(1, len(words) // 2)])


def fit(found: Sequence[Example], names: Sequence[str]) -> LinearModel:
    """Print and return the model of the features *names*; print the calibration on sites that were left out.

    DataError if fewer than two sites have sentence pairs, or if all of these are right, or none.
    """
    # the intercept is punished like a weight
    rows = np.array([[1.0, *(one.row[name] for name in names)] for one in found])
    right = np.array([one.right for one in found], dtype=bool)
    sites = np.array([one.site for one in found])
    count = Counter(one.site for one in found)
    if len(count) < 2 or right.all() or not right.any():
        raise DataError(
            f"{right.sum()} of {len(right)} sentence pairs of {len(count)} sites are right: give more sites, "
            "as each is left out once"
        )
    weights = np.array([count[one.site] ** -0.5 for one in found])
    weights /= weights.mean()
    model = LogisticRegression(fit_intercept=False, max_iter=1000)
    held = cross_val_predict(
        model,
        rows,
        right,
        groups=sites,
        cv=GroupKFold(min(FOLDS, len(count))),
        params={"sample_weight": weights},
        method="predict_proba",
    )[:, 1]
    model.fit(rows, right, sample_weight=weights)
    print(f"{len(found)} pairs of {len(count)} sites, {right.mean():.3f} right, AUC {roc_auc_score(right, held):.4f}")
    print(f"expected calibration error {calibration_error(held, right, bins=BINS):.4f}")
    for low, mean, share, number in reliability(held, right):
        print(f"  from {low:.1f}: {number:6} pairs, mean score {mean:.3f}, right {share:.3f}")
    intercept, *weights = model.coef_[0].tolist()
    fitted = LinearModel(intercept, dict(zip(names, weights, strict=True)))
    _show(fitted)
    return fitted


def _show(model: LinearModel) -> None:
    print(f"    {model.intercept:.3f},")
    for name, weight in model.weights.items():
        print(f'        "{name}": {weight:.3f},')


def reliability(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> list[tuple[float, float, float, int]]:
    """For each tenth of the scores that has pairs: its lower bound, mean score, share of right pairs, and number."""
    bins = np.minimum((scores * BINS).astype(int), BINS - 1)
    rows = []
    for one in np.unique(bins).tolist():
        here = bins == one
        rows.append((one / BINS, float(scores[here].mean()), float(right[here].mean()), int(here.sum())))
    return rows


def main() -> None:
    """Fit without and with the encoder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, nargs="+", help="folders of frozen sites with tasks.tsv")
    parser.add_argument("--encoder", default="e5-small", help="sentence encoder; none if empty (%(default)s)")
    parser.add_argument(
        "--cache", type=Path, default=Path("~/.cache/bilingual-crawler"), help="of vectors (%(default)s)"
    )
    args = parser.parse_args()
    found: tuple[list[Example], list[Example]] = [], []
    with refuse_bad_input(parser):
        encoder = load_encoder(args.encoder, args.cache.expanduser()) if args.encoder else None
        places = [(folder, task) for folder in args.sites for task in read_tasks(folder)]
        if not places:
            raise DataError(f"{', '.join(map(str, args.sites))}: no task in tasks.tsv")
        for place in track(places):
            for collected, more in zip(found, examples(*place, encoder), strict=False):
                collected += more
        without = fit(found[0], list(WITHOUT_ENCODER.weights))
        if encoder:
            # sites with few sentences are aligned without it
            with_it = fit([one for one in found[1] if "meaning" in one.row], list(WITH_ENCODER.weights))
            print("the mean of both, for use with the encoder")
            weights = {name: (weight + without.weights.get(name, 0.0)) / 2 for name, weight in with_it.weights.items()}
            _show(LinearModel((with_it.intercept + without.intercept) / 2, weights))


if __name__ == "__main__":
    main()
