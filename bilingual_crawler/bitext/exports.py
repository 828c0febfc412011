"""Exports of bitext: Bitextor, TMX, Moses, JSON Lines and Parquet, by sentence pairs or by whole documents."""

from __future__ import annotations

import gzip
import json
import re
from abc import ABC, abstractmethod
from base64 import b64encode
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar
from xml.sax.saxutils import escape, quoteattr

from bilingual_crawler import __version__
from bilingual_crawler.bitext.personal import PersonalData
from bilingual_crawler.bitext.splitting import Sentence
from bilingual_crawler.languages.codes import LanguagePair, to_bcp47
from bilingual_crawler.pages.origin import FACTS, UNKNOWN, Origin
from bilingual_crawler.storage.records import tsv_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.bitext.align import SentencePair

PAIR_FACTS = ("direction", "direction_evidence")
PERSONAL = "personal"
RAW = ("src_url", "trg_url", "src_text", "trg_text", "aligner_score", "src_paragraph_id", "trg_paragraph_id")
SENT = (*RAW, "length_ratio", "num_tokens_src", "num_tokens_trg", "quality", "short", PERSONAL)
_FORBIDDEN_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
BOTH = (str, str)
GROUP, TEXT = 50_000, 4_000_000
"""Sentence pairs of a row group, or characters of its documents."""
DOCUMENTS = (
    *("src_url", "trg_url", "src_doc", "trg_doc", "doc_score", "doc_method"),
    *(f"{side}_{name}" for name in FACTS for side in ("src", "trg")),
    *PAIR_FACTS,
)
"""Texts in base64."""


@dataclass(frozen=True, slots=True)
class DocumentPair:
    """A document pair with the main text of both."""

    url_a: str
    url_b: str
    text_a: str
    text_b: str
    score: float
    """Confidence of the document alignment, 0 to 1."""
    method: str
    origin_a: Origin = UNKNOWN
    origin_b: Origin = UNKNOWN
    sentences_a: tuple[Sentence, ...] = ()
    """The sentences that were aligned, in order: at most 3,000."""
    sentences_b: tuple[Sentence, ...] = ()
    is_cut: bool = False
    """Whether lines, the end or all of a document was too much to align."""

    def facts(self) -> dict[str, tuple[str, str]]:
        return {name: (getattr(self.origin_a, name), getattr(self.origin_b, name)) for name in FACTS}

    def direction(self, languages: tuple[str, str]) -> dict[str, str]:
        """The direction of translation by what both pages declare, as ``en-mt``, and the names of these declarations.

        *languages* are BCP 47. The original is the page that the other one names as such, whose partner is
        machine-translated or names its translator, that both pages name as the version for everybody
        (``hreflang=x-default``), or that was published earlier. Without agreement both texts are empty.
        """
        a, b = self.origin_a, self.origin_b
        # by declaration, whether it names each page as the original
        named = {"translation_of": (b.translation_of == self.url_a, a.translation_of == self.url_b)}
        for name in ("machine_translated", "translator"):
            named[name] = (bool(getattr(b, name)), bool(getattr(a, name)))
        if len(defaults := {a.x_default, b.x_default} - {""}) == 1:
            named["x_default"] = (defaults == {self.url_a}, defaults == {self.url_b})
        if a.published and b.published:
            named["published"] = (a.published < b.published, b.published < a.published)
        votes = {name: is_a for name, (is_a, is_b) in named.items() if is_a != is_b}
        if len(set(votes.values())) != 1:
            return dict.fromkeys(PAIR_FACTS, "")
        original, translation = languages if any(votes.values()) else languages[::-1]
        return dict(zip(PAIR_FACTS, (f"{original}-{translation}", " ".join(votes)), strict=True))


class Closing(Protocol):
    def close(self) -> None: ...


class Sink(Closing, Protocol):
    """Takes document pairs with their sentence pairs."""

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        """Take a document pair: *raw* are all its sentence pairs, *kept* those that are not dropped."""


File = TypeVar("File", bound=Closing)


