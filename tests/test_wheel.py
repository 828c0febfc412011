"""The wheel, installed in an environment of its own and used far from the repository."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from environments import lend_packages, run_outside
from scrapyd_server import copy_checkout
from test_examples import check, serve
from webserver import ALIGNED, QUICK

from bilingual_crawler.__main__ import COMMANDS
from bilingual_crawler.records import read_tsv

MODELS = Path(__file__).parent.parent / "models"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel; its dependencies come from the test environment."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip")
    offline = ("--no-index", "--no-deps")
    checkout = copy_checkout(folder / "checkout", "from-wheel")
    built = run_outside(folder, *pip, "wheel", *offline, "--no-build-isolation", checkout)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    environment = folder / "environment"
    python = environment / "bin" / "python"
    assert run_outside(folder, sys.executable, "-m", "venv", "--without-pip", environment).returncode == 0
    installed = run_outside(folder, *pip, "--python", python, "install", *offline, wheel)
    assert installed.returncode == 0, installed.stderr
    lend_packages(environment)
    return python


def test_the_wheel_holds_every_model(python: Path, tmp_path: Path) -> None:
    program = (
        "import bilingual_crawler as package; from importlib.resources import files; print(package.__file__);"
        "print(*sorted(path.name for path in (files(package) / 'models').iterdir()))"
    )
    result = run_outside(tmp_path, python, "-c", program)
    location, models = result.stdout.splitlines()
    assert Path(location).is_relative_to(python.parent.parent), result.stderr
    assert set(models.split()) == {path.parent.name for path in MODELS.glob("*/config.json")}


def test_a_crawl_with_the_wheel_ends_with_the_alignment(python: Path, tmp_path: Path) -> None:
    scrapy = (python, "-m", "scrapy")
    tool = python.with_name("bilingual-crawler")
    with serve.serving() as url:
        arguments = (
            "-a",
            "pair=eng-spa",
            "-a",
            f"seeds={url}",
            "-s",
            "BILINGUAL_OUTPUT_DIR=out",
            "-s",
            "BILINGUAL_ENCODER=",
        )
        crawl = run_outside(tmp_path, tool, "crawl", *arguments, *QUICK, *ALIGNED)
    assert crawl.returncode == 0, crawl.stderr
    assert "(bot: from-wheel)" in crawl.stderr
    assert "Traceback" not in crawl.stderr
    # a reason that only the alignment gives
    assert "low_score" in json.loads((tmp_path / "out" / "summary.json").read_text())["unpaired"]
    gold = check.gold_pairs("eng-spa")
    assert check.read_pairs(tmp_path / "out" / "pairs.tsv") == gold

    replay = ("-s", "BILINGUAL_REPLAY=out", "-s", "BILINGUAL_OUTPUT_DIR=again")
    crawl = run_outside(tmp_path, *scrapy, "crawl", "bilingual", "--config", "out/crawl.toml", *replay)
    assert crawl.returncode == 0, crawl.stderr
    assert check.read_pairs(tmp_path / "again" / "pairs.tsv") == gold

    align = (
        "align",
        "out",
        "--pair",
        "eng-spa",
        "--out",
        "aligned.tsv",
        "--bitext",
        "bitext",
        "-s",
        "BILINGUAL_ENCODER=",
    )
    aligned = run_outside(tmp_path, *scrapy, *align)
    assert aligned.returncode == 0, aligned.stdout + aligned.stderr
    assert check.read_pairs(tmp_path / "aligned.tsv") == gold
    assert any((tmp_path / "bitext").iterdir())

    report = run_outside(tmp_path, *scrapy, "report", "out")
    assert report.stdout.strip() == str(Path("out/report.html")), report.stderr
    assert {row["method"] for row in read_tsv(tmp_path / "aligned.tsv")}


def test_another_project_of_the_environment_keeps_its_own_crawl(python: Path, tmp_path: Path) -> None:
    scrapy, tool = (python, "-m", "scrapy"), python.with_name("bilingual-crawler")
    assert run_outside(tmp_path, *scrapy, "startproject", "other", ".").returncode == 0
    spider = "import scrapy\nclass Other(scrapy.Spider):\n    name = 'bilingual'\n    start_urls = ['data:,text']\n"
    spider += "    def parse(self, response):\n        yield {'said': self.said}\n"
    (tmp_path / "other" / "spiders" / "other.py").write_text(spider)
    result = run_outside(tmp_path, *scrapy, "crawl", "bilingual", "-a", "said=hello", "-O", "out.json")
    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "out.json").read_text()) == [{"said": "hello"}]
    assert "seeds" not in run_outside(tmp_path, *scrapy, "crawl", "--help").stdout
    assert "--bitext" in run_outside(tmp_path, *scrapy, "align", "--help").stdout
    # the console script is ours in every folder, with the settings of a project that has our spiders
    spam = ("crawl", "-a", "pair=eng-spam")
    assert "(bot: from-wheel)" in (told := run_outside(tmp_path, tool, *spam)).stderr
    assert "unknown language" in told.stderr
    settings = tmp_path / "other" / "settings.py"
    settings.write_text("from bilingual_crawler.settings import *\nBOT_NAME = 'mine'\nBILINGUAL_WARC = 'maybe'")
    assert "(bot: mine)" in (told := run_outside(tmp_path, tool, *spam)).stderr
    assert "BILINGUAL_WARC=maybe" in told.stderr


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("crawl", "-a", "pair=eng-spam"), "pair=eng-spam: unknown language"),
        (("discover", "-a", "pair=eng-spa"), "-a candidates=tsv:FILE"),
        (("align", "nowhere", "--pair", "eng-spa"), "nowhere"),
        (("harvest", "nowhere"), "nowhere"),
        (("report", "nowhere"), "nowhere is not a crawl's output folder"),
        (("review", "nowhere"), "nowhere/review.tsv: No such file or directory"),
    ],
)
def test_every_command_is_there_outside_the_repository(
    python: Path, tmp_path: Path, command: tuple[str, ...], message: str
) -> None:
    result = run_outside(tmp_path, python.with_name("bilingual-crawler"), *command)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_the_console_script_tells_its_commands(python: Path, tmp_path: Path) -> None:
    tool = python.with_name("bilingual-crawler")
    told = run_outside(tmp_path, tool)
    assert told.returncode == 0
    assert set(re.findall(r"^  (\w+)  ", told.stdout, re.MULTILINE)) >= set(COMMANDS)
    crawl = run_outside(tmp_path, tool, "crawl", "--help")
    assert crawl.returncode == 0
    assert "bilingual-crawler crawl|discover -a pair=eng-mlt" in crawl.stdout
    assert "--config FILE" in crawl.stdout
    wrong = run_outside(tmp_path, tool, "spam")
    assert wrong.returncode == 2
    assert "invalid choice: 'spam'" in wrong.stderr
