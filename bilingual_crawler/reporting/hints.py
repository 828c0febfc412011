"""The message of a crawl that found no pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bilingual_crawler.languages import language_name

if TYPE_CHECKING:
    from collections.abc import Mapping


def why_no_pair(summary: Mapping[str, Any]) -> str:
    """One or two sentences for the *summary* of a crawl that found no pair: the reason, and what may help."""
    pages, documents = summary.get("html", 0), summary.get("documents", {})
    if not pages:
        reasons = ", ".join(f"{name} {count}" for name, count in summary.get("dropped", {}).items())
        return f"No pair was found, because no HTML page was fetched{f' ({reasons})' if reasons else ''}."
    if missing := " or ".join(language_name(code) for code, count in documents.items() if not count):
        most = ", ".join(
            f"{language_name(code)} {count}" for code, count in list(summary.get("languages", {}).items())[:3]
        )
        return (
            f"No pair was found, because none of {pages} HTML pages is in {missing} (most: {most}). "
            f"Give a seed in {missing}, a wider scope, or another pair."
        )
    held = " and ".join(f"{count} {language_name(code)}" for code, count in documents.items())
    early = "" if summary.get("finish_reason") == "finished" else " The crawl ended early; a larger budget may help."
    return f"No pair was found: {held} documents, but no two that are translations of each other.{early}"
