"""File formats of other tools: a writer for each, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.bitext.exports.bitextor import Bitextor
from bilingual_crawler.bitext.exports.jsonl import JsonLines
from bilingual_crawler.bitext.exports.moses import Moses
from bilingual_crawler.bitext.exports.parquet import Parquet
from bilingual_crawler.bitext.exports.tmx import Tmx

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bilingual_crawler.bitext.exports.base import Export

EXPORTS: Mapping[str, type[Export]] = {
    "bitextor": Bitextor,
    "tmx": Tmx,
    "moses": Moses,
    "jsonl": JsonLines,
    "parquet": Parquet,
}
