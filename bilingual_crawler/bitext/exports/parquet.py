"""Parquet: the rows of the JSON lines as columns. Needs pyarrow (extra ``parquet``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bilingual_crawler.bitext.exports.base import DocumentPair, Export

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bilingual_crawler.bitext.align import SentencePair
    from bilingual_crawler.languages import LanguagePair

GROUP = 50_000
"""Rows of a row group."""


class Parquet(Export):
    """``en-mt.parquet`` with the columns text_en, text_mt, url_en, url_mt, score, document_score."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        import pyarrow as pa
        import pyarrow.parquet as pq

        a, b = self.languages
        texts = [(name, pa.string()) for name in (f"text_{a}", f"text_{b}", f"url_{a}", f"url_{b}")]
        self._schema = pa.schema([*texts, ("score", pa.float32()), ("document_score", pa.float32())])
        self._writer = pq.ParquetWriter(self.part("parquet"), self._schema, compression="zstd")
        self._rows: list[tuple[Any, ...]] = []

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        self._rows += [(f.text_a, f.text_b, documents.url_a, documents.url_b, f.score, documents.score) for f in kept]
        if len(self._rows) >= GROUP:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()
        self.publish()

    def _flush(self) -> None:
        import pyarrow as pa

        columns = list(zip(*self._rows, strict=True)) or [()] * len(self._schema)
        self._writer.write_table(pa.table(list(map(list, columns)), schema=self._schema))
        self._rows.clear()