class JsonTable:
    """JSON Lines. A tuple in a row has the values of both languages, and is an object by language."""

    ending = "jsonl.gz"

    def __init__(self, files: Files, name: str, columns: Mapping[str, Any], group: int) -> None:
        self._languages, self._file = files.languages, files.gzip(f"{name}{self.ending}")

    def cells(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The values of *row*, or of a part of it, as :meth:`add` takes them."""
        return {
            name: dict(zip(self._languages, value, strict=True)) if isinstance(value, tuple) else value
            for name, value in row.items()
        }

    def add(self, cells: Mapping[str, Any], weight: int = 1) -> None:
        self._file.write(json.dumps(cells, ensure_ascii=False) + "\n")


class ParquetTable:
    """A Parquet file that grows by row groups, so that its memory is bounded.

    A tuple in a row has the values of both languages, and is two columns, ``url_en`` and ``url_mt``. Empty texts become
    null.
    """

    ending = "parquet"

    def __init__(self, files: Files, name: str, columns: Mapping[str, Any], group: int) -> None:
        """*columns*: types by name, in the order of the rows; *group*: sum of the weights of a row group."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._languages = files.languages
        self._schema = pa.schema([(column, _arrow(kind)) for column, kind in self.cells(columns).items()])
        self._writer = pq.ParquetWriter(files.part(f"{name}{self.ending}"), self._schema, compression="zstd")
        self._rows: list[list[Any]] = []
        self._group, self._weight = group, 0
        files.opened(self)

    def cells(self, row: Mapping[str, Any]) -> dict[str, Any]:
        flat: dict[str, Any] = {}
        for name, value in row.items():
            if isinstance(value, tuple):
                flat |= {f"{name}_{language}": side for language, side in zip(self._languages, value, strict=True)}
            else:
                flat[name] = value
        return {name: None if value == "" else value for name, value in flat.items()}

    def add(self, cells: Mapping[str, Any], weight: int = 1) -> None:
        self._rows.append([*cells.values()])
        self._weight += weight
        if self._weight >= self._group:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa

        columns = list(zip(*self._rows, strict=True)) or [()] * len(self._schema)
        self._writer.write_table(pa.table(list(map(list, columns)), schema=self._schema))
        self._rows.clear()
        self._weight = 0


def _arrow(kind: Any) -> Any:
    """The Arrow type of values of a Python type, of lists as ``[type]`` or of objects as ``{name: type}``."""
    import pyarrow as pa

    if isinstance(kind, list):
        return pa.list_(_arrow(kind[0]))
    if isinstance(kind, dict):
        return pa.struct([(name, _arrow(one)) for name, one in kind.items()])
    return {str: pa.string(), bool: pa.bool_(), int: pa.int32(), float: pa.float32()}[kind]


class Files:
    """Writes files named after the language pair (``en-mt.…``), which get these names when complete."""

    table: ClassVar[type[JsonTable | ParquetTable]] = JsonTable

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.languages = (to_bcp47(pair.a), to_bcp47(pair.b))
        # a script is written zh_Hant in file names, as a hyphen is between the languages
        self.in_names = tuple(language.replace("-", "_") for language in self.languages)
        self._stem = directory / "-".join(self.in_names)
        self._parts: list[tuple[Path, Path]] = []
        self._open: list[Closing] = []

    def close(self) -> None:
        """Complete the files and give them their names."""
        for file in self._open:
            file.close()
        for part, final in self._parts:
            part.replace(final)

    def opened(self, file: File) -> File:
        """*file*, which is closed when the export is."""
        self._open.append(file)
        return file

    def gzip(self, suffix: str) -> TextIOWrapper:
        """Open a gzip file for text; its bytes depend only on the text."""
        packed = gzip.GzipFile(self.part(suffix), "wb", mtime=0)
        return self.opened(TextIOWrapper(packed, encoding="utf-8", errors="replace", newline="\n"))

    def part(self, suffix: str) -> Path:
        """The path of a file until it is complete."""
        final = self._stem.with_name(f"{self._stem.name}.{suffix}")
        part = final.with_name(f".{final.name}.part")
        self._parts.append((part, final))
        return part

    @staticmethod
    def remove_parts(directory: Path) -> None:
        """Remove the incomplete files of stopped exports in *directory*."""
        for part in directory.glob(".*.part"):
            part.unlink()


class Export(Files, ABC):
    """Writes document pairs. One is made for each pair of languages, with the folder of the files and the pair."""

    @abstractmethod
    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        """Write a document pair: *raw* are all its sentence pairs, *kept* those that are not dropped."""


class Bitextor(Export):
    """Tab-separated with a header; ``raw`` holds all aligned sentences, ``sent`` the kept ones."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._documents, self._raw, self._sent = map(self.gzip, ("documents.gz", "raw.gz", "sent.gz"))
        for file, header in ((self._documents, DOCUMENTS), (self._raw, RAW), (self._sent, SENT)):
            file.write(tsv_line(header))

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        texts = [b64encode(text.encode(errors="replace")).decode() for text in (documents.text_a, documents.text_b)]
        urls = (documents.url_a, documents.url_b)
        facts = (*chain.from_iterable(documents.facts().values()), *documents.direction(self.languages).values())
        self._documents.write(tsv_line((*urls, *texts, documents.score, documents.method, *facts)))
        for found in raw:
            self._raw.write(tsv_line(_cells(urls, found)))
        for found in kept:
            tokens = (len(found.text_a.split()), len(found.text_b.split()))
            ratio = round(len(found.text_a) / len(found.text_b), 3)
            scores = (ratio, *tokens, found.quality, int(found.short), found.personal)
            self._sent.write(tsv_line((*_cells(urls, found), *scores)))


def _cells(urls: tuple[str, str], found: SentencePair) -> tuple[object, ...]:
    return (*urls, found.text_a, found.text_b, found.score, found.paragraph_a, found.paragraph_b)


class Dropped(Export):
    """``en-mt.dropped.gz``: a table with a header of the sentence pairs that were dropped, with the reason."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._file = self.gzip("dropped.gz")
        self._file.write(tsv_line((*RAW, "quality", "reason")))

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        urls = (documents.url_a, documents.url_b)
        for found in filter(attrgetter("dropped"), raw):
            self._file.write(tsv_line((*_cells(urls, found), found.quality, found.dropped)))


class Moses(Export):
    """``en-mt.en``, ``en-mt.mt`` and ``en-mt.ids`` (URLs, score, quality, short; tab-separated)."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._files = [
            self.opened(self.part(suffix).open("w", encoding="utf-8", errors="replace", newline="\n"))
            for suffix in (*self.in_names, "ids")
        ]

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        for found in kept:
            origin = f"{documents.url_a}\t{documents.url_b}\t{found.score}\t{found.quality}\t{int(found.short)}"
            for file, text in zip(self._files, (found.text_a, found.text_b, origin), strict=True):
                # splitlines() and other tools break lines at more than \n
                file.write((text if text is origin else " ".join(text.split())) + "\n")


class Tmx(Export):
    """``en-mt.tmx.gz``."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._file = self.gzip("tmx.gz")
        self._file.write(
            '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">\n'
            '<header creationtool="bilingual-crawler" segtype="sentence" o-tmf="text"'
            f' creationtoolversion={quoteattr(__version__)} adminlang="en" srclang={quoteattr(self.languages[0])}'
            ' datatype="plaintext"/>\n<body>\n'
        )

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        urls = documents.url_a, documents.url_b
        facts = [_props(origin.known()) for origin in (documents.origin_a, documents.origin_b)]
        direction = documents.direction(self.languages)
        for found in kept:
            scores = {"score-aligner": found.score, "score-document": documents.score, "quality": found.quality}
            props = {name: str(score) for name, score in scores.items()} | {"short": str(int(found.short))}
            self._file.write(f"<tu>{_props(props | direction | {PERSONAL: found.personal})}\n")
            for language, url, known, text in zip(
                self.languages, urls, facts, (found.text_a, found.text_b), strict=True
            ):
                source = _props({"source-document": url})
                self._file.write(f"<tuv xml:lang={quoteattr(language)}>{source}{known}<seg>{_xml(text)}</seg></tuv>\n")
            self._file.write("</tu>\n")

    def close(self) -> None:
        self._file.write("</body>\n</tmx>\n")
        super().close()


def _props(facts: Mapping[str, str]) -> str:
    return "".join(f'<prop type="{name}">{_xml(fact)}</prop>' for name, fact in facts.items() if fact)


def _xml(text: str) -> str:
    return escape(_FORBIDDEN_IN_XML.sub("", text))


class JsonLines(Export):
    """``en-mt.jsonl.gz``: ``{"translation": {"en": …, "mt": …}, "url": {…}, "score": …, "document_score": …, …}``.

    The facts are texts in every line, empty if unknown, as Hugging Face ``datasets`` and DuckDB take the columns and
    types from the first lines.
    """

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        columns = {"text": BOTH, "url": BOTH, "score": float, "document_score": float, "quality": float, "short": bool}
        facts = dict.fromkeys(FACTS, BOTH) | dict.fromkeys((*PAIR_FACTS, PERSONAL), str)
        self._table = self.table(self, "", columns | facts, GROUP)

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        cells = self._table.cells
        facts = cells(documents.facts() | documents.direction(self.languages))
        for found in kept:
            row = {
                "translation": (found.text_a, found.text_b),
                "url": (documents.url_a, documents.url_b),
                "score": found.score,
                "document_score": documents.score,
                "quality": found.quality,
                "short": found.short,
            }
            self._table.add(cells(row) | facts | cells({PERSONAL: found.personal}))


class Parquet(JsonLines):
    """``en-mt.parquet``: the same in columns: text_en, text_mt, url_en, …; an unknown fact is null."""

    table = ParquetTable


class DocumentsJsonLines(Export):
    """``en-mt.documents.jsonl.gz``: ``{"url": {"en": …, "mt": …}, "sentences": {"en": [{"paragraph": 0, "text": …}, …],
    …}, …, "beads": [{"en": [0], "mt": [0, 1], "score": …, "quality": …, "short": …, "dropped": …}, …], …}``.

    All sentences of document pairs, and how they are aligned. Beads are in order and have every sentence once; a gap is
    a bead with one side empty. Its score, quality and mark are null. Facts are as in :class:`JsonLines`.
    """

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._personal = PersonalData((pair.a, pair.b))
        places = {language: [int] for language in self.languages}
        columns = {
            "url": BOTH,
            "sentences": ([{"paragraph": int, "text": str}],) * 2,
            **dict.fromkeys((*FACTS, PERSONAL), BOTH),
            "document_score": float,
            "beads": [places | {"score": float, "quality": float, "short": bool, "dropped": str}],
            **dict.fromkeys(PAIR_FACTS, str),
        }
        self._table = self.table(self, "documents.", columns, TEXT)

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        sides = documents.sentences_a, documents.sentences_b
        sentences = [[{"paragraph": s.paragraph, "text": s.text + " " * s.blank} for s in side] for side in sides]
        row = {
            "url": (documents.url_a, documents.url_b),
            "sentences": tuple(sentences),
            **documents.facts(),
            PERSONAL: tuple(self._personal.kinds(s.text for s in side) for side in sides),
            "document_score": documents.score,
            "beads": list(self._beads(len(sides[0]), len(sides[1]), raw)),
            **documents.direction(self.languages),
        }
        self._table.add(self._table.cells(row), sum(len(str(one["text"])) for side in sentences for one in side))

    def _beads(self, count_a: int, count_b: int, found: Sequence[SentencePair]) -> Iterator[dict[str, Any]]:
        """The places of the sentences of each bead in both documents, in order, with the scores of its pair."""

        def bead(a: Iterable[int], b: Iterable[int], one: SentencePair | None = None) -> dict[str, Any]:
            values = (one.score, one.quality, one.short, one.dropped) if one else (None, None, None, "")
            places = dict(zip(self.languages, (list(a), list(b)), strict=True))
            return places | dict(zip(("score", "quality", "short", "dropped"), values, strict=True))

        at_a = at_b = 0
        for one in (*found, None):
            (to_a, end_a), (to_b, end_b) = (one.places_a, one.places_b) if one else ((count_a,) * 2, (count_b,) * 2)
            yield from (bead([place], ()) for place in range(at_a, to_a))
            yield from (bead((), [place]) for place in range(at_b, to_b))
            if one:
                yield bead(range(to_a, end_a), range(to_b, end_b), one)
            at_a, at_b = end_a, end_b


class DocumentsParquet(DocumentsJsonLines):
    """``en-mt.documents.parquet``: the same in columns: url_en, url_mt, …, beads, …; an unknown fact is null."""

    table = ParquetTable
