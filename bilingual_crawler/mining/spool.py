"""The bitext of buckets, until all of them are done: then it is told which sentence pairs came twice."""

from __future__ import annotations

import gzip
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from bilingual_crawler.bitext.align import SentencePair  # noqa: TC001 (msgspec reads the annotations)
from bilingual_crawler.bitext.clean import Seen
from bilingual_crawler.bitext.exports import open_exports
from bilingual_crawler.bitext.exports.base import DocumentPair  # noqa: TC001
from bilingual_crawler.files import replacing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from bilingual_crawler.languages import LanguagePair

_FOLDER = "sentences"


class _Aligned(msgspec.Struct, array_like=True):
    documents: DocumentPair
    raw: list[SentencePair]
    kept: list[SentencePair]


class Spool:
    """Takes the document pairs of one bucket in one pair of languages."""

    def __init__(self, out: Path, pair: str, bucket: int) -> None:
        self._open = ExitStack()
        part = self._open.enter_context(replacing(out / _FOLDER / f"pair={pair}" / f"{bucket:06}.jsonl.gz"))
        self._lines = self._open.enter_context(gzip.open(part, "wb", 1))  # noqa: SIM115

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        self._lines.write(msgspec.json.encode(_Aligned(documents, list(raw), list(kept))) + b"\n")

    def close(self) -> None:
        self._open.close()


def export(out: Path, pairs: Iterable[LanguagePair], formats: Iterable[str], folder: Path) -> dict[str, int]:
    """Write what the spools below *out* hold into *folder*, in *formats*; returns sentence pairs by languages.

    A sentence pair that another bucket has, too, is written once.
    """
    decoder = msgspec.json.Decoder(_Aligned)
    written: dict[str, int] = {}
    names = list(formats)
    for pair in pairs:
        files = sorted((out / _FOLDER / f"pair={pair}").glob("[0-9]*.jsonl.gz"))
        if not files:
            continue
        exports, seen = open_exports(names, folder, pair), Seen()
        count = 0
        for file in files:
            with gzip.open(file) as lines:
                for line in lines:
                    aligned = decoder.decode(line)
                    kept = [found for found in aligned.kept if seen.is_new(found.text_a, found.text_b)]
                    count += len(kept)
                    for one in exports:
                        one.add(aligned.documents, aligned.raw, kept)
        for one in exports:
            one.close()
        written[str(pair)] = count
    return written
