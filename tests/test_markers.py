import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilingual_crawler.urls.marks import Component, find_markers, marked_language, strip_language


@pytest.mark.parametrize(
    ("place", "lang"),
    [
        # Query values.
        ("/a?lang=is", "isl"), ("/a?id=3&hl=EN&b=1", "eng"), ("/a?locale=pt_BR", "por"),
        ("/a?language=icelandic", "isl"), ("/a?L=no", "nor"), ("/a?setlang=cz", "ces"), ("/a?x=fr", "fra"),
        # Directories.
        ("/en/a", "eng"), ("/a/b/is", "isl"), ("/en-US/a", "eng"), ("/zh-hans/a", "zho"), ("/be-fr/a", "fra"),
        ("/ice/a", None), ("/eng/a", "eng"), ("/English/a", "eng"), ("/Yoruba/a", "yor"), ("/euskara/a", "eus"),
        ("/%C3%ADslenska/a", "isl"), ("/gr/a", "ell"), ("/jp/a", "jpn"), ("/us/about", "eng"),
        ("/docs/es_ES.UTF-8/a", "spa"), ("someone.github.io/project/kn/a.html", "kan"),
        ("/manual/el.amd64/ch01.html", "ell"),
        # File names.
        ("/a/index.en.html", "eng"), ("/a/page_fr.html", "fra"), ("/a/foo-is.html", "isl"), ("/a/start.es.html", "spa"),
        ("/a/page-pt-br.html", "por"), ("/index.html.it", "ita"), ("/contact-fr", "fra"), ("/english.htm", "eng"),
        # Subdomains and public suffixes.
        ("is.x.com/a", "isl"), ("www.en.x.com/a", "eng"), ("thai.x.com/a", "tha"), ("x.is/a", "isl"),
        ("x.eus/a", "eus"), ("en.x.is/a", "eng"),
        # Order of components.
        ("fr.x.is/de/a?lang=en", "eng"), ("fr.x.is/de/a", "deu"),
        # Words that only look like languages.
        ("/about-us", None), ("/what-is/log-in.html", None), ("/contact-us.html", None), ("/how-to.html", None),
        ("/island/iceland", None), ("/recipes/italian/", None), ("/new/may/cat", None), ("/2024/may/a", None),
        ("/news?page=in", None), ("cs.x.com/a", None), ("/learn-english", None), ("it.co.uk/a", "eng"), ("/", None),
    ],
)  # fmt: skip
def test_language_of_the_strongest_mark(place: str, lang: str | None) -> None:
    url = f"https://x.com{place}" if place.startswith("/") else f"https://{place}"
    assert next((marker.language for marker in find_markers(url) if marker.language), None) == lang


def test_markers_say_where_they_are() -> None:
    url = "https://is.x.com/lang/en-GB/a.fr.html?l=de&lang=7"
    found = find_markers(url)
    assert [(m.component, m.token, m.language) for m in found] == [
        (Component.QUERY, "de", "deu"),
        (Component.QUERY, "7", None),
        (Component.DIRECTORY, "en-GB", "eng"),
        (Component.SUFFIX, "fr", "fra"),
        (Component.SUBDOMAIN, "is", "isl"),
    ]
    assert all(url[m.start : m.end] == m.token for m in found)


def test_only_the_languages_asked_for_and_none_for_the_suffix_of_a_country() -> None:
    assert marked_language("https://x.is/a") is None
    assert marked_language("https://x.is/en/a") == "eng"
    assert marked_language("https://x.com/uk/a", ("eng", "isl")) == "eng"
    assert marked_language("https://x.com/uk/a", ("ukr", "isl")) == "ukr"
    assert marked_language("https://x.com/cat/a", ("spa", "cat")) == "cat"
    assert marked_language("https://x.com/fr/en/a", ("eng", "isl")) == "eng"
    assert marked_language("https://x.ca/act_e.htm", ("eng", "fra")) == "eng"
    assert find_markers("https://x.com/fr/a", ("eng", "isl")) == find_markers("") == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # CCAligned 2020, table 1.
        ("eng.aaa.com", "aaa.com"), ("aaa.com/en-gb/b", "aaa.com/zh-cn/b"), ("aaa.com/English/b", "aaa.com/Yoruba/b"),
        ("aaa.com/b/en", "aaa.com/b/vi"), ("aaa.com/b/", "thai.aaa.com/b/"),
        ("aaa.com/b&lang=english", "aaa.com/b&lang=arabic"), ("aaa.com/b?lang=en", "aaa.com/b?lang=fr"),
        ("aaa.com/b", "aaa.com/b?lang=1"), ("aaa.com/b&en", "aaa.com/b"),
        # Forms of one address.
        ("http://www.aaa.com/b/", "https://aaa.com/b"), ("aaa.com/b/index.html", "aaa.com/b"),
        ("aaa.com/b/index.en.html", "aaa.com/is/b/"), ("aaa.com/b#top", "aaa.com/b"), ("aaa.com/%C3%A9", "aaa.com/é"),
        # Marks of other kinds.
        ("aaa.com/page.html", "aaa.com/page_fr.html"), ("aaa.com/foo-en.html", "aaa.com/foo-is.html"),
        ("aaa.com/a.es.html", "aaa.com/a.pt_BR.html"), ("aaa.com/lang/en/b", "aaa.com/b"),
        ("aaa.com/a.php?id=3&L=0", "aaa.com/a.php?L=1&id=3"),
        ("aaa.com/a.php?id=3", "aaa.com/a.php?id=3&language=is_IS"), ("aaa.com/in/b", "aaa.com/en/b"),
        ("aaa.com/manual/en.amd64/ch1.html", "aaa.com/manual/ca.amd64/ch1.html"), ("aaa.com/en", "aaa.com"),
    ],
)  # fmt: skip
def test_translations_have_one_key(one: str, other: str) -> None:
    assert strip_language(one) == strip_language(other)
    assert strip_language(f"https://www.{other.removeprefix('https://')}") == strip_language(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("aaa.com/b", "aaa.com/c"), ("aaa.com/b?page=1", "aaa.com/b?page=2"), ("aaa.com/news/b", "aaa.com/b"),
        ("aaa.com/about-us", "aaa.com/about"), ("aaa.com/recipes/italian", "aaa.com/recipes/french"),
        ("aaa.com/new/b", "aaa.com/b"), ("aaa.com/b", "bbb.com/b"), ("blog.aaa.com/b", "aaa.com/b"),
        ("aaa.is/b", "aaa.com/b"), ("aaa.com/glossary_e.html", "aaa.com/glossary_f.html"),
        ("aaa.com/en/%CF%F0%E8", "aaa.com/ru/%D1%EE%ED"),
    ],
)  # fmt: skip
def test_different_documents_have_different_keys(one: str, other: str) -> None:
    assert strip_language(one) != strip_language(other)


def test_keys_of_a_pair_keep_other_languages_apart() -> None:
    languages = ("eng", "isl")
    assert strip_language("aaa.com/en/b", languages) == strip_language("aaa.com/is/b", languages) == "aaa.com/b"
    assert strip_language("aaa.com/fr/b", languages) == "aaa.com/fr/b"


@given(
    st.sampled_from(["https://x.com", "https://en.x.is", "x.eus", ""]),
    st.text(st.sampled_from("/enisfr.-_=?&;%#é1"), max_size=30),
)
def test_any_text_has_a_key_and_its_markers_say_where_they_are(host: str, rest: str) -> None:
    url = f"{host}/{rest}"
    assert all(url[m.start : m.end] == m.token for m in find_markers(url))
    assert isinstance(strip_language(url), str)
