"""From lists of pairs to the folder of the small pair model: cross-validation, calibration, training on everything."""

from __future__ import annotations

import copy
import hashlib
from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.special import expit, logit

from bilingual_crawler.urls.model_input import pair_text
from training.common.calibration import Calibration, fit_calibration
from training.common.data import DataError
from training.common.loop import Checkpoint, predict
from training.common.soft_labels import SHARE, SoftLabels
from training.parallelness.examples import MADE_UP, fold_of, is_refused, origin_of, training_examples
from training.parallelness.fit import fit, weights_of
from training.parallelness.network import PairNet, PairNetConfig
from training.parallelness.ship import ship
from training.parallelness.tokenizer import build_tokenizer, count_features, count_words, encode, learn_pieces
from training.parallelness.validation import is_link, validation_scores, validation_table
from training.parallelness.words import count_lexicon, count_url_words, learn_vectors, lend_vectors, read_lexicon

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from training.common.encoding import Encoded
    from training.common.soft_labels import Key
    from training.parallelness.examples import Example, PairSources
    from training.parallelness.recipe import PairRecipe


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that training and cross-validation need.

    `start` is the network before the first example, `targets` what it learns: the labels, or a teacher's mixed in.
    """

    examples: list[Example]
    tokenizer: Tokenizer
    start: PairNet
    data: Encoded
    labels: NDArray[np.float32]
    targets: NDArray[np.float32]
    weights: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Split:
    """A part of the examples to score, and the part to learn from; no domain is in both."""

    name: str
    inside: NDArray[np.int64]
    outside: NDArray[np.int64]


def prepare(sources: PairSources, recipe: PairRecipe, work: Path) -> Prepared:
    """Examples with their negatives, the tokenizer, and a network with word vectors from the lexicon."""
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(1)
    work.mkdir(parents=True, exist_ok=True)
    examples = training_examples(sources, recipe.negatives, recipe.hard, recipe.made_up, recipe.seed)
    texts = [pair_text(e.url_a, e.url_b) for e in examples]
    lexicon = read_lexicon(sources.lexicon)
    in_lexicon = count_lexicon(lexicon)
    words = Counter({word: min(count, 30) for word, count in in_lexicon.items()})
    for word, count in (count_url_words(sources.urls) if sources.urls else count_words(texts)).items():
        words[word] += 4 * count
    tokenizer, first = build_tokenizer(count_features(texts), word_pieces(words, recipe, work / "pieces.pt"))
    net = PairNet(PairNetConfig(first, tokenizer.get_vocab_size() - first))
    if lexicon:
        add_vectors(net, tokenizer, lexicon, recipe, work / "words.pt")
        lent = lend_vectors(net, tokenizer, in_lexicon)
        print(f"{lent} words that the lexicon lacks got the vector of a word that begins alike")
    labels = np.array([e.label for e in examples], dtype=np.float32)
    print(f"{len(examples)} pairs, {int(labels.sum())} positive; {net.config}", flush=True)
    data = encode(tokenizer, texts)
    return Prepared(examples, tokenizer, net, data, labels, labels, weights_of(examples, recipe))


def word_pieces(words: Counter[str], recipe: PairRecipe, path: Path) -> list[str]:
    """Pieces learnt from words, or those that an earlier run of the same recipe left.

    The library breaks ties at random, and the checkpoints of the network hold for one numbering of the pieces only.
    """
    checkpoint = Checkpoint(path, f"{recipe.seed} {recipe.pieces} {len(words)} {words.total()}")
    if saved := checkpoint.load():
        return list(saved["pieces"])
    pieces = learn_pieces(words, recipe.pieces)
    checkpoint.save({"pieces": pieces})
    return pieces


def add_vectors(
    net: PairNet, tokenizer: Tokenizer, lexicon: Sequence[tuple[str, str]], recipe: PairRecipe, path: Path
) -> None:
    """Word vectors learnt from the lexicon, or those that an earlier run left for the same pieces."""
    numbers = {i: piece for piece, i in tokenizer.get_vocab().items()}
    pieces = "\n".join(numbers[i] for i in range(net.config.features, len(numbers)))
    digest = hashlib.blake2b(pieces.encode(), digest_size=8).hexdigest()
    checkpoint = Checkpoint(path, f"{recipe.seed} {recipe.word_epochs} {net.config.word_width} {digest} {len(lexicon)}")
    if saved := checkpoint.load():
        net.word_table.load_state_dict(saved["words"])
        return
    nearest = learn_vectors(net, tokenizer, lexicon, recipe.word_epochs, recipe.seed)
    print(f"translation nearest: {nearest:.3f}", flush=True)
    checkpoint.save({"words": net.word_table.state_dict()})


def domain_splits(examples: Sequence[Example], folds: int) -> list[Split]:
    """The first `folds` of five folds of domains."""
    folds_of = np.array([fold_of(e.group) for e in examples])
    return [Split(f"fold{n}", np.flatnonzero(folds_of == n), np.flatnonzero(folds_of != n)) for n in range(folds)]


def source_splits(examples: Sequence[Example]) -> list[Split]:
    """One split for each kind of real data, without its domains in the other kinds and in the made-up examples."""
    origins = np.array([origin_of(e) for e in examples])
    groups = np.array([e.group for e in examples])
    splits = []
    for name in sorted({*origins} - {*MADE_UP}):
        inside = origins == name
        splits.append(Split(name, np.flatnonzero(inside), np.flatnonzero(~np.isin(groups, groups[inside]))))
    return splits


def cross_validate(prepared: Prepared, splits: Sequence[Split], recipe: PairRecipe, work: Path) -> NDArray[np.float32]:
    """Logits [N] of the examples inside the splits, each from a network that saw nothing of its split; others 0."""
    p = prepared
    logits = np.zeros(len(p.examples), dtype=np.float32)
    work.mkdir(parents=True, exist_ok=True)
    for split in splits:
        net = copy.deepcopy(p.start)
        chosen = split.outside[p.weights[split.outside] > 0]
        fit(net, p.data, p.targets, p.weights, chosen, recipe, work / f"{split.name}.pt")
        logits[split.inside] = predict(net, p.data, split.inside)[:, 0].numpy()
    return logits


def calibrate(
    prepared: Prepared, logits: NDArray[np.float32], rows: NDArray[np.int64]
) -> tuple[NDArray[np.float32], Calibration]:
    """Calibrated logits [N], by the real and clear examples at `rows`, whose networks did not see them."""
    linked = is_link(prepared.examples)
    temperature, shift = scale(prepared, logits, rows[~linked[rows]])
    calibrated = (logits + shift) / temperature
    link_temperature, link_shift = scale(prepared, calibrated, rows[linked[rows]])
    calibrated[linked] = (calibrated[linked] + link_shift) / link_temperature
    return calibrated, Calibration(temperature, shift, link_temperature, link_shift)


def scale(p: Prepared, logits: NDArray[np.float32], rows: NDArray[np.int64]) -> tuple[float, float]:
    """Temperature and shift of held-out logits, by the real and clear examples at `rows`."""
    trusted = np.array([i for i in rows if p.examples[i].source not in MADE_UP and p.weights[i] > 0], dtype=np.int64)
    if len(set(p.labels[trusted])) < 2:
        return 1.0, 0.0
    return fit_calibration(logits[trusted], p.labels[trusted], p.weights[trusted])


def taught(
    prepared: Prepared, soft: SoftLabels, share: float, logits: NDArray[np.float32], rows: NDArray[np.int64]
) -> Prepared:
    """The same with targets that are for a `share` what a teacher and the small networks say together.

    Both err in other places: the mean of their calibrated logits is better than either (docs/models.md). `logits` are
    those of small networks at the `rows` that they did not see; elsewhere the targets stay labels.
    """
    said = soft.probability(keys_of(prepared.examples))
    # two URLs do not show that a translation is missing: teachers know nothing of refused links
    refused = np.array([is_refused(e) for e in prepared.examples], dtype=bool)
    known = rows[~np.isnan(said[rows]) & ~refused[rows]]
    teacher = calibrate(prepared, logit(said.clip(1e-4, 1 - 1e-4)), known)[0]
    both = (calibrate(prepared, logits, rows)[0] + teacher) / 2
    targets = prepared.labels.copy()
    targets[known] += share * (expit(both[known]) - targets[known])
    return replace(prepared, targets=targets)


def keys_of(examples: Sequence[Example]) -> list[Key]:
    """The texts by which a teacher knows the examples."""
    return [(e.url_a, e.url_b) for e in examples]


def run(
    sources: PairSources,
    out: Path,
    recipe: PairRecipe,
    folds: int,
    work: Path,
    soft: Path | None = None,
    share: float = SHARE,
) -> None:
    """Cross-validate on `folds` of the five domain folds, then train on everything and write the folder.

    A share of the targets is `taught` by the teacher in the file `soft`; DataError if it says nothing of the examples
    in the folds.
    """
    teacher = SoftLabels.load(soft) if soft else None
    p = prepare(sources, recipe, work)
    splits = domain_splits(p.examples, folds)
    seen = np.sort(np.concatenate([np.zeros(0, np.int64), *(split.inside for split in splits)]))
    if teacher and np.isnan(teacher.probability(keys_of([p.examples[i] for i in seen]))).all():
        raise DataError(f"{soft} says nothing of the examples in {folds} folds: give --folds 1 or more, and its data")
    logits = cross_validate(p, splits, recipe, work)
    if teacher:
        p = taught(p, teacher, share, logits, seen)
        work /= "taught"
        logits = cross_validate(p, splits, recipe, work)
    calibrated, found = calibrate(p, logits, seen)
    scores = validation_scores([p.examples[i] for i in seen], calibrated[seen], p.weights[seen])
    print(validation_table(scores))
    net = copy.deepcopy(p.start)
    fit(net, p.data, p.targets, p.weights, np.flatnonzero(p.weights > 0), recipe, work / "all.pt")
    with torch.no_grad():
        net.last.bias.add_(found.shift)
    probe = p.data.batch(np.arange(min(256, len(p.examples))))
    told = {"teachers' share of the targets": share} if teacher else {}
    ship(out, net, p.tokenizer, probe, p.examples, found, scores, asdict(recipe) | told)
