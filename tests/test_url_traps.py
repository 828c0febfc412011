from bilingual_crawler.urls.traps import grown


def test_links_that_grow_by_themselves() -> None:
    for path, way in (
        ("/".join(f"s{i}" for i in range(21)), "deep-path"), ("x/x/x/y", "repeated-segment"),
        ("a/b/a/b/a/b", "repeated-segment"), ("1/1/1", "repeated-segment"), ("en/is/en/is/en/x", "repeated-segment"),
        ("en/is/fr/x", "nested-language"), ("docs/en-gb/is-is/de/", "nested-language"),
        ("x/www.b.com/www.c.com", "nested-host"), ("?p=1&p=1&p=1", "repeated-query"),
        ("?" + "&".join(f"k{i}=1" for i in range(21)), "long-query"),
    ):  # fmt: skip
        assert grown(f"https://a.is/{path}") == way


def test_links_that_sites_really_have() -> None:
    for path in (
        "", "x/x/y?x/x/x/x", "2020/01/01/02/01/x", "news/-/12/-/13/-/x", "ch/de/x", "2020/https:/www.b.com/x",
        "?id=1&id=2&id=3&lang=en", "/".join(f"s{i}" for i in range(20)),
    ):  # fmt: skip
        assert grown(f"https://a.is/{path}") is None
