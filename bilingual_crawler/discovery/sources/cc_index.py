"""Candidates from Common Crawl's columnar index: sites with pages in both languages, without any download."""

from collections.abc import Iterator
from pathlib import Path

from bilingual_crawler.discovery.sources.base import Lead, SourceError, WarcRange, read_list
from bilingual_crawler.discovery.sources.database import DuckDBPyConnection, damaged, duckdb, read_remote, scratch
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.storage.files import LeftOut
from bilingual_crawler.urls.canonical import canonicalise

COLUMNS = {
    *("url_protocol", "url_host_name", "url_port", "url_path", "url_query", "url_host_registered_domain"),
    *("fetch_status", "content_mime_detected", "content_languages"),
    *("warc_filename", "warc_record_offset", "warc_record_length"),
}
"""All in the index since August 2018, when it got the column ``content_languages``."""
_PRIVATE_DOMAIN = "url_host_private_domain"  # in newer crawls: the registered domain, with suffixes such as github.io
_IDENTIFIED_WRONGLY = 0.01
"""Share of pages whose language CLD2 gets wrong, roughly; a big site has pages in every language by mistake."""

_COUNT = """
CREATE TABLE host AS
SELECT domain, name, count(*) AS pages,
    count(*) FILTER (list_contains($a, languages[1])) AS a, bool_or(list_has_any(languages, $a)) AS any_a,
    count(*) FILTER (list_contains($b, languages[1])) AS b, bool_or(list_has_any(languages, $b)) AS any_b,
    count(*) FILTER (url_host_name LIKE 'www.%') * 2 > count(*) AS www,
    count(*) FILTER (url_protocol = 'https') * 2 >= count(*) AS https
FROM (
    SELECT url_protocol, url_host_name, string_split(content_languages, ',') AS languages,
        regexp_replace(url_host_name, '^www\\.(.+\\..+)$', '\\1') || coalesce(':' || url_port, '') AS name,
        coalesce({domain}, name) AS domain
    FROM read_parquet($files, hive_partitioning = false)
    WHERE fetch_status = 200 AND content_mime_detected IN ('text/html', 'application/xhtml+xml')
)
WHERE list_has_any(languages, $a) OR list_has_any(languages, $b)
GROUP BY domain, name"""
# A site is a host with both languages. Hosts that have one each, such as en.example.mt and mt.example.mt, are one site.
_SITES = """
CREATE TABLE site AS
SELECT *, least(a, b) AS rarer, (rarer + 0.5) / (rarer + 1.5 + {wrong} * pages) AS prior
FROM (
    SELECT https, if(www, 'www.', '') || name AS authority, a, b, pages FROM host WHERE any_a AND any_b
    UNION ALL
    SELECT best.https, if(best.www, 'www.', '') || best.name, a, b, pages
    FROM (
        SELECT first(host ORDER BY pages DESC, name) AS best, sum(a) AS a, sum(b) AS b, sum(pages) AS pages
        FROM host
        SEMI JOIN (
            SELECT domain FROM host GROUP BY domain
            HAVING bool_or(any_a) AND bool_or(any_b) AND NOT bool_or(any_a AND any_b)
        ) USING (domain)
        GROUP BY domain
    )
)"""
# The greatest file name is that of the newest crawl.
_HOME_PAGES = """
CREATE TABLE home AS
SELECT authority, max({'filename': warc_filename, 'offset': warc_record_offset, 'length': warc_record_length}) AS place
FROM (
    SELECT *, url_host_name || coalesce(':' || url_port, '') AS authority
    FROM read_parquet($files, hive_partitioning = false)
    WHERE fetch_status = 200 AND url_path = '/' AND coalesce(url_query, '') = ''
)
SEMI JOIN site USING (authority)
WHERE warc_filename IS NOT NULL AND warc_record_offset IS NOT NULL AND warc_record_length IS NOT NULL
GROUP BY authority"""
_RESULT = """
SELECT https, authority, a::BIGINT, b::BIGINT, prior::DOUBLE, place
FROM site LEFT JOIN home USING (authority) ORDER BY prior DESC, authority"""


class CommonCrawlIndex:
    """The sites that have pages in both languages of the pair, the most likely first, in bounded memory.

    *where*: see :func:`index_files`. A page counts for its main language. SourceError if a file is missing, damaged or
    without languages.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._files = index_files(where)
        self.left_out = LeftOut()

    def candidates(self, pair: LanguagePair) -> Iterator[Lead]:
        """Yield every site once. The first one comes when the index has been read."""
        sides = {side: [lang for lang in pair.languages if pair.side(lang) == side] for side in (pair.a, pair.b)}
        values = {"files": self._files, "a": sides[pair.a], "b": sides[pair.b]}
        with scratch() as db:
            read_remote(db, self._files)
            try:
                db.execute(_COUNT.format(domain=self._domain(db)), values)
                db.execute(_SITES.format(wrong=_IDENTIFIED_WRONGLY))
                db.execute(_HOME_PAGES, {"files": self._files})
                for https, authority, a, b, prior, place in iter(db.execute(_RESULT).fetchone, None):
                    url = canonicalise(f"{'https' if https else 'http'}://{authority}/")
                    if url is None:
                        self.left_out.add("no host or URL", f"{self._where}: {authority}")
                        continue
                    archived = WarcRange(**place) if place else None
                    yield Lead(url, prior, pages={pair.a: a, pair.b: b}, archived=archived)
            except duckdb.Error as error:
                raise damaged(self._where, error) from error

    def _domain(self, db: DuckDBPyConnection) -> str:
        """The column of the registered domain that all files have."""
        query = "SELECT file_name, list(name) FROM parquet_schema($files) GROUP BY file_name"
        columns = db.execute(query, {"files": self._files}).fetchall()
        for file, names in columns:
            if missing := COLUMNS.difference(names):
                remedy = "give files of cc-index/table/cc-main/warc from August 2018 or later"
                raise SourceError(f"{file}: no column {', '.join(sorted(missing))}; {remedy}")
        common = all(_PRIVATE_DOMAIN in names for _, names in columns)
        return _PRIVATE_DOMAIN if common else "url_host_registered_domain"


def index_files(where: str) -> list[str]:
    """Return the Parquet files, or their URLs, that *where* names: a URL, a folder, a list of paths or a file."""
    if "://" in where:
        return [where]
    if Path(where).is_dir():
        found = sorted(map(str, Path(where).rglob("*.parquet")))
    elif any(mark in where for mark in "*?["):
        with duckdb.connect() as db:
            found = [row[0] for row in db.execute("SELECT file FROM glob(?) ORDER BY file", [where]).fetchall()]
    elif where.removesuffix(".gz").endswith((".paths", ".txt")):
        found = read_list(Path(where))
    else:
        found = [where] if Path(where).is_file() else []
    if not found:
        remedy = "give files of Common Crawl's columnar index, a folder or glob of them, or a list of their paths"
        raise SourceError(f"{where}: no Parquet file there; {remedy}")
    return found
