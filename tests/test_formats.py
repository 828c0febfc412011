from __future__ import annotations

import pytest

from bilingual_crawler.pages.formats import ONLY_HTML, ending_of, may_hold


@pytest.mark.parametrize(
    ("path", "is_page"),
    [
        ("page.html.so", True),
        ("page.html.rm", True),
        ("page.php.ps", True),
        ("page.shtml.mo", True),
        ("page.html.zip", False),
        ("page.html.jar", False),
        ("page.so", False),
        ("wiki/Node.js", True),
        ("w/index.php/Vue.js", True),
        ("wiki/MediaWiki:Common.js", False),
        ("wiki/skins/common.js", False),
        ("wiki/Report.pdf", False),
        ("w/images/1/12/Setup.exe", False),
        ("Node.js", False),
    ],
)
def test_an_ending_may_be_a_language_or_part_of_a_title(path: str, is_page: bool) -> None:
    assert may_hold(f"https://example.org/{path}", ONLY_HTML) is is_page


@pytest.mark.parametrize("name", ["Node.js", "/wiki/Node.js", "https://wiki/Node.js", "https://example.org.js"])
def test_a_name_alone_has_its_ending(name: str) -> None:
    assert ending_of(name) == "js"
