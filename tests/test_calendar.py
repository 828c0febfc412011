"""A bilingual calendar makes pairs without end that say nothing new; the articles beside it come first."""

import random
from pathlib import Path

import pytest
from support.crawls import crawl, ended_well
from support.webserver import OWN_NAMES, TEXT, serve

from bilingual_crawler.storage.records import read_tsv

ARTICLES, LISTED = 16, 8
MONTHS = 120
LANGUAGES = {"en": "es", "es": "en"}
NEWS, CALENDAR = {"en": "News", "es": "Noticias"}, {"en": "Calendar", "es": "Calendario"}


def article(lang: str, number: int) -> str:
    """Words of the language, and others that no other article has."""
    chooser = random.Random(f"{lang} {number}")
    own = [f"{chooser.choice('bdfgklm')}{chooser.choice('aeiou')}{chooser.choice('lnrst')}" for _ in range(60)]
    words = [word for pair in zip(chooser.choices(TEXT[lang].split(), k=60), own, strict=True) for word in pair]
    return f"{TEXT[lang]} {' '.join(words)}"


def site() -> dict[str, str]:
    """News in two languages on three pages each, and a calendar that links to the next month and the next year."""
    pages: dict[str, str] = {}

    def add(lang: str, path: str, title: str, body: str, other: str = "") -> None:
        to = LANGUAGES[lang]
        there = f"/{to}/{other or path}"
        menu = f"<a href=/{lang}/calendar/2026/1/>{CALENDAR[lang]}</a> <a href=/{lang}/news/>{NEWS[lang]}</a>"
        name = OWN_NAMES.get(to, "English")
        pages[f"/{lang}/{path}"] = (
            f"<!doctype html><html lang={lang}><head><meta charset=utf-8><title>{title}</title>"
            f'<link rel=alternate hreflang={to} href="{there}"></head><body><nav>{menu}</nav>'
            f'<nav class=language-switcher><a hreflang={to} href="{there}">{name}</a></nav><h1>{title}</h1>{body}'
        )

    for lang, to in LANGUAGES.items():
        add(lang, "", "Home", f"<p>{TEXT[lang]}</p>")
        for first in range(0, ARTICLES, LISTED):
            numbers = range(first, first + LISTED)
            items = "".join(f"<li><a href=/{lang}/news/{lang}-{n}/>{article(lang, n)[-30:]}</a>" for n in numbers)
            page = f"news/page/{first}/" if first else "news/"
            onward = f"<a href=/{lang}/news/page/{first + LISTED}/>&gt;</a>"
            add(lang, page, NEWS[lang], f"<p>{TEXT[lang]}</p><ul>{items}</ul>{onward}")
            for n in numbers:
                add(lang, f"news/{lang}-{n}/", f"{NEWS[lang]} {n}", f"<p>{article(lang, n)}</p>", f"news/{to}-{n}/")
        for month in range(MONTHS):
            paths = [f"calendar/{2026 + n // 12}/{n % 12 + 1}/" for n in (month, month + 1, month + 12)]
            onward = "".join(f"<a href=/{lang}/{path}>&gt;</a>" for path in paths[1:])
            add(lang, paths[0], f"{CALENDAR[lang]} {month}", f"{onward}<p>{TEXT[lang]} {2026 + month // 12}</p>")
    pages["/"] = pages["/en/"]
    return pages


def crawled(folder: Path, *arguments: str) -> list[str]:
    """The paths of the documents in the order of their downloads."""
    folder.mkdir()
    with serve(site()) as server:
        ended_well(crawl(folder, f"{server.url}/", "-a", "max_pages=84", *arguments, policy="gain"))
        rows = read_tsv(folder / "out" / "crawl.tsv")
        return [row["url"].removeprefix(server.url) for row in rows if row["outcome"] == "document"]


@pytest.mark.slow
def test_pairs_of_articles_come_before_a_calendar_and_the_order_is_the_same_in_each_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_by_one = ("-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1")
    runs = [crawled(tmp_path / "at once"), crawled(tmp_path / "one by one", *one_by_one)]
    # nor does the order depend on hashes
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    runs.append(crawled(tmp_path / "other hashes", *one_by_one))
    for paths in runs:
        found = [{path.rpartition("-")[2] for path in paths if f"/{lang}/news/{lang}-" in path} for lang in LANGUAGES]
        assert len(found[0] & found[1]) >= 15
    assert runs[1] == runs[2]
