"""`python -m training.language`: train the small URL language model and write its folder."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.metrics import f1_score
from torch import Tensor, nn

from bilingual_crawler.scoring.models import TEXTS
from bilingual_crawler.urls.canonical import domain_label
from training.data import DataError, check_classes, check_disjoint, in_held_out, read_tsv
from training.export import parity, write_card, write_folder
from training.networks import FIRST_BYTE, PAD, WordNet, WordNetConfig, byte_tokenizer
from training.onnx_graph import language_graph, round_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

SLASH = FIRST_BYTE + ord("/")
DOT = FIRST_BYTE + ord(".")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the model is trained; the defaults are those of the shipped model.

    `class_power` and `domain_power` shape the draw of examples: a class with n URLs weighs n**class_power, a
    URL of a domain with m URLs of the class weighs m**-domain_power. `hide_host` is the share of URLs shown
    without their host, half of these with its suffix left.
    """

    seed: int = 71213
    epochs: int = 8
    epoch_size: int = 300_000
    batch: int = 512
    rate: float = 2e-3
    decay: float = 0.01
    warmup: float = 0.05
    smoothing: float = 0.05
    class_power: float = 0.5
    domain_power: float = 0.5
    hide_host: float = 0.25
    held_out: float = 0.05
    least: int = 5
    max_length: int = 128
    rows: int = 131_071
    word_rows: int = 65_521
    columns: int = 32
    width: int = 96
    layers: int = 1


class Encoded:
    """Token ids of many texts in one array."""

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[str], max_length: int) -> None:
        tokenizer.enable_truncation(max_length)
        parts, lengths = [], []
        for start in range(0, len(texts), 4096):
            ids = [encoding.ids for encoding in tokenizer.encode_batch_fast(texts[start : start + 4096])]
            lengths.extend(map(len, ids))
            parts.append(np.fromiter((i for row in ids for i in row), dtype=np.uint16))
        self.ids = np.concatenate(parts)
        self.ends = np.cumsum(lengths)
        self.starts = self.ends - lengths

    def batch(self, indices: NDArray[np.int64], hide: NDArray[np.float64] | None = None) -> Tensor:
        """Padded ids [B, L]; where `hide` is below 1 the host goes, where below .5 also its suffix."""
        rows = [self.ids[self.starts[i] : self.ends[i]] for i in indices]
        if hide is not None:
            rows = [without_host(row, bool(h < 0.5)) if h < 1 else row for row, h in zip(rows, hide, strict=True)]
        length = max(1, max(map(len, rows)))
        padded = np.full((len(rows), length), PAD, dtype=np.int64)
        for i, row in enumerate(rows):
            padded[i, : len(row)] = row
        return torch.from_numpy(padded)


def without_host(ids: NDArray[np.uint16], suffix_too: bool) -> NDArray[np.uint16]:
    """The ids from the first slash on, or from the last dot before it; unchanged if there is no path."""
    slashes = np.flatnonzero(ids == SLASH)
    if not len(slashes) or len(ids) - slashes[0] < 4:
        return ids
    dots = np.flatnonzero(ids[: slashes[0]] == DOT)
    return ids[slashes[0] if suffix_too or not len(dots) else dots[-1] :]


def draw_weights(urls: Sequence[str], labels: NDArray[np.int64], recipe: Recipe) -> NDArray[np.float64]:
    """Weight of each example in the draw of an epoch."""
    domains = Counter(keys := [(domain_label(url), label) for url, label in zip(urls, labels, strict=True)])
    weights = np.array([float(domains[key]) ** -recipe.domain_power for key in keys])
    mass = np.bincount(labels, weights)
    counts = np.bincount(labels)
    wanted = np.where(counts > 0, mass, 1) ** recipe.class_power
    result: NDArray[np.float64] = weights / mass[labels] * wanted[labels]
    return result / result.sum()


def predict(net: WordNet, data: Encoded, indices: NDArray[np.int64], batch: int = 256) -> Tensor:
    """Logits of the examples at `indices`, in that order."""
    net.eval()
    order = np.argsort((data.ends - data.starts)[indices], kind="stable")
    with torch.no_grad():
        parts = [net(data.batch(indices[order[start : start + batch]])) for start in range(0, len(order), batch)]
    result = torch.empty(len(indices), net.config.labels)
    result[torch.from_numpy(order)] = torch.cat(parts)
    return result


def macro_f1(logits: Tensor, labels: NDArray[np.int64], least: int = 30) -> float:
    """Macro-F1 over the classes with at least `least` examples."""
    counts = np.bincount(labels)
    classes = np.flatnonzero(counts >= min(least, counts.max()))
    return float(f1_score(labels, logits.argmax(1).numpy(), labels=classes, average="macro", zero_division=0))


def fit_temperature(logits: Tensor, labels: NDArray[np.int64]) -> float:
    """The temperature with the least cross-entropy."""
    target = torch.from_numpy(labels)
    log_t = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.LBFGS([log_t], max_iter=50)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(logits / log_t.exp(), target)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    return float(log_t.detach().exp())


