"""`python -m training.distil language|parallelness`: distil a large teacher into a small student.

The student learns from labels and from the teacher's probabilities. These are written once, best on a GPU. With that
file the student can be trained anywhere.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.scoring.models import LanguageModel, ParallelnessModel
from training.common.data import read_real, read_tsv
from training.common.options import refuse_bad_input
from training.common.soft_labels import SHARE, SoftLabels
from training.language.__main__ import main as train_language
from training.parallelness.__main__ import main as train_parallelness
from training.parallelness.examples import training_examples
from training.parallelness.options import add_options, chosen_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from training.common.soft_labels import Key


def language_labels(teacher: Path, arguments: Sequence[str]) -> SoftLabels:
    """Probabilities of a language model for the URLs in `--data` and `--synthetic`."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--synthetic", type=Path, nargs="*", default=[])
    options = parser.parse_known_args(arguments)[0]
    rows = [
        *read_real(options.data)[0],
        *(row for path in options.synthetic for row in read_tsv(path, ("url", "lang")).rows),
    ]
    model = LanguageModel(teacher)
    return SoftLabels.of(
        model.labels, [(row[0],) for row in rows], lambda urls: model.probabilities([u for (u,) in urls])
    )


def pair_labels(teacher: Path, arguments: Sequence[str]) -> SoftLabels:
    """Probabilities of a pair model, means of both orders, for the examples of the student."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_options(parser)
    sources, recipe = chosen_options(parser.parse_known_args(arguments)[0])
    examples = training_examples(sources, recipe.negatives, recipe.hard, recipe.made_up, recipe.seed)
    model = ParallelnessModel(teacher)

    def both_orders(pairs: Sequence[Key]) -> NDArray[np.float32]:
        orders = (pairs, [pair[::-1] for pair in pairs])
        found = np.stack([model.probabilities([(u, v) for u, v in order]) for order in orders], axis=1)
        mean: NDArray[np.float32] = found.mean(axis=1, keepdims=True, dtype=np.float32)
        return mean

    return SoftLabels.of(("parallel",), [(e.url_a, e.url_b) for e in examples], both_orders)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the teacher's probabilities to --scores unless they are there, then train the student with them.

    All other arguments are those of `training.language` or `training.parallelness`.
    """
    parser = argparse.ArgumentParser(prog="python -m training.distil", description=main.__doc__, allow_abbrev=False)
    parser.add_argument("kind", choices=("language", "parallelness"))
    parser.add_argument("--teacher", type=Path, required=True, help="model folder, such as OUT/fp16 of a fine-tuning")
    parser.add_argument("--scores", type=Path, required=True, help="file (.npz) of the teacher's probabilities")
    parser.add_argument("--student", choices=("small",), default="small", help="recipe of the student")
    parser.add_argument("--share", type=float, default=SHARE, help="of the teacher in the targets, 0 to 1")
    options, rest = parser.parse_known_args(arguments)
    score, train = {
        "language": (language_labels, train_language),
        "parallelness": (pair_labels, train_parallelness),
    }[options.kind]
    with refuse_bad_input(parser):
        if not options.scores.exists():
            score(options.teacher, rest).save(options.scores)
    train([*rest, "--soft-labels", str(options.scores), "--soft-share", str(options.share)])


if __name__ == "__main__":
    main()
