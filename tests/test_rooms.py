"""The plan of the package: what ``docs/architecture.md`` says and what the contracts of import-linter check are one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "bilingual_crawler"


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
