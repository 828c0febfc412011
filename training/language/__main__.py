"""`python -m training.language`: train the small URL language model and write its folder."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from training.common.options import add_recipe, chosen_recipe, refuse_bad_input
from training.common.soft_labels import SHARE
from training.language.recipe import LanguageRecipe
from training.language.train import run
from training.transformer import hand_over

if TYPE_CHECKING:
    from collections.abc import Sequence


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the data and the recipe."""
    parser.add_argument(
        "--data", type=Path, nargs="+", required=True, help="TSV files (url, lang), folders of frozen sites"
    )
    parser.add_argument("--synthetic", type=Path, nargs="*", default=[], help="TSV files of training.prepare.synthetic")
    parser.add_argument("--exclude", type=Path, nargs="*", default=[], help="TSV files whose domains are left out")
    add_recipe(parser, LanguageRecipe())


def main(arguments: Sequence[str] | None = None) -> None:
    """Train on --data, validate on a held-out part of its domains, write --out."""
    left = hand_over("language", arguments)
    if left is None:
        return
    parser = argparse.ArgumentParser(prog="python -m training.language", description=__doc__)
    add_options(parser)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--soft-labels", type=Path, help="a teacher's probabilities, written by training.distil")
    parser.add_argument("--soft-share", type=float, default=SHARE, help="of the teacher in the targets")
    options = parser.parse_args(left)
    recipe = chosen_recipe(LanguageRecipe(), options)
    with refuse_bad_input(parser):
        sources = (options.data, options.synthetic, options.exclude)
        run(*sources, options.out, recipe, options.soft_labels, options.soft_share)


if __name__ == "__main__":
    main()
