"""Candidates and backlinks: Common Crawl's formats as its own files have them, made here; damage of every kind."""

import gzip
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.url_index import page, served, write_index

from bilingual_crawler.discovery.policies import Hop
from bilingual_crawler.discovery.sources import cc_pages
from bilingual_crawler.discovery.sources.base import Lead, SourceError, WarcRange, bare_host, read_list, reverse
from bilingual_crawler.discovery.sources.cc_graph import CommonCrawlGraph, prune
from bilingual_crawler.discovery.sources.cc_pages import ArchivedPages
from bilingual_crawler.discovery.ways import Sources, backlink_source, candidate_source
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.storage.records import read_members
from bilingual_crawler.storage.writer import Exchange, WarcWriter

MALTESE = LanguagePair.parse("eng-mlt")
TABLE = "backlinks-graph.duckdb"
RELEASE = "cc-main-2026-apr-may-jun"

# ---- lists


def packed(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def listed(path: Path, text: str) -> list[Lead]:
    return list(candidate_source(f"tsv:{packed(path, text)}").candidates(MALTESE))


def urls(found: Iterable[Lead | Hop]) -> list[str]:
    return [one.url for one in found]


@pytest.mark.parametrize("name", ["sites.tsv", "sites.tsv.gz"])
def test_a_list_of_hosts_is_a_list_of_candidates(tmp_path: Path, name: str) -> None:
    found = listed(tmp_path / name, "\ufeff# seen by hand\nexample.mt\n\nhttp://a_b.example.mt:8080/en/\tnote\n")
    assert urls(found) == ["https://example.mt/", "http://a_b.example.mt:8080/en/"]
    assert all(not candidate.pages for candidate in found)


def test_a_list_may_say_how_likely_and_how_big_sites_are(tmp_path: Path) -> None:
    found = listed(tmp_path / "x.tsv", "prior\turl\tpages\n.9\texample.mt\tmlt:12 en:40\n\tgov.mt\n")
    assert found == [
        Lead("https://example.mt/", 0.9, guessed_scheme=True, pages={"mlt": 12, "eng": 40}),
        Lead("https://gov.mt/", guessed_scheme=True),
    ]


def test_a_header_is_no_candidate(tmp_path: Path) -> None:
    for text, hosts in (
        ("URL\tNote\nexample.mt\thttp://example.mt/\tbilingual\t.9\n", ["example.mt"]),
        ("site\tentry\tverdict\tlikelihood\nexample.mt\thttp://example.mt/\tbilingual\t.9\n", ["example.mt"]),
        ("no host\nurl\tprior\nexample.mt\t.9\n", ["url", "example.mt"]),
    ):
        assert urls(listed(tmp_path / "x.tsv", text)) == [f"https://{host}/" for host in hosts]


def test_what_is_no_candidate_is_counted(tmp_path: Path) -> None:
    rows = [
        "url\tprior\tpages", "example.mt", "https://example.mt", "no host", "mailto://x@y.mt", "x" * 100_000, "a.mt\t2",
        "b.mt\tnan", "c.mt\t.5\tklingon:3", "d.mt\t\tmlt", "\t.5", "e.mt",
    ]  # fmt: skip
    path = tmp_path / "sites.tsv"
    path.write_bytes("\n".join(rows).encode() + b"\n\xff\xfe.mt\n")
    source = candidate_source(f"tsv:{path}")
    assert urls(source.candidates(MALTESE)) == ["https://example.mt/", "https://e.mt/"]
    assert source.left_out == {
        "repeated": 1, "no host or URL": 3, "line too long": 1, "not between 0 and 1": 2,
        "pages not as in mlt:12 eng:40": 2, "not UTF-8": 1,
    }  # fmt: skip


def test_a_list_of_links_answers_who_links_to_a_host(tmp_path: Path) -> None:
    hub = "https://hub.example.org/links.html"
    text = (
        f"www.example.mt\t{hub}\t.25\nhttps://example.mt:8443/x\tportal.eu\nexample.mt\t{hub}\t.5\n"
        "other.mt\tportal.eu\nno host\tportal.eu\nexample.mt\t\nexample.mt\tportal.eu\tmuch\n"
    )
    source = backlink_source(f"tsv:{packed(tmp_path / 'links.tsv', text)}")(tmp_path, ())
    for name in ("example.mt", "www.example.mt", "EXAMPLE.mt:8443"):
        assert source.backlinks(name) == [Lead("https://portal.eu/", 1.0, guessed_scheme=True), Lead(hub, 0.5)]
    assert not source.backlinks("unknown.mt")
    assert source.left_out == {"no host or URL": 2, "not between 0 and 1": 1}


def test_a_list_that_is_cut_off_is_an_error_after_its_last_line(tmp_path: Path) -> None:
    path = tmp_path / "sites.tsv.gz"
    path.write_bytes(gzip.compress(b"".join(b"%d.example.mt\n" % n for n in range(9999)))[:-20])
    with pytest.raises(SourceError, match=r"sites\.tsv\.gz: cannot be read to its end"):
        list(candidate_source(f"tsv:{path}").candidates(MALTESE))
    with pytest.raises(SourceError, match=r"sites\.tsv\.gz: cannot be read to its end"):
        backlink_source(f"tsv:{path}")(tmp_path, ())


def test_a_damaged_list_costs_a_discovery_only_its_rest(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "sites.tsv.gz"
    path.write_bytes(gzip.compress(b"a.mt\n" * 2) + gzip.compress(b"b.mt\n" * 9999)[:-20])
    whole = packed(tmp_path / "more.tsv", "c.mt\nno host\n")
    found = Sources([f"tsv:{path}", f"tsv:{whole}"], [], None).candidates(MALTESE)
    assert urls(found) == ["https://a.mt/", "https://b.mt/", "https://c.mt/"]
    assert "sites.tsv.gz: cannot be read to its end" in caplog.text
    assert "more.tsv: left out: no host or URL 1" in caplog.text


@pytest.mark.parametrize("spec", ["", "tsv", "tsv:", "ftp:x", "cc-graphs:x", "example.mt"])
def test_an_unknown_source_is_told_the_known_ones(tmp_path: Path, spec: str) -> None:
    with pytest.raises(SourceError, match="choose cc-index:PATHS or tsv:FILE"):
        candidate_source(spec)
    with pytest.raises(SourceError, match="choose cc-graph:DIR or tsv:FILE"):
        backlink_source(spec)(tmp_path, ())


def test_an_input_that_does_not_exist_is_named(tmp_path: Path) -> None:
    for kind in ("tsv", "cc-index"):
        with pytest.raises(SourceError, match=rf"^{tmp_path}/missing: no "):
            candidate_source(f"{kind}:{tmp_path}/missing")
    for kind in ("tsv", "cc-graph"):
        with pytest.raises(SourceError, match=rf"^{tmp_path}/missing: no such f"):
            backlink_source(f"{kind}:{tmp_path}/missing")(tmp_path, ())
    with pytest.raises(SourceError, match="missing: no such folder"):
        ArchivedPages(str(tmp_path / "missing"))


def test_without_duckdb_the_extra_is_named_and_lists_can_be_read(tmp_path: Path) -> None:
    path = packed(tmp_path / "sites.tsv", "example.mt\n")
    program = (
        "import sys; sys.modules['duckdb'] = None\n"
        "from bilingual_crawler.discovery.ways import candidate_source\n"
        f"candidate_source('tsv:{path}')\n"
        "candidate_source('cc-index:x')"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    error = "SourceError: Common Crawl's tables need DuckDB: pip install 'bilingual-crawler[discovery]'"
    assert error in process.stderr


# ---- Common Crawl's index


def indexed(where: object, pair: LanguagePair = MALTESE) -> list[Lead]:
    return list(candidate_source(f"cc-index:{where}").candidates(pair))


def test_hosts_with_both_languages_are_candidates_the_most_likely_first(tmp_path: Path) -> None:
    rows = [page(f"https://www.example.mt/{n}", "mlt" if n % 2 else "eng,mlt") for n in range(8)]
    rows += [page("https://example.mt/", "mlt,eng", warc_record_offset=11)]
    rows += [page("https://small.mt/a", "mlt"), page("http://small.mt/b", "eng"), page("http://small.mt/c", "eng")]
    rows += [page(f"https://big.com/{n}", "eng") for n in range(300)] + [page("https://big.com/by-mistake", "mlt")]
    rows += [page(f"https://mono.mt/{n}", "mlt,ita") for n in range(3)] + [page("https://none.mt/", None)]
    found = indexed(write_index(tmp_path / "index.parquet", rows))
    assert [(candidate.url, dict(candidate.pages)) for candidate in found] == [
        ("https://www.example.mt/", {"eng": 4, "mlt": 5}),
        ("http://small.mt/", {"eng": 2, "mlt": 1}),
        ("https://big.com/", {"eng": 300, "mlt": 1}),
    ]
    assert 1 > found[0].weight > found[1].weight > found[2].weight > 0


def test_which_pages_make_which_hosts_candidates(tmp_path: Path) -> None:
    rows = [
        # gone, and no HTML
        page("https://gone.mt/", "mlt"),
        page("https://gone.mt/x", "eng", fetch_status=404),
        page("https://gone.mt/y", "eng", content_mime_detected="application/pdf"),
        # two hosts of a domain are one candidate, two domains of a service are none
        page("https://en.example.mt/", "eng"),
        page("https://mt.example.mt/", "mlt"),
        page("https://mt.example.mt/x", "mlt"),
        page("https://a.blogs.com/", "eng", url_host_private_domain="a.blogs.com"),
        page("https://b.blogs.com/", "mlt", url_host_private_domain="b.blogs.com"),
    ]
    # underscores and ports are parts of hosts, blanks are not
    for host in ("a_b.under.mt", "port.mt:8443", "bla nk.mt"):
        rows += [page(f"https://{host}/", "mlt"), page(f"https://{host}/en", "eng")]
    source = candidate_source(f"cc-index:{write_index(tmp_path / 'index.parquet', rows)}")
    assert {candidate.url: candidate.pages for candidate in source.candidates(MALTESE)} == {
        "https://mt.example.mt/": {"eng": 1, "mlt": 2},
        "https://a_b.under.mt/": {"eng": 1, "mlt": 1},
        "https://port.mt:8443/": {"eng": 1, "mlt": 1},
    }
    assert source.left_out == {"no host or URL": 1}


def test_languages_that_count_as_one_count_together(tmp_path: Path) -> None:
    rows = [page("https://a.hr/", "bos"), page("https://a.hr/x", "hrv"), page("https://a.hr/en", "eng")]
    (found,) = indexed(write_index(tmp_path / "index.parquet", rows), LanguagePair.parse("eng-hrv"))
    assert found.pages == {"eng": 1, "hrv": 2}


def test_the_place_of_the_home_page_in_the_archive_is_given(tmp_path: Path) -> None:
    rows = [
        page("https://a.mt/", "mlt", warc_record_offset=100, warc_record_length=50),
        page("https://a.mt/", "mlt", url_query="lang=en", warc_record_offset=200),
        page("https://a.mt/", "mlt", warc_filename="crawl-data/older.warc.gz", warc_record_offset=900),
        page("https://a.mt/en/", "eng"),
        page("https://b.mt/mt/", "mlt"),
        page("https://b.mt/en/", "eng"),
    ]
    found = {candidate.url: candidate.archived for candidate in indexed(write_index(tmp_path / "i.parquet", rows))}
    assert found == {"https://a.mt/": WarcRange("crawl-data/x.warc.gz", 100, 50), "https://b.mt/": None}


def test_the_index_is_read_from_folders_globs_and_lists_of_paths(tmp_path: Path) -> None:
    parts = "cc-index/table/cc-main/warc/crawl=CC-MAIN-2026-21/subset=warc"
    write_index(tmp_path / parts / "part-00000.gz.parquet", [page("https://a.mt/", "mlt")])
    write_index(tmp_path / parts / "part-00001.gz.parquet", [page("https://a.mt/en", "eng")])
    paths = [f"{parts}/part-0000{n}.gz.parquet\n" for n in range(2)]
    packed(tmp_path / "cc-index-table.paths.gz", "".join(paths))
    packed(tmp_path / parts / "beside.txt", "part-00000.gz.parquet\n" + paths[1])
    for where in (".", "cc-index", f"{parts}/*.parquet", "cc-index-table.paths.gz", f"{parts}/beside.txt"):
        assert urls(indexed(tmp_path / where)) == ["https://a.mt/"]
    assert not indexed(tmp_path / parts / "part-00000.gz.parquet")
    packed(tmp_path / "missing.paths", f"{parts}/part-00002.gz.parquet\n")
    with pytest.raises(SourceError, match=r"missing\.paths: .*part-00002.* is not in its folder; download it"):
        indexed(tmp_path / "missing.paths")


def test_a_list_may_hold_addresses(tmp_path: Path) -> None:
    addresses = ["s3://commoncrawl/cc-index/a.parquet", "https://data.commoncrawl.org/cc-index/b.parquet"]
    assert read_list(packed(tmp_path / "index.paths", "\r\n".join(addresses))) == addresses
    with pytest.raises(SourceError, match=r"empty\.paths: no path in it"):
        read_list(packed(tmp_path / "empty.paths", "\n"))
    with pytest.raises(SourceError, match="ftp:// cannot be read: use s3://, https:// or a local path"):
        indexed("ftp://example.org/index.parquet")


@pytest.mark.parametrize("column", ["content_languages", "warc_filename"])
def test_a_file_without_a_column_is_named_with_the_column(tmp_path: Path, column: str) -> None:
    write_index(tmp_path / "a.parquet", [page("https://a.mt/", "mlt")])
    write_index(tmp_path / "b.parquet", [page("https://a.mt/", "mlt")], without=column)
    with pytest.raises(SourceError, match=rf"b\.parquet: no column {column}; give files of cc-index"):
        indexed(tmp_path)


def test_an_index_without_private_domains_is_read_too(tmp_path: Path) -> None:
    rows = [page("https://en.a.mt/", "eng"), page("https://mt.a.mt/", "mlt")]
    assert indexed(write_index(tmp_path / "i.parquet", rows, without="url_host_private_domain"))


def test_a_damaged_index_is_an_error(tmp_path: Path) -> None:
    path = write_index(tmp_path / "i.parquet", [page("https://a.mt/", "mlt")])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(SourceError, match=r"i\.parquet.*download it again"):
        indexed(path)
    packed(tmp_path / "list.paths.gz", "i.parquet\n" * 99)
    os.truncate(tmp_path / "list.paths.gz", 30)
    with pytest.raises(SourceError, match=r"list\.paths\.gz: cannot read this list of paths"):
        indexed(tmp_path / "list.paths.gz")


# ---- Common Crawl's graphs


def write_graph(folder: Path, links: Sequence[tuple[str, str]], hosts: Sequence[str] = (), level: str = "host") -> Path:
    """A graph as published: *links* from host to host; *hosts* without links."""
    names = sorted({reverse(host) for link in links for host in link} | set(map(reverse, hosts)))
    ids = {name: number for number, name in enumerate(names)}
    more = "\t1" if level == "domain" else ""
    packed(folder / f"{RELEASE}-{level}-vertices.txt.gz", "".join(f"{n}\t{name}{more}\n" for name, n in ids.items()))
    edges = sorted((ids[reverse(source)], ids[reverse(target)]) for source, target in links)
    packed(folder / f"{RELEASE}-{level}-edges.txt.gz", "".join(f"{source}\t{target}\n" for source, target in edges))
    return folder


def pruned(graph: Path, hosts: Sequence[str] | None = None, likely: Sequence[str] = ()) -> CommonCrawlGraph:
    table = graph / TABLE
    prune(graph, table, hosts, likely=likely)
    return CommonCrawlGraph(table)


def linking(graph: CommonCrawlGraph, host: str) -> set[str]:
    return {link.url for link in graph.backlinks(host)}


def test_a_graph_tells_who_links_to_a_host_under_both_of_its_names(tmp_path: Path) -> None:
    links = [("hub.org", "example.mt"), ("www.portal.eu", "www.example.mt"), ("hub.org", "other.mt")]
    graph = pruned(write_graph(tmp_path, links))
    for name in ("example.mt", "www.example.mt", "http://WWW.example.mt:8080/x"):
        assert linking(graph, name) == {"https://hub.org/", "https://www.portal.eu/"}
    assert not graph.backlinks("unknown.mt")
    assert not graph.backlinks("no host")
    assert not graph.backlinks("hub.org")


def test_hosts_with_underscores_are_found_and_bad_names_are_counted(tmp_path: Path) -> None:
    graph = pruned(write_graph(tmp_path, [("a_b.org", "c_d.mt"), ("bad host", "c_d.mt"), ("www.c_d.mt", "c_d.mt")]))
    assert linking(graph, "c_d.mt:81") == {"https://a_b.org/"}
    assert graph.left_out == {"no host name": 1, "same site": 1}


def test_a_graph_of_domains_answers_for_the_hosts_of_a_domain(tmp_path: Path) -> None:
    graph = pruned(write_graph(tmp_path, [("hub.org", "example.co.uk")], level="domain"), ["blog.example.co.uk"])
    assert linking(graph, "shop.example.co.uk") == {"https://hub.org/"}


def test_pruning_keeps_the_links_to_the_hosts_asked_about(tmp_path: Path) -> None:
    graph = write_graph(tmp_path, [("hub.org", host) for host in ("example.mt", "www.gov.mt", "other.mt")])
    table = pruned(graph, ["www.example.mt", "gov.mt", "not-in-the-graph.mt"])
    assert linking(table, "example.mt") == linking(table, "gov.mt") == {"https://hub.org/"}
    assert not table.backlinks("other.mt")


@pytest.mark.parametrize("which", ["hosts", "likely"])
def test_a_directory_of_such_hosts_outweighs_one_link_and_a_host_that_links_to_all(tmp_path: Path, which: str) -> None:
    sites = [f"site{n}.mt" for n in range(20)]
    links = [("directory.mt", host) for host in sites] + [("friend.mt", "site0.mt")]
    links += [("everything.com", host) for host in (*sites, *(f"{n}.com" for n in range(500)))]
    graph = pruned(write_graph(tmp_path, links), **{which: sites})
    found = graph.backlinks("site0.mt")
    assert urls(found) == ["https://directory.mt/", "https://friend.mt/", "https://everything.com/"]
    assert all(0 < link.weight < 1 for link in found)
    assert len(graph.backlinks("7.com")) == (which == "likely")


def test_the_heaviest_thousand_backlinks_are_returned(tmp_path: Path) -> None:
    links = [(f"hub{n}.org", host) for n in range(1100) for host in ("example.mt", "other.mt")[: 1 + n % 2]]
    found = pruned(write_graph(tmp_path, links)).backlinks("example.mt")
    assert len(found) == 1000
    assert Counter(link.weight for link in found).most_common(1)[0] == (found[0].weight, 550)


HOST = st.sampled_from([www + name for www in ("", "www.", "x_y.") for name in ("a.mt", "b.mt", "c.uk", "d.uk")])


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(links=st.sets(st.tuples(HOST, HOST), min_size=1), asked=st.none() | st.sets(HOST))
def test_a_table_answers_like_the_list_of_links(
    tmp_path_factory: pytest.TempPathFactory, links: set[tuple[str, str]], asked: set[str] | None
) -> None:
    folder = write_graph(tmp_path_factory.mktemp("graph"), sorted(links))
    graph = pruned(folder, asked if asked is None else sorted(asked))
    known = None if asked is None else set(map(bare_host, asked))
    for host in sorted({host for link in links for host in link}):
        bare = bare_host(host)
        site = host.split(".")[-2:]
        expected = {
            f"https://{source}/"
            for source, target in links
            if bare_host(target) == bare and source.split(".")[-2:] != site and (known is None or bare in known)
        }
        assert linking(graph, host) == expected


def test_a_graph_is_pruned_again_only_for_other_hosts_or_files(tmp_path: Path) -> None:
    folder = write_graph(tmp_path / "graph", [("hub.org", "example.mt"), ("hub.org", "other.mt")])

    def made(*hosts: str, likely: Sequence[str] = ()) -> int:
        prune(folder, tmp_path / TABLE, hosts, likely=likely)
        return (tmp_path / TABLE).stat().st_mtime_ns

    first = made("example.mt", "www.example.mt")
    assert made("example.mt") == first
    assert made("example.mt", "other.mt") != first
    second = made("example.mt")
    third = made("example.mt", likely=["other.mt"])
    assert third != second
    write_graph(folder, [("hub.org", "example.mt"), ("new.org", "example.mt")])
    assert made("example.mt", likely=["other.mt"]) != third
    elsewhere = backlink_source(f"cc-graph:{tmp_path / TABLE}")(tmp_path / "unused", ())
    assert {link.url for link in elsewhere.backlinks("example.mt")} == {"https://hub.org/", "https://new.org/"}


def test_hosts_that_link_to_candidates_come_first_and_a_damaged_graph_costs_only_its_backlinks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    links = [("everything.com", f"{n}.com") for n in range(30)]
    links += [(host, target) for host in ("everything.com", "directory.mt") for target in ("a.mt", "b.mt", "found.mt")]
    whole = write_graph(tmp_path / "whole", links)
    damaged = write_graph(tmp_path / "damaged", links)
    edges = damaged / f"{RELEASE}-host-edges.txt.gz"
    edges.write_bytes(edges.read_bytes()[:-20])
    candidates = packed(tmp_path / "candidates.tsv", "a.mt\nb.mt\n")
    sources = Sources([f"tsv:{candidates}"], [f"cc-graph:{damaged}", f"cc-graph:{whole}"], None)
    list(sources.ways(sources.candidates(MALTESE)))
    assert not sources.ways_back("https://found.mt/")
    sources.open(tmp_path)
    assert urls(sources.ways_back("https://found.mt/")) == ["https://directory.mt/", "https://everything.com/"]
    assert f"backlinks=cc-graph:{damaged}: " in caplog.text


def test_shards_are_read_as_their_list_names_them(tmp_path: Path) -> None:
    for kind, parts in {"vertices": ("0\tmt.a\n", "1\torg.hub\n"), "edges": ("0\t1\n", "1\t0\n")}.items():
        paths = [f"projects/hyperlinkgraph/{RELEASE}/host/{kind}/part-{n}.txt.gz" for n in range(2)]
        for n, part in enumerate(parts):
            packed(tmp_path / kind / f"part-{n}.txt.gz", part)
        packed(tmp_path / f"{RELEASE}-host-{kind}.paths.gz", "\n".join(paths))
    assert linking(pruned(tmp_path), "a.mt") == {"https://hub.org/"}
    for path in tmp_path.glob("*.paths.gz"):
        path.unlink()
    (tmp_path / TABLE).unlink()
    assert linking(pruned(tmp_path), "a.mt") == {"https://hub.org/"}


VERTICES, EDGES = f"{RELEASE}-host-vertices.txt.gz", f"{RELEASE}-host-edges.txt.gz"


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (EDGES, "0\t1\n1\t7\n",
         "an edge has the end 7, but the vertices end at 1; give vertices and edges of the same"),
        (EDGES, "9\t1\n", "an edge has the end 9"),
        (EDGES, "0\t1\n1\t\n", "1 ends of edges are missing"),
        (EDGES, "", "no edges"),
        (EDGES, "0\t1\nzero\tone\n", "download it again"),
        (EDGES, "0\t1\t2\n", "download it again"),
        (VERTICES, "0\tmt.a\n2\torg.hub\n", "2 vertices, but ids from 0 to 2; download all their files"),
        (VERTICES, "0\tmt.a\n1\t\n", "1 vertices lack id or name"),
        (VERTICES, "mt.a\norg.hub\n", "1 columns, expected id and reversed name"),
        (VERTICES, "", "1 columns, expected id and reversed name"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("asked", [None, ["a.mt"]])
def test_vertices_and_edges_that_do_not_fit_are_an_error(
    tmp_path: Path, file: str, content: str, message: str, asked: list[str] | None
) -> None:
    packed(write_graph(tmp_path, [("a.mt", "hub.org"), ("hub.org", "a.mt")]) / file, content)
    with pytest.raises(SourceError, match=rf"^{tmp_path}.*{message}"):
        pruned(tmp_path, asked)
    assert {path.name for path in tmp_path.iterdir()} == {VERTICES, EDGES}


@pytest.mark.parametrize("file", [VERTICES, EDGES])
@pytest.mark.parametrize("bytes_left", [5, 400])
def test_a_file_that_is_cut_off_is_an_error_and_leaves_no_table(tmp_path: Path, file: str, bytes_left: int) -> None:
    write_graph(tmp_path, [(f"{n}.org", "a.mt") for n in range(2000)])
    os.truncate(tmp_path / file, bytes_left)
    with pytest.raises(SourceError, match=rf"{tmp_path}.*download it again"):
        pruned(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {VERTICES, EDGES}


def test_graphs_that_are_mixed_or_incomplete_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"vertices and edges of one graph are not there \(found: none\)"):
        pruned(tmp_path)
    write_graph(tmp_path, [("hub.org", "a.mt")])
    (tmp_path / EDGES).rename(tmp_path / "cc-main-2025-jan-feb-mar-host-edges.txt.gz")
    with pytest.raises(SourceError, match="vertices and edges of one graph are not there"):
        pruned(tmp_path)
    write_graph(tmp_path, [("hub.org", "a.mt")])
    write_graph(tmp_path, [("hub.org", "a.mt")], level="domain")
    with pytest.raises(SourceError, match=f"several graphs .*{RELEASE}-domain, {RELEASE}-host"):
        pruned(tmp_path)


def test_a_damaged_table_is_an_error_or_made_again_where_its_graph_is(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"x\.duckdb: no table of backlinks"):
        backlink_source(f"cc-graph:{packed(tmp_path / 'x.duckdb', 'text' * 9999)}")(tmp_path, ())
    write_graph(tmp_path, [("hub.org", "a.mt")])
    packed(tmp_path / TABLE, "text" * 9999)
    assert linking(pruned(tmp_path), "a.mt") == {"https://hub.org/"}


# ---- Common Crawl's pages


def archive(folder: Path, body: bytes) -> list[WarcRange]:
    """Write ``data/crawl-00000.warc.gz``; returns the places of its information, a response and a request."""
    writer = WarcWriter(folder / "data")
    headers, fetched = [(b"Content-Type", b"text/html")], datetime(2026, 5, 12, tzinfo=UTC)
    writer.write_exchange(Exchange("https://example.mt/", "GET", [], 200, headers, body, fetched))
    writer.close()
    name = "data/crawl-00000.warc.gz"
    with (folder / name).open("rb") as file:
        return [WarcRange(name, one.offset, one.end - one.offset) for one in read_members(file.fileno())]


@pytest.mark.parametrize("remote", [False, True])
def test_a_page_is_read_from_its_place_in_an_archive(tmp_path: Path, remote: bool) -> None:
    information, response, request = archive(tmp_path, b"<html>Merhba</html>")
    with served(tmp_path) as address:
        pages = ArchivedPages(address if remote else str(tmp_path))
        found = pages.read(response)
        assert found is not None
        assert (found.url, found.status, found.body) == ("https://example.mt/", 200, b"<html>Merhba</html>")
        assert not pages.left_out
        _, offset, length = response
        for place in (information, request, response._replace(offset=offset + 1), response._replace(length=length - 9)):
            assert pages.read(place) is None
        for offset in (10**9, -1):
            assert pages.read(response._replace(offset=offset)) is None
        for length in (0, 1 << 40):
            assert pages.read(response._replace(length=length)) is None
        for name in ("data/other.warc.gz", "../secret.warc.gz", "/etc/passwd"):
            assert pages.read(response._replace(filename=name)) is None
    assert pages.left_out == {
        "no response": 2, "damaged record": 3, "not a place in an archive": 4, "too long": 1,
        "HTTP 404" if remote else "no such file": 1,
    }  # fmt: skip


def test_a_page_that_unpacks_to_more_than_the_limit_is_left_out(tmp_path: Path) -> None:
    _, response, _ = archive(tmp_path, b"0" * (2 << 20))
    assert response.length < 1 << 16
    pages = ArchivedPages(str(tmp_path), max_bytes=1 << 20)
    assert pages.read(response) is None
    assert pages.left_out == {"too long": 1}


def test_a_server_that_sends_whole_files_or_nothing_is_counted(tmp_path: Path) -> None:
    _, response, _ = archive(tmp_path, b"<html>")
    with served(tmp_path, cuts=False) as address:
        pages = ArchivedPages(address)
        assert pages.read(response) is None
    assert pages.read(response) is None
    assert pages.left_out == {"server does not cut files": 1, "no answer": 1}


def test_a_server_that_trickles_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, response, _ = archive(tmp_path, b"<html>")
    monkeypatch.setattr(cc_pages, "TIMEOUT", 0.2)
    with served(tmp_path, pause=0.02) as address:
        pages = ArchivedPages(address, user_agent="crawler (+https://malti.example/paġna)")
        assert pages.read(response) is None
    assert pages.left_out == {"too slow": 1}


# ---- files in the published formats


@pytest.fixture
def fixtures(shared_data: Path) -> Path:
    folder = shared_data / "discovery" / "cc_fixtures"
    if not folder.is_dir():
        pytest.skip(f"no files in the formats of Common Crawl at {folder}")
    return folder


@pytest.mark.parametrize(
    ("pair", "hosts"),
    [("eng-isl", ["www.safn.is", "tours.com"]), ("eng-mlt", ["www.example.mt"]), ("fin-swe", ["kirja.fi"])],
)
def test_the_published_format_of_the_index_is_read(fixtures: Path, pair: str, hosts: list[str]) -> None:
    place = WarcRange("crawl-data/CC-MAIN-2026-21/segments/1.1/warc/CC-MAIN-x-00000.warc.gz", 100, 1000)
    found = indexed(fixtures / "cc-index", LanguagePair.parse(pair))
    assert [(candidate.url, candidate.archived) for candidate in found] == [(f"https://{h}/", place) for h in hosts]
    with pytest.raises(SourceError, match="no column content_languages"):
        indexed(fixtures / "host-index-testing")


@pytest.mark.parametrize("level", ["host", "domain"])
def test_the_published_formats_of_graphs_are_read(fixtures: Path, tmp_path: Path, level: str) -> None:
    graph = backlink_source(f"cc-graph:{fixtures / level}")(tmp_path, ())
    www = "www." if level == "host" else ""
    directory = "is.directory.org" if level == "host" else "directory.org"
    expected = {"https://tenglar.is/", f"https://{directory}/", f"https://{www}portal.eu/"}
    for host in ("safn.is", "www.safn.is"):
        assert {link.url for link in graph.backlinks(host)} == expected
