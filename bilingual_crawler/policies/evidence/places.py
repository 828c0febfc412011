"""Where a URL is: its site, the folders it is in, and the mark that names its language."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bilingual_crawler.urls.cache import url_cache
from bilingual_crawler.urls.canonical import registered_domain
from bilingual_crawler.urls.markers import find_markers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

MAX_FOLDERS = 4
"""Depth to which folders are told apart."""
MAX_COUNTED = 100_000
"""Folders in which pages are counted; beyond that the half with the fewest pages is forgotten."""


@dataclass(frozen=True, slots=True)
class Place:
    """What the kinds of evidence ask of a URL, read from it once."""

    site: str
    """Registered domain."""
    folders: tuple[str, ...]
    """Host and folders, outermost first."""
    mark: tuple[str, str, str] | None
    """Site, component and token of the most telling language mark."""
    marked: str | None
    """Language of that mark, ISO 639-3."""
    weak: bool
    """Whether the mark may mean something else (country suffix, a common word)."""


@url_cache(1 << 16)
def place_of(url: str) -> Place:
    """The place of *url*; those of the last 65,536 URLs are cached, with some 500 bytes for each."""
    parts = urlsplit(url)
    folder = parts.path.rpartition("/")[0]
    marker = next((marker for marker in find_markers(url) if marker.language is not None), None)
    if marker is None:
        return _place(parts.netloc, folder, None, None, weak=False)
    return _place(parts.netloc, folder, (marker.component, marker.token.lower()), marker.language, weak=marker.weak)


@lru_cache(1 << 14)
def _place(host: str, folder: str, mark: tuple[str, str] | None, marked: str | None, *, weak: bool) -> Place:
    """One object for all URLs of a folder that have the same mark: a queue of millions holds thousands of them."""
    folders = [host]
    for segment in [segment for segment in folder.split("/") if segment][:MAX_FOLDERS]:
        folders.append(f"{folders[-1]}/{segment}")
    site = registered_domain(host)
    return Place(site, tuple(folders), mark and (site, *mark), marked, weak)


def rare_folders(folders: Collection[str], pages: Callable[[str], float]) -> list[str]:
    """Those of *folders* to forget: none up to :data:`MAX_COUNTED`, then half, those with the fewest *pages*."""
    return sorted(folders, key=pages)[: MAX_COUNTED // 2] if len(folders) > MAX_COUNTED else []
