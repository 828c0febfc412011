"""Lists of paths, as Common Crawl publishes them for each release (``….paths.gz``)."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from bilingual_crawler.discovery.sources.base import SourceError
from bilingual_crawler.files import DAMAGE, open_packed

MAX_BYTES = 64 << 20
"""A list of all files of a crawl has less than 30 MB."""


def is_list(path: str) -> bool:
    """Whether the name is that of a list of paths: ``.paths``, ``.txt``, packed or not."""
    return path.removesuffix(".gz").endswith((".paths", ".txt"))


def read_list(path: Path) -> list[str]:
    """The paths in a list. Addresses stay as they are; other lines are files beside the list, in the folders that the
    line names or in the last of them. SourceError if the list or one of its files is missing or damaged.
    """
    try:
        with open_packed(path) as file:
            content = file.read(MAX_BYTES + 1)
        lines = content.decode().split()
    except (*DAMAGE, UnicodeError) as error:
        raise SourceError(f"{path}: cannot read this list of paths ({error}); download it again") from error
    if len(content) > MAX_BYTES:
        raise SourceError(f"{path}: longer than {MAX_BYTES >> 20} MB, so it is no list of paths; name the files")
    if not lines:
        raise SourceError(f"{path}: no path in it")
    return [line if "://" in line else str(_beside(path, line)) for line in lines]


def _beside(listing: Path, line: str) -> Path:
    parts = PurePosixPath(line).parts
    for start in range(len(parts)):
        found = listing.parent.joinpath(*parts[start:])
        if found.is_file():
            return found
    raise SourceError(
        f"{listing}: {line} is not in its folder; download it, or write s3://commoncrawl/ or"
        " https://data.commoncrawl.org/ before each path"
    )
