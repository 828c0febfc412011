import pytest

from bilingual_crawler.pages.formats import ONLY_HTML, ending_of, may_hold

PAGES = "page.html.so page.html.rm page.php.ps page.shtml.mo wiki/Node.js w/index.php/Vue.js"
OTHERS = "page.html.zip page.html.jar page.so wiki/MediaWiki:Common.js wiki/skins/common.js wiki/Report.pdf Node.js"


def test_an_ending_may_be_a_language_or_part_of_a_title() -> None:
    pages, others = PAGES.split(), [*OTHERS.split(), "w/images/1/12/Setup.exe"]
    assert [path for path in (*pages, *others) if may_hold(f"https://example.org/{path}", ONLY_HTML)] == pages


@pytest.mark.parametrize("name", ["Node.js", "/wiki/Node.js", "https://wiki/Node.js", "https://example.org.js"])
def test_a_name_alone_has_its_ending(name: str) -> None:
    assert ending_of(name) == "js"
