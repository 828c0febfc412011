"""Start a Python process that finds this package in the same place as this process, also in an egg."""

from __future__ import annotations

import os
import sys


def command(module: str, *arguments: str) -> list[str]:
    """The command that runs *module*, with :func:`environment`."""
    return [sys.executable, "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The environment of this process, with its module search path."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(folder) for folder in sys.path)}
