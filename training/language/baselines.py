"""Baselines for the language of a URL: the rules of url2lang, and fastText."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import fasttext
import langcodes
import tldextract
from sklearn.metrics import f1_score

from bilingual_crawler.languages.codes import URL_LABELS
from bilingual_crawler.scoring.models import TEXTS
from bilingual_crawler.storage.files import replacing
from training.common.data import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COMPONENTS = ("query", "directories", "suffix", "subdomain")
LABEL = "__label__"
PAPER = {"dim": 16, "minn": 2, "maxn": 4, "lr": 0.1, "epoch": 10, "loss": "hs"}
TUNED = {"dim": 16, "minn": 2, "maxn": 5, "lr": 0.5, "epoch": 10, "loss": "softmax"}


class LanguageRules:
    """url2lang's baseline: a component equal to a language code of the label set, else `unk`.

    The first component in `order` with such a code counts. Inside a component the first label of the reference list
    wins (spec 1.2.11).
    """

    def __init__(self, order: Sequence[str] = COMPONENTS) -> None:
        self.order = tuple(order)
        self._suffixes = tldextract.TLDExtract(suffix_list_urls=())
        self._rank: dict[str, int] = {}
        for rank, label in enumerate(URL_LABELS):
            for code in (label, langcodes.Language.get(label).language):
                if code:
                    self._rank.setdefault(code, rank)

    def guess(self, urls: Sequence[str]) -> list[str]:
        return [first_claim(self.claims(url), self.order) for url in urls]

    def claims(self, url: str) -> dict[str, str]:
        """The label that each component names, if any."""
        try:
            parts = urlsplit(url)
            values = [value for values in parse_qs(parts.query).values() for value in values]
        except ValueError:
            return {}
        host = self._suffixes(url)
        below = url.partition("://")[2].split("/")[1:]
        tokens = dict(zip(COMPONENTS, (values, below, [host.suffix], [host.subdomain]), strict=True))
        ranks = {name: [self._rank[t] for t in found if t in self._rank] for name, found in tokens.items()}
        return {name: URL_LABELS[min(found)] for name, found in ranks.items() if found}


def first_claim(claims: dict[str, str], order: Sequence[str]) -> str:
    """The label of the first component in the order that names one, else `unk`."""
    return next((claims[name] for name in order if name in claims), "unk")


def best_order(rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The order of the components with the highest macro-F1 on (url, language) rows."""
    rules = LanguageRules()
    claims = [rules.claims(url) for url, _ in rows]
    truth = [lang for _, lang in rows]
    scores = {}
    for order in permutations(COMPONENTS):
        guesses = [first_claim(found, order) for found in claims]
        scores[order] = f1_score(truth, guesses, average="macro", zero_division=0, labels=sorted(set(truth)))
    return max(scores, key=scores.__getitem__)


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
    """Train on (url, label) rows and save the model. The training text is beside it during the training."""
    text = TEXTS["reference"]
    lines = path.with_suffix(".txt")
    with lines.open("w", encoding="utf-8") as stream:
        stream.writelines(f"{LABEL}{label} {text(url)}\n" for url, label in rows)
    model = fasttext.train_supervised(input=str(lines), thread=threads, verbose=1, **recipe)
    with replacing(path) as part:
        model.save_model(str(part))
    lines.unlink()
