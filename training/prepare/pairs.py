"""URL pairs of translated documents, from corpora, gold standards, crawls and frozen sites, in one list."""

from __future__ import annotations

from itertools import count
from typing import IO, TYPE_CHECKING

from bilingual_crawler.storage.records import PAIRS
from bilingual_crawler.urls.hosts import domain_label
from training.common.counts import ALL, Counts, pair_name
from training.common.data import DataError
from training.parallelness.negatives import address
from training.prepare.corpora import GOLD, UrlPair, read_table, read_tmx
from training.prepare.files import Account, open_input, shown_name, unpacked_name, write_tsv
from training.prepare.scratch import BATCH, GROWTH, fetch, insert, scratch
from training.prepare.wmt16 import Gold, read_lett

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection
    from rich.progress import Progress

FROZEN = "pairs.tsv.xz"
_SETTLE = """
CREATE OR REPLACE TABLE pair AS
SELECT DISTINCT ON (least(url_a, url_b), greatest(url_a, url_b)) * FROM pair
ORDER BY least(url_a, url_b), greatest(url_a, url_b), label DESC, place"""


class PairStore:
    """Pairs without repetitions in either direction, in the order they came; a positive beats a negative."""

    def __init__(self, db: DuckDBPyConnection) -> None:
        self._db = db
        self._places = count()
        self._added = self._settled = 0
        columns = ", ".join(f"{name} VARCHAR" for name in UrlPair._fields)
        db.execute(f"CREATE TABLE pair ({columns}, place BIGINT)")

    def add(self, pairs: Iterable[UrlPair]) -> None:
        """Take pairs."""
        rows = ((*pair, next(self._places)) for pair in pairs)
        self._added += insert(self._db, "INSERT INTO pair SELECT * FROM batch", (*UrlPair._fields, "place"), rows)
        if self._added > max(GROWTH, self._settled):
            self.settle()

    def settle(self) -> None:
        """Drop repetitions."""
        self._db.execute(_SETTLE)
        self._settled = int(self._db.execute("SELECT count(*) FROM pair").fetchall()[0][0])
        self._added = 0

    def rows(self) -> Iterator[UrlPair]:
        """All pairs."""
        return map(UrlPair._make, fetch(self._db, f"SELECT {', '.join(UrlPair._fields)} FROM pair ORDER BY place"))


def _without_near_repeats(pairs: Iterable[UrlPair]) -> Iterator[UrlPair]:
    """Most repetitions in a corpus of sentences are close to each other and need not be stored."""
    seen: set[UrlPair] = set()
    for pair in pairs:
        if pair not in seen:
            if len(seen) == BATCH:
                seen.clear()
            seen.add(pair)
            yield pair


def prepare_pairs(
    inputs: Sequence[Path],
    out: Path,
    languages: tuple[str, str] | None,
    progress: Progress,
    report: Callable[[str], object],
) -> Counts:
    """Write the pairs of the inputs to `out` (.tsv.gz) and count them; `languages` are those of tables that say none.

    DataError if an input is in no known format, cannot be read, or all together hold no pair.
    """
    counts, gold = Counts(), Gold()
    # Known pairs must be read before the pages that are looked up in them.
    files = sorted((file for path in inputs for file in expand(path)), key=lambda file: _ending(file) == ".lett")
    with scratch(out.parent) as db:
        store = PairStore(db)
        task = progress.add_task("inputs", total=len(files))
        for path in files:
            account = Account(shown_name(path), {".tmx": "unit", ".lett": "document"}.get(_ending(path), "line"))
            with open_input(path, progress) as stream:
                pairs = _without_near_repeats(_read(path, stream, gold, languages, account))
                store.add(_usable(pairs, gold, account))
            report(account.report())
            progress.advance(task)
        store.settle()
        with write_tsv(out, UrlPair._fields) as write:
            for pair in store.rows():
                write(pair)
                counts.add(pair_name(pair.lang_a, pair.lang_b), ALL, pair.label, domain_label(pair.url_a))
            if not counts.positives(ALL):
                raise DataError("the inputs hold no pair of translations")
    return counts


def expand(path: Path) -> list[Path]:
    """The files of an input: itself, or those of a folder of crawls, frozen sites or WMT16. DataError if none."""
    if not path.is_dir():
        return [path]
    for patterns in ((FROZEN, f"*/{FROZEN}"), (PAIRS, f"*/{PAIRS}"), ("*.pairs", "*.lett", "*.lett.*", "*.tmx*")):
        if files := sorted(file for pattern in patterns for file in path.glob(pattern)):
            return files
    raise DataError(f"{path}: no {FROZEN}, {PAIRS}, .pairs, .lett or .tmx file in this folder")


def _ending(path: Path) -> str:
    name = unpacked_name(path)
    return next((ending for ending in (".tmx", ".lett") if name.endswith(ending)), "")


def _read(
    path: Path, stream: IO[bytes], gold: Gold, languages: tuple[str, str] | None, account: Account
) -> Iterator[UrlPair]:
    if _ending(path) == ".tmx":
        return read_tmx(path, stream, account)
    if _ending(path) != ".lett":
        return read_table(path, stream, languages, account)
    if not gold.partners or languages is None:
        raise DataError(f"{path}: name the known pairs (train.pairs) as an input too, and --pair eng-fra")
    return read_lett(path, stream, gold, languages, account)


def _usable(pairs: Iterable[UrlPair], gold: Gold, account: Account) -> Iterator[UrlPair]:
    """The pairs that can be learnt from: two pages of one site, and translations in two languages."""
    for pair in pairs:
        if pair.evidence == GOLD:
            gold.add(pair.url_a, pair.url_b)
        if address(pair.url_a) == address(pair.url_b):
            account.left_out["one page"] += 1
        elif pair.label == "1" and pair.lang_a == pair.lang_b:
            account.left_out["one language"] += 1
        elif domain_label(pair.url_a) != domain_label(pair.url_b):
            account.left_out["two sites"] += 1
        else:
            yield pair
