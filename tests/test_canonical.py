from urllib.parse import urljoin

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bilingual_crawler.urls.canonical import MAX_LENGTH, canonicalise
from bilingual_crawler.urls.hosts import domain_label, registered_domain, split_host

BASE = "https://www.example.is/en/news/index.html?page=2"


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("/a/./b/../c/", "/a/c/"), ("/a/%2e%2E/c", "/c"), ("/../../a", "/a"), ("/a/..", "/"), ("/a#top", "/a"),
        ("/a#!/is/b", "/a#!/is/b"), ("/a?", "/a"), ("/%7euser/%c3%a9%2f", "/~user/%C3%A9%2F"),
        ("/fréttir og fleira", "/fr%C3%A9ttir%20og%20fleira"), ("/100%", "/100%25"),
        ("/a;jsessionid=1A2B?x=1", "/a?x=1"), ("//a//b", "//a//b"),
    ],
)  # fmt: skip
def test_path(path: str, canonical: str) -> None:
    assert canonicalise(f"http://example.is{path}") == f"http://example.is{canonical}"


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("HTTPS://WWW.Example.IS/A/b", "https://www.example.is/A/b"), ("http://example.is", "http://example.is/"),
        ("http://example.is:80/a", "http://example.is/a"), ("https://example.is:443/a", "https://example.is/a"),
        ("https://example.is:8443/a", "https://example.is:8443/a"), ("http://example.is:/a", "http://example.is/a"),
        ("http://user:secret@example.is/a", "http://example.is/a"), ("http://example.is./a", "http://example.is/a"),
        ("http://example.is?q=1", "http://example.is/?q=1"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://[2001:DB8::0:1]:8080/a", "http://[2001:db8::1]:8080/a"),
        ("  http://example.is/a\n\tb ", "http://example.is/ab"), ("http:\\\\example.is\\a", "http://example.is/a"),
        ("https:///example.is/a", "https://example.is/a"),
        ("http://my_host.example.is/a", "http://my_host.example.is/a"),
        ("http://my-.example.is/a", "http://my-.example.is/a"), ("http://☃.net/a", "http://xn--n3h.net/a"),
        ("http://my_shop.bücher.example/", "http://my_shop.xn--bcher-kva.example/"),
        ("http://faß.example/", "http://xn--fa-hia.example/"),
    ],
)  # fmt: skip
def test_absolute(url: str, canonical: str) -> None:
    assert canonicalise(url) == canonical


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("b=2&a=1&lang=is", "b=2&a=1&lang=is"), ("utm_source=x&lang=is&utm_medium=y", "lang=is"),
        ("gclid=1&hl=is&fbclid=2", "hl=is"), ("PHPSESSID=0a1b2c&L=1", "L=1"),
        ("locale=is_IS&setlang=is&l=is", "locale=is_IS&setlang=is&l=is"), ("sid=0123456789abcdef0123&id=7", "id=7"),
        ("sid=12&id=7", "sid=12&id=7"), ("CFID=100001&CFTOKEN=28735412&id=7", "id=7"),
        ("id=7&cftoken=2a5f&cfid=100001", "id=7"), ("cfid=12&id=7", "cfid=12&id=7"),
        ("side=left&sessions=3", "side=left&sessions=3"), ("a=1&amp;lang=is&amp;amp;b=2", "a=1&lang=is&b=2"),
        ("a=1&&b=2&", "a=1&b=2"), ("q=a+b%2fc&r[]=é", "q=a+b%2Fc&r[]=%C3%A9"),
    ],
)  # fmt: skip
def test_query_keeps_its_order_and_its_languages(query: str, kept: str) -> None:
    assert canonicalise(f"http://example.is/a?{query}") == f"http://example.is/a?{kept}"


@pytest.mark.parametrize(
    "names",
    [
        "utm_source gclid", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "yclid", "twclid", "igshid",
        "mc_cid", "mc_eid", "_hsenc", "_hsmi", "_ga", "_gl", "phpsessid", "jsessionid", "aspsessionidabc", "sessionid",
        "session_id", "zenid", "oscsid", "cftoken",
    ],
)  # fmt: skip
def test_a_query_of_trackers_leaves_none(names: str) -> None:
    query = "&".join(f"{name}=1" for name in names.split())
    assert canonicalise(f"http://example.is/a?{query}") == "http://example.is/a"
    assert canonicalise(f"/a?{query}&lang=is", "http://example.is/") == "http://example.is/a?lang=is"


