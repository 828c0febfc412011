"""Training, development and test parts of a list, so that no domain is in two of them."""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import accumulate, chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING

from bilingual_crawler.urls.hosts import domain_label, host_of, normal_host
from training.common.counts import SPLITS, Counts, pair_name
from training.common.data import BadRow, DataError, check_disjoint, draw, parse_rows, read_sites, split_header
from training.prepare.files import Account, open_input, shown_name, write_tsv

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from rich.progress import Progress

COUNTS = ("languages", "split", "positives", "negatives", "domains")
URLS = ("url", "url_a", "url_b")


def split_of(domain: str, shares: Sequence[float], seed: int) -> str:
    """The split of a domain label, the same in every list; `shares` are those of train, dev and maybe test."""
    place = draw(f"split {seed} {domain}") * sum(shares)
    return next((name for name, end in zip(SPLITS, accumulate(shares), strict=False) if place < end), SPLITS[0])


def prepare_split(
    inputs: Sequence[Path],
    out: Path,
    shares: Sequence[float],
    seed: int,
    excluded: Collection[str],
    progress: Progress,
    report: Callable[[str], object],
) -> Counts:
    """Write `out`.train.tsv.gz, `out`.dev.tsv.gz, maybe `out`.test.tsv.gz, and their counts to `out`.counts.tsv.

    Rows of the `excluded` domain labels are left out, and pairs whose sides belong to different splits. DataError if
    the inputs have different columns, a split would be empty, two share a domain after all, or one of an earlier
    command would stay beside them.
    """
    every = {split: Path(f"{out}.{split}.tsv.gz") for split in SPLITS}
    paths = {split: every[split] for split in SPLITS[: len(shares)]}
    if old := [str(path) for split, path in every.items() if split not in paths and path.exists()]:
        raise DataError(f"{old[0]} is of an earlier split, with other domains: remove it or give another --out")
    counts = Counts()
    columns: list[str] = []
    with ExitStack() as outputs:
        for path in inputs:
            account = Account(shown_name(path))
            with open_input(path, progress) as lines:
                header = split_header(lines.readline())
                if not columns:
                    columns = header
                    writers = {split: outputs.enter_context(write_tsv(to, columns)) for split, to in paths.items()}
                if header != columns:
                    raise DataError(f"{path} has the columns {header}, {inputs[0]} has {columns}")
                for row in _rows(path, header, lines, account):
                    labels = _labels(row)
                    splits = {split_of(label, shares, seed) for label in labels}
                    if not labels.isdisjoint(excluded):
                        account.left_out["excluded site"] += 1
                    elif len(splits) > 1:
                        account.left_out["sides in different splits"] += 1
                    else:
                        split = splits.pop()
                        writers[split](list(row.values()))
                        counts.add(_languages(row), split, row.get("label", "1"), min(labels))
            report(account.report())
        if empty := [split for split in paths if not counts.positives(split)]:
            raise DataError(f"no domain fell into {' and '.join(empty)}: too little data, or try another --seed")
    try:
        _verify(paths, columns, progress)
    except DataError:
        for path in paths.values():
            path.unlink()
        raise
    with write_tsv(Path(f"{out}.counts.tsv"), COUNTS) as write:
        for numbers in counts.rows():
            write([str(value) for value in numbers])
    return counts


def _rows(path: Path, header: Sequence[str], lines: Iterable[bytes], account: Account) -> Iterator[dict[str, str]]:
    if "lang" not in header and "lang_a" not in header:
        raise DataError(f"{path}: neither a list of URLs (url, lang) nor one of pairs (url_a, lang_a, url_b, lang_b)")
    needed = ("url", "lang") if "lang" in header else ("url_a", "lang_a", "url_b", "lang_b")
    columns = (*needed, *(name for name in header if name not in needed))
    for line, values in parse_rows(lines, header, columns, URLS, account.reject, path):
        row = dict(zip(columns, values, strict=True))
        if any(normal_host(host_of(row[name])) is None for name in URLS if name in row):
            account.reject(BadRow(line, "no valid host"))
        else:
            account.read += 1
            yield {name: row[name] for name in header}


def _labels(row: Mapping[str, str]) -> set[str]:
    return {domain_label(row[name]) for name in URLS if name in row}


def _languages(row: Mapping[str, str]) -> str:
    return row["lang"] if "lang" in row else pair_name(row["lang_a"], row["lang_b"])


def _verify(paths: Mapping[str, Path], columns: Sequence[str], progress: Progress) -> None:
    """Read back what was written; DataError if a row is bad or two splits share a domain."""
    domains: dict[str, dict[str, str]] = {}
    for split, path in paths.items():
        domains[split], account = {}, Account(shown_name(path))
        with open_input(path, progress) as lines:
            for row in _rows(path, split_header(lines.readline()), lines, account):
                domains[split].update((domain_label(row[name]), row[name]) for name in URLS if name in columns)
        if account.bad:
            raise DataError(account.report())
    for first, second in combinations(paths, 2):
        check_disjoint(domains[first].values(), domains[second].values(), (first, second))


def read_excluded(paths: Sequence[Path], progress: Progress, report: Callable[[str], object]) -> set[str]:
    """Domain labels of evaluation sites: folders of frozen sites, lists of URLs or pairs, or one host or URL a line."""
    labels: set[str] = set()
    for path in paths:
        if path.is_dir():
            labels |= {domain_label(row[0]) for row in read_sites(path)}
            for info in path.glob("*/site.json"):
                labels |= {domain_label(url) for url in json.loads(info.read_bytes()).get("alias_bases", ())}
            continue
        account = Account(shown_name(path))
        with open_input(path, progress) as lines:
            first = lines.readline()
            header = split_header(first)
            if "lang" in header or "lang_a" in header:
                for row in _rows(path, header, lines, account):
                    labels |= _labels(row)
            else:
                labels |= set(_hosts(chain([first], lines), account))
        report(account.report())
    return labels


def _hosts(lines: Iterable[bytes], account: Account) -> Iterator[str]:
    for number, raw in enumerate(lines, start=1):
        text = raw.decode("utf-8-sig", errors="replace").partition("#")[0].strip()
        if text and normal_host(host_of(text)) is None:
            account.reject(BadRow(number, f"no host: {text}"))
        elif text:
            account.read += 1
            yield domain_label(text)
