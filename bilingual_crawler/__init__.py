"""A focused crawler that finds parallel documents early."""

from __future__ import annotations

import atexit
import gc
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

# threads of BLAS that wait for one another cost many times what the small matrices of this package need
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

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


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.api"), name)


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
