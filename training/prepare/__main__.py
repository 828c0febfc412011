"""`python -m training.prepare language|pairs|split`: lists to train on, from public corpora, crawls and lists."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bilingual_crawler.languages.codes import LanguageError, LanguagePair, parse_language
from training.common.counts import ALL, SHOWN, SPLITS
from training.common.data import DataError
from training.prepare.language import Caps, prepare_language
from training.prepare.pairs import prepare_pairs
from training.prepare.split import prepare_split, read_excluded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Say = Callable[[str], object]


def language(options: argparse.Namespace, progress: Progress, say: Say) -> None:
    """The sub-command of that name."""
    caps = Caps(options.per_language, options.per_domain, tuple(map(parse_language, options.languages)), options.seed)
    counts = prepare_language(options.inputs, options.out, caps, progress, say)
    table = Table("language", "URLs", "domains")
    for lang, urls, domains in counts[:SHOWN]:
        table.add_row(lang, f"{urls:,}", f"{domains:,}")
    table.add_section()
    table.add_row(f"all {len(counts)}", f"{sum(urls for _, urls, _ in counts):,}")
    Console().print(table)


def pairs(options: argparse.Namespace, progress: Progress, say: Say) -> None:
    """The sub-command of that name."""
    pair = LanguagePair.parse(options.pair) if options.pair else None
    languages = (pair.a, pair.b) if pair else None
    counts = prepare_pairs(options.inputs, options.out, languages, progress, say)
    Console().print(counts.table([ALL]))


def split(options: argparse.Namespace, progress: Progress, say: Say) -> None:
    """The sub-command of that name."""
    shares = options.shares
    if len(shares) not in (2, 3) or min(shares) <= 0:
        raise DataError(f"--shares {' '.join(map(str, shares))}: two or three numbers above 0, as in 80 10 10 or 60 40")
    excluded = read_excluded(options.exclude, progress, say)
    counts = prepare_split(options.inputs, options.out, shares, options.seed, excluded, progress, say)
    Console().print(counts.table(SPLITS[: len(shares)]))


def positive(text: str) -> int:
    """A whole number above 0."""
    if (number := int(text)) < 1:
        raise ValueError(text)
    return number


def arguments_of(arguments: Sequence[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """The parser, for its errors, and what it read."""
    parser = argparse.ArgumentParser(prog="python -m training.prepare", description=__doc__)
    commands = parser.add_subparsers(required=True)
    sample = commands.add_parser("language", help="URLs with their language")
    sample.set_defaults(run=language)
    sample.add_argument("inputs", nargs="+", help="Parquet files of Common Crawl's index, TSV lists (url, lang)")
    sample.add_argument("--out", type=Path, required=True, help="list to write (.tsv.gz)")
    sample.add_argument("--languages", nargs="+", default=[], help="only these, and each must have URLs")
    sample.add_argument("--per-language", type=positive, default=Caps().per_language, help="most URLs of a language")
    sample.add_argument(
        "--per-domain", type=positive, default=Caps().per_domain, help="most URLs of a language in a domain"
    )
    sample.add_argument("--seed", type=int, default=Caps().seed)

    collect = commands.add_parser("pairs", help="URL pairs of translated documents")
    collect.set_defaults(run=pairs)
    collect.add_argument(
        "inputs",
        nargs="+",
        type=Path,
        help="MaCoCu and ParaCrawl (TMX, tables), WMT16 (train.pairs and .lett), a crawl's folder, frozen sites, lists",
    )
    collect.add_argument("--out", type=Path, required=True, help="list to write (.tsv.gz)")
    collect.add_argument("--pair", help="languages of the two columns of tables that do not say, such as eng-isl")

    parts = commands.add_parser("split", help="train, dev and test without common domains")
    parts.set_defaults(run=split)
    parts.add_argument("inputs", nargs="+", type=Path, help="lists that the other commands wrote")
    parts.add_argument("--out", type=Path, required=True, help="PREFIX: writes PREFIX.train.tsv.gz and so on")
    parts.add_argument("--shares", nargs="+", type=float, default=[80, 10, 10], help="of the domains; WMT16: 60 40")
    parts.add_argument("--exclude", nargs="+", type=Path, default=[], help="hosts, lists, frozen sites to leave out")
    parts.add_argument("--seed", type=int, default=Caps().seed)
    return parser, parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one sub-command; data that must not be used ends it with a message."""
    parser, options = arguments_of(arguments)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=Console(stderr=True)) as progress:
            say = partial(progress.console.print, markup=False, highlight=False, soft_wrap=True)
            options.run(options, progress, say)
    except (DataError, LanguageError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    main()
