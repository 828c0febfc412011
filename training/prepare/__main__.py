"""`python -m training.prepare language|pairs|split`: lists to train on, from public corpora, crawls and lists."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bilingual_crawler.languages import LanguageError, parse_language
from training.data import DataError
from training.prepare.language import Caps, prepare_language

if TYPE_CHECKING:
    from collections.abc import Sequence


def language(options: argparse.Namespace, progress: Progress) -> None:
    """The sub-command of that name."""
    caps = Caps(options.per_language, options.per_domain, tuple(map(parse_language, options.languages)), options.seed)
    counts = prepare_language(options.inputs, options.out, caps, progress, progress.console.print)
    table = Table("language", "URLs", "domains")
    for lang, urls, domains in counts:
        table.add_row(lang, f"{urls:,}", f"{domains:,}")
    Console().print(table)


def arguments_of(arguments: Sequence[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """The parser, for its errors, and what it read."""
    parser = argparse.ArgumentParser(prog="python -m training.prepare", description=__doc__)
    commands = parser.add_subparsers(required=True)
    sample = commands.add_parser("language", help="URLs with their language")
    sample.set_defaults(run=language)
    sample.add_argument("inputs", nargs="+", help="Parquet files of Common Crawl's index, TSV lists (url, lang)")
    sample.add_argument("--out", type=Path, required=True, help="list to write (.tsv.gz)")
    sample.add_argument("--languages", nargs="+", default=[], help="only these, and each must have URLs")
    sample.add_argument("--per-language", type=int, default=Caps().per_language, help="most URLs of a language")
    sample.add_argument("--per-domain", type=int, default=Caps().per_domain, help="most URLs of a language in a domain")
    sample.add_argument("--seed", type=int, default=Caps().seed)
    return parser, parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one sub-command; data that must not be used ends it with a message."""
    parser, options = arguments_of(arguments)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=Console(stderr=True)) as progress:
            options.run(options, progress)
    except (DataError, LanguageError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    main()
