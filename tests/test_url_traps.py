from __future__ import annotations

import pytest

from bilingual_crawler.urls.traps import grown


@pytest.mark.parametrize(
    ("url", "way"),
    [
        ("https://a.is/" + "/".join(f"s{i}" for i in range(21)), "deep-path"),
        ("https://a.is/x/x/x/y", "repeated-segment"),
        ("https://a.is/a/b/a/b/a/b", "repeated-segment"),
        ("https://a.is/1/1/1", "repeated-segment"),
        ("https://a.is/en/is/en/is/en/x", "repeated-segment"),
        ("https://a.is/en/is/fr/x", "nested-language"),
        ("https://a.is/docs/en-gb/is-is/de/", "nested-language"),
        ("https://a.is/x/www.b.com/www.c.com", "nested-host"),
        ("https://a.is/?p=1&p=1&p=1", "repeated-query"),
        ("https://a.is/?" + "&".join(f"k{i}=1" for i in range(21)), "long-query"),
    ],
)
def test_links_that_grow_by_themselves(url: str, way: str) -> None:
    assert grown(url) == way


@pytest.mark.parametrize(
    "url",
    [
        "https://a.is/",
        "https://a.is/x/x/y?x/x/x/x",
        "https://a.is/2020/01/01/02/01/x",
        "https://a.is/news/-/12/-/13/-/x",
        "https://a.is/ch/de/x",
        "https://web.a.org/2020/https:/www.b.com/x",
        "https://a.is/?id=1&id=2&id=3&lang=en",
        "https://a.is/" + "/".join(f"s{i}" for i in range(20)),
    ],
)
def test_links_that_sites_really_have(url: str) -> None:
    assert grown(url) is None
