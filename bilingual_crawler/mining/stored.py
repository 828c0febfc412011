"""What is asked of a mining, and its files: results of buckets, and values as JSON."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from bilingual_crawler.languages.codes import LanguageError, LanguagePair, base_of, parse_equivalents, parse_language
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.storage.files import replacing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    Stored = TypeVar("Stored")


class MiningError(Exception):
    """An invalid input or folder of a mining; the message names it and the fix."""


@dataclass(frozen=True)
class MiningRequest:
    """The inputs, outputs and limits of a mining."""

    inputs: tuple[str, ...]
    """Crawls, and what :class:`~bilingual_crawler.discovery.sources.cc_index.CommonCrawlIndex` reads."""
    pairs: str
    out: Path
    buckets: int
    base: str | None
    """Folder or address of the files named by the tables; None if all inputs are crawls."""
    rate: float
    """Requests per second of all processes together."""
    formats: tuple[str, ...]
    """Formats of the bitext; without any, no sentences are aligned."""
    user_agent: str
    settings: dict[str, Any]
    """Scrapy's settings that begin with ``BILINGUAL_``; simple values."""


def store(file: Path, value: object) -> None:
    with replacing(file) as part:
        part.write_bytes(msgspec.json.format(msgspec.json.encode(value)))


def stored(file: Path, kind: type[Stored]) -> Stored | None:
    """Read what :func:`store` wrote; None without the file."""
    return msgspec.json.decode(file.read_bytes(), type=kind) if file.exists() else None


class BucketResult(msgspec.Struct):
    """Counts of a bucket; its file marks the bucket as done."""

    planned: int = 0
    read: int = 0
    """Pages in a language of the pairs."""
    left_out: dict[str, int] = {}
    examples: dict[str, str] = {}
    pairs: dict[str, dict[str, int]] = {}
    """Document pairs by language pair and method."""

    def leave_out(self, reason: str, page: str) -> None:
        """Count *page*, which could not be read."""
        self.left_out[reason] = self.left_out.get(reason, 0) + 1
        self.examples.setdefault(reason, page)

    def add(self, other: BucketResult) -> None:
        self.planned += other.planned
        self.read += other.read
        self.left_out = dict(Counter(self.left_out) + Counter(other.left_out))
        self.examples = other.examples | self.examples
        for pair, methods in other.pairs.items():
            self.pairs[pair] = dict(Counter(self.pairs.get(pair, {})) + Counter(methods))


def result_file(out: Path, number: int) -> Path:
    return out / "done" / f"{number}.json"


class AskedPairs:
    """The requested pairs, ``eng-mlt,eng-isl``; ``eng-*`` is English with any other language. Raises LanguageError."""

    def __init__(self, text: str, equivalents: Iterable[str | Collection[str]]) -> None:
        self._equivalents = parse_equivalents(equivalents)
        parts = text.split(",")
        named = ",".join(part for part in parts if not part.endswith("-*"))
        self._named = LanguagePairs.parse(named, equivalents).pairs if named else ()
        self._hubs = [parse_language(part.removesuffix("-*")) for part in parts if part.endswith("-*")]
        self.is_open = bool(self._hubs)
        """Whether the languages of the tables decide the pairs."""

    def among(self, languages: Iterable[str]) -> LanguagePairs:
        """Return the pairs for tables with pages in *languages* (ISO 639-3); raises LanguageError without any."""
        pairs = {frozenset((pair.a, pair.b)): pair for pair in self._named}
        for language in sorted(set(map(base_of, languages))):
            for hub in self._hubs:
                if language != base_of(hub) and _is_language(language):
                    pairs.setdefault(frozenset((hub, language)), LanguagePair(hub, language, self._equivalents))
        if not pairs:
            raise LanguageError(f"the tables have no language beside {', '.join(self._hubs)}")
        found = LanguagePairs(tuple(pairs.values()))
        base, count = Counter(map(base_of, found.languages)).most_common(1)[0]
        if count > 1:
            raise LanguageError(f"the tables do not tell the scripts of {base} apart: mine each on its own")
        return found


def _is_language(code: str) -> bool:
    with suppress(LanguageError):
        return parse_language(code) == code
    return False
