"""The message of a crawl that found no pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bilingual_crawler.languages import language_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def why_no_pair(summary: Mapping[str, Any]) -> Iterator[str]:
    """For each two languages without a pair in the *summary* of a crawl: the reason, and what may help."""
    by_pair: Mapping[str, Mapping[str, Any]] = summary.get("by_pair") or {summary["pair"]: summary}
    if not summary.get("html", 0):
        reasons = ", ".join(f"{name} {count}" for name, count in summary.get("dropped", {}).items())
        yield f"No pair was found, because no HTML page was fetched{f' ({reasons})' if reasons else ''}."
        return
    for name, counts in by_pair.items():
        if not counts.get("pairs"):
            found = "No pair was found" if len(by_pair) == 1 else f"No {name} pair was found"
            yield found + _reason(summary, name.split("-"))


def _reason(summary: Mapping[str, Any], languages: list[str]) -> str:
    documents = summary.get("documents", {})
    if missing := " or ".join(language_name(code) for code in languages if not documents.get(code)):
        most = ", ".join(
            f"{language_name(code)} {count}" for code, count in list(summary.get("languages", {}).items())[:3]
        )
        return (
            f", because none of {summary['html']} HTML pages is in {missing} (most: {most}).{_remedy(summary, missing)}"
        )
    held = " and ".join(f"{documents[code]} {language_name(code)}" for code in languages)
    return f": {held} documents, but no two that are translations of each other.{_early(summary)}"


def _remedy(summary: Mapping[str, Any], missing: str) -> str:
    """What may find pages in the language *missing*."""
    outside = summary.get("out_of_scope", 0)
    if outside and summary["html"] <= summary.get("seed_count", 0):
        return (
            f" Only seeds were read, because their links lead out of the scope ({outside} links): "
            "give a wider scope, or a seed on the site that they lead to."
        )
    return _early(summary) or f" Give a seed in {missing}, a wider scope, or another pair."


def _early(summary: Mapping[str, Any]) -> str:
    ended = summary.get("finish_reason") == "finished"
    return "" if ended else " The crawl ended early; a larger budget may help."
