"""Bitextor's tables: ``documents.gz``, ``raw.gz`` and ``sent.gz``."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from bilingual_crawler.bitext.exports.base import DocumentPair, Export, open_gzip

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bilingual_crawler.bitext.align import SentencePair
    from bilingual_crawler.languages import LanguagePair

DOCUMENTS = ("src_url", "trg_url", "src_doc", "trg_doc", "doc_score", "doc_method")
"""Texts in base64."""
RAW = ("src_url", "trg_url", "src_text", "trg_text", "aligner_score", "src_paragraph_id", "trg_paragraph_id")
SENT = (*RAW, "length_ratio", "num_tokens_src", "num_tokens_trg")


class Bitextor(Export):
    """Tab-separated with a header; ``raw`` holds all aligned sentences, ``sent`` the kept ones."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._documents = open_gzip(self.part("documents.gz"))
        self._raw = open_gzip(self.part("raw.gz"))
        self._sent = open_gzip(self.part("sent.gz"))
        for file, header in ((self._documents, DOCUMENTS), (self._raw, RAW), (self._sent, SENT)):
            file.write(_line(header))

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        texts = [b64encode(text.encode(errors="replace")).decode() for text in (documents.text_a, documents.text_b)]
        urls = (documents.url_a, documents.url_b)
        self._documents.write(_line((*urls, *texts, documents.score, documents.method)))
        for found in raw:
            self._raw.write(_line(_cells(urls, found)))
        for found in kept:
            tokens = (len(found.text_a.split()), len(found.text_b.split()))
            ratio = round(len(found.text_a) / len(found.text_b), 3)
            self._sent.write(_line((*_cells(urls, found), ratio, *tokens)))

    def close(self) -> None:
        for file in (self._documents, self._raw, self._sent):
            file.close()
        self.publish()


def _cells(urls: tuple[str, str], found: SentencePair) -> tuple[object, ...]:
    return (*urls, found.text_a, found.text_b, found.score, found.paragraph_a, found.paragraph_b)


def _line(cells: Sequence[object]) -> str:
    return "\t".join(" ".join(str(cell).split()) for cell in cells) + "\n"
