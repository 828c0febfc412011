"""The packages that messages, docs and ``make`` tell users to install exist; the project is in no package index."""

import re
import subprocess
import tomllib
from importlib.metadata import distributions
from pathlib import Path

from packaging.specifiers import SpecifierSet

from bilingual_crawler import plugins

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PACKAGES = {re.split(r"[<>=[]", requirement)[0] for extra in EXTRAS.values() for requirement in extra}
PACKAGES -= {PROJECT["name"]}
PEERS = {
    *("sentence-transformers", "scrapy-redis", "nltk", "sentalign", "wacz", "{missing}"),
    *("trafilatura", "resiliparse", "justext", "lxml_html_clean", "{name}"),
    *("opuscleaner", "opusfilter", "opustrainer", "pymarian", "sacrebleu"),
}
"""Named by the user, or used beside the project only; and the placeholder of one message."""
COMMAND = re.compile(r"pip install ((?:'[^']*'|[^'`\"&\n(;,])+)")
HINT = re.compile(r"to_install\(['\"](.*?)['\"]\)")
"""Where the package names an extra of its own."""

README = ROOT / "README.md"
MODULES = [*ROOT.glob("bilingual_crawler/**/*.py")]
FILES = [*MODULES, *ROOT.glob("docs/**/*.md"), README, *ROOT.glob("benchmarks/*.py")]


def test_what_is_to_be_installed_can_be() -> None:
    commands = {path.relative_to(ROOT): COMMAND.findall(path.read_text(encoding="utf-8")) for path in FILES}
    places = {str(path) for path, found in commands.items() if found}
    assert {"README.md", "docs/rendering.md", "bilingual_crawler/__init__.py"} <= places
    for path, command in ((path, command) for path, found in commands.items() for command in found):
        checkout = re.search(r"'?(?:\.|bilingual-crawler)\[([\w,]+|\{extra\})\]'?", command)
        if checkout:
            assert set(checkout[1].split(",")) <= {*EXTRAS, "{extra}"}, (path, command)
        else:
            named = {word.partition("==")[0].rstrip(".") for word in command.split()}
            assert named <= PACKAGES | PEERS, (path, command)


def test_messages_name_extras_that_there_are_in_one_way() -> None:
    package = {path: path.read_text(encoding="utf-8") for path in MODULES}
    named = {extra for text in package.values() for extra in HINT.findall(text)}
    for kind in (value for value in vars(plugins).values() if isinstance(value, plugins.Plugins)):
        named.update(extra for extra, *_ in kind.packages.values())
    assert {"align", "discovery", "gpu", "languages", "mine", "parquet", "pdf", "playwright", "redis", "spark"} == named
    assert named <= set(EXTRAS)
    # what is no extra of this project, or an exact version
    others = {path.name for path, text in package.items() if "pip install" in text}
    assert others == {"__init__.py", "base.py", "e5.py", "options.py"}


def dry_run(*arguments: str) -> str:
    """What ``make`` would do."""
    command = ("make", "--dry-run", "VENV=nowhere", *arguments)
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_make_test_says_what_it_installs() -> None:
    commands = dry_run("test")
    installed = re.search(r"pip install .* -e '\.\[([\w,]+)\]'", commands)
    assert installed
    assert f'echo "Installing the extras {installed[1]} into nowhere:' in commands


def test_the_readme_names_the_programs_that_tests_need() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    needed = set(re.findall(r'package="([\w-]+)"', tests))
    assert needed >= {"redis-server", "chromium"}
    paragraph = README.read_text(encoding="utf-8").partition("`make test`")[2].partition("\n\n")[0]
    assert needed <= set(re.findall(r"`([\w-]+)`", paragraph))
    assert needed <= set(re.findall(r"[\w-]+", (ROOT / ".ci" / "run").read_text(encoding="utf-8")))


def test_the_oldest_python_can_have_what_is_pinned() -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    pinned = re.findall(r"^([a-z\d-]+)==", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    needs = {re.sub("[-_.]+", "-", one.name).lower(): one.metadata["Requires-Python"] for one in distributions()}
    assert not [name for name in pinned if oldest not in SpecifierSet(needs.get(name) or "")]


def test_a_pair_without_seeds_is_that_of_the_example_and_with_seeds_that_of_the_websites() -> None:
    assert "examples/crawl.py --pair 'eng-eus'" in dry_run("crawl", "PAIR=eng-eus")
    assert "examples/crawl.py --pair 'eng-spa'" in dry_run("crawl")
    assert "--pair 'eng-mlt' --seeds 'https://a.b/'" in dry_run("crawl", "PAIR=eng-mlt", "SEEDS=https://a.b/")
