"""Bitext of document pairs: sentences aligned, cleaned for training a translation model, and passed to exports."""

from __future__ import annotations

import gzip
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, compress
from typing import TYPE_CHECKING, BinaryIO, Generic, TypeVar

import msgspec

from bilingual_crawler.bitext.align import LONGEST, MAX_LINE, SentenceAligner, SentencePair, Sides
from bilingual_crawler.bitext.cleaning import Cleaner, SentenceFilter, Templates, is_list, refusal
from bilingual_crawler.bitext.duplicates import Duplicates
from bilingual_crawler.bitext.exports import DocumentPair, Export, Sink
from bilingual_crawler.bitext.monolingual import Monolingual, MonolingualDocument
from bilingual_crawler.bitext.overview import BitextCounts, Overview
from bilingual_crawler.bitext.personal import PersonalData
from bilingual_crawler.languages.codes import UNKNOWN as NO_LANGUAGE
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.origin import UNKNOWN, Origin
from bilingual_crawler.plugins import EXPORTS, SENTENCE_FILTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from bilingual_crawler.encoders.base import Encoder
    from bilingual_crawler.items import Pair
    from bilingual_crawler.pages.language import Detection

TEACHERS = 1000  # document pairs of a domain that teach the lexicon and the template
MAX_SENTENCES = 500_000  # sentences of a domain or group after which its next document pairs are not aligned
MAX_TAUGHT = 50_000  # sentences after which the next document pairs teach nothing
TELLING = 60
"""Characters from which a main text can tell that it is in another language: detectors agree on codes by chance."""


class Aligned(msgspec.Struct, array_like=True):
    """A document pair with all its sentence pairs, in order."""

    documents: DocumentPair
    sentences: list[SentencePair]


Spooled = TypeVar("Spooled", bound="Aligned | MonolingualDocument")


class Spool(Generic[Spooled]):
    """Values of one *kind* in a file, such as aligned document pairs until repetitions among all can be found."""

    def __init__(self, file: BinaryIO, kind: type[Spooled]) -> None:
        """*file* is empty, or holds the values of a spool that was closed."""
        self._file, self._kind = file, kind
        self._lines: gzip.GzipFile | None = None

    def add(self, value: Spooled) -> None:
        self._lines = self._lines or gzip.GzipFile(fileobj=self._file, mode="wb", compresslevel=1)
        self._lines.write(msgspec.json.encode(value) + b"\n")

    def close(self) -> None:
        """Complete the file, which stays open; nothing can be added any more."""
        if self._lines:
            self._lines.close()
        self._file.flush()

    def __iter__(self) -> Iterator[Spooled]:
        decoder = msgspec.json.Decoder(self._kind)
        self._file.seek(0)
        with gzip.GzipFile(fileobj=self._file) as lines:
            yield from map(decoder.decode, lines)


