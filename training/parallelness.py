"""`python -m training.parallelness`: train the pair model and write its folder."""

from __future__ import annotations

import argparse
import copy
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn import functional

from bilingual_crawler.urls.pair_text import pair_text
from training.pair_export import MAX_LENGTH, ship
from training.pair_network import MARK_B, PAD, PairNet, PairNetConfig
from training.pair_tokenizer import build_tokenizer, count_features, count_words, learn_pieces
from training.pair_words import count_lexicon, count_url_words, learn_vectors, read_lexicon
from training.pairs import FOLDS, MADE_UP, Sources, fold_of, is_unclear, training_examples
from training.parallelness_validation import validation_scores, validation_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from training.pairs import Example

POOL = 32


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the model is trained; the defaults are those of the shipped model.

    An example of a domain with n examples weighs min(1, (domain / n) ** .5), a synthetic one `synthetic` times
    that, an unclear negative nothing. `hide` is the share of tokens hidden from the network in training.
    `negatives` and `hard` are per positive (and generator). `made_up` sites of each kind are made up. The table
    of word pieces learns at `word_rate` times the rate, after `word_epochs` on the lexicon.
    """

    seed: int = 71213
    epochs: int = 4
    batch: int = 256
    rate: float = 3e-3
    decay: float = 0.01
    warmup: float = 0.1
    hide: float = 0.1
    domain: float = 600.0
    made_up: int = 1000
    synthetic: float = 0.5
    negatives: int = 3
    hard: int = 3
    pieces: int = 40_000
    word_epochs: int = 2
    word_rate: float = 0.1


class Encoded:
    """Token ids of many pairs in one array."""

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[str]) -> None:
        tokenizer.enable_truncation(MAX_LENGTH)
        rows = [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts))]
        self.lengths = np.array([len(row) for row in rows])
        self.ends = np.cumsum(self.lengths)
        self.ids = np.fromiter((i for row in rows for i in row), dtype=np.int32, count=int(self.ends[-1]))

    def batch(self, indices: NDArray[np.int64]) -> torch.Tensor:
        """Padded ids [B, L] of the examples at `indices`."""
        lengths = self.lengths[indices]
        mask = np.arange(lengths.max()) < lengths[:, None]
        padded = np.full(mask.shape, PAD, dtype=np.int64)
        padded[mask] = np.concatenate([self.ids[self.ends[i] - self.lengths[i] : self.ends[i]] for i in indices])
        return torch.from_numpy(padded)


def weights_of(examples: Sequence[Example], recipe: Recipe) -> NDArray[np.float32]:
    """Loss weight of each example: large domains do not dominate."""
    counts = Counter(example.group for example in examples)
    weights = np.array([min(1.0, (recipe.domain / counts[e.group]) ** 0.5) for e in examples], dtype=np.float32)
    weights *= np.array([recipe.synthetic if e.source in MADE_UP else 1.0 for e in examples], dtype=np.float32)
    weights *= np.array([not is_unclear(e) for e in examples], dtype=np.float32)
    return weights


def train(
    net: PairNet,
    data: Encoded,
    labels: NDArray[np.float32],
    weights: NDArray[np.float32],
    chosen: NDArray[np.int64],
    recipe: Recipe,
) -> None:
    """Train in place on the examples `chosen`."""
    rng = np.random.default_rng(recipe.seed)
    steps = recipe.epochs * -(-len(chosen) // recipe.batch)
    words = list(net.word_table.parameters())
    rest = [parameter for name, parameter in net.named_parameters() if not name.startswith("word_table")]
    rates = [recipe.rate, recipe.rate * recipe.word_rate]
    groups: list[dict[str, Any]] = [{"params": rest}, {"params": words, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=recipe.rate, weight_decay=recipe.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rates, total_steps=steps, pct_start=recipe.warmup)
    for epoch in range(recipe.epochs):
        began, total = time.perf_counter(), 0.0
        net.train()
        order = rng.permutation(chosen)
        for indices in batches(order, data.lengths, recipe.batch, rng):
            ids = data.batch(indices)
            ids = torch.where((torch.rand(ids.shape) < recipe.hide) & (ids > MARK_B), PAD, ids)
            losses = functional.binary_cross_entropy_with_logits(
                net(ids)[:, 0], torch.from_numpy(labels[indices]), reduction="none"
            )
            loss = (losses * torch.from_numpy(weights[indices])).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            total += loss.item() * len(indices)
        print(f"epoch {epoch + 1} loss {total / len(order):.4f} seconds {time.perf_counter() - began:.0f}", flush=True)


def batches(
    order: NDArray[np.int64], lengths: NDArray[np.int64], size: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Batches of examples of like length: pools of 32 batches are sorted by length, then drawn at random."""
    found = []
    for start in range(0, len(order), size * POOL):
        pool = order[start : start + size * POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        found += [pool[i : i + size] for i in range(0, len(pool), size)]
    for number in rng.permutation(len(found)):
        yield found[number]


def predict(net: PairNet, data: Encoded, indices: NDArray[np.int64], batch: int = 512) -> NDArray[np.float32]:
    """Logits of the examples at `indices`, in that order."""
    net.eval()
    order = np.argsort(data.lengths[indices], kind="stable")
    result = np.empty(len(indices), dtype=np.float32)
    with torch.no_grad():
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            result[rows] = net(data.batch(indices[rows]))[:, 0].numpy()
    return result


def fit_calibration(
    logits: NDArray[np.float32], labels: NDArray[np.float32], weights: NDArray[np.float32]
) -> tuple[float, float]:
    """Temperature and shift with the least weighted cross-entropy of `(logits + shift) / temperature`."""
    model = LogisticRegression(C=1e6).fit(logits[:, None], labels, sample_weight=weights)
    slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
    return (1 / slope, intercept / slope) if slope > 0.1 else (1.0, 0.0)


def prepare(examples: Sequence[Example], sources: Sources, recipe: Recipe) -> tuple[Tokenizer, PairNet, Encoded]:
    """Tokenizer, network with word vectors from the lexicon, and the encoded examples."""
    texts = [pair_text(e.url_a, e.url_b) for e in examples]
    lexicon = read_lexicon(sources.lexicon)
    words = Counter({word: min(count, 30) for word, count in count_lexicon(lexicon).items()})
    for word, count in (count_url_words(sources.urls) if sources.urls else count_words(texts)).items():
        words[word] += 4 * count
    tokenizer, first = build_tokenizer(count_features(texts), learn_pieces(words, recipe.pieces))
    net = PairNet(PairNetConfig(first, tokenizer.get_vocab_size() - first))
    if lexicon:
        print(f"translation nearest: {learn_vectors(net, tokenizer, lexicon, recipe.word_epochs, recipe.seed):.3f}")
    return tokenizer, net, Encoded(tokenizer, texts)


def run(sources: Sources, out: Path, recipe: Recipe, folds: int = FOLDS) -> None:
    """Cross-validate on `folds` of the five domain folds, then train on everything and write the folder."""
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(1)
    examples = training_examples(sources, recipe.negatives, recipe.hard, recipe.made_up, recipe.seed)
    tokenizer, start, data = prepare(examples, sources, recipe)
    labels = np.array([e.label for e in examples], dtype=np.float32)
    weights = weights_of(examples, recipe)
    fold = np.array([fold_of(e.group) for e in examples])
    clear = weights > 0
    print(f"{len(examples)} pairs, {int(labels.sum())} positive; {start.config}", flush=True)

    logits = np.zeros(len(examples), dtype=np.float32)
    for number in range(folds):
        net = copy.deepcopy(start)
        train(net, data, labels, weights, np.flatnonzero((fold != number) & clear), recipe)
        held_out = np.flatnonzero(fold == number)
        logits[held_out] = predict(net, data, held_out)
    seen = np.flatnonzero(fold < folds)
    trusted = np.array([i for i in seen if examples[i].source not in MADE_UP and clear[i]], dtype=np.int64)
    temperature, shift = (1.0, 0.0)
    if len(set(labels[trusted])) > 1:
        temperature, shift = fit_calibration(logits[trusted], labels[trusted], weights[trusted])
    scores = validation_scores([examples[i] for i in seen], (logits[seen] + shift) / temperature)
    print(validation_table(scores))

    net = copy.deepcopy(start)
    train(net, data, labels, weights, np.flatnonzero(clear), recipe)
    with torch.no_grad():
        net.last.bias.add_(shift)
    ship(out, net, tokenizer, data.batch(np.arange(min(256, len(examples)))), examples, temperature, scores, recipe)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train on --pairs and --sites, write --out."""
    parser = argparse.ArgumentParser(prog="python -m training.parallelness", description=__doc__)
    parser.add_argument("--pairs", type=Path, required=True, help="TSV with url_a, url_b, evidence")
    parser.add_argument("--sites", type=Path, required=True, help="folder of frozen sites")
    parser.add_argument("--urls", type=Path, help="TSV with url, lang: to make up positives with language marks")
    parser.add_argument("--lexicon", type=Path, help="TSV with lang_a, text_a, lang_b, text_b: translated words")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--folds", type=int, default=FOLDS, help="how many of the five folds to cross-validate")
    for name, value in asdict(Recipe()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    options = vars(parser.parse_args(arguments))
    recipe = Recipe(**{name: options[name] for name in asdict(Recipe())})
    sources = Sources(*(options[name] for name in ("pairs", "sites", "urls", "lexicon")))
    run(sources, options["out"], recipe, options["folds"])


if __name__ == "__main__":
    main()
