"""Puts the models, which lie beside the package, into what is built of it; all else is in ``pyproject.toml``."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithModels(build_py):
    """Wheels and eggs carry all that is in ``models/``; an editable install reads it where it is."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            shutil.copytree("models", Path(self.build_lib, "bilingual_crawler", "models"), dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithModels})
