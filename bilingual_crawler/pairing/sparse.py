"""``scipy.sparse``, imported at its first use: that takes .4 s, and a crawl loads the judges only to check them."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(import_module("scipy.sparse"), name)
