"""The first minutes on a command line: wrong input, options, what a crawl prints and how it says why it ended."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import pytest
from support import webserver
from support.texts import ENGLISH, SPANISH, corpus, html
from support.webserver import ALIGNED, QUICK, TEXT, bilingual_site, run_scrapy, serve, varied

import bilingual_crawler
from bilingual_crawler.alignment.at_end import _Progress, time_left

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

TOOL = (sys.executable, "-m", "bilingual_crawler")
LOCAL = ("-s", "BILINGUAL_OUTPUT_DIR=out")


def run(folder: Path, *command: str) -> CompletedProcess[str]:
    return webserver.run(folder, (*TOOL, *command))


CRAWL = ("crawl", "--pair", "eng-spa", "--seeds")
SPA = ("--pair", "eng-spa")
WHO = "say who is crawling: --contact https://your.page/about-this-crawl (or mailto:you@...; make takes CONTACT=..., "
NO_SHEET = "No such file or directory; give the folder of scrapy align --review"
NO_TABLE = "--out=texts.jsonl: is there, and no table of pairs; give another name"
NONE_OF_BOTH = "INPUT=texts.jsonl: none of 1 pages is in Icelandic or Finnish; give the --pair"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("crawl", "--pair", "eng-spam", "--seeds", "http://127.0.0.1:9/"), "pair=eng-spam: unknown language 'spam'"),
        (("crawl", *SPA), "where to start?"),
        (("crawl", *SPA, "http://127.0.0.1:9/"), "unexpected argument http://127.0.0.1:9/: "),
        (("crawl", *SPA, "--page-limit=7"), "unknown option --page-limit=7; --help lists"),
        (("crawl", "-s", "BILINGUAL_WARC=maybe", *SPA, "--seeds", "a.org"), "BILINGUAL_WARC=maybe"),
        ((*CRAWL, "a.org", "-s", "max_pages=9"), "-s max_pages=9: is an argument of the spider; give -a max_pages=9"),
        ((*CRAWL, "a.org", "--scope", "host"), "unknown option --scope; give -a scope=..."),
        ((*CRAWL, "http://127.0.0.1:9/", "-s", "JOB_DIR=x"), "JOB_DIR: unknown setting; did you mean JOBDIR?"),
        ((*CRAWL, "a.org"), WHO),
        ((*CRAWL, "a.org", "--workers", "many"), "BILINGUAL_WORKERS=many: give a whole number"),
        (
            ("crawl", "-a", "pair=eng-spa", "--pair", "eng-fra", "--seeds", "a.org"),
            "--pair: is given twice; give it once",
        ),
        (("crawl", "--config", "nowhere.toml"), "--config=nowhere.toml"),
        (("crawl", "--config", "nested.toml"), "--config=nested.toml: is no TOML"),
        (("crawl", "--loglevel"), "argument -L/--loglevel: expected one argument"),
        (("corpus", "eng-spa", "--seeds", "a.org"), "where to write? Give --out DIR; the same command"),
        (("corpus", "eng-spa", "a.org", "--out", "x"), "unexpected argument a.org: give pairs separated by com"),
        (("doctor", "--spam"), "unknown option --spam"),
        (
            ("discover", "--pairs", "eng-spa"),
            "where to start? Give -a seeds=URL[,URL...], a file of them, or -a candidates=tsv:FILE",
        ),
        (("align", "x", "-s", "DOWNLOADDELAY=0"), "DOWNLOADDELAY: unknown setting; did you mean DOWN"),
        (("align", "nonexist"), "INPUT=nonexist: there is no such file or folder"),
        (("align", "nonexist", "--pairs", "eng-spa"), "INPUT=nonexist: there is no such file or folder"),
        (("align", "texts.jsonl", *SPA, "--out", "texts.jsonl"), NO_TABLE),
        (("align", ".", *SPA, "--method", "magic"), "--method=magic: choose one of auto, url, content"),
        (("align", "empty.warc", *SPA), "INPUT=empty.warc: holds no page and no text; give the folder of a crawl"),
        (("align", "empty.jsonl", *SPA), "INPUT=empty.jsonl: holds no page and no text; give the folder of a crawl"),
        (("align", "texts.jsonl", "--pair", "isl-fin"), NONE_OF_BOTH),
        (("mine", ".", *SPA), "give an INPUT, --pairs and --out; --out is missing"),
        (("review", "--spam"), "unknown option --spam"),
        (("review", "nonexist"), "FOLDER/nonexist/review.tsv: No such file or directory"),
        (("review", "nonexist", "--browse"), f"FOLDER/nonexist/review.tsv: {NO_SHEET}"),
        (("report", "nonexist"), "nonexist is not a crawl's output folder"),
        (("harvest", "nonexist"), "FOLDER/nonexist is no folder of benchmark sites: tasks.tsv: No such file"),
        (("spam",), "argument COMMAND: invalid choice: 'spam'"),
    ],
)
def test_an_error_is_one_line_that_says_what_to_give(tmp_path: Path, command: tuple[str, ...], message: str) -> None:
    (tmp_path / "texts.jsonl").write_text(json.dumps({"url": "https://a.example/", "text": TEXT["en"]}) + "\n")
    (tmp_path / "nested.toml").write_text(f"settings = {'[' * 5_000}{']' * 5_000}")
    (tmp_path / "empty.warc").touch()
    (tmp_path / "empty.jsonl").touch()
    result = run(tmp_path, *command)
    assert result.returncode == 2
    assert re.fullmatch(r"(reading .*\n)?", result.stdout), "but its progress"
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"bilingual-crawler: error: {message.replace('FOLDER', str(tmp_path))}")
    assert {path.name for path in tmp_path.iterdir()} == {"texts.jsonl", "nested.toml", "empty.warc", "empty.jsonl"}


def test_version(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").stdout == f"bilingual-crawler {bilingual_crawler.__version__}\n"


def test_scrapy_names_itself_in_its_errors(tmp_path: Path) -> None:
    result = run_scrapy(tmp_path, "align", "nonexist")
    assert result.returncode == 2
    assert result.stderr == "scrapy: error: INPUT=nonexist: there is no such file or folder\n"


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (("-a", "max_pages=3"), "page_budget"),
        (("-a", "max_pages_per_site=3"), "site_budget"),
        (("-s", "BILINGUAL_MAX_BYTES_PER_SITE=2000"), "site_budget"),
        (("-s", "BILINGUAL_MAX_BYTES=2000"), "byte_budget"),
        (("-a", "max_pages=1000"), "finished"),
    ],
)
def test_a_spent_budget_is_why_a_crawl_ended_and_the_summary_comes_last(
    tmp_path: Path, budget: tuple[str, str], reason: str
) -> None:
    with serve(bilingual_site(4)) as site:
        seeds = ("--pairs", "eng-spa", "--seeds", f"{site.url}/")
        result = run(tmp_path, "crawl", "-v", *seeds, *budget, *LOCAL, *QUICK)
    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["finish_reason"] == reason
    *before, last = result.stderr.splitlines()
    assert last == f"Outputs: {tmp_path / 'out'}"
    assert f"eng-spa, policy gain, {reason}" in before[-40:]
    assert f"Spider closed ({reason})" in result.stderr


def test_the_log_keeps_its_file_and_level_when_all_documents_are_aligned(tmp_path: Path) -> None:
    with serve(bilingual_site(3)) as site:
        arguments = ("-a", "pair=eng-spa", "-a", f"seeds={site.url}/en/", "-s", "BILINGUAL_OUTPUT_DIR=out")
        result = run_scrapy(tmp_path, "crawl", "bilingual", *arguments, *ALIGNED, "--logfile", "crawl.log")
    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["aligned"] == "auto"
    assert "Spider closed (finished)" in (tmp_path / "crawl.log").read_text()
    assert "[scrapy" not in result.stderr


def test_without_a_terminal_lines_of_the_log_tell_how_far_a_crawl_and_its_alignment_are(tmp_path: Path) -> None:
    often = ("-s", "LOGSTATS_INTERVAL=0.02", "-s", "BILINGUAL_STALE_PAGES=0", "-s", "BILINGUAL_ENCODER=")
    with (
        serve(varied(bilingual_site(8)), delay=0.05) as one,
        serve(varied(bilingual_site(8)), address="127.0.0.2") as two,
    ):
        seeds = ("--pair", "eng-spa", "--seeds", f"{one.url}/,{two.url}/")
        result = run(tmp_path, "crawl", "-v", *seeds, *often, *LOCAL, *QUICK, *ALIGNED)
    assert result.returncode == 0, result.stderr
    lines = [line.partition("INFO: ")[2] for line in result.stderr.splitlines() if ".progress]" in line]
    fetching = r"(\d+) pages, \d+ documents, \d+ pairs, \d+ queued(, about .* visited)?, [\d.]+ pages/s"
    pages = [int(found[1]) for line in lines if (found := re.fullmatch(fetching, line))]
    assert pages == sorted(pages)
    assert len(set(pages)) > 5
    aligning = r"aligning site (\d) of 2, (\d+) of 36 documents(, about \d+ (min|s) left)?: 4\d pages"
    moments = [(int(found[1]), int(found[2])) for line in lines if (found := re.match(aligning, line))]
    # how many lines there are is a matter of time
    assert moments
    assert moments == sorted(moments)
    assert "pages/min" not in result.stderr


def test_the_progress_of_an_alignment_counts_sites_and_documents() -> None:
    texts = {"en": html(ENGLISH), "es": html(SPANISH)}
    found = corpus({f"https://{name}.example/{code}": text for name in "ab" for code, text in texts.items()})
    said: list[str] = []
    progress = _Progress(said.append)
    progress.begin(found)
    for group in found.groups():
        progress.on_share(group, 0.5)
        progress.on_group(group)
    assert said == ["aligning site 1 of 2, 1 of 4 documents", "aligning site 2 of 2, 3 of 4 documents"]


@pytest.mark.parametrize(
    ("seconds", "share", "left"),
    [
        (1.0, 0.5, ""),
        (60.0, 0.0, ""),
        (60.0, 0.5, ", about 60 s left"),
        (60.0, 0.1, ", about 9 min left"),
        (60.0, 1.0, ", about 0 s left"),
    ],
)
def test_the_time_that_an_alignment_still_takes(seconds: float, share: float, left: str) -> None:
    assert time_left(seconds, share) == left
