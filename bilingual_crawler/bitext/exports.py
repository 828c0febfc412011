"""Exports of bitext: Bitextor, TMX, Moses, JSON Lines and Parquet, by sentence pairs or by whole documents.

All take document pairs in a stable order.
"""

from __future__ import annotations

import gzip
import json
import re
from abc import ABC, abstractmethod
from base64 import b64encode
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar
from xml.sax.saxutils import escape, quoteattr

from bilingual_crawler import __version__
from bilingual_crawler.bitext.personal import PersonalData
from bilingual_crawler.bitext.splitting import Sentence  # noqa: TC001 – msgspec reads the types of fields
from bilingual_crawler.languages.codes import to_bcp47
from bilingual_crawler.pages.origin import FACTS, UNKNOWN, Origin
from bilingual_crawler.storage.records import tsv_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.bitext.align import SentencePair
    from bilingual_crawler.languages.codes import LanguagePair


PAIR_FACTS = ("direction", "direction_evidence")
PERSONAL = "personal"


class Direction(NamedTuple):
    """The probable direction of translation."""

    direction: str
    """Original and translation, as ``en-mt``; empty if nothing is declared, or the declarations disagree."""
    direction_evidence: str
    """Names of the declarations, separated by blanks."""


def direction_of(urls: tuple[str, str], origins: tuple[Origin, Origin], languages: tuple[str, str]) -> Direction:
    """Return the direction of translation by what both pages at *urls* declare; *languages* are BCP 47.

    The original is the page that the other one names as such, whose partner is machine-translated or names its
    translator, that both pages name as the version for everybody (``hreflang=x-default``), or that was published
    earlier. All of these that are declared must agree.
    """
    votes = list(_votes(urls, origins))
    if len({is_first for _, is_first in votes}) != 1:
        return Direction("", "")
    a, b = languages if votes[0][1] else languages[::-1]
    return Direction(f"{a}-{b}", " ".join(name for name, _ in votes))


def _votes(urls: tuple[str, str], origins: tuple[Origin, Origin]) -> Iterator[tuple[str, bool]]:
    """The declarations by name, with whether the first document is the original."""
    (url_a, url_b), (a, b) = urls, origins
    of_a, of_b = a.translation_of == url_b, b.translation_of == url_a
    if of_a != of_b:
        yield "translation_of", of_b
    for name in ("machine_translated", "translator"):
        is_a, is_b = bool(getattr(a, name)), bool(getattr(b, name))
        if is_a != is_b:
            yield name, is_b
    defaults = {a.x_default, b.x_default} - {""}
    if len(defaults) == 1 and defaults <= {url_a, url_b}:
        yield "x_default", defaults == {url_a}
    if a.published and b.published and a.published != b.published:
        yield "published", a.published < b.published


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
    """What the first page declares about where it comes from."""
    origin_b: Origin = UNKNOWN
    sentences_a: tuple[Sentence, ...] = ()
    """The sentences that were aligned, in order: at most 3,000."""
    sentences_b: tuple[Sentence, ...] = ()
    is_cut: bool = False
    """Whether lines, the end or all of a document was too much to align."""


class Sink(Protocol):
    """Takes document pairs with their sentence pairs."""

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        """Take a document pair: *raw* are all its sentence pairs, *kept* those that are not dropped."""

    def close(self) -> None:
        """End the export."""


class Closing(Protocol):
    """A file that is complete once it is closed."""

    def close(self) -> None:
        """Complete the file."""


File = TypeVar("File", bound=Closing)


class Files:
    """Writes files named after the language pair (``en-mt.…``), which get these names when complete."""

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
        """Return *file*, which is closed when the export is."""
        self._open.append(file)
        return file

    def gzip(self, suffix: str) -> TextIOWrapper:
        """Open a gzip file for text; its bytes depend only on the text."""
        packed = gzip.GzipFile(self.part(suffix), "wb", mtime=0)
        return self.opened(TextIOWrapper(packed, encoding="utf-8", errors="replace", newline="\n"))

    def part(self, suffix: str) -> Path:
        """Return the path of a file until it is complete."""
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


DOCUMENTS = (
    *("src_url", "trg_url", "src_doc", "trg_doc", "doc_score", "doc_method"),
    *(f"{side}_{name}" for name in FACTS for side in ("src", "trg")),
    *PAIR_FACTS,
)
"""Texts in base64."""
RAW = ("src_url", "trg_url", "src_text", "trg_text", "aligner_score", "src_paragraph_id", "trg_paragraph_id")
SENT = (*RAW, "length_ratio", "num_tokens_src", "num_tokens_trg", "quality", "short", PERSONAL)


