"""``scrapy mine``: pairs of URLs on both engines, records by range, buckets that stay done."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.crawls import each, ended_well
from support.range_server import serve_ranges
from support.refusals import refused
from support.tables import json_lines
from support.waits import wait_for
from support.webserver import run_scrapy, start_scrapy

from bilingual_crawler.discovery.sites import expected_pairs, read_bilingual
from bilingual_crawler.discovery.ways import candidate_source
from bilingual_crawler.items import Document
from bilingual_crawler.languages.codes import DEFAULT_EQUIVALENTS, LanguageError, LanguagePair
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.mining import duck, records
from bilingual_crawler.mining.duck import DuckEngine
from bilingual_crawler.mining.run import Mining
from bilingual_crawler.mining.stored import AskedPairs, MiningError, MiningRequest
from bilingual_crawler.mining.urls import mine_urls, table_of_crawl
from bilingual_crawler.settings import BILINGUAL_USER_AGENT
from bilingual_crawler.storage.records import DOCUMENTS, GzipJsonLines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.mining.duck import Engine
    from bilingual_crawler.mining.spark import SparkEngine
    from bilingual_crawler.mining.urls import UrlStage

PAIRED = 54
"""Pairs by content; the addresses make 57 couples, of which four have an Icelandic page that is mostly in English."""
SETTINGS = {"BILINGUAL_ENCODER": ""}
COLUMNS = ("url", "content_languages", "warc_filename", "warc_record_offset", "warc_record_length")


def write_table(file: Path, rows: Iterable[tuple[str, str]], **more: list[Any]) -> str:
    """A table of URLs and languages."""
    urls, languages = zip(*rows, strict=True)
    places = (["x.warc.gz"] * len(urls), range(len(urls)), [1000] * len(urls))
    table = dict(zip(COLUMNS, (urls, languages, *places), strict=True)) | more
    pq.write_table(pa.table(table), file)
    return str(file)


def mined(
    folder: Path, files: list[str], pairs: str, engine: Engine | None = None, crawls: Sequence[Path] = ()
) -> UrlStage:
    """What the first stage finds in *files* and *crawls*, on DuckDB unless another *engine* is given."""
    folder.mkdir(exist_ok=True)
    return mine_urls(engine or DuckEngine(folder), crawls, files, AskedPairs(pairs, DEFAULT_EQUIVALENTS), folder)


def found_in(stage: UrlStage) -> set[tuple[str, str, str, float]]:
    return {(row["url_a"], row["url_b"], row["method"], row["score"]) for row in stage.found.to_pyarrow().to_pylist()}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkEngine:
    pytest.importorskip("pyspark", reason="needs PySpark, of the extra spark, and takes half a gigabyte")
    if not shutil.which("java"):
        pytest.skip("no java here; apt-get install default-jre-headless")
    os.environ["JAVA_TOOL_OPTIONS"] = "-XX:TieredStopAtLevel=1"  # short jobs are not worth the best code
    from bilingual_crawler.mining.spark import SparkEngine

    return SparkEngine(tmp_path_factory.mktemp("spark"))


# ---- pairs of URLs


def test_urls_that_differ_by_their_language_only_are_pairs(tmp_path: Path) -> None:
    """The cases of CCAligned's Table 1, and what must not be one."""
    pairs = [
        ("https://eng.aaa.com/", "https://aaa.com/"),
        ("https://bbb.com/en-gb/b", "https://bbb.com/zh-cn/b"),
        ("https://ccc.com/English/b", "https://ccc.com/Chinese/b"),
        ("https://ddd.com/b/en", "https://ddd.com/b/zh"),
        ("https://eee.com/b?lang=en", "https://eee.com/b?lang=zh"),
        ("https://fff.com/b", "https://fff.com/b?lang=1"),
    ]
    rows = [(url, language) for pair in pairs for url, language in zip(pair, ("eng,zho", "zho"), strict=True)]
    rows += [
        ("http://www.bbb.com/en-gb/b", "eng"),  # shorter than its copy
        ("https://bbb.com/x/b", "zho"),
        ("https://bbb.com/fr/c", "eng"),  # names another language
        ("https://bbb.com/zh-cn/c", "zho"),
        ("https://only.com/en/b", "eng"),  # no Chinese on its domain
        ("https://ggg.com/en/b", "eng"),
        ("https://hhh.com/zh/b", "zho"),
        ("https://iii.com/en/long", "eng"),
        ("https://iii.com/zh/long", "zho"),
    ]
    lengths = [1000] * len(rows)
    lengths[12], lengths[-1] = 900, 9000
    table = write_table(tmp_path / "index.parquet", rows, warc_record_length=lengths)
    stage = mined(tmp_path / "work", [table], "eng-zho")
    assert {(a, b) for a, b, method, score in found_in(stage)} == set(pairs)
    counted = {"rows": 21, "in_languages": 21, "in_domains": 18, "duplicates": 1, "domains": 7, "url_pairs": 6}
    assert stage.counts == counted


