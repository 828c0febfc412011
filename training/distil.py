"""`python -m training.distil language|parallelness`: distil large teachers into a small student.

The student learns from labels and from the teachers' probabilities. These are written once, best on a GPU. With that
file the student can be trained anywhere.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.scoring.models import PAIR_TEXTS, TEXTS, LanguageModel, ParallelnessModel
from training.common.options import chosen_recipe, refuse_bad_input
from training.common.soft_labels import SHARE, SoftLabels
from training.language.__main__ import add_options as add_language_options
from training.language.__main__ import main as train_language
from training.language.cross_fit import folds_of
from training.language.encoding import url_without_host
from training.language.examples import read_examples
from training.language.recipe import LanguageRecipe
from training.parallelness.__main__ import main as train_parallelness
from training.parallelness.examples import fold_of, training_examples
from training.parallelness.fit import weights_of
from training.parallelness.options import add_options, chosen_options
from training.transformer.base import load_tokenizer
from training.transformer.hub import separator_of
from training.transformer.out_of_fold import Lessons, fine_tuned
from training.transformer.recipes import TEACHERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from training.common.soft_labels import Key, Teacher
    from training.parallelness.examples import Example
    from training.transformer.recipes import FineTuningRecipe


def language_labels(teacher: str, arguments: Sequence[str], folder: Path) -> SoftLabels:
    """What teachers say of the URLs in `--data` and `--synthetic`."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_language_options(parser)
    options = parser.parse_known_args(arguments)[0]
    recipe = chosen_recipe(LanguageRecipe(), options)
    examples, _ = read_examples(options.data, options.synthetic, options.exclude, recipe)
    keys = [(url,) for url in examples.urls]
    if teacher not in TEACHERS:
        model = LanguageModel(Path(teacher))
        return SoftLabels.of(model.labels, keys, lambda urls: model.probabilities([url for (url,) in urls]))

    def texts(urls: Sequence[Key], rng: np.random.Generator | None) -> list[str]:
        hide = np.ones(len(urls)) if rng is None else rng.random(len(urls)) / max(recipe.hide_host, 1e-9)
        shown = [url_without_host(url, h < 0.5) if h < 1 else url for (url,), h in zip(urls, hide, strict=True)]
        # what has lost its scheme may have another one in its query
        whole = (text if text == url else f"://{text}" for (url,), text in zip(urls, shown, strict=True))
        return [TEXTS["reference"](url) for url in whole]

    weights = examples.weights(recipe.synthetic_share)
    folds = folds_of(examples.urls, recipe)
    lessons = Lessons("language", examples.names, keys, examples.labels, weights, folds, texts)
    return SoftLabels.of(examples.names, keys, fine_tuned(lessons, TEACHERS[teacher]["language"], folder))


def pair_labels(teacher: str, arguments: Sequence[str], folder: Path) -> SoftLabels:
    """What teachers say of the examples of the student, means of both orders."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_options(parser)
    sources, recipe = chosen_options(parser.parse_known_args(arguments)[0])
    examples = training_examples(sources, recipe.negatives, recipe.hard, recipe.made_up, recipe.seed)
    keys = [(e.url_a, e.url_b) for e in examples]
    if teacher in TEACHERS:
        asked = pair_teacher(examples, keys, weights_of(examples, recipe), TEACHERS[teacher]["parallelness"], folder)
    else:
        model = ParallelnessModel(Path(teacher))

        def asked(pairs: Sequence[Key]) -> NDArray[np.float32]:
            return model.probabilities([(u, v) for u, v in pairs])[:, None]

    return SoftLabels.of(("parallel",), keys, both_orders(asked))


def pair_teacher(
    examples: Sequence[Example],
    keys: Sequence[Key],
    weights: NDArray[np.float32],
    recipe: FineTuningRecipe,
    folder: Path,
) -> Teacher:
    """Encoders out of fold that learnt from the examples of the student, in random order."""
    separator = separator_of(load_tokenizer(recipe))

    def texts(pairs: Sequence[Key], rng: np.random.Generator | None) -> list[str]:
        turned = np.zeros(len(pairs), dtype=bool) if rng is None else rng.random(len(pairs)) < 0.5
        ordered = [pair[::-1] if turn else pair for pair, turn in zip(pairs, turned, strict=True)]
        return [PAIR_TEXTS["reference"](a, b, separator) for a, b in ordered]

    labels = np.array([e.label for e in examples], dtype=np.int64)
    folds = np.array([fold_of(e.group) for e in examples])
    lessons = Lessons("parallelness", ("parallel",), keys, labels, weights.astype(np.float64), folds, texts)
    return fine_tuned(lessons, recipe, folder)


def both_orders(teacher: Teacher) -> Teacher:
    """The mean of what a teacher says of pairs in both orders."""

    def answer(pairs: Sequence[Key]) -> NDArray[np.float32]:
        turned = [pair[::-1] for pair in pairs]
        mean: NDArray[np.float32] = (teacher(pairs) + teacher(turned)) * np.float32(0.5)
        return mean

    return answer


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the teachers' probabilities to --scores unless they are there, then train the student with them.

    All other arguments are those of `training.language` or `training.parallelness`.
    """
    parser = argparse.ArgumentParser(prog="python -m training.distil", description=main.__doc__, allow_abbrev=False)
    parser.add_argument("kind", choices=("language", "parallelness"))
    parser.add_argument(
        "--teacher",
        required=True,
        help=f"model folder, such as OUT/fp16 of a fine-tuning, or {', '.join(TEACHERS)}: such encoders are fine-tuned "
        "here, each without a part of the domains, and asked about that part",
    )
    parser.add_argument("--scores", type=Path, required=True, help="file (.npz) of the teachers' probabilities")
    parser.add_argument("--student", choices=("small",), default="small", help="recipe of the student")
    parser.add_argument("--share", type=float, default=SHARE, help="of the teachers in the targets, 0 to 1")
    options, rest = parser.parse_known_args(arguments)
    score, train = {
        "language": (language_labels, train_language),
        "parallelness": (pair_labels, train_parallelness),
    }[options.kind]
    with refuse_bad_input(parser):
        if not options.scores.exists():
            folder = options.scores.with_suffix(".teachers")
            score(options.teacher, rest, folder).save(options.scores)
            shutil.rmtree(folder, ignore_errors=True)
    train([*rest, "--soft-labels", str(options.scores), "--soft-share", str(options.share)])


if __name__ == "__main__":
    main()
