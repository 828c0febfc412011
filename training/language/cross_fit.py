"""What networks say of URLs from domains that they did not see: softer targets than labels.

A network that is trained on labels alone learns the names of the training domains. Here each of several networks is
trained without one part of the domains and then says how probable the languages are there. Where a URL shows nothing,
these probabilities say so. Knowledge distillation as in Hinton et al. 2015, with teachers out of fold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from bilingual_crawler.urls.canonical import domain_label
from training.common.data import draw
from training.common.loop import predict
from training.common.soft_labels import CHUNK, KEPT, SoftLabels, hashes
from training.language.fit import fit
from training.language.network import WordNet

if TYPE_CHECKING:
    from pathlib import Path

    from training.language.encoding import EncodedUrls
    from training.language.examples import Examples
    from training.language.network import WordNetConfig
    from training.language.recipe import LanguageRecipe


def cross_fit(
    config: WordNetConfig, encoded: EncodedUrls, examples: Examples, recipe: LanguageRecipe, folder: Path
) -> SoftLabels:
    """The probabilities of all examples to draw from. Each of `recipe.folds` networks says those of its own domains."""
    fold = np.array([int(draw(f"{recipe.seed} fold {domain_label(url)}") * recipe.folds) for url in examples.urls])
    shown = (examples.real > 0) | (examples.made_up > 0)
    kept = min(KEPT, len(examples.names))
    keys, tops, probabilities = [], [], []
    for number in range(recipe.folds):
        torch.manual_seed(recipe.seed + 1 + number)
        net = WordNet(config)
        others = replace(examples, real=examples.real * (fold != number), made_up=examples.made_up * (fold != number))
        fit(net, encoded, others, replace(recipe, epochs=recipe.fold_epochs), folder / f"fold-{number + 1}.pt")
        own = np.flatnonzero(shown & (fold == number))
        keys.append(hashes([(examples.urls[i],) for i in own]))
        for start in range(0, len(own), CHUNK):
            best = predict(net, encoded, own[start : start + CHUNK]).softmax(1).topk(kept)
            tops.append(best.indices.numpy().astype(np.int16))
            probabilities.append(best.values.numpy().astype(np.float16))
    unique, first = np.unique(np.concatenate(keys), return_index=True)
    return SoftLabels(examples.names, unique, np.concatenate(tops)[first], np.concatenate(probabilities)[first])
