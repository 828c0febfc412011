"""The own text of a page that common themes of site generators and wikis render."""

from itertools import compress
from pathlib import Path

import pytest

from bilingual_crawler.pages.html import walk_through

THEMES = Path(__file__).parent / "themes"
OWN_TEXT = (THEMES / "bees.txt").read_text(encoding="utf-8").splitlines()
DATES = {"2025-02-02 10:00", "February 2, 2025 · One min read"}
BYLINES = {*DATES, "Anna Example", "Feb 2, 2025 • Anna Example", "Gardener"}
"""Date and author of a post, which may count as its text or not."""


@pytest.mark.parametrize("theme", sorted(path.stem for path in THEMES.glob("*.html")))
def test_the_main_lines_are_the_own_text(theme: str) -> None:
    walk = walk_through((THEMES / f"{theme}.html").read_text(encoding="utf-8"))
    assert [line for line in compress(walk.lines, walk.main) if line not in BYLINES] == OWN_TEXT
