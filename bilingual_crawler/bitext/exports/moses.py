"""Moses text: one sentence per line, at the same line in both files; URLs in a third file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.bitext.exports.base import DocumentPair, Export

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bilingual_crawler.bitext.align import SentencePair
    from bilingual_crawler.languages import LanguagePair


class Moses(Export):
    """``en-mt.en``, ``en-mt.mt`` and ``en-mt.ids`` (URLs and score, tab-separated)."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._files = [
            self.part(suffix).open("w", encoding="utf-8", errors="replace", newline="\n")
            for suffix in (*self.languages, "ids")
        ]

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        for found in kept:
            origin = f"{documents.url_a}\t{documents.url_b}\t{found.score}"
            for file, text in zip(self._files, (found.text_a, found.text_b, origin), strict=True):
                # splitlines() and other tools break lines at more than \n
                file.write((text if text is origin else " ".join(text.split())) + "\n")

    def close(self) -> None:
        for file in self._files:
            file.close()
        self.publish()
