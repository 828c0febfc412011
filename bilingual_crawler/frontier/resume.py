"""Teaches a policy again what a crawl knew before it was stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.frontier.policies.base import FetchedPage
from bilingual_crawler.pages.model import Link, LinkPosition
from bilingual_crawler.reporting.records import CRAWL, DOCUMENTS, read_json_lines, read_tsv

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bilingual_crawler.frontier.policies.base import Policy


def relearn(policy: Policy, output_dir: Path, queued: Iterable[str]) -> None:
    """Replay ``crawl.tsv`` and the claims in ``documents.jsonl.gz`` to *policy*, then name it the *queued* URLs."""
    documents = {
        record["url"]: (_links(record), len(record["text"])) for record in read_json_lines(output_dir / DOCUMENTS)
    }
    for row in read_tsv(output_dir / CRAWL):
        url = row["url"]
        if row["location"]:
            policy.redirected(url, row["location"])
        elif row["language"]:
            links, length = documents.get(url, ([], 0))
            side = policy.pair.side(row["language"])
            policy.learn(FetchedPage(url, row["language"], side, seed=not row["referrer"], length=length), links)
        else:
            policy.gone(url)
    for url in queued:
        policy.note_queued(url)


def _links(record: dict[str, list[tuple[str, str]]]) -> list[Link]:
    alternates = [Link(url, hreflang=language, alternate=True) for language, url in record["alternates"]]
    switches = [Link(url, label=label, position=LinkPosition.SWITCHER) for label, url in record["switches"]]
    return alternates + switches
