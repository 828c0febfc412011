"""`python -m training.parallelness`: train the pair model and write its folder.

A killed run resumes from its checkpoints when it is started again with the same arguments.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from training.common.options import refuse_bad_input
from training.common.soft_labels import SHARE
from training.parallelness.examples import FOLDS
from training.parallelness.options import add_options, chosen_options
from training.parallelness.train import run
from training.transformer import hand_over

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Train on --pairs and --sites, write --out."""
    left = hand_over("parallelness", arguments)
    if left is None:
        return
    parser = argparse.ArgumentParser(prog="python -m training.parallelness", description=__doc__)
    add_options(parser)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--folds", type=int, default=FOLDS, help="how many of the five folds to cross-validate")
    parser.add_argument("--soft-labels", type=Path, help="a teacher's probabilities, written by training.distil")
    parser.add_argument("--soft-share", type=float, default=SHARE, help="of the teacher in the targets")
    options = parser.parse_args(left)
    sources, recipe = chosen_options(options)
    with refuse_bad_input(parser):
        run(sources, options.out, recipe, options.folds, options.work, options.soft_labels, options.soft_share)


if __name__ == "__main__":
    main()
