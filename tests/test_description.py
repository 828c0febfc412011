"""A crawl described in a TOML file, and the file that every crawl writes."""

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError
from scrapy.extensions.memusage import MemoryUsage
from scrapy.settings import Settings
from support.crawls import each, ended_well, refused
from support.webserver import bilingual_site, run_scrapy, serve, varied

from bilingual_crawler.commands import PROJECT_SETTINGS
from bilingual_crawler.crawl.description import read_description, write_description
from bilingual_crawler.crawl.spiders.arguments import parse_seeds
from bilingual_crawler.crawl.spiders.bilingual import BilingualSpider
from bilingual_crawler.storage.records import read_tsv

PAGES = 6


def project(**changes: object) -> Settings:
    settings = Settings(PROJECT_SETTINGS, priority="project")
    settings.setdict(changes, priority="cmdline")
    return settings


def rows(folder: Path, name: str, *left_out: str) -> list[dict[str, str]]:
    return [{key: row[key] for key in row if key not in left_out} for row in read_tsv(folder / name)]


def test_a_crawl_is_repeated_from_the_file_that_it_has_written(tmp_path: Path) -> None:
    with serve(varied(bilingual_site(PAGES))) as site:
        (tmp_path / "seeds.txt").write_text(f"{site.url.removeprefix('http://')}/en/  # a guess\n{site.url}/es/\n")
        (tmp_path / "mine.toml").write_text(
            """
            [arguments]
            pair = ["eng-spa"]
            seeds = "seeds.txt"
            policy = "bfs"
            max_pages = 10
            [settings]
            BILINGUAL_ALIGN = ""
            BILINGUAL_STALE_PAGES = 0
            BILINGUAL_LINK_SOURCES = ["a"]
            CONCURRENT_REQUESTS = 1
            """
        )
        given = ("-a", "policy=gain", *each("-s", "BILINGUAL_STALE_PAGES=400", "BILINGUAL_OUTPUT_DIR=one"))
        again = ("-s", "BILINGUAL_OUTPUT_DIR=two")
        ended_well(run_scrapy(tmp_path, "crawl", "bilingual", "--config", "mine.toml", *given))
        (tmp_path / "seeds.txt").unlink()
        ended_well(run_scrapy(tmp_path, "crawl", "bilingual", "--config", "one/crawl.toml", *again))
    one, two = tmp_path / "one", tmp_path / "two"
    written = (one / "crawl.toml").read_text()
    told = tomllib.loads(written)
    assert told["arguments"]["policy"] == "gain"
    assert told["settings"]["BILINGUAL_STALE_PAGES"] == "400"
    assert told["settings"]["BILINGUAL_LINK_SOURCES"] == ["a"]
    assert told["settings"].keys().isdisjoint({"BILINGUAL_OUTPUT_DIR", "FEEDS", "USER_AGENT"})
    assert f"cd {tmp_path} && scrapy crawl bilingual --config {one / 'crawl.toml'}" in written
    for name, least in (("crawl.tsv", 10), ("pairs.tsv", 3)):
        assert len(rows(one, name)) >= least
        assert rows(one, name, "time") == rows(two, name, "time")
    assert tomllib.loads((two / "crawl.toml").read_text()) == told


