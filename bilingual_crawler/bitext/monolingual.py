"""Exports of the documents of both languages, in a pair or not, without boilerplate."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bilingual_crawler.bitext.exports import PERSONAL, TEXT, Files, ParquetTable
from bilingual_crawler.bitext.personal import PersonalData
from bilingual_crawler.languages.codes import LanguagePair, to_bcp47
from bilingual_crawler.pages.origin import FACTS, Origin
from bilingual_crawler.plugins import EXPORTS
from bilingual_crawler.storage.warc import text_key
from bilingual_crawler.urls.hosts import registered_domain


@dataclass(frozen=True, slots=True)
class MonolingualDocument:
    """The main text of a page."""

    url: str
    language: str
    """ISO 639-3, a language of the pair."""
    paired: bool
    paragraphs: list[str]
    origin: Origin


class Monolingual(Files, ABC):
    """Writes documents, each text once, and each paragraph once a site; made as an :class:`~.exports.Export` is."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._personal = PersonalData((pair.a, pair.b))
        self._seen = set[int]()

    def add(self, document: MonolingualDocument) -> None:
        """Write the paragraphs of *document* that its site has not had before, unless it is the text of another one."""
        site = f"{document.language} {registered_domain(document.url)} "
        if not self._is_new("\n".join((document.language, *document.paragraphs))):
            return
        paragraphs = [paragraph for paragraph in document.paragraphs if self._is_new(site + paragraph)]
        if not paragraphs:
            return
        row = {"url": document.url, "language": to_bcp47(document.language), "paired": document.paired}
        facts = asdict(document.origin) | {PERSONAL: self._personal.kinds(paragraphs)}
        self._write(row | {"paragraphs": paragraphs} | facts)

    def _is_new(self, text: str) -> bool:
        known = len(self._seen)
        self._seen.add(text_key(text))
        return len(self._seen) > known

    @abstractmethod
    def _write(self, row: Mapping[str, Any]) -> None:
        """Write a document."""


class MonolingualJsonLines(Monolingual):
    """``en-mt.monolingual.jsonl.gz``: ``{"url": …, "language": "en", "paired": …, "paragraphs": […], …}``."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        columns = {"url": str, "language": str, "paired": bool, "paragraphs": [str]}
        self._table = self.table(self, "monolingual.", columns | dict.fromkeys((*FACTS, PERSONAL), str), TEXT)

    def _write(self, row: Mapping[str, Any]) -> None:
        self._table.add(self._table.cells(row), sum(map(len, row["paragraphs"])))


class MonolingualParquet(MonolingualJsonLines):
    """``en-mt.monolingual.parquet``: the same in columns; a fact that is unknown is null."""

    table = ParquetTable


def open_monolingual(names: Iterable[str], directory: Path, pair: LanguagePair) -> list[Monolingual]:
    """Writers of those formats called *names* that hold documents of one language, into *directory*."""
    return [kind(directory, pair) for kind in monolingual(names)]


def monolingual(names: Iterable[str]) -> list[type[Monolingual]]:
    """The formats called *names* that hold documents of one language, each once; raises PluginError."""
    return [kind for kind in map(EXPORTS.find, dict.fromkeys(names)) if issubclass(kind, Monolingual)]
