"""Several sites of two languages, crawled by several workers, and what they have fetched."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from bilingual_crawler.storage.records import read_json_lines, read_tsv
from support.webserver import ABOUT_SITE, Site, bilingual_site

PAGES = 12


def documents(folder: Path) -> set[str]:
    return {record["url"] for record in read_json_lines(folder / "out" / "documents.jsonl.gz")}


def hosts(folder: Path) -> set[str]:
    return {row["url"].split("/")[2] for row in read_tsv(folder / "out" / "crawl.tsv")}


def every_document(sites: list[Site]) -> set[str]:
    pages = bilingual_site(PAGES)
    return {f"{site.url}{path}" for site in sites for path in pages if path.startswith(("/en/", "/es/"))}


def asked(sites: list[Site]) -> Counter[str]:
    return Counter(
        {f"{site.url}{path}": n for site in sites for path, n in site.asked.items() if path not in ABOUT_SITE}
    )
