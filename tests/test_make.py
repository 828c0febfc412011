"""What ``make`` says and does, without doing it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def dry_run(*arguments: str) -> str:
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
    paragraph = README.partition("`make test`")[2].partition("\n\n")[0]
    assert needed <= set(re.findall(r"`([\w-]+)`", paragraph))
    assert needed <= set(re.findall(r"[\w-]+", (ROOT / ".ci" / "run").read_text(encoding="utf-8")))


def test_a_pair_without_seeds_is_that_of_the_example_and_with_seeds_that_of_the_websites() -> None:
    assert "examples/crawl.py --pair 'eng-eus'" in dry_run("crawl", "PAIR=eng-eus")
    assert "examples/crawl.py --pair 'eng-spa'" in dry_run("crawl")
    assert "--pair 'eng-mlt' --seeds 'https://a.b/'" in dry_run("crawl", "PAIR=eng-mlt", "SEEDS=https://a.b/")
