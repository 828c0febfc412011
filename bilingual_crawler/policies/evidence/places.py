"""Where a URL is on its site: the folders it is in, and the mark that names its language."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from bilingual_crawler.urls.cache import url_cache
from bilingual_crawler.urls.canonical import registered_domain
from bilingual_crawler.urls.markers import find_markers

MAX_FOLDERS = 4
"""Depth to which folders are told apart."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a URL is: its host and folders, outermost first, and its language mark."""

    folders: tuple[str, ...]
    mark: tuple[str, str, str] | None
    """Site, component and token of the most telling language mark."""
    marked: str | None
    """Language of that mark, ISO 639-3."""
    weak: bool
    """Whether the mark may mean something else (country suffix, a common word)."""


@url_cache(1 << 16)
def place_of(url: str) -> Place:
    """The place of *url*; cached."""
    parts = urlsplit(url)
    segments = [segment for segment in parts.path.split("/") if segment]
    if segments and not parts.path.endswith("/"):
        segments.pop()
    folders = [parts.netloc]
    for segment in segments[:MAX_FOLDERS]:
        folders.append(f"{folders[-1]}/{segment}")
    marker = next((marker for marker in find_markers(url) if marker.language is not None), None)
    if marker is None:
        return Place(tuple(folders), None, None, False)
    mark = (registered_domain(url), str(marker.component), marker.token.lower())
    return Place(tuple(folders), mark, marker.language, marker.weak)
