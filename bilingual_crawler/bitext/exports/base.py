"""The base of all exports: they take document pairs with their sentence pairs, in a stable order."""

from __future__ import annotations

import gzip
from abc import ABC, abstractmethod
from dataclasses import dataclass
from io import TextIOWrapper
from typing import TYPE_CHECKING, Protocol

from bilingual_crawler.languages import to_bcp47

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bilingual_crawler.bitext.align import SentencePair
    from bilingual_crawler.languages import LanguagePair


@dataclass(frozen=True, slots=True)
class DocumentPair:
    """Two documents that are aligned, with their main text."""

    url_a: str
    url_b: str
    text_a: str
    text_b: str
    score: float
    """Confidence of the document alignment, 0 to 1."""
    method: str


class Sink(Protocol):
    """Takes aligned documents with their sentence pairs."""

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        """Take a document pair: all of its aligned sentences, and the kept ones."""

    def close(self) -> None:
        """Take note that there are no more."""


class Export(ABC):
    """Writes files named after the pair (``en-mt.…``). They get these names when they are complete."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.languages = (to_bcp47(pair.a), to_bcp47(pair.b))
        self._stem = directory / "-".join(self.languages)
        self._parts: list[tuple[Path, Path]] = []

    @abstractmethod
    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        """Write a document pair: all of its aligned sentences, and the kept ones."""

    @abstractmethod
    def close(self) -> None:
        """Complete the files and give them their names."""

    def part(self, suffix: str) -> Path:
        """The path of a file until it is complete."""
        final = self._stem.with_name(f"{self._stem.name}.{suffix}")
        part = final.with_name(f".{final.name}.part")
        self._parts.append((part, final))
        return part

    @staticmethod
    def remove_parts(directory: Path) -> None:
        """Remove what exports that were stopped have left in *directory*."""
        for part in directory.glob(".*.part"):
            part.unlink()

    def publish(self) -> None:
        """Give complete files their names."""
        for part, final in self._parts:
            part.replace(final)


def open_gzip(path: Path) -> TextIOWrapper:
    """A gzip file for text; its bytes depend only on the text."""
    return TextIOWrapper(gzip.GzipFile(path, "wb", mtime=0), encoding="utf-8", errors="replace", newline="\n")
