"""Fixtures for all tests."""

import os
import sys
from pathlib import Path

import pytest
import scrapy.core.downloader.handlers.http11  # noqa: F401  it looks through all modules: before torch is one
from hypothesis import settings
from support import fork_server

# tests assert behaviour, not timing: the first example may build a table
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

fork_server.used = True
# without byte code each test process would compile the tests, and each new process of a test the package
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# several tests run at once, and threads of OpenMP that wait for one another keep the cores from the other tests
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the package does
fork_server.environment = dict(os.environ)

LONGEST = (
    *("transformer", "render", "deploy_page", "wheel", "faults", "workers", "first_hour"),
    *("crawl", "manners", "hub", "until", "pdf_crawl", "limits", "fuzz", "end_alignment", "mining", "variants"),
    *("budget_of_sites", "discovery", "sandbox", "distil", "training_language", "origin", "several_pairs"),
    *("addresses", "bad_neighbours", "hostile", "training_parallelness", "calendar", "align", "walls", "status"),
    *("ledger", "models"),
)
"""Files that cost most, in order, by what follows ``test_``: one that began last would keep one process busy."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files; leave the slow tests to CI."""
    place = {f"test_{name}": number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONGEST)))
    if not os.environ.get("CI"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: runs where CI is set, as in .ci/run"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The data folder beside the repository; the test is skipped where there is none."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}")
    return folder
