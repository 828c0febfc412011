"""URLs with the language of the page behind them, from Common Crawl's columnar index and from lists."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from bilingual_crawler.discovery.sources.base import SourceError
from bilingual_crawler.discovery.sources.database import first_line, read_remote
from bilingual_crawler.languages.codes import from_bcp47
from training.common.data import BadRow, DataError, check_classes, parse_rows, split_header
from training.prepare.corpora import is_url
from training.prepare.files import Account, open_input, shown_name, unpacked_name, write_tsv
from training.prepare.scratch import GROWTH, add_function, fetch, insert, scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from duckdb import DuckDBPyConnection
    from rich.progress import Progress

COLUMNS = ("url", "lang", "source", "evidence")
UNK = "unk"
"""The label of what is no document: images, scripts, archives, media."""
DOCUMENT = ["text/html", "application/xhtml+xml"]
NOT_A_DOCUMENT = (
    r"^(image|audio|video|font)/|^text/(css|javascript)$"
    r"|^application/(x-)?(javascript|json|zip|gzip|bzip2?|xz|tar|7z-compressed|rar(-compressed)?|octet-stream"
    r"|shockwave-flash|font-.*|java-archive|bittorrent|msdownload|vnd\.android\.package-archive)$"
)
BAD = ("not a URL", "no such language")
_CRAWL = re.compile(r"CC-MAIN-\d{4}-\d{2}")

_JUDGE = """
CREATE OR REPLACE TEMP TABLE judged AS
WITH record AS (
    SELECT file_row_number + 1 AS place, url, fetch_status, content_mime_detected AS mime,
        list_contains($document, content_mime_detected) AS is_document, nullif(content_languages, '') AS code,
        md5_number_upper($seed || ' ' || url) AS draw
    FROM read_parquet($file, file_row_number = true)
), named AS (
    SELECT *, CASE WHEN NOT is_document THEN 'unk' WHEN NOT contains(code, ',') THEN language_of(code) END AS lang
    FROM record
)
SELECT place, reason, draw, lang, CASE WHEN reason IS NULL AND draw <= coalesce(last_draw, draw) THEN url END AS url
FROM (
    SELECT *, CASE
        WHEN fetch_status IS DISTINCT FROM 200 THEN 'not HTTP 200'
        WHEN url IS NULL OR length(url) > 2000 OR NOT regexp_full_match(url, 'https?://\\S+') THEN 'not a URL'
        WHEN mime IS NULL THEN 'no type'
        WHEN is_document AND code IS NULL THEN 'no language'
        WHEN is_document AND contains(code, ',') THEN 'several languages'
        WHEN lang IS NULL THEN 'no such language'
        WHEN NOT is_document AND NOT regexp_matches(mime, $not_a_document) THEN 'text, but not HTML'
        WHEN len($languages) > 0 AND NOT list_contains($languages, lang) THEN 'other language'
        END AS reason
    FROM named LEFT JOIN last_kept USING (lang)
)"""
_SETTLE = """
CREATE OR REPLACE TABLE page AS
SELECT * FROM (
    SELECT * FROM (SELECT DISTINCT ON (url) * FROM page ORDER BY url, input, lang, source, evidence)
    QUALIFY row_number() OVER (PARTITION BY lang, label ORDER BY draw, url) <= $per_domain
) QUALIFY row_number() OVER (PARTITION BY lang ORDER BY draw, url) <= $per_language"""


@dataclass(frozen=True, slots=True)
class Caps:
    """At most so many URLs of a language, and of a language in a domain; only `languages` (all if empty) and `unk`."""

    per_language: int = 600_000
    per_domain: int = 1000
    languages: tuple[str, ...] = ()
    seed: int = 71213

    @property
    def wanted(self) -> list[str]:
        """The labels to keep; empty for all."""
        return [*self.languages, UNK] if self.languages else []


class Sample:
    """A sample of labelled URLs that is drawn while inputs pass by.

    A URL's place in the draw is the MD5 of seed and URL. Of every language in a domain, then of every language, the
    first ones stay. A URL that comes twice keeps the language of the first input that has it.
    """

    def __init__(self, db: DuckDBPyConnection, caps: Caps) -> None:
        self._db, self._caps = db, caps
        self._inputs = self._settled = 0
        add_function(db, "language_of", from_bcp47)
        db.execute(
            "CREATE TABLE page (url VARCHAR, lang VARCHAR, source VARCHAR, evidence VARCHAR,"
            " input INTEGER, label VARCHAR, draw UBIGINT)"
        )
        db.execute("CREATE TABLE last_kept (lang VARCHAR, last_draw UBIGINT)")

    def add_list(self, path: Path, progress: Progress) -> Account:
        """Take the rows of a TSV list with the columns url and lang, and maybe source and evidence."""
        account = Account(shown_name(path))
        with open_input(path, progress) as lines:
            rows = self._list_rows(path, split_header(lines.readline()), lines, account)
            statement = f"""INSERT INTO page
                SELECT url, lang, source, evidence, {self._inputs}, domain_label(url), draw
                FROM (SELECT *, md5_number_upper('{self._caps.seed} ' || url) AS draw FROM batch)
                LEFT JOIN last_kept USING (lang) WHERE draw <= coalesce(last_draw, draw)"""
            insert(self._db, statement, COLUMNS, rows)
        self._after_input()
        return account

    def _list_rows(
        self, path: Path, header: Sequence[str], lines: Iterable[bytes], account: Account
    ) -> Iterator[tuple[str, ...]]:
        told = [name for name in ("source", "evidence") if name in header]
        untold = {"source": unpacked_name(path), "evidence": "list"}
        columns = ("url", "lang", *told)
        for line, (url, code, *rest) in parse_rows(lines, header, columns, ("url",), account.reject, path):
            lang = UNK if code == UNK else from_bcp47(code)
            if lang is None or not is_url(url):
                account.reject(BadRow(line, f"no such language: {code}" if lang is None else "not a URL"))
                continue
            account.read += 1
            if self._caps.wanted and lang not in self._caps.wanted:
                account.left_out["other language"] += 1
                continue
            values = untold | dict(zip(told, rest, strict=True))
            yield url, lang, values["source"], values["evidence"]

    def add_index(self, file: str) -> Account:
        """Take the pages of a Parquet file of the index: HTML in one language, and what is no document.

        DataError if the file cannot be read or lacks a column.
        """
        account = Account(shown_name(Path(file)), "row")
        values = {
            "file": file,
            "seed": str(self._caps.seed),
            "document": DOCUMENT,
            "not_a_document": NOT_A_DOCUMENT,
            "languages": self._caps.wanted,
        }
        try:
            self._db.execute(_JUDGE, values)
        except duckdb.Error as error:
            raise DataError(f"{file}: {first_line(error)}") from error
        for reason, count, first in self._db.execute(
            "SELECT reason, count(*), min(place, 5) FROM judged GROUP BY reason ORDER BY reason"
        ).fetchall():
            if reason in BAD:
                account.bad += count
                account.first_bad += [BadRow(place, reason) for place in first]
            else:
                account.read += count
                account.left_out[reason] += count if reason else 0
        crawl = _CRAWL.search(file)
        self._db.execute(
            f"INSERT INTO page SELECT url, lang, ?, 'cld2', {self._inputs}, domain_label(url), draw"
            " FROM judged WHERE url IS NOT NULL",
            [crawl[0] if crawl else "common-crawl"],
        )
        self._after_input()
        return account

    def _after_input(self) -> None:
        self._inputs += 1
        if self._size() - self._settled > max(GROWTH, self._settled):
            self.settle()

    def settle(self) -> None:
        """Keep within the caps what was taken so far."""
        self._db.execute(_SETTLE, {"per_domain": self._caps.per_domain, "per_language": self._caps.per_language})
        self._db.execute(
            "CREATE OR REPLACE TABLE last_kept AS SELECT lang, max(draw) AS last_draw FROM page GROUP BY lang"
            f" HAVING count(*) = {self._caps.per_language}"
        )
        self._settled = self._size()

    def _size(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM page").fetchall()[0][0])

    def counts(self) -> list[tuple[str, int, int]]:
        """Language, URLs and domains, most URLs first."""
        return self._db.execute(
            "SELECT lang, count(*) AS urls, count(DISTINCT label) FROM page GROUP BY lang ORDER BY urls DESC, lang"
        ).fetchall()

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The sample in the order of the draw: its first n rows are a sample too."""
        return fetch(self._db, "SELECT url, lang, source, evidence FROM page ORDER BY draw, url")


