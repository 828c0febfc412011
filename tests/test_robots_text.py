import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from protego import Protego

from bilingual_crawler.pages.robots import header_directives, page_rules, rules_for, sitemaps_in, text_of

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
@example(["User-agent: *", "a http://b.example/", "User-agent: other", "unknown: x", "User-agent: 3", "Disallow: /b"])
def test_what_is_left_out_does_not_concern_the_crawler(lines: list[str]) -> None:
    whole, reduced = (Protego.parse(text) for text in ("\n".join(lines), rules_for("\n".join(lines), AGENT)))
    for path in ("/", "/a", "/a/b", "/b", "/c"):
        assert whole.can_fetch(path, AGENT) == reduced.can_fetch(path, AGENT)
    assert whole.crawl_delay(AGENT) == reduced.crawl_delay(AGENT)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_comments(end: str) -> None:
    text = end.join(["\ufeffUser-agent: x # a robot", "Disallow: /x", "User-agent: *", "Disallow: /y # not here"])
    assert rules_for(text, AGENT) == "User-agent: *\nDisallow: /y"


def test_sitemaps_are_canonical_and_unique_and_may_be_relative() -> None:
    text = (
        "\ufeffSitemap: https://A.example/s.xml\nUser-agent: *\n  sitemap :https://a.example/t.xml # main\n"
        "SITEMAP: https://a.example/s.xml\nsitemaps: https://a.example/s.xml # again\nSitemap: mailto:x\nSitemap:\n"
        "# Sitemap: https://a.example/x.xml\nSitemap: /maps/s.xml\nSitemap: maps/t.xml\nSitemap: //b.example/maps/s.xml"
    )
    paths = "a.example/s.xml a.example/t.xml a.example/maps/s.xml a.example/maps/t.xml b.example/maps/s.xml"
    assert sitemaps_in(text, "https://a.example/robots.txt") == [f"https://{path}" for path in paths.split()]


def test_names_that_stand_for_the_crawler() -> None:
    for name in (
        "bilingual-crawler/1.0.0", "Bilingual-Crawler/1.0.0 (+https://lab.example/about)", "* # all", "*,otherbot",
        "Mozilla/5.0 (compatible; bilingual-crawler/1.0; +https://lab.example)", "otherbot, bilingual-crawler",
        "bilingual-crawler otherbot", "otherbot bilingual-crawler", "bilingual crawler",
    ):  # fmt: skip
        assert not allows(f"User-agent: {name}\nDisallow: /", "/", AGENT)


@pytest.mark.parametrize("name", ["otherbot", "my-bilingual-crawler", "bilingual-crawlers", "ツ", "", "/", "a, bot"])
def test_names_that_do_not(name: str) -> None:
    assert allows(f"User-agent: {name}\nDisallow: /", "/", AGENT)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings(encoding: str) -> None:
    text = text_of("User-agent: *\r\nDisallow: /é\r\n".encode(encoding))
    assert rules_for(text, AGENT) == "User-agent: *\nDisallow: /é"


LONG = "/x/" + "a" * (8 * 2083 - len("/x/disallow: ") + 1)
BOTS = """
allow: /foo/bar/

user-agent: FooBot
disallow: /
allow: /x/
user-agent: BarBot
disallow: /
allow: /y/


allow: /w/
user-agent: BazBot

user-agent: FooBot
allow: /z/
disallow: /
"""


