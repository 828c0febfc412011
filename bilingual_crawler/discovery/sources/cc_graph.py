"""Backlinks from Common Crawl's graphs of hosts and domains: pruned once to a table, then looked up."""

import hashlib
import json
import logging
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from bilingual_crawler.discovery.sources.base import Lead, SourceError, bare_host, read_list, reverse
from bilingual_crawler.discovery.sources.database import DuckDBPyConnection, damaged, duckdb, first_line, scratch
from bilingual_crawler.storage.files import DAMAGE, LeftOut, open_packed, replacing
from bilingual_crawler.urls.canonical import canonicalise
from bilingual_crawler.urls.hosts import registered_domain

logger = logging.getLogger(__name__)

MAX_RETURNED = 1000
LOOKUP_MEMORY = "32MB"
"""More would not make look-ups faster: the kernel keeps the file at hand."""
_FORMAT = 1
_HOSTS, _DOMAINS = "hosts", "domains"

# Links of hosts that do not link to a host asked about are one group, so that one reading checks all edges.
_DEGREES = """
CREATE TABLE degree AS
SELECT linking.source, count(*) AS links, max(greatest(every.source, every.target)) AS last,
    2 * count(*) - count(every.source) - count(every.target) AS missing
FROM {edges} AS every LEFT JOIN (SELECT DISTINCT source FROM edge) AS linking USING (source)
GROUP BY linking.source"""
# A look-up reads the rows of one key, which lie side by side. MD5 is the same in every version of DuckDB.
_TABLE = """
CREATE TABLE pruned.backlink AS
SELECT md5_number_lower(target.name) AS key, target.name AS target, source.name AS source,
    (worth / (links + {doubt}))::FLOAT AS weight
FROM edge
JOIN (SELECT source, count(*) FILTER ({worth}) AS worth FROM edge GROUP BY source) USING (source)
JOIN degree USING (source)
JOIN vertex AS source ON source.id = edge.source
JOIN vertex AS target ON target.id = edge.target
ORDER BY key, target, weight DESC, source"""
_DOUBT = 10
"""Links to nowhere that every host is given: one link to a host asked about is little evidence that it has more."""
# The rows come as they are stored, heaviest first; sorting them again would take four times as long.
_LOOK_UP = "SELECT source, weight FROM backlink WHERE key = ? AND target = ? LIMIT ?"


def prune(folder: Path, table: Path, hosts: Iterable[str] | None = None, *, likely: Collection[str] = ()) -> None:
    """Write the links of the graph in *folder* that lead to *hosts* (all, if None) to a table for look-ups.

    A linking host weighs by its links to *likely* hosts, or without such by all that are kept. A table of the same
    files and hosts is left as it is. DuckDB stays below 1 GB. SourceError if files are missing, damaged or do not fit.
    """
    vertices, edges = find_graph(folder)
    level = _level(vertices[0])
    asked = None if hosts is None else sorted({name for host in hosts for name in _names(host, level)})
    valued = sorted({name for host in likely for name in _names(host, level)}) if likely else None
    files = [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in (*vertices, *edges)]
    lists = [None if some is None else hashlib.sha256("\n".join(some).encode()).hexdigest() for some in (asked, valued)]
    origin = json.dumps([_FORMAT, files, *lists])
    with suppress(duckdb.Error):
        if table.exists():
            with _open(table) as db:
                if db.execute("SELECT made_of FROM origin").fetchall()[0][0] == origin:
                    return
    started = time.monotonic()
    for left in table.parent.glob(f".{table.name}.*"):  # as big as the table, by a run that was killed
        left.unlink()
    try:
        with replacing(table) as part, scratch(table.parent) as db:
            _load(db, folder, vertices, edges, level, _condition(db, "asked", asked))
            db.execute(f"ATTACH {_quoted(part)} AS pruned")
            db.execute(_TABLE.format(worth=_condition(db, "valued", valued), doubt=_DOUBT))
            db.execute("CREATE TABLE pruned.origin AS SELECT ? AS level, ? AS made_of", [level, origin])
            kept = db.execute("SELECT count(*) FROM edge").fetchall()[0][0]
            db.execute("DETACH pruned")
    except duckdb.Error as error:
        raise damaged(folder, error) from error
    logger.info(f"{folder}: {kept:,} links kept in {table} after {time.monotonic() - started:.0f} s")


class CommonCrawlGraph:
    """Answers from a table that :func:`prune` made, in constant memory. SourceError if it is no such table."""

    def __init__(self, table: Path) -> None:
        if not table.is_file():
            raise SourceError(f"{table}: no such file; give a folder of a graph, or a table that was made of one")
        self.left_out = LeftOut()
        try:
            self._db = _open(table)
            self._level = self._db.execute("SELECT level FROM origin").fetchall()[0][0]
        except duckdb.Error as error:
            problem = f"no table of backlinks ({first_line(error)}); give the folder of a graph"
            raise SourceError(f"{table}: {problem}") from error

    def backlinks(self, host: str) -> Sequence[Lead]:
        """Who links to the host under its name with or without ``www.``, or to its domain; heaviest first."""
        site = registered_domain(host)
        found: dict[str, float] = {}
        for name in _names(host, self._level):
            # as md5_number_lower does
            key = int.from_bytes(hashlib.md5(name.encode(), usedforsecurity=False).digest()[8:], "little")
            for source, weight in self._db.execute(_LOOK_UP, [key, name, MAX_RETURNED]).fetchall():
                url = canonicalise(f"https://{reverse(source)}/")
                if url is None:
                    self.left_out.add("no host name", f"{source} links to {name}")
                elif registered_domain(url) == site:
                    self.left_out["same site"] += 1
                else:
                    found[url] = max(weight, found.get(url, 0.0))
        # a graph has hosts without a scheme
        links = (Lead(*item, guessed_scheme=True) for item in found.items())
        return sorted(links, key=lambda link: (-link.weight, link.url))[:MAX_RETURNED]


