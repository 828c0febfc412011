"""The WARC files of a replay, and the metadata of frozen sites.

A site folder holds a WARC file, ``site.json`` (``base``; perhaps ``alias_bases``, other addresses of the same pages,
and ``bases``, where the site has other pages), ``graph.tsv.xz`` and perhaps ``redirects.tsv``. The first column of
``graph.tsv.xz`` names the pages; other archived URLs are copies, such as ``/index.html``. ``redirects.tsv`` has the
columns from and to: linked forms that the live server answers with a redirect.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from bilingual_crawler.storage.files import DAMAGE, lines_within, open_packed, read_within
from bilingual_crawler.storage.warc import ArchiveError

Paths: TypeAlias = "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]"
"""Paths of WARC files, folders of them or site folders; a string may hold several, separated by commas."""
MAX_TABLE = 1 << 30  # bytes that are read of a table of a site folder, unpacked
MAX_ROW = 16 << 20  # bytes of a row, which may list all links of a page
_MAX_DESCRIPTION = 1 << 20
_ENDINGS = (".warc", ".warc.gz", ".warc.xz", ".warc.zst", ".warc.wet", ".warc.wet.gz")


@dataclass(frozen=True, slots=True)
class Source:
    """The WARC files behind one path, with the metadata of a frozen site."""

    path: Path
    files: tuple[Path, ...]
    no_files: tuple[Path, ...] = ()
    """Paths named like WARC files that are no files: pipes, folders, dangling links."""
    base: str | None = None
    alias_bases: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    redirects: dict[str, str] = field(default_factory=dict)
    pages: frozenset[str] = frozenset()
    """The pages of a site folder under their own URLs; empty if not known."""


def find_sources(paths: Paths) -> list[Source]:
    """The sources behind the paths; ArchiveError if there is no path, or a path is missing or has no WARC files."""
    if isinstance(paths, str):
        paths = [part for part in map(str.strip, paths.split(",")) if part]
    elif isinstance(paths, os.PathLike):
        paths = [paths]
    sources = [_find_source(Path(path)) for path in paths]
    if not sources:
        raise ArchiveError(Path(), "no archive to replay; name WARC files or folders of them")
    return sources


def site_prefixes(paths: Paths) -> list[str]:
    """Return the base URLs and the alias bases of every site folder among the paths."""
    with_base = (source for source in find_sources(paths) if source.base)
    return [prefix for one in with_base for prefix in (one.base or "", *one.alias_bases, *one.bases)]


def alias_hosts(paths: Paths) -> list[str]:
    """Return the hosts under which the frozen sites are also linked, each once."""
    hosts = (urlsplit(alias).netloc for source in find_sources(paths) for alias in source.alias_bases)
    return list(dict.fromkeys(hosts))


def _find_source(path: Path) -> Source:
    if not path.exists():
        raise ArchiveError(path, "no such file or folder")
    if not path.is_dir():
        return Source(path, (path,))
    named = sorted(file for file in path.iterdir() if file.name.endswith(_ENDINGS))
    files = tuple(file for file in named if file.is_file())
    no_files = tuple(file for file in named if not file.is_file())
    if not files:
        raise ArchiveError(path, f"no {', '.join(f'*{ending}' for ending in _ENDINGS)} in this folder")
    description = path / "site.json"
    if not description.exists():
        return Source(path, files, no_files)
    try:
        site = json.loads(read_within(description, _MAX_DESCRIPTION))
        base = _slashed(site["base"])
        aliases, bases = (tuple(dict.fromkeys(map(_slashed, site.get(key, ())))) for key in ("alias_bases", "bases"))
        redirects, graph = path / "redirects.tsv", path / "graph.tsv.xz"
        targets = {source: target for source, target in read_table(redirects)} if redirects.exists() else {}
        pages = frozenset(row[0] for row in read_table(graph)) if graph.exists() else frozenset[str]()
    except (*DAMAGE, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ArchiveError(path, f"damaged site folder ({type(error).__name__}: {error})") from error
    return Source(path, files, no_files, base, aliases, bases, targets, pages)


def _slashed(base: str) -> str:
    base = base if "://" in base else f"https://{base}"
    return base if base.endswith("/") else f"{base}/"


def read_table(path: Path) -> Iterator[list[str]]:
    """The rows of a table of a site folder, packed or not, without empty ones.

    Raises ValueError if it is too long or not UTF-8, and :data:`~bilingual_crawler.storage.files.DAMAGE`.
    """
    room = MAX_TABLE
    with open_packed(path) as file:
        for line in lines_within(file, MAX_ROW):
            room -= len(line or b"")
            if line is None or room < 0:
                raise ValueError(f"{path.name} is longer than {MAX_TABLE >> 20} MB, or a row than {MAX_ROW >> 20} MB")
            if row := line.decode().rstrip("\r\n"):
                yield row.split("\t")
