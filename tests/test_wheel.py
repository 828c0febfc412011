"""The wheel, installed in an environment of its own and used far from the repository."""

import csv
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.crawls import ended_well, summary
from support.environments import copy_checkout, lend_packages, run_outside
from support.example_site import check, serve
from support.harvest_site import build_site
from support.webserver import ALIGNED, QUICK

from bilingual_crawler.__main__ import COMMANDS
from bilingual_crawler.storage.records import read_tsv

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow
NO_ENCODER = ("-s", "BILINGUAL_ENCODER=")
OUT = ("-s", "BILINGUAL_OUTPUT_DIR=out")
PIP = (sys.executable, "-m", "pip")
OFFLINE = ("--no-index", "--no-deps", "--no-build-isolation")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel; its dependencies come from the test environment."""
    folder = tmp_path_factory.mktemp("wheel")
    checkout = copy_checkout(folder / "checkout", "from-wheel")
    ended_well(run_outside(folder, *PIP, "wheel", *OFFLINE, checkout))
    (wheel,) = folder.glob("*.whl")
    environment = folder / "environment"
    ended_well(run_outside(folder, sys.executable, "-m", "venv", "--without-pip", environment))
    _install(environment / "bin" / "python", wheel)
    lend_packages(environment)
    return environment / "bin" / "python"


def _install(python: Path, package: Path) -> None:
    ended_well(run_outside(package.parent, *PIP, "--python", python, "install", *OFFLINE, package))


def test_the_wheel_holds_every_file_of_the_package_and_the_models(python: Path, tmp_path: Path) -> None:
    program = "import bilingual_crawler; from bilingual_crawler import *; print(bilingual_crawler.__file__)"
    result = run_outside(tmp_path, python, "-c", program)
    package = Path(result.stdout.strip()).parent
    assert package.is_relative_to(python.parent.parent), result.stderr
    files = _files(ROOT / "bilingual_crawler") | {Path("models", file) for file in _files(ROOT / "models")}
    assert _files(package) == files
    assert Path("models/discovery/evidence.json") in files


def _files(folder: Path) -> set[Path]:
    return {one.relative_to(folder) for one in folder.rglob("*") if one.is_file() and "__pycache__" not in one.parts}


@pytest.fixture(scope="module")
def example() -> Iterator[str]:
    """The address of the example site."""
    with serve.serving() as url:
        yield url


@pytest.fixture(scope="module")
def crawled(python: Path, example: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the wheel has crawled the example site into ``out``."""
    folder = tmp_path_factory.mktemp("crawled")
    arguments = ("-v", "--pair", "eng-spa", "--seeds", example, *OUT, *NO_ENCODER)
    command = (python.with_name("bilingual-crawler"), "crawl", *arguments, *QUICK, *ALIGNED)
    crawl = ended_well(run_outside(folder, *command))
    assert "(bot: from-wheel)" in crawl.stderr
    assert "Traceback" not in crawl.stderr
    return folder


def test_crawl_ends_with_the_alignment(crawled: Path) -> None:
    # a reason that only the alignment gives
    assert "low_score" in summary(crawled)["unpaired"]
    assert check.read_pairs(crawled / "out" / "pairs.tsv") == check.gold_pairs("eng-spa")


def test_a_crawl_is_replayed_by_scrapy_with_evidence_of_ones_own(python: Path, crawled: Path, plugged: Path) -> None:
    replay = ("-s", f"BILINGUAL_REPLAY={crawled / 'out'}", "-s", "BILINGUAL_OUTPUT_DIR=again")
    evidence = ("-s", "BILINGUAL_GAIN_EVIDENCE=shallow_first.ShallowFirst")
    command = ("-m", "scrapy", "crawl", "bilingual", "--config", crawled / "out" / "crawl.toml", *replay, *evidence)
    ended_well(run_outside(plugged, python, *command))
    assert check.read_pairs(plugged / "again" / "pairs.tsv") == check.gold_pairs("eng-spa")
    found = json.loads((plugged / "again" / "summary.json").read_text())
    assert found["policy"] == "gain"
    assert found["settings"]["BILINGUAL_GAIN_EVIDENCE"] == "shallow_first.ShallowFirst"


