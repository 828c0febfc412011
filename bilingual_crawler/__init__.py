"""A focused crawler that finds parallel documents early."""

from __future__ import annotations

import atexit
import gc
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bilingual_crawler.api import (
        Pair,
        align,
        align_sentences,
        identify_language,
        own_text,
        read_bitext,
        read_documents,
        read_pairs,
        run_crawl,
    )

__version__ = "1.0.0"
__all__ = [
    "Pair",
    "align",
    "align_sentences",
    "identify_language",
    "own_text",
    "read_bitext",
    "read_documents",
    "read_pairs",
    "run_crawl",
]


def lazy_exports(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that imports a name from its submodule at first use."""

    def export(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{names[name]}"), name)

    return export


if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, dict.fromkeys(__all__, "api"))


def collect_rarely() -> None:
    """Examine modules, queue and texts less often, not even at the end: their objects live long, in no cycles."""
    gc.set_threshold(50_000, 20, 100)
    atexit.register(gc.freeze)


def noun(count: int, one: str, several: str = "") -> str:
    """Return the noun for *count* things: *one*, or *several*, which is *one* with an s by default."""
    return one if count == 1 else several or f"{one}s"


def to_install(extra: str) -> str:
    """The command that adds the packages of *extra* to this installation, be it a wheel or a checkout."""
    return f"pip install 'bilingual-crawler[{extra}]'"


ONE_ONNXRUNTIME = "pip uninstall -y onnxruntime onnxruntime-gpu && pip install onnxruntime-gpu"
"""What ends the installation of the extra ``gpu``: the two wheels hold the same files, and pip keeps those of both."""