def train(
    net: WordNet,
    data: Encoded,
    labels: NDArray[np.int64],
    weights: NDArray[np.float64],
    valid: NDArray[np.int64],
    recipe: Recipe,
) -> list[dict[str, float]]:
    """Train in place; returns one record per epoch. `valid` are the held-out indices, of weight 0."""
    rng = np.random.default_rng(recipe.seed)
    cumulative = np.cumsum(weights)
    target = torch.from_numpy(labels)
    steps = recipe.epochs * (recipe.epoch_size // recipe.batch)
    optimizer = torch.optim.AdamW(net.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
    warm = max(1, int(steps * recipe.warmup))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / warm, max(0.0, (steps - s) / max(1, steps - warm)))
    )
    history = []
    for epoch in range(recipe.epochs):
        began, total = time.perf_counter(), 0.0
        net.train()
        drawn = np.searchsorted(cumulative, rng.random(recipe.epoch_size) * cumulative[-1])
        for start in range(0, recipe.epoch_size - recipe.batch + 1, recipe.batch):
            indices = drawn[start : start + recipe.batch]
            logits = net(data.batch(indices, rng.random(len(indices)) / recipe.hide_host))
            loss = nn.functional.cross_entropy(logits, target[indices], label_smoothing=recipe.smoothing)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        score = macro_f1(predict(net, data, valid), labels[valid])
        record = {
            "epoch": epoch + 1,
            "loss": total / (recipe.epoch_size // recipe.batch),
            "macro_f1": score,
            "seconds": time.perf_counter() - began,
        }
        history.append(record)
        print(" ".join(f"{key} {value:.4g}" for key, value in record.items()), flush=True)
    return history


def main(arguments: Sequence[str] | None = None) -> None:
    """Train on --data, decide on a held-out part of its domains, write --out."""
    parser = argparse.ArgumentParser(prog="python -m training.language", description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="TSV files with url, lang")
    parser.add_argument(
        "--exclude", type=Path, nargs="*", default=[], help="TSV files whose domains are not trained on"
    )
    parser.add_argument("--out", type=Path, required=True)
    for name, value in asdict(Recipe()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    options = vars(parser.parse_args(arguments))
    recipe = Recipe(**{name: options[name] for name in asdict(Recipe())})
    run(options["data"], options["exclude"], options["out"], recipe)


def run(paths: Sequence[Path], excluded: Sequence[Path], out: Path, recipe: Recipe) -> None:
    """The whole of a training run."""
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(1)
    tables = [read_tsv(path, ("url", "lang")) for path in paths]
    for table in tables:
        print(table.report())
    rows = [row for table in tables for row in table.rows]
    counts = Counter(lang for _, lang in rows)
    names = tuple(sorted((lang for lang in counts if counts[lang] >= recipe.least), key=lambda x: -counts[x]))
    rows = [row for row in rows if row[1] in set(names)]
    barred = {domain_label(url) for path in excluded for url, _ in read_tsv(path, ("url", "lang")).rows}
    before = len(rows)
    rows = [row for row in rows if domain_label(row[0]) not in barred]
    print(f"{before - len(rows)} URLs left out: their domains are in an excluded file")
    urls = [url for url, _ in rows]
    index = {name: i for i, name in enumerate(names)}
    labels = np.array([index[lang] for _, lang in rows])
    held = np.array([in_held_out(url, recipe.held_out, recipe.seed) for url in urls])
    check_disjoint(
        [u for u, h in zip(urls, held, strict=True) if not h],
        [u for u, h in zip(urls, held, strict=True) if h],
        ("the training part", "the held-out part"),
    )
    check_classes((names[i] for i in labels[~held]), names, "training part")
    if not held.any():
        raise DataError("no domain was held out: too little data")

    tokenizer = byte_tokenizer()
    data = Encoded(tokenizer, [TEXTS["reference"](url) for url in urls], recipe.max_length)
    weights = np.zeros(len(urls))
    train_rows = np.flatnonzero(~held)
    weights[train_rows] = draw_weights([urls[i] for i in train_rows], labels[train_rows], recipe)
    net = WordNet(
        WordNetConfig(
            labels=len(names),
            rows=recipe.rows,
            word_rows=recipe.word_rows,
            columns=recipe.columns,
            width=recipe.width,
            layers=recipe.layers,
        )
    )
    valid = np.flatnonzero(held)
    history = train(net, data, labels, weights, valid, recipe)
    round_tables(net)
    logits = predict(net, data, valid)
    temperature = fit_temperature(logits, labels[valid])
    graph = language_graph(net)
    difference = parity(net, graph, data.batch(valid[:512]))
    write_folder(
        out,
        graph,
        tokenizer,
        kind="language",
        labels=names,
        max_length=recipe.max_length,
        temperature=temperature,
    )
    write_card(
        out,
        "Language of a document from its URL",
        {
            "Training": "\n".join(table.report() for table in tables)
            + f"\n\n{len(train_rows)} URLs for training, {len(valid)} held out by domain.",
            "Recipe": f"```json\n{json.dumps(asdict(recipe), indent=1)}\n```",
            "Scores": f"Macro-F1 on the held-out part (classes with at least 30 URLs): "
            f"{macro_f1(logits, labels[valid]):.4f} after {len(history)} epochs; temperature {temperature:.3f}; "
            f"largest difference of logits between PyTorch and ONNX {difference:.2g}.",
        },
    )


if __name__ == "__main__":
    main()