OWN_CLASSES = ("-a", "policy=countries_first.CountriesFirst", "-a", "detector=link_count.LinkCount")


@pytest.mark.parametrize("classes", [(), OWN_CLASSES], ids=["built in", "by their paths"])
def test_discover(python: Path, example: str, plugged: Path, tmp_path: Path, classes: tuple[str, ...]) -> None:
    given = ("--pair", "eng-spa", "--seeds", example, "-s", f"BILINGUAL_OUTPUT_DIR={tmp_path}", *QUICK)
    _succeeds(python, plugged, "discover", *given, *classes)
    (site,) = read_tsv(tmp_path / "sites.tsv")
    assert site["verdict"] == "bilingual"
    assert not classes or site["likelihood"] == "0.8"


def test_align_review_and_report(python: Path, crawled: Path) -> None:
    outputs = ("--out", "aligned.tsv", "--bitext", "bitext", "--review", "review")
    _succeeds(python, crawled, "align", "out", *outputs, *NO_ENCODER)
    assert check.read_pairs(crawled / "aligned.tsv") == check.gold_pairs("eng-spa")
    assert any((crawled / "bitext").iterdir())
    sheet = crawled / "review" / "review.tsv"
    sheet.write_text(sheet.read_text().replace("\t\t\n", "\t1\t\n"))
    assert "precision 1.000" in _succeeds(python, crawled, "review", "review")
    assert _succeeds(python, crawled, "report", "out").strip() == "out/report.html"


def test_mine(python: Path, crawled: Path) -> None:
    pytest.importorskip("ibis")
    _succeeds(python, crawled, "mine", "out", "--pairs", "eng-spa", "--out", "mined", "--buckets", "2", *NO_ENCODER)
    mined = json.loads((crawled / "mined" / "report.json").read_text())
    assert sum(mined["content"]["total"]["pairs"]["eng-spa"].values()) == len(check.gold_pairs("eng-spa"))


def test_harvest_measures_a_policy_also_by_its_path(python: Path, plugged: Path) -> None:
    build_site(plugged / "sites")
    _succeeds(python, plugged, "harvest", "sites", "--out", "harvest", "--policies", "bfs,news_first.NewsFirst")
    results = json.loads((plugged / "harvest" / "results.json").read_text())
    measured = {(result["site"], result["policy"]) for result in results}
    assert measured == {("saga", "bfs"), ("saga", "news_first.NewsFirst")}
    assert (plugged / "harvest" / "harvest.png").exists()


def _succeeds(python: Path, folder: Path, *command: str) -> str:
    """The standard output of the console script."""
    result = run_outside(folder, python.with_name("bilingual-crawler"), *command)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    return result.stdout


def test_another_project_of_the_environment_keeps_its_own_crawl(python: Path, tmp_path: Path) -> None:
    scrapy, tool = (python, "-m", "scrapy"), python.with_name("bilingual-crawler")
    ended_well(run_outside(tmp_path, *scrapy, "startproject", "other", "."))
    spider = "import scrapy\nclass Other(scrapy.Spider):\n    name = 'bilingual'\n    start_urls = ['data:,text']\n"
    spider += "    def parse(self, response):\n        yield {'said': self.said}\n"
    (tmp_path / "other" / "spiders" / "other.py").write_text(spider)
    ended_well(run_outside(tmp_path, *scrapy, "crawl", "bilingual", "-a", "said=hello", "-O", "out.json"))
    assert json.loads((tmp_path / "out.json").read_text()) == [{"said": "hello"}]
    assert "--bitext" in run_outside(tmp_path, *scrapy, "align", "--help").stdout
    # the console script is ours in every folder, with the settings of a project that has our spiders
    spam = ("crawl", "--pair", "eng-spam")
    assert "unknown language" in run_outside(tmp_path, tool, *spam).stderr
    settings = tmp_path / "other" / "settings.py"
    settings.write_text("from bilingual_crawler.settings import *\nBILINGUAL_WARC = 'maybe'")
    assert "BILINGUAL_WARC=maybe" in run_outside(tmp_path, tool, *spam).stderr