class Bitextor(Export):
    """Tab-separated with a header; ``raw`` holds all aligned sentences, ``sent`` the kept ones."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._documents = self.gzip("documents.gz")
        self._raw = self.gzip("raw.gz")
        self._sent = self.gzip("sent.gz")
        for file, header in ((self._documents, DOCUMENTS), (self._raw, RAW), (self._sent, SENT)):
            file.write(tsv_line(header))

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        texts = [b64encode(text.encode(errors="replace")).decode() for text in (documents.text_a, documents.text_b)]
        urls = (documents.url_a, documents.url_b)
        facts = (*chain.from_iterable(_by_fact(documents).values()), *_direction(documents, self.languages))
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


def _by_fact(documents: DocumentPair) -> dict[str, tuple[str, str]]:
    """The facts about both pages, by name."""
    return {name: (getattr(documents.origin_a, name), getattr(documents.origin_b, name)) for name in FACTS}


def _direction(documents: DocumentPair, languages: tuple[str, str]) -> Direction:
    return direction_of((documents.url_a, documents.url_b), (documents.origin_a, documents.origin_b), languages)


class Dropped(Export):
    """``en-mt.dropped.gz``: a table with a header of the sentence pairs that were dropped, with the reason."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._file = self.gzip("dropped.gz")
        self._file.write(tsv_line((*RAW, "quality", "reason")))

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        urls = (documents.url_a, documents.url_b)
        self._file.writelines(
            tsv_line((*_cells(urls, found), found.quality, found.dropped)) for found in raw if found.dropped
        )


class JsonLines(Export):
    """``en-mt.jsonl.gz``: ``{"translation": {"en": …, "mt": …}, "url": {…}, "score": …, "document_score": …, …}``.

    The facts are texts in every line, empty if unknown: readers that take the columns from the first lines (Hugging
    Face ``datasets``, DuckDB) refuse a key, or another type than null, that comes later.
    """

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._file = self.gzip("jsonl.gz")

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        urls = dict(zip(self.languages, (documents.url_a, documents.url_b), strict=True))
        facts = {name: dict(zip(self.languages, both, strict=True)) for name, both in _by_fact(documents).items()}
        direction = _direction(documents, self.languages)._asdict()
        for found in kept:
            row = {
                "translation": dict(zip(self.languages, (found.text_a, found.text_b), strict=True)),
                "url": urls,
                "score": found.score,
                "document_score": documents.score,
                "quality": found.quality,
                "short": found.short,
                **facts,
                **direction,
                PERSONAL: found.personal,
            }
            self._file.write(json.dumps(row, ensure_ascii=False) + "\n")


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


GROUP = 50_000
"""Rows of a row group."""


class ParquetFile:
    """A Parquet file that grows by row groups, so that its memory is bounded."""

    def __init__(self, path: Path, columns: Sequence[tuple[str, Any]], group: int = GROUP) -> None:
        """*columns*: name and Arrow type of each. *group*: sum of the weights of the rows of a row group."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._schema = pa.schema(list(columns))
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")
        self._rows: list[Sequence[Any]] = []
        self._group, self._weight = group, 0

    def add(self, row: Sequence[Any], weight: int = 1) -> None:
        """Append a row, with its values in the order of the columns."""
        self._rows.append(row)
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


class Parquet(Export):
    """``en-mt.parquet`` with the columns text_en, text_mt, url_en, url_mt, score, document_score, quality, short, and a
    column for each fact, which is null where it is unknown.
    """

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        import pyarrow as pa

        a, b = self.languages
        texts = [(name, pa.string()) for name in (f"text_{a}", f"text_{b}", f"url_{a}", f"url_{b}")]
        scores = [(name, pa.float32()) for name in ("score", "document_score", "quality")]
        sides = [f"{name}_{language}" for name in FACTS for language in self.languages]
        facts = [(name, pa.string()) for name in (*sides, *PAIR_FACTS, PERSONAL)]
        self._file = self.opened(ParquetFile(self.part("parquet"), [*texts, *scores, ("short", pa.bool_()), *facts]))

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        facts = (*chain.from_iterable(_by_fact(documents).values()), *_direction(documents, self.languages))
        known = [fact or None for fact in facts]
        urls, score = (documents.url_a, documents.url_b), documents.score
        for f in kept:
            scores = (f.score, score, f.quality, f.short)
            self._file.add((f.text_a, f.text_b, *urls, *scores, *known, f.personal or None))


_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow."""


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
        direction = _direction(documents, self.languages)._asdict()
        for found in kept:
            sides = zip(self.languages, urls, facts, (found.text_a, found.text_b), strict=True)
            self._file.write(
                f'<tu><prop type="score-aligner">{found.score}</prop>'
                f'<prop type="score-document">{documents.score}</prop>'
                f'<prop type="quality">{found.quality}</prop><prop type="short">{int(found.short)}</prop>'
                + _props(direction | {PERSONAL: found.personal})
                + "\n"
                + "".join(
                    f'<tuv xml:lang={quoteattr(language)}><prop type="source-document">{_xml(url)}</prop>{props}'
                    f"<seg>{_xml(text)}</seg></tuv>\n"
                    for language, url, props, text in sides
                )
                + "</tu>\n"
            )

    def close(self) -> None:
        self._file.write("</body>\n</tmx>\n")
        super().close()


