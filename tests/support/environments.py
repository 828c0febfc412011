"""Virtual environments that hold the project as users install it, and nothing of this checkout."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHIPPED = (
    *("bilingual_crawler", "models", "LICENSE", "MANIFEST.in", "constraints.txt", "README.md"),
    *("pyproject.toml", "scrapy.cfg", "setup.py"),
)
_OURS = ("PYTHONPATH", "BILINGUAL_MODELS_DIR", "SCRAPY_SETTINGS_MODULE")
"""What tests and their callers set for themselves."""


def outside_environment(**changes: str) -> dict[str, str]:
    """The environment variables of somebody who knows nothing of this checkout."""
    return {name: value for name, value in os.environ.items() if name not in _OURS} | changes


def lend_packages(environment: Path) -> None:
    """Let the virtual *environment* import the packages of this one, after its own.

    The project itself is not among them: an editable install is found by a ``.pth`` file, and those of a folder that
    is named in a ``.pth`` file are not read.
    """
    (own,) = environment.glob("lib/python*/site-packages")
    for older in ("setuptools", "pkg_resources"):  # Python 3.11 brings one that pip replaces
        shutil.rmtree(own / older, ignore_errors=True)
    (own / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")


def run_outside(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run *command* in *folder*."""
    return subprocess.run(command, cwd=folder, env=outside_environment(), capture_output=True, text=True, timeout=300)


def copy_checkout(folder: Path, bot: str) -> Path:
    """A copy of this checkout in which the crawler calls itself *bot*, to tell it from what is installed."""
    folder.mkdir()
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    rename_bot(folder, bot)
    return folder


def rename_bot(checkout: Path, bot: str) -> None:
    with (checkout / "bilingual_crawler" / "settings.py").open("a") as settings:
        settings.write(f'BOT_NAME = "{bot}"\n')
