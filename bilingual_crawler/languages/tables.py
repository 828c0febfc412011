"""Word lists and tables as data: the file ``tables.toml`` of a room."""

import pkgutil
import tomllib
from functools import cache
from typing import Any


def read_tables(module: str) -> dict[str, Any]:
    """The tables beside *module*, which may be in an egg, by name."""
    return _of_room(module.rpartition(".")[0])


@cache
def _of_room(package: str) -> dict[str, Any]:
    data = pkgutil.get_data(package, "tables.toml")
    assert data is not None
    return tomllib.loads(data.decode())


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def by_word(lists: dict[str, str]) -> dict[str, str]:
    """Each word of *lists* to the key of its list; if several have it, of the first."""
    table: dict[str, str] = {}
    for key, text in lists.items():
        for word in text.split():
            table.setdefault(word, key)
    return table
