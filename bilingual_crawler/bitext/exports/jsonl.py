"""JSON lines that ``datasets.load_dataset("json", …)`` opens as translations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bilingual_crawler.bitext.exports.base import DocumentPair, Export, open_gzip

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bilingual_crawler.bitext.align import SentencePair
    from bilingual_crawler.languages import LanguagePair


class JsonLines(Export):
    """``en-mt.jsonl.gz``: ``{"translation": {"en": …, "mt": …}, "url": {…}, "score": …, "document_score": …}``."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._file = open_gzip(self.part("jsonl.gz"))

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        urls = dict(zip(self.languages, (documents.url_a, documents.url_b), strict=True))
        for found in kept:
            row = {
                "translation": dict(zip(self.languages, (found.text_a, found.text_b), strict=True)),
                "url": urls,
                "score": found.score,
                "document_score": documents.score,
            }
            self._file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def close(self) -> None:
        self._file.close()
        self.publish()
