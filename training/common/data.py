"""Reading URL lists: bad rows are counted with their line numbers, splits never share a domain."""

from __future__ import annotations

import gzip
import hashlib
import lzma
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bilingual_crawler.languages.codes import UNKNOWN
from bilingual_crawler.storage.files import DAMAGE
from bilingual_crawler.urls.hosts import domain_label

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from io import BufferedReader
    from pathlib import Path

MAX_URL = 2000


class DataError(ValueError):
    """Data that must not be used for training or evaluation; the message names the fault and its place."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that was left out: its line number in the file (1 is the header) and the reason."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Table:
    """The good rows of a TSV file, reduced to the chosen columns, and the bad rows."""

    path: Path
    rows: list[tuple[str, ...]]
    bad: list[BadRow]

    def report(self, shown: int = 5) -> str:
        """One line: how many rows were read and which were not."""
        text = f"{self.path.name}: {len(self.rows)} rows"
        if self.bad:
            first = ", ".join(f"line {row.line} ({row.reason})" for row in self.bad[:shown])
            text += f", {len(self.bad)} bad: {first}{', …' if len(self.bad) > shown else ''}"
        return text


def read_tsv(path: Path, columns: Sequence[str], urls: Collection[str] = ("url",)) -> Table:
    """Read a .tsv or .tsv.gz file with a header line; `urls` names the columns that must hold a URL.

    A missing file or column is a DataError; a row with another number of fields, an empty value, a URL of more than
    2000 characters or bytes that are not UTF-8 is a bad row.
    """
    bad: list[BadRow] = []
    with _opened(path) as stream:
        header = split_header(stream.readline())
        rows = [row for _, row in parse_rows(stream, header, columns, urls, bad.append, path)]
    return Table(path, rows, bad)


@contextmanager
def _opened(path: Path) -> Iterator[gzip.GzipFile | BufferedReader]:
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as stream:
            yield stream
    except DAMAGE as error:
        raise DataError(f"{path}: {error}") from error


def split_header(line: bytes) -> list[str]:
    """The names of the columns in a header line, also behind the byte order mark of a Windows editor."""
    return line.decode("utf-8-sig", errors="replace").rstrip("\r\n").split("\t")


def parse_rows(
    lines: Iterable[bytes],
    header: Sequence[str],
    columns: Sequence[str],
    urls: Collection[str],
    reject: Callable[[BadRow], object],
    path: Path,
    first: int = 2,
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line number and `columns` of the lines of TSV under the header of `path`; bad rows go to `reject`.

    `first` is the number of the first line. DataError if a column is missing.
    """
    missing = [name for name in columns if name not in header]
    if missing:
        raise DataError(f"{path}: no column {', '.join(missing)} in the header {header}")
    places = [header.index(name) for name in columns]
    checked = [header.index(name) for name in columns if name in urls]
    for line, raw in enumerate(lines, start=first):
        reason, fields = _parse(raw, len(header), places, checked)
        if reason:
            reject(BadRow(line, reason))
        else:
            yield line, tuple(fields[place] for place in places)


def _parse(raw: bytes, width: int, places: list[int], urls: list[int]) -> tuple[str, list[str]]:
    try:
        fields = raw.decode().rstrip("\r\n").split("\t")
    except UnicodeDecodeError:
        return "not UTF-8", []
    if len(fields) != width:
        return f"{len(fields)} fields instead of {width}", []
    if not all(fields[place].strip() for place in places):
        return "empty value", []
    for place in urls:
        if len(fields[place]) > MAX_URL or any(c.isspace() for c in fields[place].strip()):
            return "not a URL", []
    return "", fields


def read_real(paths: Sequence[Path]) -> tuple[list[tuple[str, ...]], list[str]]:
    """(url, language) rows without repetitions, and a report.

    A path is a list with the columns url, lang or, of pairs, url_a, lang_a, url_b, lang_b; or a folder of frozen sites.
    """
    rows: dict[tuple[str, ...], None] = {}
    report = []
    for path in paths:
        if path.is_dir():
            found = read_sites(path)
            report.append(f"{path.name}: {len(found)} pages of frozen sites")
        elif "url_a" in read_header(path):
            table = read_tsv(path, ("url_a", "lang_a", "url_b", "lang_b"), ("url_a", "url_b"))
            found = [side for a, lang_a, b, lang_b in table.rows for side in ((a, lang_a), (b, lang_b))]
            report.append(table.report())
        else:
            table = read_tsv(path, ("url", "lang"))
            found = table.rows
            report.append(table.report())
        rows.update(dict.fromkeys(found))
    return list(rows), report


def read_header(path: Path) -> list[str]:
    """The names of the columns of a .tsv or .tsv.gz file."""
    with _opened(path) as stream:
        return split_header(stream.readline())


def read_sites(folder: Path) -> list[tuple[str, ...]]:
    """(url, language of the text) of the pages in `folder/*/graph.tsv.xz`; pages of no known language are left out."""
    rows: list[tuple[str, ...]] = []
    for path in sorted(folder.glob("*/graph.tsv.xz")):
        try:
            with lzma.open(path, "rt", encoding="utf-8") as stream:
                next(stream, None)
                rows.extend((url, lang) for url, lang, *_ in (line.split("\t") for line in stream) if lang != UNKNOWN)
        except (*DAMAGE, ValueError) as error:
            raise DataError(f"{path}: {error}") from error
    if not rows:
        raise DataError(f"{folder}: no site with a graph.tsv.xz in it")
    return rows


def in_held_out(url: str, share: float, seed: int) -> bool:
    """Whether the URL's domain label is in the held-out part, together with all URLs of this label."""
    return draw(f"{seed} {domain_label(url)}") < share


def draw(text: str) -> float:
    """A number in [0, 1) that depends on the text alone."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") / 2**64


def check_disjoint(first: Iterable[str], second: Iterable[str], names: tuple[str, str]) -> None:
    """DataError if two splits share a domain label."""
    shared = {domain_label(url) for url in first} & {domain_label(url) for url in second}
    if shared:
        some = ", ".join(sorted(shared)[:5])
        raise DataError(f"{len(shared)} domains are in both {names[0]} and {names[1]}: {some}")


def check_classes(found: Iterable[str], wanted: Iterable[str], name: str) -> Counter[str]:
    """Counts per class; DataError if a wanted class has no example."""
    counts = Counter(found)
    empty = [label for label in wanted if not counts[label]]
    if empty:
        raise DataError(f"{name}: no example of {', '.join(empty)}")
    return counts
