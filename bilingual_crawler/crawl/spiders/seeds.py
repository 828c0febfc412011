"""The addresses that a crawl starts from."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from bilingual_crawler.crawl.context import Seed
from bilingual_crawler.discovery.sites import entries_of, is_table, read_bilingual
from bilingual_crawler.options import usage_error
from bilingual_crawler.storage.files import DAMAGE, read_within
from bilingual_crawler.storage.records import CRAWL, read_tsv
from bilingual_crawler.urls.canonical import canonicalise
from bilingual_crawler.urls.hosts import with_http

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BARE = re.compile(r"(localhost|[\w-]+(\.[\w-]+)+)(:\d+)?(/\S*)?")
_MARK = "\ufeff"  # byte order mark, which editors and spreadsheets put before a text
_NOTE = re.compile(r"(^|\s)#.*")
_SEPARATOR = re.compile(r",?\s+|,(?=https?://)|,$")  # in a line of a file; a comma may be part of an address
MAX_FILE = 256 << 20  # bytes of a list of seeds: some millions of them
_NAMED = 5  # number of seeds that a message names


def parse_seeds(seeds: str | Sequence[str] | None) -> list[Seed]:
    """Seeds from the path of a file, from addresses separated by commas or blanks, or from a list of addresses.

    Of a ``sites.tsv`` the bilingual sites are taken. Raises UsageError, with the line or the site, if one is no URL.
    """
    if not seeds or (isinstance(seeds, str) and not seeds.strip()):
        raise usage_error("where to start? Give -a seeds=URL[,URL...] or the path of a file with one URL a line")
    if not isinstance(seeds, str):
        found = [_seed(text, "") for text in seeds]
    elif not os.path.isfile(seeds) and ("://" in seeds or "," in seeds or _names_hosts(seeds)):
        found = [_seed(part, "") for part in re.split(r"[\s,]+", seeds.replace(_MARK, "")) if part]
    elif is_table(Path(seeds)):
        rows = read_bilingual(Path(seeds))
        found = [_seed(url, f"{seeds}, {row['site']}: ") for row in rows for url in entries_of(row)]
    else:
        found = list(_read(seeds))
    if not found:
        raise usage_error(f"seeds={seeds}: no URL in it")
    return list(dict.fromkeys(found))


def without_page(seeds: Sequence[Seed], folder: Path) -> dict[str, str]:
    """The seeds that gave no page according to the log in *folder*, with the outcomes of their last targets.

    A seed that is not in the log was fetched by another worker, or is still queued.
    """
    origins: defaultdict[str, set[str]] = defaultdict(set)
    for seed in seeds:
        for address in (seed.url, with_http(seed.url)) if seed.guessed_scheme else (seed.url,):
            origins[address].add(seed.url)
    for row in read_tsv(folder / CRAWL):
        if row["location"] and row["url"] in origins:
            origins[row["location"]] |= origins[row["url"]]
    fates: dict[str, str] = {}
    for row in read_tsv(folder / CRAWL):
        for url in origins.get(row["url"], ()):
            # an empty one is that of a page
            fates[url] = "" if row["language"] or fates.get(url) == "" else row["outcome"]
    return {url: fate for url, fate in fates.items() if fate}


def any_page(folder: Path) -> bool:
    """Whether the log in *folder* has a page that could be read."""
    return any(row["language"] for row in read_tsv(folder / CRAWL))


def named(fates: dict[str, str]) -> str:
    """The first of *fates*, for a message."""
    shown = ", ".join(f"{url} ({fate})" for url, fate in list(fates.items())[:_NAMED])
    return shown + (f" and {len(fates) - _NAMED} more" if len(fates) > _NAMED else "")


def _names_hosts(seeds: str) -> bool:
    return not seeds.endswith((".txt", ".tsv")) and all(map(_BARE.fullmatch, seeds.split()))


def _read(path: str) -> Iterator[Seed]:
    try:
        lines = read_within(Path(path), MAX_FILE).decode().splitlines()
    except (*DAMAGE, ValueError) as error:
        raise usage_error(f"seeds={path}: cannot read this file ({error})") from error
    for number, line in enumerate(lines, 1):
        for part in filter(None, _SEPARATOR.split(_NOTE.sub("", line.replace(_MARK, "")))):
            yield _seed(part, f"{path}, line {number}: ")


def _seed(text: str, where: str) -> Seed:
    guessed = "://" not in text
    url = canonicalise(f"https://{text}" if guessed else text)
    if url is None or (guessed and not _BARE.fullmatch(text)):
        raise usage_error(f"{where}seed {text!r} is not an http(s) URL, as in https://example.com/")
    return Seed(url, guessed)
