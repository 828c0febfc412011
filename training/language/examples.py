"""Examples of the language model: labels, splits by domain, weights in the draw."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.urls.hosts import domain_label
from training.common.data import DataError, check_classes, check_disjoint, in_held_out, read_real, read_tsv

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from training.language.recipe import LanguageRecipe

Row = tuple[str, ...]
PER_DOMAIN = 15


@dataclass(frozen=True, slots=True)
class Examples:
    """URLs with the index of their label, and the weight of each in both draws.

    `valid` are the held-out indices; `names` are the labels, most frequent first.
    """

    urls: list[str]
    labels: NDArray[np.int64]
    real: NDArray[np.float64]
    made_up: NDArray[np.float64]
    valid: NDArray[np.int64]
    names: tuple[str, ...]

    def weights(self, synthetic: float) -> NDArray[np.float64]:
        """Weights in a draw with a share of `synthetic` URLs, if there are any."""
        return synthetic * self.made_up + (1 - synthetic) * self.real if self.made_up.any() else self.real


def read_examples(
    data: Sequence[Path], synthetic: Sequence[Path], excluded: Sequence[Path], recipe: LanguageRecipe
) -> tuple[Examples, list[str]]:
    """The examples in the files, and a report; the domains of the `excluded` files are left out."""
    real, report = read_real(data)
    made_up = [row for path in synthetic for row in read_tsv(path, ("url", "lang")).rows]
    barred = {domain_label(url) for url, _ in read_real(excluded)[0]}
    examples = prepare(real, made_up, barred, recipe)
    report.append(
        f"{np.count_nonzero(examples.real)} real and {np.count_nonzero(examples.made_up)} synthetic URLs to draw from, "
        f"{len(examples.valid)} held out by domain, {len(examples.names)} labels; {len(barred)} evaluation domains "
        "left out"
    )
    return examples, report


def prepare(real: list[Row], made_up: list[Row], excluded: set[str], recipe: LanguageRecipe) -> Examples:
    """Choose labels, leave out excluded domains, hold out domains for validation, weight the rest."""
    real = [row for row in real if domain_label(row[0]) not in excluded]
    counts = Counter(lang for _, lang in real)
    names = tuple(lang for lang, count in counts.most_common() if count >= recipe.least)
    if not names:
        raise DataError(f"no language has {recipe.least} URLs outside of the excluded domains")
    if len(names) == 1:
        raise DataError(
            f"only {names[0]} has {recipe.least} URLs outside of the excluded domains: add another language"
        )
    index = {name: i for i, name in enumerate(names)}
    rows = [row for row in (*real, *made_up) if row[1] in index]
    count = sum(row[1] in index for row in real)
    held = np.array([in_held_out(url, recipe.held_out, recipe.seed) for url, _ in rows[:count]])
    kept, aside = np.flatnonzero(~held), np.flatnonzero(held)
    check_disjoint((rows[i][0] for i in kept), (rows[i][0] for i in aside), ("training", "validation"))
    check_classes((rows[i][1] for i in kept), names, "training part")
    if not len(aside):
        raise DataError("no domain was held out for validation: too little data")
    labels = np.array([index[row[1]] for row in rows])
    real_weights, made_up_weights = np.zeros(len(rows)), np.zeros(len(rows))
    urls = [rows[i][0] for i in kept]
    real_weights[kept] = draw_weights(urls, labels[kept], recipe.class_power, recipe.domain_power)
    if len(rows) > count:
        mass = np.bincount(labels, real_weights, len(names)) ** recipe.synthetic_power
        made = labels[count:]
        made_up_weights[count:] = mass[made] / np.bincount(made, minlength=len(names))[made]
        made_up_weights /= made_up_weights.sum()
    valid = thinned(aside, [(domain_label(rows[i][0]), rows[i][1]) for i in aside], PER_DOMAIN)
    return Examples([row[0] for row in rows], labels, real_weights, made_up_weights, valid, names)


def draw_weights(
    urls: Sequence[str], labels: NDArray[np.int64], class_power: float, domain_power: float
) -> NDArray[np.float64]:
    """Weight of each example in the draw, summing to 1."""
    keys = [(domain_label(url), label) for url, label in zip(urls, labels, strict=True)]
    domains = Counter(keys)
    weights = np.array([float(domains[key]) ** -domain_power for key in keys])
    mass = np.bincount(labels, weights)
    wanted = np.where(mass > 0, mass, 1) ** class_power
    result: NDArray[np.float64] = weights / mass[labels] * wanted[labels]
    return np.asarray(result / result.sum())


def thinned(indices: NDArray[np.int64], keys: Sequence[tuple[str, str]], most: int) -> NDArray[np.int64]:
    """At most `most` indices for each key."""
    seen: Counter[tuple[str, str]] = Counter()
    kept = []
    for index, key in zip(indices, keys, strict=True):
        seen[key] += 1
        if seen[key] <= most:
            kept.append(index)
    return np.array(kept)
