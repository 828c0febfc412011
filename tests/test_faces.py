"""The faces of the rooms: each name of ``__all__`` is there, and importing a room loads no heavy library."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

ROOMS = (
    *("alignment", "bitext", "commands", "crawl", "discovery", "encoders", "frontier", "harvest", "languages"),
    *("mining", "pages", "pairing", "reporting", "scoring", "storage", "urls"),
)
HEAVY = {"matplotlib", "scipy", "onnxruntime", "duckdb", "pandas", "onnx", "ibis", "redis", "pyarrow", "playwright"}


@pytest.mark.parametrize("room", ROOMS)
def test_each_public_name_is_there(room: str) -> None:
    module = import_module(f"bilingual_crawler.{room}")
    assert module.__doc__
    for name in getattr(module, "__all__", ()):
        assert getattr(module, name).__name__ == name
    with pytest.raises(AttributeError):
        module.missing  # noqa: B018


@pytest.mark.parametrize("room", ROOMS)
def test_importing_a_room_loads_no_heavy_library(room: str) -> None:
    code = f"import sys, bilingual_crawler.{room}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert HEAVY.isdisjoint(loaded)
