"""Tables of tests, with tabs between the values and the names of the columns in the first line."""

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def write_table(path: Path, columns: str, rows: Iterable[str | Iterable[object]] = ()) -> Path:
    """Write the words of *columns* and *rows*, each of which is its line or its values."""
    lines = ["\t".join(columns.split()), *(row if isinstance(row, str) else "\t".join(map(str, row)) for row in rows)]
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def read_rows(path: Path) -> list[list[str]]:
    """All rows of a table that is compressed, that of its columns first."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def write_pages(folder: Path, texts: Mapping[str, str]) -> None:
    """Write *texts* by URL to ``pages.jsonl``, which an alignment reads."""
    lines = [json.dumps({"url": url, "text": text}) + "\n" for url, text in texts.items()]
    (folder / "pages.jsonl").write_text("".join(lines))


def json_lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON Lines that is compressed."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