@pytest.mark.parametrize(
    ("link", "canonical"),
    [
        ("", "index.html?page=2"), ("#top", "index.html?page=2"), ("?page=3", "index.html?page=3"),
        ("a.html", "a.html"), ("./a.html", "a.html"), ("../../is/a/", "/is/a/"), ("../../../../is/", "/is/"),
        ("..", "/en/"), ("https:a.html", "a.html"), ("HTTPS:/is/?lang=is#x", "/is/?lang=is"),
        ("https:", "index.html?page=2"), ("https:/\t/example.org/a", "https://example.org/a"),
        ("https:\\\\example.org/a", "https://example.org/a"), ("http:/example.org/a", "http://example.org/a"),
        ("/is/?lang=is#x", "/is/?lang=is"), ("/is/?utm_source=x", "/is/"), ("//other.is/a", "https://other.is/a"),
        ("fréttir.html", "fr%C3%A9ttir.html"), ("a/./b", "a/b"),
    ],
)  # fmt: skip
def test_relative(link: str, canonical: str) -> None:
    assert canonicalise(link, BASE) == urljoin("https://www.example.is/en/news/", canonical)


@pytest.mark.parametrize(
    "link",
    [
        "mailto:a@example.is", "javascript:void(0)", "tel:+354", "data:text/html,x", "ftp://example.is/a", "http://",
        "http:///", "http://exa mple.is/", "http://example..is/", "http://example.is:99999/", "http://example.is:port/",
        "http://1.2.3.999/", "http://[::1/", f"http://{'a' * 64}.is/", f"http://{'é' * 64}.is/", f"/{'a' * MAX_LENGTH}",
    ],
)  # fmt: skip
def test_what_is_no_link_to_fetch(link: str) -> None:
    assert canonicalise(link, BASE) is None


def test_a_relative_link_needs_a_base() -> None:
    assert canonicalise("a.html") is None
    assert canonicalise("a.html", "mailto:a@example.is") is None


urls = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["http://", "https://", "HTTP://", "//", "", "/", "../", "?", "#"]),
    st.sampled_from(["example.is", "EXAMPLE.is:80", "u@bücher.is", "[::1]:8080", "1.2.3.4", ""]),
    st.text(st.sampled_from("/.a%2eE~;:é @\\&=+'\t"), max_size=20),
    st.sampled_from(["", "?a=1&amp;utm_source=x", "?lang=is&&%7e=é", "?sid=0123456789abcdef0"]),
    st.sampled_from(["", "#x", "#!/é", "#!"]),
)


@given(st.one_of(urls, st.text(max_size=40)))
@example("http://example.is/%%34%31")
@example("http://example.is/a?b=&amp;amp;amp;c")
@example("http://example.is/..//a")
def test_canonical_form_is_stable(url: str) -> None:
    once = canonicalise(url, BASE)
    if once is not None:
        assert canonicalise(once) == once
        assert once.isascii()
        assert len(once) <= MAX_LENGTH


@given(st.lists(st.sampled_from(["a", "b.html", "..", ".", "c-d"]), max_size=6), st.booleans())
def test_joins_like_the_standard_library(segments: list[str], rooted: bool) -> None:
    link = ("/" if rooted else "") + "/".join(segments)
    assert canonicalise(link, BASE) == canonicalise(urljoin(BASE, link))


@pytest.mark.parametrize(
    ("url", "domain", "label"),
    [
        ("https://www.bbc.co.uk/news", "bbc.co.uk", "bbc"), ("example.com", "example.com", "example"),
        ("https://is.example.fr:8080/?a=b@c", "example.fr", "example"),
        ("https://someone.github.io/page/", "someone.github.io", "someone"),
        ("http://localhost:8000/", "localhost", "localhost"), ("http://127.0.0.1/", "127.0.0.1", "127.0.0.1"),
        ("http://[::1]:80/", "[::1]", "[::1]"), ("::1", "[::1]", "[::1]"),
        ("https://github.io/", "github.io", "github.io"),
    ],
)  # fmt: skip
def test_registered_domain(url: str, domain: str, label: str) -> None:
    assert registered_domain(url) == domain
    assert domain_label(url) == label


@pytest.mark.parametrize(
    ("host", "parts"),
    [
        ("a.b.co.uk", ("a", "b", "co.uk")), ("x.y.ck", ("", "x", "y.ck")), ("x.www.ck", ("x", "www", "ck")),
        ("a.b.xn--55qx5d.xn--j6w193g", ("a", "b", "xn--55qx5d.xn--j6w193g")), ("a.xn--.com", ("a", "xn--", "com")),
        ("localhost", ("", "localhost", "")), ("co.uk", ("", "", "co.uk")),
    ],
)  # fmt: skip
def test_rules_of_public_suffixes(host: str, parts: tuple[str, str, str]) -> None:
    assert split_host(host) == parts