def test_wrong_values_in_a_file_end_the_command_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[arguments]\npair = 'eng-spam'")
    assert refused(tmp_path, "crawl", "bilingual", "--config", "a.toml").endswith("(with --config a.toml)")
    said = refused(tmp_path, "crawl", "bilingual", "--config", "b.toml")
    assert said.startswith("--config=b.toml: No such file or directory")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pair = 'eng-spa'", "FILE: pair: there is no such key; there are spider, arguments, settings"),
        ("arguments = 'eng-spa'", "FILE: arguments: give a table: [arguments]"),
        ("spider = 'discovery'", "FILE: spider: the file describes a crawl by discovery"),
        ("[arguments]\nmax_pages = 1.5", "FILE: arguments.max_pages: give text, a whole number or a list of texts"),
        ("[arguments]\nmax_pages = true", "FILE: arguments.max_pages: give"),
        ("[arguments]\nseeds = [1]", "FILE: arguments.seeds: give"),
        ("[settings]\nDOWNLOAD_DELY = 1", "unknown setting; did you mean DOWNLOAD_DELAY?"),
        ("[settings]\nBILINGUAL_WARK = 1", "did you mean BILINGUAL_WARC?"),
        ("[settings]\nDOWNLOAD_DELAY = true", "FILE: settings.DOWNLOAD_DELAY: give a number"),
        ("[settings]\nROBOTSTXT_OBEY = 7", "FILE: settings.ROBOTSTXT_OBEY: give true or false"),
        ("[settings]\nBILINGUAL_POLICY = 7", "FILE: settings.BILINGUAL_POLICY: give text"),
        ("[settings]\nBILINGUAL_OUTPUT_DIR = true", "FILE: settings.BILINGUAL_OUTPUT_DIR: give text"),
        ("[settings]\nBILINGUAL_DETECTORS = 3", "FILE: settings.BILINGUAL_DETECTORS: give a list"),
        ("[settings]\nEXTENSIONS = 3", "FILE: settings.EXTENSIONS: give a table"),
        ("[settings]\nJOBDIR = 2026-11-23", "FILE: settings.JOBDIR: give text"),
        ("[settings", "--config=FILE: is no TOML: "),
        ("\xff", "--config=FILE: is no TOML: "),
    ],
)  # fmt: skip
def test_what_is_no_description(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "crawl.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError) as caught:
        read_description(path, "bilingual", project())
    assert message.replace("FILE", str(path)) in str(caught.value)


def test_until_may_be_a_number(tmp_path: Path) -> None:
    path = tmp_path / "crawl.toml"
    path.write_text("[arguments]\nmax_pages = 12\nuntil = 0.98")
    assert read_description(path, "bilingual", project()).arguments == {"max_pages": "12", "until": "0.98"}


@pytest.mark.parametrize(
    ("given", "described"),
    [
        ({"pair": ("eng", "mlt"), "max_pages": 9}, {"pair": "eng,mlt", "max_pages": "9"}),
        ({"pair": ["eng-mlt", "eng-isl"], "max_pages": None}, {"pair": "eng-mlt,eng-isl"}),
        ({"languages": ["eng", "mlt"], "until": 0.98, "policy": None}, {"languages": "eng,mlt", "until": "0.98"}),
    ],
)
def test_a_script_may_give_values_of_python(
    tmp_path: Path, given: dict[str, object], described: dict[str, str]
) -> None:
    (tmp_path / "seeds.txt").write_text("http://127.0.0.1/\n")
    crawler = Crawler(BilingualSpider, project(BILINGUAL_OUTPUT_DIR=str(tmp_path / "out")))
    BilingualSpider.from_crawler(crawler, seeds=tmp_path / "seeds.txt", **given)
    written = tomllib.loads((tmp_path / "out" / "crawl.toml").read_text())["arguments"]
    assert written == described | {"seeds": ["http://127.0.0.1/"]}


def test_what_is_written_is_what_was_given_without_secrets(tmp_path: Path) -> None:
    settings = project(
        DOWNLOAD_DELAY=3, ROBOTSTXT_OBEY="1", BILINGUAL_REPLAY=["a", "b"], JOBDIR="job", MINE="hunter2",
        EXTENSIONS={MemoryUsage: 500, "other.Extension": None}, DEPTH_LIMIT=PROJECT_SETTINGS["DEPTH_LIMIT"],
        PLAYWRIGHT_LAUNCH_OPTIONS={"proxy": {"password": "hunter2"}}, FTP_PASSWORD="hunter2",
        BILINGUAL_FRONTIER="redis://me:hunter2@localhost/",
    )  # fmt: skip
    settings.set("SETTINGS_MODULE", "mine.settings", "project")
    settings.set("USER_AGENT", "bilingual-crawler (+https://example.org)", "spider")
    arguments: dict[str, str | list[str]] = {"pair": "eng-spa", "seeds": ["example.org/a,b"]}
    arguments["archive"] = "https://me:hunter2@example.org/a"
    context: Any = SimpleNamespace(output_dir=tmp_path, seeds=())
    write_description(context, "discovery", arguments, settings)
    path = tmp_path / "crawl.toml"
    written = path.read_text()
    assert "hunter2" not in written
    assert "or are of other packages: FTP_PASSWORD, MINE, PLAYWRIGHT_LAUNCH_OPTIONS\n" in written
    read = read_description(path, "discovery", project())
    assert read.arguments == arguments | {"archive": "https://example.org/a"}
    assert set(read.settings) == {"DOWNLOAD_DELAY", "ROBOTSTXT_OBEY", "BILINGUAL_REPLAY", "EXTENSIONS"}
    after = project(**read.settings)
    assert after.getdict("EXTENSIONS") == {"scrapy.extensions.memusage.MemoryUsage": 500, "other.Extension": None}
    assert [after[name] for name in ("DOWNLOAD_DELAY", "ROBOTSTXT_OBEY", "BILINGUAL_REPLAY")] == [3, "1", ["a", "b"]]
    with path.open() as before:
        write_description(context, "discovery", arguments, project())
        assert before.read() == written, "a kill in the middle of a resume leaves the old one"
    assert path.read_text() != written
    assert [file.name for file in tmp_path.iterdir()] == ["crawl.toml"]


def test_seeds_come_back_as_they_were_given() -> None:
    given = parse_seeds(["example.org/a,b", "http://example.org/", "example.org/a,b"])
    assert [seed.url for seed in given] == ["https://example.org/a,b", "http://example.org/"]
    assert parse_seeds([seed.as_given for seed in given]) == given
