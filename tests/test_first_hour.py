"""The first hour with the console script: what went wrong in silence or without a hint, and what it says now."""

from __future__ import annotations

import json
import re
import shlex
import signal
import socket
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from support import webserver
from support.waits import wait_for
from support.webserver import ALIGNED, QUICK, bilingual_site, serve, varied

from bilingual_crawler.storage.records import read_tsv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

TOOL = (sys.executable, "-m", "bilingual_crawler")
CRAWL = ("crawl", "--pair", "eng-spa", "--seeds")
PAGES = 4


def run(folder: Path, *command: str) -> CompletedProcess[str]:
    return webserver.run(folder, (*TOOL, *command))


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serve(bilingual_site(PAGES)) as served:
        yield f"{served.url}/en/"


def summary(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "summary.json").read_text())
    return found


@pytest.fixture(scope="module")
def quiet(site: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The output folder of a crawl, and what it has printed."""
    folder = tmp_path_factory.mktemp("quiet")
    result = run(folder, *CRAWL, site, "--out", "out", *QUICK)
    assert result.returncode == 0, result.stderr
    return folder / "out", result.stderr


@pytest.mark.parametrize(
    ("command", "own", "of_the_other"), [("crawl", "-a scope=", "-a then="), ("discover", "-a then=", "-a scope=")]
)
def test_help_has_the_options_of_its_command_with_values_as_defaults(
    tmp_path: Path, command: str, own: str, of_the_other: str
) -> None:
    told = run(tmp_path, command, "--help").stdout
    options = ["--contact", "--job", "--workers", "--status", "--max-pages", "--until", "--policy", "--out"]
    assert [option for option in options if f"\n  {option} " not in told] == []
    assert own in told
    assert of_the_other not in told
    assert "(BILINGUAL_" not in told
    assert ("(gain)" if command == "crawl" else "(both)") in told
    (example, *_) = re.findall(rf"^  (bilingual-crawler {command} .*)", told.partition("examples:")[2], re.MULTILINE)
    checked = run(tmp_path, *shlex.split(example)[1:], "-s", "BILINGUAL_WARC=maybe")
    assert "BILINGUAL_WARC=maybe" in checked.stderr, "the example has no other error"


def test_plain_options_stand_for_arguments_and_settings_also_those_of_installed_extensions(
    tmp_path: Path, site: str
) -> None:
    given = ["--max-pages", "3", "--policy", "bfs", "--until", "0.9", "--out", "out", "--job", "job"]
    given += ["-s", "PLAYWRIGHT_MAX_CONTEXTS=2"] if find_spec("scrapy_playwright") else []
    result = run(tmp_path, *CRAWL, site, *given, "--contact", "mailto:me@example.org", *QUICK)
    assert result.returncode == 0, result.stderr
    found = summary(tmp_path / "out")
    assert (found["fetched"], found["policy"], found["finish_reason"]) == (3, "bfs", "page_budget")
    assert (tmp_path / "job" / "frontier").is_dir()
    assert not (tmp_path / "out" / "job").exists()
    assert "mailto:me@example.org" in (tmp_path / "out" / "crawl.toml").read_text()


def test_a_crawl_logs_only_what_is_wrong_unless_it_is_asked_to(
    tmp_path: Path, site: str, quiet: tuple[Path, str]
) -> None:
    assert "INFO" not in quiet[1]
    assert quiet[1].startswith("\neng-spa, policy gain, finished\n")
    assert "INFO: Spider closed (finished)" in run(tmp_path, *CRAWL, site, "-v", "--out", "b", *QUICK).stderr


def stopped(folder: Path, *more: str, command: tuple[str, ...] = CRAWL) -> str:
    """What *command* prints that gets Ctrl-C when it has a pair; the command that it prints goes on to the end."""
    with serve(varied(bilingual_site(30)), delay=0.05) as slow:
        process = webserver.start(folder, (*TOOL, *command, f"{slow.url}/en/", "--out", "out", *QUICK, *more))
        wait_for(lambda: any(read_tsv(folder / "out" / "pairs.tsv")), seconds=100)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=100)
        if "To go on: " in told:
            # while the site is there
            resumed = run(folder, *shlex.split(told.rpartition("To go on: ")[2])[1:])
            assert resumed.returncode == 0, resumed.stderr
            assert "eng-spa, policy gain, shutdown" in told
            assert summary(folder / "out")["finish_reason"] == "finished"
            urls = [row["url"] for row in read_tsv(folder / "out" / "crawl.tsv")]
            assert len(urls) == len(set(urls)) > 60
    return told


def test_after_ctrl_c_the_command_that_is_printed_goes_on(tmp_path: Path) -> None:
    assert stopped(tmp_path).endswith(f" --job {tmp_path / 'out' / 'job'}\n")


def test_after_ctrl_c_a_crawl_without_a_job_says_that_it_cannot_go_on(tmp_path: Path) -> None:
    told = stopped(tmp_path, "-s", "JOBDIR=")
    assert told.splitlines()[-1].endswith("cannot go on: it has no job folder. Give --job DIR next time")


def test_one_command_makes_a_corpus_and_goes_on(tmp_path: Path) -> None:
    told = stopped(tmp_path, *ALIGNED, "-s", "BILINGUAL_ENCODER=", command=("corpus", "eng-spa", "--seeds"))
    (line,) = (line for line in told.splitlines() if "To go on: " in line)
    assert " corpus eng-spa --seeds " in line
    assert "--job" not in line
    assert summary(tmp_path / "out")["pairs"] == 31
    bitext = tmp_path / "out" / "bitext"
    assert {path.name.removeprefix("en-es.") for path in bitext.iterdir()} == {
        *("README.md", "summary.json", "documents.gz", "en", "es", "ids", "raw.gz", "sent.gz"),
        *("tmx.gz", "jsonl.gz", "monolingual.jsonl.gz"),
    }
    assert "## en-es: English and Spanish" in (bitext / "README.md").read_text()
    assert (tmp_path / "out" / "report.html").exists()
    assert (tmp_path / "out" / "job" / "frontier").is_dir()


def test_a_folder_with_a_crawl_is_refused_with_the_way_to_resume_it(tmp_path: Path, site: str) -> None:
    assert run(tmp_path, *CRAWL, site, "--max-pages", "2", "--out", "out", *QUICK).returncode == 0
    again = run(tmp_path, *CRAWL, site, "--out", "out", *QUICK)
    way = f"choose a new folder, or resume it with --job {tmp_path}/out/job\n"
    assert again.stderr.endswith(f"holds another crawl; {way}")
    assert run(tmp_path, *CRAWL, site, "--job", "out/job", *QUICK).returncode == 0
    assert summary(tmp_path / "out")["finish_reason"] == "finished"


def test_a_refused_connection_is_called_so(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
        result = run(tmp_path, *CRAWL, url, "-s", "BILINGUAL_BACKOFF_START=0.1", *QUICK)
    assert result.returncode == 1
    assert f"1 of 1 seeds gave no page: {url} (connection-refused)" in result.stderr
    assert "robots-unreachable" not in result.stderr


def test_one_page_is_a_page_and_a_time_has_no_unit(tmp_path: Path, site: str) -> None:
    given = ("--max-pages", "1", "--out", "out", "-s", "LOGSTATS_INTERVAL=0.01")
    result = run(tmp_path, *CRAWL, site, "-v", *given, *QUICK)
    assert "INFO: 1 page, 1 document, 0 pairs, " in result.stderr
    assert re.search(r" UTC, 0:00:\d\d\b(?! h)", (tmp_path / "out" / "report.html").read_text())


def test_align_says_which_languages_are_there(tmp_path: Path, quiet: tuple[Path, str]) -> None:
    result = run(tmp_path, "align", str(quiet[0]), "--pair", "en-mt")
    assert "no page is in Maltese; there are: 5 English, 5 Spanish\n" in result.stdout


def test_the_doctor_has_a_line_for_each_part(tmp_path: Path) -> None:
    result = run(tmp_path, "doctor")
    lines = [re.fullmatch(r"(yes|no ) {2}(\w+) +[\w (),-]+(: .+)?", line) for line in result.stdout.splitlines()]
    found = {line[2]: line for line in lines if line}
    assert len(lines) == len(found)
    assert list(found) == ["encoder", "GPU", "Chromium", "Redis", "Java"]
    assert all((line[1] == "yes") == (line[3] is None) for line in found.values())
