"""Baselines for the language of a URL: the rules of url2lang, and fastText (`python -m training.baselines`)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import fasttext
import langcodes
import tldextract

from bilingual_crawler.language_tables import URL_LABELS
from bilingual_crawler.scoring.models import TEXTS
from bilingual_crawler.urls.canonical import domain_label
from training.data import DataError, read_real

if TYPE_CHECKING:
    from collections.abc import Sequence

LABEL = "__label__"
PAPER = {"dim": 16, "minn": 2, "maxn": 4, "lr": 0.1, "epoch": 10, "loss": "hs"}
TUNED = {"dim": 16, "minn": 2, "maxn": 5, "lr": 0.5, "epoch": 10, "loss": "softmax"}


class LanguageRules:
    """url2lang's baseline: a component equal to a language code of the label set, else `unk`.

    Query values, then directories, then public suffix, then subdomain; inside a component the label that
    comes first in the reference list wins (spec 1.2.11).
    """

    def __init__(self) -> None:
        self._suffixes = tldextract.TLDExtract(suffix_list_urls=())
        self._rank: dict[str, int] = {}
        for rank, label in enumerate(URL_LABELS):
            for code in (label, langcodes.Language.get(label).language):
                if code:
                    self._rank.setdefault(code, rank)

    def guess(self, urls: Sequence[str]) -> list[str]:
        return [self.guess_one(url) for url in urls]

    def guess_one(self, url: str) -> str:
        """The label of one URL."""
        try:
            parts = urlsplit(url)
            values = [value for values in parse_qs(parts.query).values() for value in values]
        except ValueError:
            return "unk"
        host = self._suffixes(url)
        below = url.partition("://")[2].split("/")
        for tokens in (values, below[1:], [host.suffix], [host.subdomain]):
            ranks = [self._rank[token] for token in tokens if token in self._rank]
            if ranks:
                return URL_LABELS[min(ranks)]
        return "unk"


class FastText:
    """A fastText model trained by `train_fasttext`, on the same text as the networks."""

    def __init__(self, path: Path) -> None:
        try:
            self._model = fasttext.load_model(str(path))
        except ValueError as error:
            raise DataError(f"{path}: {error}") from error

    def guess(self, urls: Sequence[str]) -> list[str]:
        text = TEXTS["reference"]
        found = self._model.f.multilinePredict([f"{text(url)}\n" for url in urls], 1, 0.0, "strict")
        return [labels[0].removeprefix(LABEL) if labels else "unk" for labels in found[0]]


def train_fasttext(rows: Sequence[tuple[str, ...]], recipe: dict[str, object], path: Path, threads: int) -> None:
    """Train on (url, label) rows and save the model; the training text lies beside it while it trains."""
    text = TEXTS["reference"]
    lines = path.with_suffix(".txt")
    with lines.open("w", encoding="utf-8") as stream:
        stream.writelines(f"{LABEL}{label} {text(url)}\n" for url, label in rows)
    fasttext.train_supervised(input=str(lines), thread=threads, verbose=1, **recipe).save_model(str(path))
    lines.unlink()


def main(arguments: Sequence[str] | None = None) -> None:
    """Train fastText with the recipe of the paper and with a tuned one on the data of the network."""
    parser = argparse.ArgumentParser(prog="python -m training.baselines", description=main.__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="as for training.language")
    parser.add_argument("--exclude", type=Path, nargs="*", default=[], help="TSV files whose domains are left out")
    parser.add_argument("--out", type=Path, required=True, help="folder for fasttext-paper.bin, fasttext-tuned.bin")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    rows, report = read_real(options.data)
    barred = {domain_label(url) for url, _ in read_real(options.exclude)[0]}
    rows = [row for row in rows if domain_label(row[0]) not in barred]
    print("\n".join(report), f"\n{len(rows)} URLs")
    options.out.mkdir(parents=True, exist_ok=True)
    for name, recipe in (("paper", PAPER), ("tuned", TUNED)):
        train_fasttext(rows, recipe, options.out / f"fasttext-{name}.bin", options.threads)


if __name__ == "__main__":
    main()