def _props(facts: Mapping[str, str]) -> str:
    """The facts that are known, as properties."""
    return "".join(f'<prop type="{name}">{_xml(fact)}</prop>' for name, fact in facts.items() if fact)


def _xml(text: str) -> str:
    return escape(_FORBIDDEN.sub("", text))


TEXT = 4_000_000
"""Characters of the documents of a row group."""


class Documents(Export):
    """Writes all sentences of document pairs, and how they are aligned.

    Beads are in order and have every sentence once; a gap is a bead with one side empty.
    """

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._personal = PersonalData((pair.a, pair.b))

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        sides = documents.sentences_a, documents.sentences_b
        both = {
            "url": (documents.url_a, documents.url_b),
            "sentences": tuple(
                [{"paragraph": s.paragraph, "text": s.text + " " * s.blank} for s in side] for side in sides
            ),
            **_by_fact(documents),
            PERSONAL: tuple(self._personal.kinds_in_lines(s.text for s in side) for side in sides),
        }
        whole = {
            "document_score": documents.score,
            "beads": [self._bead(*bead) for bead in _beads(len(sides[0]), len(sides[1]), raw)],
            **_direction(documents, self.languages)._asdict(),
        }
        self._write(both, whole)

    def _bead(self, a: Sequence[int], b: Sequence[int], found: SentencePair | None) -> dict[str, Any]:
        values = (found.score, found.quality, found.short, found.dropped) if found else (None, None, None, "")
        places = dict(zip(self.languages, (list(a), list(b)), strict=True))
        return places | dict(zip(("score", "quality", "short", "dropped"), values, strict=True))

    @abstractmethod
    def _write(self, both: Mapping[str, tuple[Any, ...]], whole: Mapping[str, Any]) -> None:
        """Write a document pair: *both* has values of each document, *whole* those of the pair."""


def _beads(
    count_a: int, count_b: int, found: Sequence[SentencePair]
) -> Iterator[tuple[Sequence[int], Sequence[int], SentencePair | None]]:
    """The places of the sentences of each bead in both documents, in order, with its sentence pair; None for a gap."""
    at_a = at_b = 0
    for one in (*found, None):
        (to_a, end_a), (to_b, end_b) = (one.places_a, one.places_b) if one else ((count_a,) * 2, (count_b,) * 2)
        yield from (([place], (), None) for place in range(at_a, to_a))
        yield from (((), [place], None) for place in range(at_b, to_b))
        if one:
            yield range(to_a, end_a), range(to_b, end_b), one
        at_a, at_b = end_a, end_b


class DocumentsJsonLines(Documents):
    """``en-mt.documents.jsonl.gz``: ``{"url": {"en": …, "mt": …}, "sentences": {"en": [{"paragraph": 0, "text": …}, …],
    …}, …, "beads": [{"en": [0], "mt": [0, 1], "score": …, "quality": …, "short": …, "dropped": …}, …], …}``.

    Score, quality and mark of a gap are null. Facts are as in :class:`JsonLines`.
    """

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._file = self.gzip("documents.jsonl.gz")

    def _write(self, both: Mapping[str, tuple[Any, ...]], whole: Mapping[str, Any]) -> None:
        sides = {name: dict(zip(self.languages, values, strict=True)) for name, values in both.items()}
        self._file.write(json.dumps(sides | dict(whole), ensure_ascii=False) + "\n")


class DocumentsParquet(Documents):
    """``en-mt.documents.parquet``: the same in columns: url_en, url_mt, sentences_en, …, beads, … An unknown fact is
    null.
    """

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        import pyarrow as pa

        places = [(language, pa.list_(pa.int32())) for language in self.languages]
        scores = [("score", pa.float32()), ("quality", pa.float32()), ("short", pa.bool_()), ("dropped", pa.string())]
        sentences = pa.list_(pa.struct([("paragraph", pa.int32()), ("text", pa.string())]))
        both = {"url": pa.string(), "sentences": sentences} | dict.fromkeys((*FACTS, PERSONAL), pa.string())
        sides = [(f"{name}_{language}", kind) for name, kind in both.items() for language in self.languages]
        whole = [("document_score", pa.float32()), ("beads", pa.list_(pa.struct([*places, *scores])))]
        facts = [(name, pa.string()) for name in PAIR_FACTS]
        self._file = self.opened(ParquetFile(self.part("documents.parquet"), [*sides, *whole, *facts], TEXT))

    def _write(self, both: Mapping[str, tuple[Any, ...]], whole: Mapping[str, Any]) -> None:
        values = (*chain.from_iterable(both.values()), *whole.values())
        characters = sum(len(sentence["text"]) for side in both["sentences"] for sentence in side)
        self._file.add([None if value == "" else value for value in values], characters)
