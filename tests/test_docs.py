"""The documentation: its examples run, its settings are those of the code, and the site builds without a warning."""

import os
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from support.environments import outside_environment

from bilingual_crawler import settings
from bilingual_crawler.options import PREFIX, Options

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^### (\w+)\n\n\*Default:\* (?:`([^`]*)`|empty)\. \*Values:\* (.+)\.\n\n\S", re.MULTILINE)
READERS = {
    f"{PREFIX}{name.upper()}": hint.__metadata__[0]
    for name, hint in get_type_hints(Options, include_extras=True).items()
}


@pytest.fixture(scope="module")
def documented() -> dict[str, tuple[str, str]]:
    """The settings of the page: default and values by name."""
    page = (DOCS / "settings.md").read_text(encoding="utf-8")
    entries = {name: (default, values) for name, default, values in ENTRY.findall(page)}
    assert re.findall(r"^### (.+)$", page, re.MULTILINE) == list(entries)
    return entries


def test_the_page_of_settings_has_every_setting_with_its_true_default_and_no_other(
    documented: dict[str, tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sorted(documented) == sorted(READERS)
    monkeypatch.delenv(f"{PREFIX}MODELS_DIR", raising=False)
    defaults = runpy.run_path(settings.__file__)
    written = {name: read(documented[name][0]) for name, read in READERS.items()}
    assert written == {name: read(defaults[name]) for name, read in READERS.items()}


def test_the_page_of_settings_has_the_names_to_choose_from(documented: dict[str, tuple[str, str]]) -> None:
    for name, read in READERS.items():
        choices = re.findall(r"[\w-]+", _choices(read))
        assert set(choices) <= set(re.findall(r"`([\w-]+)[`:]", documented[name][1])), name


def _choices(read: Any) -> str:
    """The names that a setting takes; empty if it takes other values."""
    try:
        read("no such value")
    except ValueError as error:
        return str(error).partition("choose one of ")[2].partition(", or")[0]
    return ""


@pytest.mark.slow
def test_the_examples_of_the_api_run(tmp_path: Path) -> None:
    files = []
    for page in sorted(DOCS.glob("api/*.md")):
        examples = EXAMPLE.findall(page.read_text(encoding="utf-8"))
        assert examples or page.stem == "index", page
        files.append(tmp_path / f"{page.stem}.txt")
        files[-1].write_text("\n".join(examples), encoding="utf-8")
    # in a process of their own: one of them is a crawl, which needs a reactor
    command = (sys.executable, "-m", "doctest", *map(str, files))
    environment = outside_environment(PYTHONPATH=str(ROOT))
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    if missing := [name for name in ("mkdocs", "material", "mkdocstrings_handlers") if find_spec(name) is None]:
        message = f"needs {', '.join(missing)}, of the extra docs"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site"))
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    pages = [page.read_text(encoding="utf-8") for page in (tmp_path / "site").rglob("*.html")]
    assert len(pages) > len(list(DOCS.rglob("*.md")))
    # readers of the site are nobody else's business
    loaded = re.compile(r"<(?:script|img|iframe)[^>]*\ssrc=[\"']?(?:https?:)?//|<link[^>]*rel=[\"']?stylesheet[^>]*//")
    assert not [found[0] for page in pages if (found := loaded.search(page))]


def test_files_that_pages_name_exist() -> None:
    files = [f"/{path.relative_to(ROOT).as_posix()}" for path in ROOT.glob("[a-z]*/**/*.py")]
    named = {
        (page.name, name)
        for page in (*DOCS.rglob("*.md"), ROOT / "README.md")
        for name in re.findall(r"`([\w./]+\.py)`", page.read_text(encoding="utf-8"))
    }
    # comes with the archived sites
    for tool in ("hard_variants.py", "half_translated.py"):
        named.remove(("harvest.md", tool))
    assert len(named) > 50
    assert not {(page, name) for page, name in named if not any(file.endswith(f"/{name}") for file in files)}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900
