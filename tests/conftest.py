"""Fixtures for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# tests assert behaviour, not timing: the first example may build a table
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

LONGEST = (
    "test_hostile",
    "test_deploy_page",
    "test_shared_crawl",
    "test_transformer",
    "test_wheel",
    "test_scrapyd",
    "test_several_pairs",
    "test_faults",
    "test_resume",
    "test_traps",
    "test_manners",
    "test_render",
)
"""Files of which each takes a minute or more: one that began last would keep one process busy while others wait."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files."""
    items.sort(key=lambda item: item.path.stem not in LONGEST)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The data folder beside the repository; the test is skipped where there is none."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}")
    return folder
