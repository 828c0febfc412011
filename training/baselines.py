"""Baselines for the language of a URL: the rules of url2lang and fastText."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import fasttext
import langcodes
import tldextract

from bilingual_crawler.language_tables import URL_LABELS
from bilingual_crawler.scoring.models import TEXTS
from training.data import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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


def train_fasttext(rows: Sequence[tuple[str, str]], recipe: dict[str, object], path: Path, threads: int) -> None:
    """Train on (url, label) rows and save the model; `path` gets a sibling with the training text."""
    text = TEXTS["reference"]
    lines = path.with_suffix(".txt")
    with lines.open("w", encoding="utf-8") as stream:
        stream.writelines(f"{LABEL}{label} {text(url)}\n" for url, label in rows)
    model = fasttext.train_supervised(input=str(lines), thread=threads, verbose=1, **recipe)
    model.save_model(str(path))
