"""What came of a mining, for people and as ``report.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.mining.stored import store

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rich.console import Console

    from bilingual_crawler.mining.run import ContentReport, UrlReport

_COUNTS = {
    "rows": "rows read",
    "in_languages": "in languages of the pairs",
    "in_domains": "in domains with both languages of a pair",
    "duplicates": "duplicates among them (scheme, www.)",
    "domains": "domains with both languages of a pair",
    "url_pairs": "pairs of URLs",
}


def print_urls(console: Console, urls: UrlReport) -> None:
    """Print what came of the URL stage."""
    for name, text in _COUNTS.items():
        console.print(f"{urls.counts[name]:>12,}  {text}")
    _print_pairs(console, "pairs of URLs", urls.url_pairs)
    for host in urls.largest:
        pages = ", ".join(f"{count} {language}" for language, count in host.pages.items())
        console.print(f"  {host.domain}: {pages}; {host.url_pairs} pairs of URLs")


def print_content(console: Console, content: ContentReport, sentences: Mapping[str, int]) -> None:
    """Print what came of the content stage."""
    total = content.total
    console.print(f"{content.done} buckets are done: {total.read:,} documents of {total.planned:,} pages")
    for reason, count in sorted(total.left_out.items(), key=lambda item: -item[1]):
        example = total.examples.get(reason)
        console.print(f"  left out, {reason}: {count}" + (f", such as {example}" if example else ""))
    _print_pairs(console, "pairs of documents", total.pairs)
    for pair, count in sentences.items():
        console.print(f"{pair}: {count:,} sentence pairs")
    if content.failed:
        console.print(f"{len(content.failed)} buckets failed; the same command tries them again:")
        for number, why in sorted(content.failed.items())[:10]:
            console.print(f"  bucket {number}: {why}")


def write_report(out: Path, urls: UrlReport, content: ContentReport | None, sentences: Mapping[str, int]) -> None:
    """Write ``report.json``."""
    store(out / "report.json", {"urls": urls, "content": content, "sentence_pairs": sentences})


def _print_pairs(console: Console, what: str, pairs: Mapping[str, Mapping[str, int]]) -> None:
    for pair, methods in sorted(pairs.items(), key=lambda item: -sum(item[1].values())):
        listed = ", ".join(f"{count} by {method}" for method, count in sorted(methods.items(), key=lambda m: -m[1]))
        console.print(f"{pair}: {sum(methods.values()):,} {what} ({listed})")