def prepare_language(
    inputs: Sequence[str], out: Path, caps: Caps, progress: Progress, report: Callable[[str], object]
) -> list[tuple[str, int, int]]:
    """Write a sample of the inputs to `out` (.tsv.gz); returns language, URLs and domains, most URLs first.

    Inputs are lists (.tsv, packed or not), and Parquet files of the index: paths, folders, globs, s3:// and https://
    addresses. DataError if an input cannot be read, or a wanted language has no URL.
    """
    with scratch(out.parent) as db:
        try:
            read_remote(db, inputs)
        except SourceError as error:
            raise DataError(str(error)) from error
        sample = Sample(db, caps)
        files = [file for text in inputs for file in _expand(db, text)]
        task = progress.add_task("inputs", total=len(files))
        for file in files:
            is_list = unpacked_name(Path(file)).endswith(".tsv")
            account = sample.add_list(Path(file), progress) if is_list else sample.add_index(file)
            report(account.report())
            progress.advance(task)
        sample.settle()
        counts = sample.counts()
        check_classes((lang for lang, *_ in counts), caps.languages, str(out))
        if not counts:
            raise DataError("the inputs hold no URL of a known language")
        with write_tsv(out, COLUMNS) as write:
            for row in sample.rows():
                write(row)
    return counts


def _expand(db: DuckDBPyConnection, text: str) -> list[str]:
    """The files that an input names."""
    if Path(text).is_dir():
        text = f"{text.rstrip('/')}/**/*.parquet"
    if "*" not in text and "?" not in text:
        return [text]
    files = [row[0] for row in db.execute("SELECT file FROM glob(?) ORDER BY file", [text]).fetchall()]
    if not files:
        raise DataError(f"{text}: no such file")
    return files
