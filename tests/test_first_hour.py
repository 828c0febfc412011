"""The first hour on a command line: wrong input, options, what a crawl prints, how it ends and goes on."""

import json
import re
import shlex
import signal
import socket
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from support import webserver
from support.crawls import crawl, ended_well, summary
from support.texts import ENGLISH, SPANISH, corpus, html
from support.waits import wait_for
from support.webserver import ALIGNED, QUICK, TEXT, bilingual_site, run_scrapy, serve, varied

import bilingual_crawler
from bilingual_crawler.alignment.at_end import _Progress, time_left
from bilingual_crawler.storage.records import read_tsv

TOOL = (sys.executable, "-m", "bilingual_crawler")
CRAWL = ("crawl", "--pair", "eng-spa", "--seeds")
PAGES = 4


def run(folder: Path, *command: str) -> CompletedProcess[str]:
    return webserver.run(folder, (*TOOL, *command))


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serve(bilingual_site(PAGES)) as served:
        yield f"{served.url}/en/"


@pytest.fixture(scope="module")
def quiet(site: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The output folder of a crawl, and what it has printed."""
    folder = tmp_path_factory.mktemp("quiet")
    return folder / "out", ended_well(run(folder, *CRAWL, site, "--out", "out", *QUICK)).stderr


@pytest.mark.parametrize(
    ("command", "own", "of_the_other"), [("crawl", "-a scope=", "-a then="), ("discover", "-a then=", "-a scope=")]
)
def test_help_has_the_options_of_its_command_with_values_as_defaults(
    tmp_path: Path, command: str, own: str, of_the_other: str
) -> None:
    told = run(tmp_path, command, "--help").stdout
    options = ["--contact", "--config", "--job", "--workers", "--status", "--max-pages", "--until", "--policy", "--out"]
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
    ended_well(run(tmp_path, *CRAWL, site, *given, "--contact", "mailto:me@example.org", *QUICK))
    found = summary(tmp_path)
    assert (found["fetched"], found["policy"], found["finish_reason"]) == (3, "bfs", "page_budget")
    assert (tmp_path / "job" / "frontier").is_dir()
    assert not (tmp_path / "out" / "job").exists()
    assert "mailto:me@example.org" in (tmp_path / "out" / "crawl.toml").read_text()


def test_a_crawl_logs_only_what_is_wrong_unless_it_is_asked_to(quiet: tuple[Path, str]) -> None:
    """That ``-v`` asks for more is in other tests."""
    assert "INFO" not in quiet[1]
    assert quiet[1].startswith("\neng-spa, policy gain, finished\n")


def stopped(folder: Path, *more: str, command: tuple[str, ...] = CRAWL) -> str:
    """What *command* prints that gets Ctrl-C when it has a pair; the command that it prints goes on to the end."""
    with serve(varied(bilingual_site(30)), delay=0.05) as slow:
        process = webserver.start(folder, (*TOOL, *command, f"{slow.url}/en/", "--out", "out", *QUICK, *more))
        wait_for(lambda: any(read_tsv(folder / "out" / "pairs.tsv")), seconds=100)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=100)
        if "To go on: " in told:
            # while the site is there
            ended_well(run(folder, *shlex.split(told.rpartition("To go on: ")[2])[1:]))
            assert "eng-spa, policy gain, shutdown" in told
            assert summary(folder)["finish_reason"] == "finished"
            urls = [row["url"] for row in read_tsv(folder / "out" / "crawl.tsv")]
            assert len(urls) == len(set(urls)) > 60
    return told


def test_after_ctrl_c_the_command_that_is_printed_goes_on(tmp_path: Path) -> None:
    told = stopped(tmp_path)
    assert "To go on: " in told
    assert told.endswith(f" --job {tmp_path / 'out' / 'job'}\n")


def test_after_ctrl_c_a_crawl_without_a_job_says_that_it_cannot_go_on(tmp_path: Path) -> None:
    told = stopped(tmp_path, "-s", "JOBDIR=")
    assert told.splitlines()[-1].endswith("cannot go on: it has no job folder. Give --job DIR next time")


def test_one_command_makes_a_corpus_and_goes_on(tmp_path: Path) -> None:
    told = stopped(tmp_path, *ALIGNED, "-s", "BILINGUAL_ENCODER=", command=("corpus", "eng-spa", "--seeds"))
    (line,) = (line for line in told.splitlines() if "To go on: " in line)
    assert " corpus eng-spa --seeds " in line
    assert "--job" not in line
    assert summary(tmp_path)["pairs"] == 31
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
    assert summary(tmp_path)["finish_reason"] == "finished"


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
    assert "INFO: 1 page, 1 document, 0 pairs, " in run(tmp_path, *CRAWL, site, "-v", *given, *QUICK).stderr
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


SPA = ("--pair", "eng-spa")
WHO = "say who is crawling: --contact https://your.page/about-this-crawl (or mailto:you@...; make takes CONTACT=..., "
WHERE = "where to start? Give -a seeds=URL[,URL...], a file of them, or -a candidates=tsv:FILE"
NO_SHEET = "No such file or directory; give the folder of scrapy align --review"
NO_TABLE = "--out=texts.jsonl: is there, and no table of pairs; give another name"
NONE_OF_BOTH = "INPUT=texts.jsonl: none of 1 pages is in Icelandic or Finnish; give the --pair"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("crawl", "--pair", "eng-spam", "--seeds", "http://127.0.0.1:9/"), "pair=eng-spam: unknown language 'spam'"),
        (("crawl", *SPA), "where to start?"), (("crawl", "--config", "nowhere.toml"), "--config=nowhere.toml"),
        (("crawl", *SPA, "http://127.0.0.1:9/"), "unexpected argument http://127.0.0.1:9/: "),
        (("crawl", *SPA, "--page-limit=7"), "unknown option --page-limit=7; --help lists"),
        (("crawl", "-s", "BILINGUAL_WARC=maybe", *SPA, "--seeds", "a.org"), "BILINGUAL_WARC=maybe"),
        ((*CRAWL, "a.org", "-s", "max_pages=9"), "-s max_pages=9: is an argument of the spider; give -a max_pages=9"),
        ((*CRAWL, "a.org", "--scope", "host"), "unknown option --scope; give -a scope=..."),
        ((*CRAWL, "http://127.0.0.1:9/", "-s", "JOB_DIR=x"), "JOB_DIR: unknown setting; did you mean JOBDIR?"),
        ((*CRAWL, "a.org"), WHO),
        ((*CRAWL, "a.org", "--workers", "many"), "BILINGUAL_WORKERS=many: give a whole number"),
        ((*CRAWL, "a.org", "-a", "pair=eng-fra"), "--pair: is given twice; give it once"),
        (("crawl", "--config", "nested.toml"), "--config=nested.toml: is no TOML"),
        (("crawl", "--loglevel"), "argument -L/--loglevel: expected one argument"),
        (("corpus", "eng-spa", "--seeds", "a.org"), "where to write? Give --out DIR; the same command"),
        (("corpus", "eng-spa", "a.org", "--out", "x"), "unexpected argument a.org: give pairs separated by com"),
        (("doctor", "--spam"), "unknown option --spam"), (("review", "--spam"), "unknown option --spam"),
        (("discover", "--pairs", "eng-spa"), WHERE),
        (("align", "x", "-s", "DOWNLOADDELAY=0"), "DOWNLOADDELAY: unknown setting; did you mean DOWN"),
        (("align", "nonexist"), "INPUT=nonexist: there is no such file or folder"),
        (("align", "nonexist", "--pairs", "eng-spa"), "INPUT=nonexist: there is no such file or folder"),
        (("align", "texts.jsonl", *SPA, "--out", "texts.jsonl"), NO_TABLE),
        (("align", ".", *SPA, "--out", "missing/x.tsv"), "--out=missing/x.tsv: there is no folder missing"),
        (("align", ".", *SPA, "--out", "."), "--out=.: is a folder"),
        (("align", ".", *SPA, "--bitext", "empty.warc"), "--bitext=empty.warc: "),
        (("align", ".", *SPA, "--review", "empty.warc/review"), "--review=empty.warc/review: "),
        (("align", ".", *SPA, "--method", "magic"), "--method=magic: choose one of auto, url, content"),
        (("align", "empty.warc", *SPA), "INPUT=empty.warc: holds no page and no text; give the folder of a crawl"),
        (("align", "empty.jsonl", *SPA), "INPUT=empty.jsonl: holds no page and no text; give the folder of a crawl"),
        (("align", "texts.jsonl", "--pair", "isl-fin"), NONE_OF_BOTH),
        (("mine", ".", *SPA), "give an INPUT, --pairs and --out; --out is missing"),
        (("review", "nonexist"), "FOLDER/nonexist/review.tsv: No such file or directory"),
        (("review", "nonexist", "--browse"), f"FOLDER/nonexist/review.tsv: {NO_SHEET}"),
        (("report", "nonexist"), "nonexist is not a crawl's output folder"),
        (("harvest", "nonexist"), "FOLDER/nonexist is no folder of benchmark sites: tasks.tsv: No such file"),
        (("spam",), "argument COMMAND: invalid choice: 'spam'"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_that_says_what_to_give(tmp_path: Path, command: tuple[str, ...], message: str) -> None:
    (tmp_path / "texts.jsonl").write_text(json.dumps({"url": "https://a.example/", "text": TEXT["en"]}) + "\n")
    (tmp_path / "nested.toml").write_text(f"settings = {'[' * 5_000}{']' * 5_000}")
    (tmp_path / "empty.warc").touch()
    (tmp_path / "empty.jsonl").touch()
    result = run(tmp_path, *command)
    assert result.returncode == 2
    assert re.fullmatch(r"(reading .*\n)?" if command[0] == "align" else "", result.stdout), "but its progress"
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
        (("-a", "max_pages=3"), "page_budget"), (("-a", "max_pages_per_site=3"), "site_budget"),
        (("-s", "BILINGUAL_MAX_BYTES=2000"), "byte_budget"), (("-a", "max_pages=1000"), "finished"),
        (("-s", "BILINGUAL_MAX_BYTES_PER_SITE=2000"), "site_budget"),
    ],
)  # fmt: skip
def test_a_spent_budget_is_why_a_crawl_ended_and_the_summary_comes_last(
    tmp_path: Path, budget: tuple[str, str], reason: str
) -> None:
    with serve(bilingual_site(4)) as site:
        seeds = ("--pairs", "eng-spa", "--seeds", f"{site.url}/")
        result = ended_well(run(tmp_path, "crawl", "-v", *seeds, *budget, "--out", "out", *QUICK))
    assert summary(tmp_path)["finish_reason"] == reason
    *before, last = result.stderr.splitlines()
    assert last == f"Outputs: {tmp_path / 'out'}"
    assert f"eng-spa, policy gain, {reason}" in before[-40:]
    assert f"INFO: Spider closed ({reason})" in result.stderr


def test_the_log_keeps_its_file_and_level_when_all_documents_are_aligned(tmp_path: Path) -> None:
    with serve(bilingual_site(3)) as site:
        result = ended_well(crawl(tmp_path, f"{site.url}/en/", *ALIGNED, "--logfile", "crawl.log", policy=""))
    assert summary(tmp_path)["aligned"] == "auto"
    assert "Spider closed (finished)" in (tmp_path / "crawl.log").read_text()
    assert "[scrapy" not in result.stderr


def test_without_a_terminal_lines_of_the_log_tell_how_far_a_crawl_and_its_alignment_are(tmp_path: Path) -> None:
    often = ("-s", "LOGSTATS_INTERVAL=0.02", "-s", "BILINGUAL_STALE_PAGES=0", "-s", "BILINGUAL_ENCODER=")
    with (
        serve(varied(bilingual_site(8)), delay=0.05) as one,
        serve(varied(bilingual_site(8)), address="127.0.0.2") as two,
    ):
        seeds = ("--pair", "eng-spa", "--seeds", f"{one.url}/,{two.url}/")
        result = ended_well(run(tmp_path, "crawl", "-v", *seeds, *often, "--out", "out", *QUICK, *ALIGNED))
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


def test_the_time_that_an_alignment_still_takes() -> None:
    left = [time_left(60.0, share) for share in (0.0, 0.1, 0.5, 1.0)]
    assert left == ["", ", about 9 min left", ", about 60 s left", ", about 0 s left"]
    assert time_left(1.0, 0.5) == ""
