from hypothesis import given
from hypothesis import strategies as st

from benchmarks.swap import swap_language
from bilingual_crawler.languages.codes import LanguagePair

PAIR = LanguagePair.parse("eng-isl")


def test_swap_replaces_a_mark() -> None:
    for url, candidates in (
        ("https://x.com/en/a", ["https://x.com/is/a", "https://x.com/a"]),
        ("https://x.com/is/a?b=1", ["https://x.com/en/a?b=1", "https://x.com/a?b=1"]),
        ("https://x.com/en-US/a", ["https://x.com/is-IS/a", "https://x.com/is/a", "https://x.com/a"]),
        ("https://x.com/is_is/a", ["https://x.com/en_us/a", "https://x.com/en/a", "https://x.com/a"]),
        ("https://x.io/ENG/a", ["https://x.io/ISL/a", "https://x.io/ICE/a", "https://x.io/IS/a", "https://x.io/a"]),
        ("http://x.io/English", ["http://x.io/Icelandic", "http://x.io/Islenska", "http://x.io/is", "http://x.io/"]),
        ("https://x.com/a?lang=en&b=1", ["https://x.com/a?lang=is&b=1", "https://x.com/a?b=1"]),
        ("https://x.com/a?lang=en", ["https://x.com/a?lang=is", "https://x.com/a"]),
        ("https://x.com/a.en.html", ["https://x.com/a.is.html", "https://x.com/a.html"]),
        ("https://x.com/b-en.html", ["https://x.com/b-is.html", "https://x.com/b.html"]),
        ("https://en.x.com/a", ["https://is.x.com/a", "https://x.com/a"]),
    ):
        assert swap_language(url, PAIR) == candidates


def test_swap_adds_a_mark_where_there_is_none() -> None:
    assert swap_language("https://www.x.com/a/b.html", PAIR, language="eng") == [
        "https://www.x.com/is/a/b.html",
        "https://www.x.com/a/b.html?lang=is",
        "https://www.x.com/a/b.is.html",
        "https://is.x.com/a/b.html",
    ]
    both = swap_language("https://www.x.com/a/", PAIR)
    assert both[:2] == ["https://www.x.com/is/a/", "https://www.x.com/en/a/"]
    assert len(both) == 6


def test_swap_ignores_the_public_suffix_and_other_languages() -> None:
    assert swap_language("https://x.is/a", PAIR, language="isl")[0] == "https://x.is/en/a"
    assert swap_language("https://x.com/fr/a", PAIR, language="eng")[0] == "https://x.com/is/fr/a"


@given(
    st.sampled_from(["https://x.com", "https://en.x.is", "x.eus", ""]),
    st.text(st.sampled_from("/enisfr.-_=?&;%#é1"), max_size=30),
)
def test_any_text_has_at_most_six_candidates_other_than_itself(host: str, rest: str) -> None:
    url = f"{host}/{rest}"
    candidates = swap_language(url, PAIR)
    assert len(candidates) <= 6
    assert url not in candidates
