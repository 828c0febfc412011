"""What the commands of training share: options for recipes and files, one line for bad input, worker processes."""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bilingual_crawler.encoders import EncoderError
from bilingual_crawler.harvest.sites import SiteError
from bilingual_crawler.languages.codes import LanguageError
from bilingual_crawler.scoring.models import ModelError
from bilingual_crawler.storage.warc import ArchiveError
from training.common.data import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import DataclassInstance

    Recipe = TypeVar("Recipe", bound=DataclassInstance)


@contextmanager
def refuse_bad_input(parser: argparse.ArgumentParser) -> Iterator[None]:
    """End with one line and status 2 on sites, lists and models that cannot be used."""
    try:
        yield
    except (ArchiveError, DataError, EncoderError, LanguageError, ModelError, SiteError) as error:
        parser.error(str(error))


@contextmanager
def workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """*count* processes. A site that one cannot read ends the command, and not only its own task."""
    pool = ProcessPoolExecutor(count)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def new_file(text: str) -> Path:
    """The path of a file that is written at the end, perhaps hours later: its folder must be there."""
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text}: there is no folder {path.parent}")
    return path


def add_recipe(parser: argparse.ArgumentParser, recipe: DataclassInstance) -> None:
    """Add an option for every field of `recipe`, whose values are the defaults."""
    for name, value in asdict(recipe).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)


def chosen_recipe(recipe: Recipe, options: argparse.Namespace) -> Recipe:
    """`recipe` with the values that the options name."""
    return replace(recipe, **{name: getattr(options, name) for name in asdict(recipe)})
