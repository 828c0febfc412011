"""What a bitext holds: counts and a uniform sample, ``en-mt.summary.json``; ``README.md``, a folder's dataset card."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from bilingual_crawler import __version__
from bilingual_crawler.bitext.exports import DocumentPair, Export
from bilingual_crawler.languages.codes import LanguagePair, base_of, language_name, to_bcp47
from bilingual_crawler.pages.words import count_words
from bilingual_crawler.urls.hosts import registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.bitext.align import SentencePair

T = TypeVar("T")

SUFFIX = "summary.json"
SAMPLE = 50
SHOWN_CHARACTERS = 1000
MAX_SITES = 1000
BINS = 10
CARD = "README.md"
MADE_BY = "<!-- made by bilingual-crawler -->"
"""The mark by which a card may be written again."""
SIZES = {10**3: "n<1K", 10**4: "1K<n<10K", 10**5: "10K<n<100K", 10**6: "100K<n<1M", 10**7: "1M<n<10M"}
READABLE = ("parquet", "jsonl.gz")
"""Files of sentence pairs that the hub can load, best first."""


class Sample(Generic[T]):
    """A uniform sample of at most *size* offered items (reservoir sampling); the same items give the same sample."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._random = random.Random(0)
        self.offered = 0
        self.drawn: list[T] = []

    def offer(self, make: Callable[[], T]) -> None:
        """Offer the item that *make* returns; it is made only if it is drawn."""
        self.offered += 1
        place = self._random.randrange(self.offered)
        if len(self.drawn) < self._size:
            self.drawn.append(make())
        elif place < self._size:
            self.drawn[place] = make()


@dataclass
class BitextCounts:
    """Counts of a bitext; ``aligned`` sentence pairs are those kept and those dropped, by reason."""

    documents: int = 0
    aligned: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    cut: int = 0
    """Document pairs the end of which, or all of which, was too much to align."""

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        self.documents += 1
        self.cut += documents.is_cut
        self.aligned += len(raw)
        self.kept += len(kept)
        self.dropped = dict(Counter(self.dropped) + Counter(one.dropped for one in raw if one.dropped))


@dataclass
class SiteBitext:
    """Counts of the sentence pairs of a site that were kept."""

    documents: int = 0
    sentences: int = 0
    words_a: int = 0
    words_b: int = 0


@dataclass(frozen=True, slots=True)
class Shown:
    url_a: str
    url_b: str
    text_a: str
    text_b: str
    quality: float


@dataclass
class BitextOverview:
    pair: str
    counts: BitextCounts = field(default_factory=BitextCounts)
    sites: dict[str, SiteBitext] = field(default_factory=dict)
    licences: dict[str, int] = field(default_factory=dict)
    """Pages of document pairs by the licence that they declare."""
    opt_outs: dict[str, int] = field(default_factory=dict)
    """The same by opt-out of text and data mining."""
    quality: list[int] = field(default_factory=lambda: [0] * BINS)
    """Kept sentence pairs by tenths of the quality score."""
    sample: list[Shown] = field(default_factory=list)


class Overview(Export):
    """Writes ``en-mt.summary.json`` beside the files of the bitext, and ``README.md``, the card of the folder."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._found = BitextOverview(str(pair))
        self._sample: Sample[Shown] = Sample(SAMPLE)
        self._licences, self._opt_outs = Counter[str](), Counter[str]()

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        self._found.counts.add(documents, raw, kept)
        site = self._found.sites.setdefault(registered_domain(documents.url_a), SiteBitext())
        site.documents += 1
        site.sentences += len(kept)
        for origin in (documents.origin_a, documents.origin_b):
            self._licences.update(filter(None, (origin.licence_name,)))
            self._opt_outs.update(origin.opt_outs.split())
        for one in kept:
            site.words_a += round(count_words(one.text_a))
            site.words_b += round(count_words(one.text_b))
            self._found.quality[min(int(one.quality * BINS), BINS - 1)] += 1
            texts = one.text_a[:SHOWN_CHARACTERS], one.text_b[:SHOWN_CHARACTERS]
            self._sample.offer(lambda: Shown(documents.url_a, documents.url_b, *texts, one.quality))  # noqa: B023

    def close(self) -> None:
        largest = sorted(self._found.sites.items(), key=lambda item: (-item[1].sentences, item[0]))[:MAX_SITES]
        licences, opt_outs = dict(self._licences.most_common(MAX_SITES)), dict(self._opt_outs)
        found = replace(
            self._found, sites=dict(largest), licences=licences, opt_outs=opt_outs, sample=self._sample.drawn
        )
        content = json.dumps(msgspec.to_builtins(found), ensure_ascii=False, indent=1)
        self.part(SUFFIX).write_text(content + "\n", encoding="utf-8", errors="replace")
        super().close()
        _write_card(self._stem.parent)


def _write_card(folder: Path) -> None:
    """Write the card from the overviews in *folder*; a card of somebody else stays."""
    card = folder / CARD
    if card.exists() and MADE_BY not in card.read_text(encoding="utf-8", errors="replace"):
        return
    read = msgspec.json.Decoder(BitextOverview).decode
    found = {path.name[: -len(SUFFIX) - 1]: read(path.read_bytes()) for path in sorted(folder.glob(f"[!.]*.{SUFFIX}"))}
    codes = sorted({to_bcp47(base_of(side)) for one in found.values() for side in one.pair.split("-")})
    kept = sum(one.counts.kept for one in found.values())
    readable = {name: [file for end in READABLE if (folder / (file := f"{name}.{end}")).exists()] for name in found}
    configs = [f"- config_name: {name}\n  data_files: {files[0]}" for name, files in readable.items() if files]
    lines = [
        *("---", "language:", *(f"- {code}" for code in codes), "license: other", "multilinguality: translation"),
        *("task_categories:", "- translation", "source_datasets: original", "size_categories:"),
        f"- {next((size for limit, size in SIZES.items() if kept < limit), '10M<n<100M')}",
        *(["configs:"] * bool(configs) + configs),
        *("---", "", MADE_BY, "", "# Bitext of websites", ""),
        f"Sentence pairs of translated web pages, made by bilingual-crawler {__version__}: pages in both languages are",
        "paired, their sentences aligned and cleaned; `quality` is the probability that both sides say the same.",
    ]
    for name, one in found.items():
        counts = one.counts
        lines += [
            *("", f"## {name}: {' and '.join(language_name(base_of(side)) for side in one.pair.split('-'))}", ""),
            f"- {counts.kept} sentence pairs of {counts.documents} document pairs; sites: {len(one.sites)}",
            f"- left out: {_counted(counts.dropped)}; {counts.cut} document pairs not aligned to their end",
            f"- pages that declare a licence: {_counted(one.licences)}",
            f"- pages that opt out of text and data mining: {_counted(one.opt_outs)}",
            *("", "| quality | sentence pairs |", "|---|---|"),
            *(f"| from .{place} | {count} |" for place, count in enumerate(one.quality) if count),
            *("", "| site | document pairs | sentence pairs |", "|---|---|---|"),
            *(f"| {site} | {n.documents} | {n.sentences} |" for site, n in one.sites.items()),
        ]
    card.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="replace")


def _counted(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered) or "none"
