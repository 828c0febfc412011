"""An export of bitext: ``en-es.csv``."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from bilingual_crawler.bitext.exports import Export

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bilingual_crawler.bitext.align import SentencePair
    from bilingual_crawler.bitext.exports import DocumentPair
    from bilingual_crawler.languages.codes import LanguagePair


class Csv(Export):
    """A column for each language, and the score."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        file = self.opened(self.part("csv").open("w", encoding="utf-8", errors="replace", newline=""))
        self._writer = csv.writer(file)
        self._writer.writerow((*self.languages, "score"))

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        self._writer.writerows((found.text_a, found.text_b, found.score) for found in kept)
