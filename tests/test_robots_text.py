from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from protego import Protego

from bilingual_crawler.pages.robots import header_directives, page_rules, rules_for, sitemaps_in

AGENT = "bilingual-crawler"
LINES = st.sampled_from(
    [
        "User-agent: *", "User-agent: Bilingual-Crawler", "user agent: bilingual", "User-agent: crawler", "User-agent:",
        "User-agent: other", "Disallow: /a", "Disallow: /b # why", "Allow: /a/b", "Disallow:", "Crawl-delay: 3",
        "Sitemap: https://a.example/s.xml", "Host: a.example", "", "# note", "nonsense", "Noindex: /c", "\ufeff",
        "Sitemap https://a.example/s.xml", "Disallow /a", "more nonsense", "a http://b.example/", "unknown: x",
    ]
)  # fmt: skip


@given(st.lists(LINES, max_size=12))
@example(["User-agent: *", "nonsense", "User-agent: crawler", "Disallow: /a"])
@example(["User-agent: *", "more nonsense", "User-agent: other", "Disallow /a", "User-agent: third", "Disallow: /b"])
@example(
    ["User-agent: *", "a http://b.example/", "User-agent: other", "unknown: x", "User-agent: third", "Disallow: /b"]
)
def test_what_is_left_out_does_not_concern_the_crawler(lines: list[str]) -> None:
    whole, reduced = (Protego.parse(text) for text in ("\n".join(lines), rules_for("\n".join(lines), AGENT)))
    for path in ("/", "/a", "/a/b", "/b", "/c"):
        assert whole.can_fetch(path, AGENT) == reduced.can_fetch(path, AGENT)
    assert whole.crawl_delay(AGENT) == reduced.crawl_delay(AGENT)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_comments(end: str) -> None:
    text = end.join(["\ufeffUser-agent: x # a robot", "Disallow: /x", "User-agent: *", "Disallow: /y # not here"])
    assert rules_for(text, AGENT) == "User-agent: *\nDisallow: /y"


def test_sitemaps_are_canonical_and_unique() -> None:
    text = "Sitemap: https://A.example/s.xml\nsitemaps: https://a.example/s.xml # again\nSitemap: mailto:x\nSitemap:"
    assert sitemaps_in(text, "https://a.example/robots.txt") == ["https://a.example/s.xml"]


@pytest.mark.parametrize("written", ["/maps/s.xml", "maps/s.xml", "//b.example/maps/s.xml"])
def test_sitemaps_may_be_relative(written: str) -> None:
    host = "b.example" if "b.example" in written else "a.example"
    assert sitemaps_in(f"Sitemap: {written}", "https://a.example/robots.txt") == [f"https://{host}/maps/s.xml"]


@pytest.mark.parametrize(
    ("values", "rules"),
    [
        ([], (False, False)),
        (["noindex"], (True, False)),
        (["NoFollow"], (False, True)),
        (["none"], (True, True)),
        (["noarchive", "nofollow , NOINDEX"], (True, True)),
        (["googlebot: noindex, nofollow"], (False, False)),
        (["googlebot: noindex", "nofollow"], (False, True)),
        (["Bilingual-Crawler: noindex, nofollow"], (True, True)),
        (["googlebot: nofollow, bilingual-crawler: noindex"], (True, False)),
        (["noindex, otherbot: nofollow"], (True, False)),
        (["*: noindex"], (True, False)),
        (["crawler: noindex"], (False, False)),
        (["max-snippet: 20, noindex"], (True, False)),
        (["unavailable_after: Saturday, 25-Jun-10 15:00:00 PST, nofollow"], (False, True)),
        ([":" * 50_000 + "," * 50_000], (False, False)),
    ],
)
def test_x_robots_tag(values: list[str], rules: tuple[bool, bool]) -> None:
    assert page_rules(header_directives(values, "bilingual-crawler")) == rules