def find_graph(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files of vertices and edges of the graph in *folder*; SourceError without both, or for several graphs."""
    if not folder.is_dir():
        raise SourceError(f"{folder}: no such folder; give one with the vertices and edges of a graph of Common Crawl")
    vertices, edges = _parts(folder, "vertices"), _parts(folder, "edges")
    releases = vertices.keys() & edges.keys()
    if len(releases) == 1:
        release = releases.pop()
        return vertices[release], edges[release]
    names = ", ".join(sorted(vertices.keys() | edges.keys())) or "none"
    problem = "several graphs" if releases else "vertices and edges of one graph are not there"
    raise SourceError(f"{folder}: {problem} (found: {names}); give a folder with both files of one release")


def _parts(folder: Path, kind: str) -> dict[str, list[Path]]:
    """The files of a kind, by the name of their graph."""
    found: dict[str, list[Path]] = {}
    for path in folder.glob(f"*-{kind}.paths*"):
        files = read_list(path)
        if remote := next((file for file in files if "://" in file), None):
            raise SourceError(f"{path}: {remote} is not a local file; download the graph first")
        found[path.name.split(f"-{kind}.paths")[0]] = list(map(Path, files))
    for path in folder.glob(f"*-{kind}.txt*"):
        found.setdefault(path.name.split(f"-{kind}.txt")[0], [path])
    if not found and (texts := sorted((folder / kind).glob("*.txt*"))):
        found[folder.name] = texts
    return found


def _level(vertices: Path) -> str:
    """Whether the graph is one of hosts or of domains, which have one more column: the number of their hosts."""
    try:
        with open_packed(vertices) as file:
            line = file.readline(1 << 12)
    except DAMAGE as error:
        raise SourceError(f"{vertices}: cannot be read ({error}); download it again") from error
    columns = line.count(b"\t") + 1
    if columns not in (2, 3):
        raise SourceError(f"{vertices}: {columns} columns, expected id and reversed name; give a graph's vertices")
    return _HOSTS if columns == 2 else _DOMAINS


def _names(host: str, level: str) -> tuple[str, ...]:
    """The names under which a graph may hold the host: releases up to April 2026 have no ``www.``, later ones do."""
    bare = bare_host(host)
    if bare is None:
        return ()
    if level == _DOMAINS:
        return (reverse(registered_domain(bare)),)
    return reverse(bare), f"{reverse(bare)}.www"


def _condition(db: DuckDBPyConnection, table: str, names: list[str] | None) -> str:
    """For SQL: that an edge leads to a host with one of *names*, which are loaded as *table*; true if None."""
    if names is None:
        return "true"
    db.execute(f"CREATE TABLE {table} AS SELECT unnest(?::VARCHAR[]) AS name", [names])
    return f"target IN (SELECT id FROM vertex SEMI JOIN {table} USING (name))"


def _load(db: DuckDBPyConnection, folder: Path, vertices: list[Path], edges: list[Path], level: str, kept: str) -> None:
    """Load the vertices of a graph, and the edges that satisfy the condition *kept*."""
    columns = {"id": "BIGINT", "name": "VARCHAR"} | ({"hosts": "BIGINT"} if level == _DOMAINS else {})
    db.execute(f"CREATE TABLE vertex AS SELECT id, name FROM {_rows(vertices, columns)}")
    query = "SELECT count(*), count(id), count(name), min(id), max(id) FROM vertex"
    ((count, ids, names, first, last),) = db.execute(query).fetchall()
    if ids < count or names < count:
        raise SourceError(f"{folder}: {2 * count - ids - names:,} vertices lack id or name; download them again")
    if (first, last) != (0, count - 1):
        raise SourceError(f"{folder}: {count:,} vertices, but ids from {first} to {last}; download all their files")
    ends = _rows(edges, {"source": "BIGINT", "target": "BIGINT"})
    db.execute(f"CREATE TABLE edge AS SELECT source, target FROM {ends} WHERE {kept}")
    db.execute(_DEGREES.format(edges=ends))
    query = "SELECT sum(links)::BIGINT, max(last), sum(missing)::BIGINT FROM degree"
    ((links, highest, missing),) = db.execute(query).fetchall()
    if not links:
        raise SourceError(f"{folder}: no edges; download them again")
    if missing:
        raise SourceError(f"{folder}: {missing:,} ends of edges are missing; download the edges again")
    if highest > last:
        remedy = "give vertices and edges of the same release and level"
        raise SourceError(f"{folder}: an edge has the end {highest}, but the vertices end at {last}; {remedy}")


def _open(table: Path) -> DuckDBPyConnection:
    return duckdb.connect(str(table), read_only=True, config={"memory_limit": LOOKUP_MEMORY, "threads": 1})


def _rows(files: list[Path], columns: dict[str, str]) -> str:
    """A table for SQL: the rows of tab-separated files, in which quotation marks mean nothing."""
    dialect = "delim = '\\t', header = false, quote = '', escape = '', auto_detect = false"
    return f"read_csv([{', '.join(map(_quoted, files))}], columns = {columns}, {dialect})"


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
