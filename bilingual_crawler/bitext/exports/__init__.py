"""File formats of other tools: a writer for each, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.bitext.exports.bitextor import Bitextor
from bilingual_crawler.bitext.exports.jsonl import JsonLines
from bilingual_crawler.bitext.exports.moses import Moses
from bilingual_crawler.bitext.exports.parquet import Parquet
from bilingual_crawler.bitext.exports.tmx import Tmx

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from bilingual_crawler.bitext.exports.base import Export
    from bilingual_crawler.languages import LanguagePair

EXPORTS: Mapping[str, type[Export]] = {
    "bitextor": Bitextor,
    "tmx": Tmx,
    "moses": Moses,
    "jsonl": JsonLines,
    "parquet": Parquet,
}


def open_exports(names: Iterable[str], directory: Path, pair: LanguagePair) -> list[Export]:
    """Writers of the formats called *names*, each once, into *directory*."""
    return [EXPORTS[name](directory, pair) for name in dict.fromkeys(names)]