@pytest.mark.parametrize(
    ("text", "agent", "allowed", "forbidden"),
    [
        ("", "FooBot", "/", ""),
        ("user-agent: FooBot\ndisallow: /", "FooBot", "", "/ /x/y"),
        ("foo: FooBot\nbar: /", "FooBot", "/x/y", ""),
        ("user-agent FooBot\ndisallow /", "FooBot", "", "/x/y"),
        (BOTS, "FooBot", "/x/b /z/d", "/y/c /foo/bar/"),
        (BOTS, "BarBot", "/y/c /w/a", "/z/d /foo/bar/"),
        (BOTS, "BazBot", "/z/d", "/foo/bar/"),
        ("USER-AGENT: FooBot\nALLOW: /x/\nDISALLOW: /", "FooBot", "/x/y", "/a/b"),
        ("uSeR-aGeNt: FooBot\nAlLoW: /x/\ndIsAlLoW: /", "FooBot", "/x/y", "/a/b"),
        ("User-Agent: FOO BAR\nAllow: /x/\nDisallow: /", "foo", "/x/y", "/a/b"),
        ("User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar\nAllow: /x/\nDisallow: /", "Foo", "/x/y", "/a/b"),
        ("user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /", "FooBot", "", "/x/y"),
        ("user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /", "BarBot", "/x/y", ""),
        ("user-agent: FooBot\nallow: /\nuser-agent: BarBot\ndisallow: /", "QuxBot", "/x/y", ""),
        ("user-agent: FooBot\ndisallow: /x/", "FooBot", "/X/y", "/x/y"),
        ("user-agent: FooBot\ndisallow: /x/page.html\nallow: /x/", "FooBot", "/x/", "/x/page.html"),
        ("user-agent: FooBot\nallow: /x/page.html\ndisallow: /x/", "FooBot", "/x/page.html", "/x/"),
        ("user-agent: FooBot\ndisallow: \nallow: ", "FooBot", "/x/page.html", ""),
        ("user-agent: FooBot\ndisallow: /\nallow: /", "FooBot", "/x/page.html", ""),
        ("user-agent: FooBot\ndisallow: /x\nallow: /x/", "FooBot", "/x/", "/x"),
        ("user-agent: FooBot\ndisallow: /x/p\nallow: /x/p", "FooBot", "/x/p", ""),
        ("user-agent: FooBot\nallow: /page\ndisallow: /*.html", "FooBot", "/page", "/page.html"),
        ("user-agent: FooBot\nallow: /x/page.\ndisallow: /*.html", "FooBot", "/x/page.html", "/x/y.html"),
        ("User-agent: *\nDisallow: /x/\nUser-agent: FooBot\nDisallow: /y/", "FooBot", "/x/page", "/y/page"),
        ("User-agent: FooBot\nDisallow: /\nAllow: /a?q=t&b=http://f.b?t&p", "FooBot", "/a?q=t&b=http://f.b?t&p", "/"),
        ("User-agent: FooBot\nDisallow: /\nAllow: /b/ツ", "FooBot", "/b/%E3%83%84", "/b/"),
        ("User-agent: FooBot\nDisallow: /\nAllow: /b/%E3%83%84", "FooBot", "/b/%E3%83%84", "/b/"),
        ("User-agent: FooBot\nDisallow: /f/b/quz\nAllow: /f/*/qux", "FooBot", "/f/quz /f//quz /f/x/quz", "/f/b/quz"),
        ("User-agent: FooBot\nDisallow: /f/b$\nAllow: /f/b/qux", "FooBot", "/f/b/qux /f/b/ /f/b/baz", "/f/b"),
        ("User-agent: FooBot\n# Disallow: /\nDisallow: /f/quz#qux\nAllow: /", "FooBot", "/f/bar", "/f/quz"),
        ("User-Agent: *\nAllow: /a/index.html\nDisallow: /", "foobot", "/a/ /a/index.html", "/a/index.htm /b"),
        (f"user-agent: FooBot\ndisallow: {LONG}/qux", "FooBot", "/fux", f"{LONG}/fux"),
        (f"user-agent: FooBot\ndisallow: /\nallow: {LONG}/qux", "FooBot", f"{LONG}/qux {LONG}/fux", "/"),
        ("user-agent: FooBot\ndisallow: /\nallow: /fish", "FooBot",
         "/fish /fish.html /fish/salmon.html /fishheads /fish.html?id=anything", "/bar /Fish.asp /catfish /?id=fish"),
        ("user-agent: FooBot\ndisallow: /\nallow: /fish*", "FooBot", "/fish /fish/salmon.html", "/Fish.bar /catfish"),
        ("user-agent: FooBot\ndisallow: /\nallow: /fish/", "FooBot", "/fish/ /fish/?salmon", "/fish /fish.html"),
        ("user-agent: FooBot\ndisallow: /\nallow: /*.php", "FooBot",
         "/f.php /x/f.php?p //folder/any.php.file.html /f.php/ /index?f=f.php/", "/php/ /index?php /windows.PHP"),
        ("user-agent: FooBot\ndisallow: /\nallow: /*.php$", "FooBot",
         "/f.php /x/f.php", "/f.php?p /f.php/ /f.php5 /php/ /f?php /aaaphpaaa //windows.PHP"),
        ("user-agent: FooBot\ndisallow: /\nallow: /fish*.php", "FooBot", "/fish.php /fishh/cat.php?p", "/Fish.PHP"),
        ("user-agent: FooBot\nallow: /folder\ndisallow: /folder", "FooBot", "/folder/page", ""),
        ("user-agent: FooBot\nallow: /page\ndisallow: /*.htm", "FooBot", "", "/page.htm"),
        ("user-agent: FooBot\nallow: /$\ndisallow: /", "FooBot", "/", "/page.html"),
    ],
)  # fmt: skip
def test_the_public_cases_of_googles_parser(text: str, agent: str, allowed: str, forbidden: str) -> None:
    """All but those of addresses that are not escaped, which the crawler never has."""
    assert [path for path in allowed.split() if not allows(text, path, agent)] == []
    assert [path for path in forbidden.split() if allows(text, path, agent)] == []


def allows(text: str, path: str, agent: str) -> bool:
    return Protego.parse(rules_for(text, agent)).can_fetch(f"http://foo.bar{path}", agent)


def test_x_robots_tag() -> None:
    for values, rules in (
        ([], (False, False)), (["noindex"], (True, False)), (["NoFollow"], (False, True)), (["none"], (True, True)),
        (["noarchive", "nofollow , NOINDEX"], (True, True)), (["googlebot: noindex, nofollow"], (False, False)),
        (["googlebot: noindex", "nofollow"], (False, True)), (["Bilingual-Crawler: noindex, nofollow"], (True, True)),
        (["googlebot: nofollow, bilingual-crawler: noindex"], (True, False)), (["*: noindex"], (True, False)),
        (["noindex, otherbot: nofollow"], (True, False)), (["crawler: noindex"], (False, False)),
        (["max-snippet: 20, noindex"], (True, False)), ([":" * 50_000 + "," * 50_000], (False, False)),
        (["unavailable_after: Saturday, 25-Jun-10 15:00:00 PST, nofollow"], (False, True)),
    ):  # fmt: skip
        assert page_rules(header_directives(values, "bilingual-crawler")) == rules