def test_a_crawl_is_a_table_with_announcements(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    lines = GzipJsonLines(crawl / DOCUMENTS)
    announced = {"/one": ["https://a.is/ein"], "/ein": ["https://www.a.is/one#top"], "/en/two": ["https://a.is/tvo"]}
    for path, language in {"/one": "eng", "/ein": "isl", "/en/two": "eng", "/is/two": "isl", "/tvo": "isl"}.items():
        alternates = [("x", url) for url in announced.get(path, ())]
        url = f"https://a.is{path}"
        lines.write(Document(url, language, [], True, "", path, "", 200, 0, None, None, "x.warc.gz", 7, alternates, []))
    lines.close()
    other = write_table(tmp_path / "index.parquet", [("https://b.is/en/", "eng"), ("https://b.is/is/", "isl")])
    stage = mined(tmp_path / "work", [other], "eng-isl", crawls=[crawl])
    assert found_in(stage) == {
        ("https://a.is/one", "https://a.is/ein", "hreflang", 0.99),
        ("https://a.is/en/two", "https://a.is/tvo", "hreflang", 0.95),
        ("https://b.is/en/", "https://b.is/is/", "url", 0.85),
    }
    (place,) = {row["file_a"] for row in stage.found.to_pyarrow().to_pylist()} - {"x.warc.gz"}
    assert place == str(crawl / "x.warc.gz")


def test_documents_of_a_crawl_that_are_none_are_left_out(tmp_path: Path) -> None:
    good = {"url": "https://a.example/", "language": "eng", "text": "x", "warc_file": "a.warc.gz", "warc_offset": 0}
    strange: list[Any] = [
        *({"text": 3}, {"language": None}, {"alternates": "es"}, {"warc_file": "/etc/passwd"}),
        *({"warc_file": "../a.warc.gz"}, {"warc_offset": "0"}, {"warc_offset": 1 << 70}),
    ]
    lines = ({**good, "url": f"https://a.example/{number}", **one} for number, one in enumerate(strange))
    records = [json.dumps(line).encode() for line in (good, *lines, {"url": "https://a.example/"})]
    (tmp_path / DOCUMENTS).write_bytes(b"".join(map(gzip.compress, records)))
    rows = pq.read_table(table_of_crawl(tmp_path, tmp_path)).to_pylist()
    assert [row["url"] for row in rows] == ["https://a.example/"]


def test_broken_utf8_in_a_table_does_no_harm(tmp_path: Path) -> None:
    broken = (b"https://a.is/en/\xff", b"https://a.is/is/\xed\xa0\x80")
    urls = pa.array([b"https://a.is/en/", b"https://a.is/is/", *broken])
    rows = [("", language) for language in ("eng", "isl", "eng", "isl")]
    file = write_table(tmp_path / "index.parquet", rows, url=urls.view(pa.string()))
    stage = mined(tmp_path / "work", [file], "eng-isl")
    assert ("https://a.is/en/", "https://a.is/is/", "url", 0.85) in found_in(stage)
    assert stage.counts["in_domains"] == 4


def test_a_star_stands_for_the_languages_that_there_are() -> None:
    asked = AskedPairs("eng-*,mlt-isl", DEFAULT_EQUIVALENTS)
    assert list(map(str, asked.among(["isl", "eng", "hrv", "zz"]))) == ["mlt-isl", "eng-hrv", "eng-isl"]
    with pytest.raises(LanguageError, match="no language beside eng"):
        AskedPairs("eng-*", ()).among(["eng"])


def test_large_domains_are_cut_by_directory(tmp_path: Path) -> None:
    folders = [("eng", "en/x"), ("eng", "en/y"), ("isl", "is/x"), ("isl", "is/y")]
    rows = [(f"https://a.is/{folder}/{n}", language) for language, folder in folders for n in range(5)]
    rows += [("https://b.is/en/", "eng"), ("https://b.is/is/", "isl")]
    stage = mined(tmp_path / "w", [write_table(tmp_path / "i.parquet", rows)], "eng-isl")
    units: dict[int, set[str]] = {}
    for row in stage.plan(4, large=10).to_pyarrow().to_pylist():
        units.setdefault(row["unit"], set()).add(row["url"].split("/")[4] if "a.is" in row["url"] else "")
        assert row["bucket"] == row["unit"] % 4
    assert sorted(units.values(), key=sorted) == [{""}, {"x"}, {"y"}]


def real_looking(rows: int) -> dict[str, Any]:
    """*rows* rows of an index: three languages, three ways to name them, copies, errors of every kind."""
    random = Random(7)
    table: dict[str, Any] = {name: [] for name in (*COLUMNS, "content_digest", "fetch_status")}
    for number in range(rows):
        domain, page = random.randrange(rows // 100), random.randrange(40)
        language = random.choice(("eng", "isl", "fra", "deu"))
        code = language[:2]
        path = (f"{code}/page-{page}.html", f"dir/{page}/?lang={code}", f"page-{page}.{code}.html")[domain % 3]
        start = random.choice(("https://", "http://", "https://www."))
        table["url"].append(f"{start}site-{domain}.example.org/{path}")
        table["content_languages"].append(random.choice((language, language, f"{language},deu", None, "fra")))
        table["warc_filename"].append(f"{number % 9}.warc.gz")
        table["warc_record_offset"].append(number)
        table["warc_record_length"].append(random.randrange(500, 3000))
        table["content_digest"].append(f"{random.randrange(rows)}")
        table["fetch_status"].append(random.choice((200, 200, 200, 404)))
    # one URL is no UTF-8
    table["content_languages"][0], table["fetch_status"][0] = "eng", 200
    table["url"] = pa.array([b"https://site-1.example.org/\xff", *map(str.encode, table["url"][1:])]).view(pa.string())
    return table


def rows_of(table: Any) -> list[str]:
    # DuckDB writes another sign for what is no UTF-8
    return sorted(repr(list(row.values())).replace("\ufffd", "?") for row in table.to_pyarrow().to_pylist())


def test_both_engines_find_the_same(tmp_path: Path, spark: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duck, "ROWS", 4096)  # several processes add keys
    file = tmp_path / "index.parquet"
    pq.write_table(pa.table(real_looking(20_000)), file)
    one = mined(tmp_path / "duck", [str(file)], "eng-isl,eng-fra")
    other = mined(tmp_path / "spark", [str(file)], "eng-isl,eng-fra", spark)
    assert one.counts == other.counts
    assert one.counts["url_pairs"] > 500
    assert one.counts["duplicates"] > 100
    assert rows_of(one.found) == rows_of(other.found)
    assert rows_of(one.domains) == rows_of(other.domains)
    assert rows_of(one.plan(16)) == rows_of(other.plan(16))


# ---- records


@pytest.fixture(scope="module")
def sites(shared_data: Path) -> Path:
    return shared_data / "common-crawl" / "frozen-sites-as-cc"


def request(sites: Path, out: Path, **more: Any) -> MiningRequest:
    given = {"inputs": (str(sites / "index"),), "base": str(sites), "formats": ()} | more
    return MiningRequest(pairs="eng-isl", out=out, buckets=8, rate=100.0, user_agent="x", settings=SETTINGS, **given)


def pairs_in(out: Path) -> list[tuple[str, str]]:
    rows = [row for file in out.glob("pairs/pair=eng-isl/*.parquet") for row in pq.read_table(file).to_pylist()]
    return sorted((row["url_a"], row["url_b"]) for row in rows)


@pytest.mark.slow
def test_a_mining_survives_a_bad_server_and_a_kill(sites: Path, tmp_path: Path) -> None:
    index = pq.read_table(sites / "index" / "part-0.parquet")
    first = index.slice(0, 1).to_pylist()[0]
    bad = {
        "another record": {},
        "damaged record": {"warc_record_length": first["warc_record_length"] - 100},
        "HTTP 404": {"warc_filename": "crawl-data/none.warc.gz"},
        "too long": {"warc_record_length": 40 << 20},
        "not a place in an archive": {"warc_filename": "../secret"},
    }
    rows = [first | {"url": f"https://irhpcwiki.hi.is/{n}/"} | values for n, values in enumerate(bad.values())]
    file = tmp_path / "index.parquet"
    pq.write_table(pa.concat_tables([index, pa.Table.from_pylist(rows, schema=index.schema)]), file)
    of_tor = [row for row in index.to_pylist() if row["url_host_private_domain"] == "torproject.org"]
    tor = {(Path(row["warc_filename"]).name, row["warc_record_offset"]) for row in of_tor}
    whole = "documents,documents-parquet,monolingual,monolingual-parquet"
    command = (
        *("mine", str(file), "--pairs", "en-is", "--out", "out", "--buckets", "8", "--rate", "20", "--hosts"),
        *("--bitext", "bitext", "--formats", f"tmx,{whole}"),
        *each("-s", "BILINGUAL_ENCODER=", "BILINGUAL_CONTACT=https://who.example/"),
    )
    faults = {("00001.warc.gz", 1): 0, ("00002.warc.gz", 1): 503}
    with serve_ranges(sites) as site:
        site.fault = lambda name, offset, number: faults.get((name, number))
        site.held = lambda name, offset: (name, offset) in tor
        process = start_scrapy(tmp_path, *command, "--base-url", site.url)
        wait_for(lambda: any(tmp_path.glob("out/done/*.json")))
        workers = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert not psutil.wait_procs(workers, timeout=20)[1]
        assert len(list(tmp_path.glob("out/done/*.json"))) == 1
        before = site.asked.copy()
        site.held = lambda name, offset: False
        run = ended_well(run_scrapy(tmp_path, *command, "--base-url", site.url))
        again = site.asked - before
        assert again
        assert again.keys() <= tor
        assert site.agents == {f"{BILINGUAL_USER_AGENT} (+https://who.example/)"}
        for i, start in enumerate(site.times):
            # each of the processes of both runs may begin at once
            within = [moment for moment in site.times[i:] if moment < start + 1]
            assert len(within) <= 20 + 2 * (os.cpu_count() or 1)
    pairs = pairs_in(tmp_path / "out")
    assert len(pairs) == len(set(pairs)) == PAIRED
    report = json.loads((tmp_path / "out" / "report.json").read_bytes())
    total = report["content"]["total"]
    assert total["left_out"] == dict.fromkeys(bad, 1) | total["left_out"]
    assert all(total["left_out"][reason] == 1 and "hi.is/" in total["examples"][reason] for reason in bad)
    assert sum(total["pairs"]["eng-isl"].values()) == PAIRED
    assert report["sentence_pairs"]["eng-isl"] > 300
    assert "another record: 1, such as https://irhpcwiki.hi.is/0/" in run.stdout
    # whole documents are there once each, those of the bucket that was done before the kill, too
    folder, paired = tmp_path / "bitext", {url for pair in pairs for url in pair}
    assert {file.name for file in folder.iterdir()} == {
        "README.md",
        *("en-is.tmx.gz", "en-is.summary.json", "en-is.documents.jsonl.gz", "en-is.documents.parquet"),
        *("en-is.monolingual.jsonl.gz", "en-is.monolingual.parquet"),
    }
    documents, alone = (json_lines(folder / f"en-is.{kind}.jsonl.gz") for kind in ("documents", "monolingual"))
    assert len(documents) == pq.read_table(folder / "en-is.documents.parquet").num_rows == PAIRED
    assert len(alone) == pq.read_table(folder / "en-is.monolingual.parquet").num_rows
    assert {row["url"][language] for row in documents for language in ("en", "is")} == paired
    assert len({row["url"] for row in alone}) == len(alone)
    assert {row["url"] for row in alone if row["paired"]} <= paired
    assert 100 < sum(row["paired"] for row in alone) < len(alone)
    assert {row["language"] for row in alone} == {"en", "is"}
    assert all(row["paragraphs"] for row in alone)
    # crawls and discoveries can read the table of sites
    table = tmp_path / "out" / "sites.tsv"
    assert {row["site"] for row in read_bilingual(table)} == {"hi.is", "torproject.org"}
    assert expected_pairs(table, LanguagePairs.parse("eng-isl"))["hi.is"] > 30
    one, other = candidate_source(f"tsv:{table}").candidates(LanguagePair("eng", "isl"))
    assert (one.url, other.url) == ("https://irhpcwiki.hi.is/", "https://tb-manual.torproject.org/")
    assert other.pages == {"eng": 66, "isl": 19}


def test_spark_finds_the_same_pairs_of_documents(sites: Path, tmp_path: Path, spark: SparkEngine) -> None:
    results = {}
    for name, engine in (("duck", DuckEngine(tmp_path / "work")), ("spark", spark)):
        mining = Mining(request(sites, tmp_path / name))
        urls = mining.mine_urls(engine)
        content = mining.mine_content(engine, urls, lambda: None)
        assert not content.failed
        results[name] = (pairs_in(tmp_path / name), content.total)
    assert results["duck"] == results["spark"]
    assert len(results["duck"][0]) == 57


def test_a_folder_has_one_choice_of_what_is_spooled(sites: Path, tmp_path: Path) -> None:
    Mining(request(sites, tmp_path, formats=("documents",)))
    Mining(request(sites, tmp_path, formats=("tmx",)))
    with pytest.raises(MiningError, match="other monolingual; give another"):
        Mining(request(sites, tmp_path, formats=("documents", "monolingual")))
    # of an earlier version
    mark = json.loads((tmp_path / "mining.json").read_bytes())
    mark = {name: value for name, value in mark.items() if name != "monolingual" and not name.startswith("BILINGUAL_")}
    (tmp_path / "mining.json").write_text(json.dumps(mark))
    Mining(request(sites, tmp_path, formats=("tmx",)))
    # documents that are kept are there for other formats
    for formats in (("tmx", "monolingual"), ("tmx",), ("monolingual",)):
        Mining(request(sites, tmp_path / "kept", formats=formats))
        assert json.loads((tmp_path / "kept" / "mining.json").read_bytes())["monolingual"]


def test_a_folder_has_one_choice_of_settings(sites: Path, tmp_path: Path) -> None:
    first = request(sites, tmp_path)
    Mining(first)
    others = {"MIN_SCORE": "0.9", "DETECTORS": "cld2,heliport", "EQUIVALENT_LANGUAGES": "nor nno", "MASK_PERSONAL": "1"}
    for name, value in others.items():
        with pytest.raises(MiningError, match=f"other BILINGUAL_{name}; give another"):
            Mining(replace(first, settings=first.settings | {f"BILINGUAL_{name}": value}))
    Mining(replace(first, settings=first.settings | {"BILINGUAL_MIN_SCORE": "0.50"}))


def test_requests_keep_their_distance_after_a_long_sleep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system may let a process sleep for longer than it asked; the next request comes no sooner for that."""
    (tmp_path / "a.warc.gz").write_bytes(b"0123456789")
    now, begun = 100.0, []

    def sleep(seconds: float) -> None:
        nonlocal now
        now += 1.5 * seconds

    monkeypatch.setattr(records, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    with serve_ranges(tmp_path) as site:
        opened = records.HttpRanges(site.url, 0.5, "x")
        for n in range(4):
            assert opened.get("a.warc.gz", n, 1) == str(n).encode()
            begun.append(now)
            now += 0.5  # what the caller takes
    assert [later - earlier >= 2 for earlier, later in pairwise(begun)] == [True] * 3


@pytest.mark.slow
def test_a_bucket_that_fails_is_left_to_the_next_run(sites: Path, tmp_path: Path) -> None:
    engine = DuckEngine(tmp_path / "work")
    engine.processes = 1  # another one would begin for each run
    with serve_ranges(sites) as site:
        broken = Mining(request(sites, tmp_path / "out", base=site.url))
        urls = broken.mine_urls(engine)
        (plan_file,) = (tmp_path / "out" / "plan" / f"bucket={urls.buckets[0]}").iterdir()
        content = plan_file.read_bytes()
        plan_file.write_bytes(b"damaged")
        first = broken.mine_content(engine, urls, lambda: None)
        assert list(first.failed) == urls.buckets[:1]
        assert first.done == 1
        plan_file.write_bytes(content)
        asked = site.asked.total()
        done: list[None] = []
        again = Mining(request(sites, tmp_path / "out", base=site.url))
        second = again.mine_content(engine, urls, lambda: done.append(None))
        assert (second.failed, second.done) == ({}, len(done)) == ({}, 2)
        assert site.asked.total() > asked
    assert len(pairs_in(tmp_path / "out")) == PAIRED


# ---- what cannot be mined


GOOD = ("index.parquet", "--pairs", "eng-isl", "--out", "o")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("index.parquet", "--pairs", "eng-isl"), "--out is missing"),
        (("index.parquet", "--out", "o"), "--pairs is missing"),
        ((*GOOD, "--bitext", "b", "--formats", "docx"), "--formats=docx: choose one of bitextor"),
        ((*GOOD, "--bitext", "b", "--formats", "jsonl"), "--base-url is missing"),
        ((*GOOD, "--formats", "jsonl"), "--formats=jsonl: give a folder for the sentences, too: --bitext DIR"),
        (("none.parquet", "--pairs", "eng-isl", "--out", "o"), "none.parquet: no Parquet file there"),
        (("index.parquet", "--pairs", "eng-klingon", "--out", "o"), "unknown language 'klingon'"),
        (GOOD, "--base-url is missing"),
        ((*GOOD, "--base-url", "none"), "--base-url none: no such folder"),
        ((*GOOD, "--base-url", "https://x.org/"), "BILINGUAL_CONTACT"),
        ((*GOOD, "--stage", "content"), "begin with --stage urls"),
        (("poor.parquet", "--pairs", "eng-isl", "--out", "o", "--stage", "urls"), "no column content_languages"),
        (("index.parquet", "--pairs", "eng-isl", "--out", "full"), "not empty"),
        ((*GOOD, "--rate", "0"), "--rate=0.0"),
        (("crawl", "--pairs", "eng-isl", "--out", "o"), "crawl has no archive to read the pages from"),
    ],
)
def test_errors_name_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: Any, said: str
) -> None:
    from scrapy.cmdline import execute

    write_table(tmp_path / "index.parquet", [("https://a.is/en/", "eng"), ("https://a.is/is/", "isl")])
    pq.write_table(pa.table({"url": ["https://a.is/"]}), tmp_path / "poor.parquet")
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / DOCUMENTS).write_bytes(gzip.compress(b'{"url": "https://a.is/"}\n'))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "bilingual_crawler.settings")
    assert said in refused(capsys, execute, ("scrapy", "mine", *arguments))
