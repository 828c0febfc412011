"""The command line of fine-tuning: `python -m training.language --recipe xlm-roberta-base …`."""

from __future__ import annotations

import argparse
import shutil
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from accelerate import PartialState

from training.common.options import add_recipe, chosen_recipe, refuse_bad_input
from training.transformer.base import load_tokenizer
from training.transformer.fit import PRECISIONS, fit
from training.transformer.hub import separator_of
from training.transformer.lists import Sources, prepare
from training.transformer.recipes import RECIPES, FineTuningRecipe
from training.transformer.ship import ship

if TYPE_CHECKING:
    from collections.abc import Sequence


def run(kind: str, sources: Sources, out: Path, recipe: FineTuningRecipe, precision: str = "auto") -> None:
    """Prepare the lists, fine-tune, write the model folders. After a kill the same call resumes."""
    process = PartialState(cpu=not torch.cuda.is_available(), timeout=timedelta(hours=2))
    separator = separator_of(load_tokenizer(recipe))
    with process.main_process_first():
        lists = prepare(kind, sources, recipe, separator, out / "lists")
    process.print("\n".join(lists.report))
    logits, history = fit(kind, lists, recipe, out, precision)
    if process.is_main_process:
        for precision, parity in ship(kind, lists, logits, history, recipe, out).items():
            print(f"{out / precision}: {parity}")
        for checkpoint in out.glob("checkpoint-*"):
            shutil.rmtree(checkpoint)


def main(kind: str, name: str, arguments: Sequence[str]) -> None:
    """Fine-tune a pre-trained encoder on --data and write model folders under --out."""
    parser = argparse.ArgumentParser(prog=f"python -m training.{kind} --recipe {name}", description=main.__doc__)
    if name not in RECIPES:
        parser.error(f"unknown recipe {name!r}: use small, {', '.join(RECIPES)}")
    columns = "url, lang" if kind == "language" else "url_a, url_b, label"
    parser.add_argument("--data", type=Path, nargs="+", required=True, help=f"TSV files with {columns}")
    parser.add_argument("--dev", type=Path, nargs="*", default=[], help="TSV files that decide when to stop")
    parser.add_argument("--exclude", type=Path, nargs="*", default=[], help="TSV files whose domains are left out")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--precision", choices=PRECISIONS, default="auto", help="of the arithmetic in training")
    recipe = RECIPES[name][kind]
    add_recipe(parser, recipe)
    options = parser.parse_args(arguments)
    sources = Sources(tuple(options.data), tuple(options.dev), tuple(options.exclude))
    with refuse_bad_input(parser):
        run(kind, sources, options.out, chosen_recipe(recipe, options), options.precision)
