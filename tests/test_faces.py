"""The rooms of the package: their faces, and their plan in the docs and in the contracts of import-linter."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "bilingual_crawler"
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
def test_a_room_can_be_imported_first_and_loads_no_heavy_library(room: str) -> None:
    code = f"import sys, bilingual_crawler.{room}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert HEAVY.isdisjoint(loaded)


def test_the_table_of_rooms_is_that_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [layers] = (contract["layers"] for contract in contracts if contract.get("containers") == [PACKAGE.name])
    enforced = [[name.strip(" ()") for name in layer.split("|")] for layer in layers]
    table = (ROOT / "docs" / "architecture.md").read_text().partition("| floor |")[2].partition("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines()[2:]]
    written = [[room.removesuffix(".py").strip("/") for room in re.findall(r"`([^`]+)`", row)] for row in rows]
    assert written == [[name for name in layer if _exists(name)] for layer in enforced if any(map(_exists, layer))]


def test_request_meta_keys_are_written_in_one_file() -> None:
    literal = re.compile(r"""["']bilingual_(?!crawler)\w+["']""")
    using = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if literal.search(path.read_text())}
    assert using == {"crawl/signals.py"}


def _exists(room: str) -> bool:
    return (PACKAGE / room).is_dir() or (PACKAGE / f"{room}.py").exists()