def test_the_console_script_tells_its_commands(python: Path, tmp_path: Path) -> None:
    told = ended_well(run_outside(tmp_path, python.with_name("bilingual-crawler")))
    assert set(re.findall(r"^  (\w+)  ", told.stdout, re.MULTILINE)) >= set(COMMANDS)


# plug-ins -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plugged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the modules of ``examples/plugins``."""
    folder = tmp_path_factory.mktemp("plugged")
    for module in (ROOT / "examples" / "plugins").glob("*.py"):
        shutil.copy(module, folder)
    return folder


def test_a_crawl_of_classes_by_their_paths(python: Path, example: str, plugged: Path) -> None:
    settings = {
        **{"DETECTORS": "word_list.WordList", "ENCODER": "trigrams.Trigrams", "CACHE_DIR": "cache"},
        **{"ALIGN": "same_file.SameFile", "BITEXT": "csv_export.Csv,dropped", "OUTPUT_DIR": "out"},
        **{"SENTENCE_FILTERS": "max_length:MaxLength", "FRONTIER": "folder_store.FolderStore://queue"},
    }
    given = [part for name, value in settings.items() for part in ("-s", f"BILINGUAL_{name}={value}")]
    arguments = ("--pair", "eng-spa", "--seeds", example, "-a", "policy=news_first.NewsFirst", *QUICK, *given)
    _succeeds(python, plugged, "crawl", *arguments)
    told = summary(plugged)
    assert told["policy"] == "news-first"
    assert told["bitext_dropped"]["too_long"] > 0
    pairs = list(read_tsv(plugged / "out" / "pairs.tsv"))
    assert pairs
    assert all(Path(pair["url_a"]).name == Path(pair["url_b"]).name for pair in pairs)
    rows = list(csv.DictReader((plugged / "out" / "bitext" / "en-es.csv").open(newline="")))
    assert len(rows) == told["bitext"]["kept"] > 0
    assert all(len(row["en"]) <= 150 for row in rows)
    assert (plugged / "cache" / "trigrams.Trigrams").is_dir()
    assert (plugged / "queue" / "data.mdb").is_file()


def test_classes_of_an_installed_package(python: Path, example: str, crawled: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "plugins", tmp_path / "package")
    _install(python, tmp_path / "package")
    names = {"policies": "news-first", "evidence": "shallow-first", "site_orders": "countries-first"}
    names |= {"site_detectors": "link-count", "language_detectors": "word-list", "encoders": "trigrams"}
    names |= {"alignment_methods": "same-file", "sentence_filters": "max-length", "exports": "csv"}
    names |= {"frontier_stores": "folder"}
    program = "from bilingual_crawler import plugins\n"
    program += "kinds = {kind.group: kind for kind in vars(plugins).values() if isinstance(kind, plugins.Plugins)}\n"
    program += f"print(*(kinds[group].find(name).__module__ for group, name in {names}.items()))\n"
    program += f"print(kinds.keys() == {names}.keys())\nkinds['alignment_methods'].find('same-fil')"
    found = run_outside(tmp_path, python, "-c", program)
    assert "same-file, or give" in found.stderr
    modules = {path.stem for path in (ROOT / "examples" / "plugins").glob("*.py")}
    assert set(found.stdout.split()) == {*modules, "True"}
    given = ("--method", "same-file", "--bitext", "csv", "--formats", "csv", "--filters", "max-length")
    said = _succeeds(python, tmp_path, "align", str(crawled / "out"), "--pair", "eng-spa", *given, *NO_ENCODER)
    assert "too_long" in said
    assert (tmp_path / "csv" / "en-es.csv").is_file()
