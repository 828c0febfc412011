"""Options of the commands that train a pair model: the data, the recipe, the folder of checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from training.common.options import add_recipe, chosen_recipe
from training.parallelness.examples import PairSources
from training.parallelness.recipe import PairRecipe

if TYPE_CHECKING:
    import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that training and comparison share."""
    parser.add_argument("--pairs", type=Path, required=True, help="TSV with url_a, url_b, evidence")
    parser.add_argument("--sites", type=Path, required=True, help="folder of frozen sites")
    parser.add_argument("--urls", type=Path, help="TSV with url, lang: to make up positives with language marks")
    parser.add_argument("--lexicon", type=Path, help="TSV with lang_a, text_a, lang_b, text_b: translated words")
    parser.add_argument("--work", type=Path, required=True, help="checkpoints: a killed run goes on from here")
    add_recipe(parser, PairRecipe())


def chosen_options(options: argparse.Namespace) -> tuple[PairSources, PairRecipe]:
    """The data and the recipe that the options name."""
    sources = PairSources(options.pairs, options.sites, options.urls, options.lexicon)
    return sources, chosen_recipe(PairRecipe(), options)
