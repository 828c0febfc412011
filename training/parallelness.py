"""`python -m training.parallelness`: train the pair model and write its folder.

A run that was killed goes on from its checkpoints when it is started again with the same arguments.
"""

from __future__ import annotations

import argparse
import copy
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from bilingual_crawler.urls.pair_text import pair_text
from training.pair_export import ship
from training.pair_fit import Encoded, Recipe, fit_calibration, predict, save, train, weights_of
from training.pair_network import PairNet, PairNetConfig
from training.pair_tokenizer import build_tokenizer, count_features, count_words, learn_pieces
from training.pair_words import count_lexicon, count_url_words, learn_vectors, read_lexicon
from training.pairs import FOLDS, MADE_UP, Sources, fold_of, training_examples
from training.parallelness_validation import validation_scores, validation_table
from training.soft_labels import SHARE, SoftLabels, softened
from training.transformer import hand_over

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from training.pairs import Example


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
    folds: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Calibrated logits of the examples at `indices`, each from a network that saw nothing of its domain."""

    indices: NDArray[np.int64]
    logits: NDArray[np.float32]
    temperature: float
    shift: float


def prepare(sources: Sources, recipe: Recipe, work: Path) -> Prepared:
    """Examples with their negatives, the tokenizer, and a network with word vectors from the lexicon."""
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(1)
    work.mkdir(parents=True, exist_ok=True)
    examples = training_examples(sources, recipe.negatives, recipe.hard, recipe.made_up, recipe.seed)
    texts = [pair_text(e.url_a, e.url_b) for e in examples]
    lexicon = read_lexicon(sources.lexicon)
    words = Counter({word: min(count, 30) for word, count in count_lexicon(lexicon).items()})
    for word, count in (count_url_words(sources.urls) if sources.urls else count_words(texts)).items():
        words[word] += 4 * count
    tokenizer, first = build_tokenizer(count_features(texts), learn_pieces(words, recipe.pieces))
    net = PairNet(PairNetConfig(first, tokenizer.get_vocab_size() - first))
    if lexicon:
        add_vectors(net, tokenizer, lexicon, recipe, work / "words.pt")
    labels = np.array([e.label for e in examples], dtype=np.float32)
    folds = np.array([fold_of(e.group) for e in examples])
    print(f"{len(examples)} pairs, {int(labels.sum())} positive; {net.config}", flush=True)
    return Prepared(
        examples, tokenizer, net, Encoded(tokenizer, texts), labels, labels, weights_of(examples, recipe), folds
    )


def add_vectors(
    net: PairNet, tokenizer: Tokenizer, lexicon: Sequence[tuple[str, str]], recipe: Recipe, checkpoint: Path
) -> None:
    """Word vectors learnt from the lexicon, or those that an earlier run of the same recipe left."""
    key = f"{recipe} {net.config} {len(lexicon)}"
    if checkpoint.exists() and (saved := torch.load(checkpoint, weights_only=True))["key"] == key:
        net.load_state_dict(saved["net"])
        return
    nearest = learn_vectors(net, tokenizer, lexicon, recipe.word_epochs, recipe.seed)
    print(f"translation nearest: {nearest:.3f}", flush=True)
    save({"key": key, "net": net.state_dict()}, checkpoint)


def cross_validate(prepared: Prepared, recipe: Recipe, folds: int, work: Path) -> HeldOut:
    """Train on the domains outside each of the first `folds` folds and score those inside."""
    p, clear = prepared, prepared.weights > 0
    logits = np.zeros(len(p.examples), dtype=np.float32)
    for number in range(folds):
        net = copy.deepcopy(p.start)
        chosen = np.flatnonzero((p.folds != number) & clear)
        train(net, p.data, p.targets, p.weights, chosen, recipe, work / f"fold{number}.pt")
        inside = np.flatnonzero(p.folds == number)
        logits[inside] = predict(net, p.data, inside)
    seen = np.flatnonzero(p.folds < folds)
    trusted = np.array([i for i in seen if p.examples[i].source not in MADE_UP and clear[i]], dtype=np.int64)
    temperature, shift = (1.0, 0.0)
    if len(set(p.labels[trusted])) > 1:
        temperature, shift = fit_calibration(logits[trusted], p.labels[trusted], p.weights[trusted])
    return HeldOut(seen, (logits[seen] + shift) / temperature, temperature, shift)


def run(
    sources: Sources,
    out: Path,
    recipe: Recipe,
    folds: int,
    work: Path,
    soft: Path | None = None,
    share: float = SHARE,
) -> None:
    """Cross-validate on `folds` of the five domain folds, then train on everything and write the folder.

    A share of the targets is a teacher's, from the file `soft`.
    """
    p = prepare(sources, recipe, work)
    if soft:
        pairs = [(e.url_a, e.url_b) for e in p.examples]
        p = replace(p, targets=softened(SoftLabels.load(soft), pairs, p.labels, share))
    held_out = cross_validate(p, recipe, folds, work)
    scores = validation_scores([p.examples[i] for i in held_out.indices], held_out.logits, p.weights[held_out.indices])
    print(validation_table(scores))
    net = copy.deepcopy(p.start)
    train(net, p.data, p.targets, p.weights, np.flatnonzero(p.weights > 0), recipe, work / "all.pt")
    with torch.no_grad():
        net.last.bias.add_(held_out.shift)
    probe = p.data.batch(np.arange(min(256, len(p.examples))))
    ship(out, net, p.tokenizer, probe, p.examples, held_out.temperature, scores, recipe)


def arguments_of(parser: argparse.ArgumentParser) -> None:
    """Add what training and comparison share: the data, the recipe, the folder of checkpoints."""
    parser.add_argument("--pairs", type=Path, required=True, help="TSV with url_a, url_b, evidence")
    parser.add_argument("--sites", type=Path, required=True, help="folder of frozen sites")
    parser.add_argument("--urls", type=Path, help="TSV with url, lang: to make up positives with language marks")
    parser.add_argument("--lexicon", type=Path, help="TSV with lang_a, text_a, lang_b, text_b: translated words")
    parser.add_argument("--work", type=Path, required=True, help="checkpoints: a killed run goes on from here")
    parser.add_argument("--folds", type=int, default=FOLDS, help="how many of the five folds to cross-validate")
    for name, value in asdict(Recipe()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)


def chosen_by(options: argparse.Namespace) -> tuple[Sources, Recipe]:
    """The data and the recipe that the arguments name."""
    values = vars(options)
    recipe = Recipe(**{name: values[name] for name in asdict(Recipe())})
    return Sources(*(values[name] for name in ("pairs", "sites", "urls", "lexicon"))), recipe


def main(arguments: Sequence[str] | None = None) -> None:
    """Train on --pairs and --sites, write --out."""
    left = hand_over("parallelness", arguments)
    if left is None:
        return
    parser = argparse.ArgumentParser(prog="python -m training.parallelness", description=__doc__)
    arguments_of(parser)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--soft-labels", type=Path, help="a teacher's probabilities, written by training.distil")
    parser.add_argument("--soft-share", type=float, default=SHARE, help="of the teacher in the targets")
    options = parser.parse_args(left)
    sources, recipe = chosen_by(options)
    run(sources, options.out, recipe, options.folds, options.work, options.soft_labels, options.soft_share)


if __name__ == "__main__":
    main()
