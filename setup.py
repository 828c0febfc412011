"""Puts the models, which lie beside the package, into what is built of it; all else is in ``pyproject.toml``.

Eggs have bytecode as well.
"""

from __future__ import annotations

import compileall
import shutil
from pathlib import Path
from py_compile import PycInvalidationMode

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithModels(build_py):
    """Wheels and eggs carry all that is in ``models/``; an editable install reads it where it is."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            package = Path(self.build_lib, "bilingual_crawler")
            shutil.copytree("models", package / "models", dirs_exist_ok=True)
            if "bdist_egg" in self.distribution.commands:
                # Scrapyd runs eggs zipped: all processes of a job would compile what has no bytecode beside its source
                mode = PycInvalidationMode.UNCHECKED_HASH
                compileall.compile_dir(package, ddir=package.name, quiet=1, legacy=True, invalidation_mode=mode)


setup(cmdclass={"build_py": BuildWithModels})