class BitextProducer:
    """Aligns the sentences of paired documents, cleans them and, once all are there, hands them to the sinks."""

    def __init__(
        self,
        pair: LanguagePair,
        detection: Detection,
        sinks: Iterable[Sink] = (),
        encoder: Encoder | None = None,
        monolingual: Iterable[Monolingual | Spool[MonolingualDocument]] = (),
        filters: Iterable[str] = (),
        spool: Spool[Aligned] | None = None,
    ) -> None:
        """*monolingual* take all documents, *sinks* the document pairs; *filters* are names of sentence filters.

        The pairs wait in *spool*, by default in a file without a name.
        """
        self._sinks, self._monolingual = list(sinks), list(monolingual)
        self._pair, self._detection = pair, detection
        self._spool = spool or Spool(tempfile.TemporaryFile(prefix="bilingual-bitext-"), Aligned)  # noqa: SIM115
        self._aligner = SentenceAligner(pair.a, pair.b, encoder)
        self._cleaner = Cleaner(pair, detection)
        self._filters: list[SentenceFilter] = [SENTENCE_FILTERS.find(name)(pair) for name in filters]
        self._personal = PersonalData((pair.a, pair.b))

    def add(
        self,
        pairs: Sequence[Pair],
        main: Callable[[str], list[str]],
        origin: Callable[[str], Origin] = lambda url: UNKNOWN,
        documents: Iterable[tuple[str, str, bool, Sequence[bool]]] = (),
    ) -> None:
        """Add the document pairs of a domain or group, best first.

        *main* returns the main text of a URL, in lines, *origin* what it declares about where it comes from.
        *documents*: language, URL, whether it is in a pair, and which lines are its own; shorter ones first.
        """

        def lines(url: str) -> list[str]:
            return _writable(main(url))

        def teachers() -> Iterator[Sides]:
            taught = 0
            for pair in pairs[:TEACHERS]:
                a, b = lines(pair.url_a), lines(pair.url_b)
                templates.add(a, b)
                if taught < MAX_TAUGHT:
                    sides = self._aligner.read(a, b)
                    taught += max(map(len, sides))
                    yield sides

        templates = Templates()
        self._aligner.learn_lexicon(teachers())
        budget = MAX_SENTENCES
        for pair in pairs:
            a, b = lines(pair.url_a), lines(pair.url_b)
            sides: Sides = self._aligner.read(a, b) if budget > 0 else ([], [])
            has_long_line = max(map(len, (*a, *b)), default=0) > MAX_LINE
            is_cut = budget <= 0 or has_long_line or LONGEST in map(len, sides)
            budget -= max(map(len, sides))
            in_list = is_list(a) and is_list(b)
            judged = [self._judged(one, templates, in_list) for one in self._aligner.align(*sides)]
            values = "\n".join(a), "\n".join(b), pair.score, pair.method, origin(pair.url_a), origin(pair.url_b)
            found = DocumentPair(pair.url_a, pair.url_b, *values, tuple(sides[0]), tuple(sides[1]), is_cut)
            self._spool.add(Aligned(found, judged))
        for language, url, is_paired, own in documents if self._monolingual else ():
            if paragraphs := self._in_language(_writable(compress(main(url), own)), language):
                document = MonolingualDocument(url, language, is_paired, paragraphs, origin(url))
                for sink in self._monolingual:
                    sink.add(document)

    def close(self) -> BitextCounts:
        self._spool.close()
        for sink in self._monolingual:
            sink.close()
        return export([self._spool], self._sinks)

    def _in_language(self, lines: list[str], language: str) -> list[str]:
        """The paragraphs of a document in *language* that are in it; none if most of its text is in another one."""
        if sum(map(len, lines)) < TELLING:
            return lines
        found = self._detection.identify_page(lines, (language,))
        if found.language == NO_LANGUAGE:
            # numbers and signs are in no language
            return lines
        if self._pair.side(found.language) != language:
            return []
        return lines if found.is_unmixed else [line for line in lines if not self._is_foreign(line, language)]

    def _is_foreign(self, line: str, language: str) -> bool:
        if len(line) < TELLING:
            return False
        found = self._detection.identify(line, (language,))
        is_other = found.reliable and self._pair.side(found.language) != language
        return is_other and self._detection.confirms(line, found.language)

    def _judged(self, found: SentencePair, templates: Templates, in_list: bool) -> SentencePair:
        if dropped := self._cleaner.objection(found, templates, in_list):
            return replace(found, dropped=dropped)
        kept = replace(found, personal=self._personal.kinds([f"{found.text_a}\n{found.text_b}"]))
        return replace(kept, dropped=refusal(self._filters, kept)) if self._filters else kept


def _writable(lines: Iterable[str]) -> list[str]:
    """*lines* without half characters, which the records of a crawl may have and no file can."""
    return [line.encode(errors="replace").decode() for line in lines]


def open_exports(names: Iterable[str], directory: Path, pair: LanguagePair) -> list[Export]:
    """Writers of those formats called *names* that hold document pairs, and of the overview, into *directory*."""
    kinds = map(EXPORTS.find, dict.fromkeys(names))
    return [*(kind(directory, pair) for kind in kinds if issubclass(kind, Export)), Overview(directory, pair)]


def export(spools: Iterable[Spool[Aligned]], sinks: Iterable[Sink]) -> BitextCounts:
    """Drop the repetitions in all of *spools*, pass their document pairs to *sinks* in order, and close the sinks.

    Reads the spools twice. Memory is in proportion to the number of sentence pairs, not to their text.
    """
    spools, sinks = list(spools), list(sinks)
    duplicates = Duplicates()
    for aligned in chain.from_iterable(spools):
        for one in aligned.sentences:
            if not one.dropped:
                duplicates.add(one.text_a, one.text_b, one.quality)
    reasons = iter(duplicates.reasons())
    counts = BitextCounts()
    for aligned in chain.from_iterable(spools):
        judged = [one if one.dropped else replace(one, dropped=next(reasons)) for one in aligned.sentences]
        kept = [one for one in judged if not one.dropped]
        counts.add(aligned.documents, judged, kept)
        for sink in sinks:
            sink.add(aligned.documents, judged, kept)
    with ExitStack() as stack:
        # in order: the overview, which is last, names the files
        for sink in reversed(sinks):
            stack.callback(sink.close)
    return counts
