"""The dataset card of a folder of bitexts, ``README.md`` with a head that the Hugging Face hub reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bilingual_crawler import __version__
from bilingual_crawler.languages.codes import LanguagePair, base_of, language_name, to_bcp47

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

CARD = "README.md"
MADE_BY = "<!-- made by bilingual-crawler -->"
"""The mark by which a card may be written again."""
SIZES = {10**3: "n<1K", 10**4: "1K<n<10K", 10**5: "10K<n<100K", 10**6: "100K<n<1M", 10**7: "1M<n<10M"}
READABLE = ("parquet", "jsonl.gz")
"""Files of sentence pairs that the hub can load, best first."""

Bitexts = dict[str, dict[str, Any]]


def write_card(folder: Path, suffix: str) -> None:
    """Write the card from the overviews in *folder*, files that end with *suffix*; a card of somebody else stays."""
    card = folder / CARD
    if card.exists() and MADE_BY not in card.read_text(encoding="utf-8", errors="replace"):
        return
    paths = sorted(folder.glob(f"[!.]*.{suffix}"))
    found = {path.name.removesuffix(f".{suffix}"): json.loads(path.read_text(encoding="utf-8")) for path in paths}
    card.write_text("\n".join([*_head(folder, found), *_body(found)]) + "\n", encoding="utf-8", errors="replace")


def _head(folder: Path, found: Bitexts) -> Iterator[str]:
    pairs = [LanguagePair.parse(one["pair"]) for one in found.values()]
    kept = sum(one["counts"]["kept"] for one in found.values())
    size = next((size for limit, size in SIZES.items() if kept < limit), "10M<n<100M")
    yield from ("---", "language:")
    yield from (
        f"- {code}" for code in sorted({to_bcp47(base_of(side)) for pair in pairs for side in (pair.a, pair.b)})
    )
    yield from ("license: other", "multilinguality: translation", "task_categories:", "- translation")
    yield from ("source_datasets: original", "size_categories:", f"- {size}")
    configs = [
        (name, f"{name}.{suffix}")
        for name in found
        for suffix in [one for one in READABLE if (folder / f"{name}.{one}").exists()][:1]
    ]
    yield from ["configs:"] * bool(configs)
    for name, file in configs:
        yield from (f"- config_name: {name}", f"  data_files: {file}")
    yield from ("---", "", MADE_BY, "")


def _body(found: Bitexts) -> Iterator[str]:
    yield from (
        *("# Bitext of websites", ""),
        f"Sentence pairs of translated web pages, made by bilingual-crawler {__version__}: pages in both languages are",
        "paired, their sentences aligned and cleaned; `quality` is the probability that both sides say the same.",
    )
    for name, one in found.items():
        counts = one["counts"]
        names = " and ".join(language_name(base_of(side)) for side in str(one["pair"]).split("-"))
        yield from (
            *("", f"## {name}: {names}", ""),
            f"- {counts['kept']} sentence pairs of {counts['documents']} document pairs; sites: {len(one['sites'])}",
            f"- left out: {_counted(counts['dropped'])}; {counts['cut']} document pairs not aligned to their end",
            f"- pages that declare a licence: {_counted(one['licences'])}",
            f"- pages that opt out of text and data mining: {_counted(one['opt_outs'])}",
            *("", "| quality | sentence pairs |", "|---|---|"),
            *(f"| from .{place} | {count} |" for place, count in enumerate(one["quality"]) if count),
            *("", "| site | document pairs | sentence pairs |", "|---|---|---|"),
            *(f"| {site} | {n['documents']} | {n['sentences']} |" for site, n in one["sites"].items()),
        )


def _counted(counts: Mapping[str, int]) -> str:
    ordered: Iterable[tuple[str, int]] = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered) or "none"
