"""What networks say of URLs from domains that they did not see: softer targets than labels.

A network that is trained on labels alone learns the names of the training domains. Here each of several networks is
trained without one part of the domains and then says how probable the languages are there. Where a URL shows nothing,
these probabilities say so. Knowledge distillation as in Hinton et al. 2015, with teachers out of fold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.urls.hosts import domain_label
from training.common.data import draw
from training.common.loop import predict
from training.common.soft_labels import SoftLabels, out_of_fold
from training.language.fit import fit_on_part

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from training.common.soft_labels import Key, Teacher
    from training.language.encoding import EncodedUrls
    from training.language.examples import Examples
    from training.language.network import WordNetConfig
    from training.language.recipe import LanguageRecipe


def cross_fit(
    config: WordNetConfig, encoded: EncodedUrls, examples: Examples, recipe: LanguageRecipe, folder: Path
) -> SoftLabels:
    """The probabilities of all examples to draw from. Each of `recipe.folds` networks says those of its own domains."""
    fold = folds_of(examples.urls, recipe)
    short = replace(recipe, epochs=recipe.fold_epochs)
    shown = np.flatnonzero((examples.real > 0) | (examples.made_up > 0))
    row: dict[Key, int] = {(examples.urls[i],): int(i) for i in shown}

    def teacher(number: int) -> Teacher:
        net = fit_on_part(config, encoded, examples, fold != number, short, number, folder / f"fold-{number + 1}.pt")
        return lambda urls: predict(net, encoded, np.array([row[url] for url in urls])).softmax(1).numpy()

    teachers = [teacher(number) for number in range(recipe.folds)]
    numbers = {url: int(fold[i]) for url, i in row.items()}
    return SoftLabels.of(examples.names, list(row), out_of_fold(teachers, numbers))


def folds_of(urls: Sequence[str], recipe: LanguageRecipe) -> NDArray[np.int64]:
    """The fold of each URL; all URLs of a domain are in one."""
    return np.array([int(draw(f"{recipe.seed} fold {domain_label(url)}") * recipe.folds) for url in urls])
