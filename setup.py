"""Puts the models, which lie beside the package, into what is built of it; all else is in ``pyproject.toml``."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

MODELS = ("url-language", "url-parallelness")


class BuildWithModels(build_py):
    """Wheels and eggs carry the two default models; an editable install reads them where they are."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for name in MODELS:
                shutil.copytree(
                    Path("models", name), Path(self.build_lib, "bilingual_crawler", "models", name), dirs_exist_ok=True
                )


setup(cmdclass={"build_py": BuildWithModels})
