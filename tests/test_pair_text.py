import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilingual_crawler.urls.model_input import MAX_TOKENS, language_of, pair_text, url_parts

PIECES = "en is about-us um-okkur 12 index.html ?lang=en &l=1 #top // w3339e00 %C3%B0 pt-br"
urls = st.lists(st.sampled_from(PIECES.split()), max_size=7).map(
    lambda parts: "https://www.site.org/" + "/".join(parts)
)


@settings(max_examples=200, deadline=None)
@given(st.one_of(urls, st.text(max_size=60)), st.one_of(urls, st.text(max_size=60)))
def test_any_two_texts_in_either_order_give_the_same_words(u: str, v: str) -> None:
    text = pair_text(u, v)
    assert text == pair_text(v, u)
    assert [text.split().count(mark) for mark in ("<a>", "<b>")] == [1, 1]


def words(u: str, v: str) -> list[str]:
    return pair_text(f"https://s.org/{u}", f"https://s.org/{v}").split()


@pytest.mark.parametrize(
    ("u", "v", "expected"),
    [
        ("en/x", "fr/x", "lang:swap:all"), ("x.html?lang=en", "x.html?lang=fi", "lang:swap:all"),
        ("pt-br/x", "es/x", "lang:swap:all"), ("x_e.htm", "x_f.htm", "lang:swap:all"),
        ("rapoportl15EN.htm", "rapoportl15FR.htm", "lang:swap:all"), ("en/x", "uk/x", "lang:swap:all"),
        ("x", "is/x", "lang:add:all"), ("x?id=3&lang=2", "x?id=3", "lang:add:all"),
        ("us/x", "uk/x", "lang:mixed:all"), ("en/x", "en/x", "lang:none:all"),
        ("en/x/7", "fr/x/8", "lang:swap:numbers"), ("x?page=1", "x?page=2", "lang:none:numbers"),
        ("indexen.htm", "indexfr.htm", "lang:none:inflected"), ("indexen.htm", "indexes.htm", "lang:none:inflected"),
        ("en/about", "fr/apropos", "lang:swap:words"), ("de-brunnen", "en-fountains", "lang:swap:words"),
        ("nor-gara", "es/quien-somos", "lang:add:words"), ("x#top", "x", "lang:none:words"),
        ("finnish-lapland-geography", "sv/finska-lappland-geografi", "lang:add:words"),
        ("about/our-new-uk-offices-here", "about/our-new-en-offices-here", "lang:none:words"),
    ],
)  # fmt: skip
def test_summary_of_the_language_tokens(u: str, v: str, expected: str) -> None:
    assert [word for word in words(u, v) if word.startswith("lang:")] == [expected]


def test_numbers_are_told_by_the_size_of_their_difference() -> None:
    found = [words("node/11132", f"node/{11132 + d}") for d in (1, 2, 3, 61, 700, 8000, 90000)]
    codes = [next(word for word in one if word.startswith("n-")) for one in found]
    assert codes == ["n-0", "n-1", "n-2", "n-3", "n-4", "n-5", "n-5"]


def test_names_are_compared_without_languages_and_index_pages() -> None:
    for u, v, expected in (
        ("de/rezepte/polenta", "fr/recettes/polenta", "name=1"), ("en/history", "fr/histoire", "name~3"),
        ("de/rezepte/polenta_de.html", "fr/recettes/polenta_fr.html", "name=1"),
        ("de/rezepte/polenta", "fr/recettes/quiche", "name~0"),
        ("en/report/elections-in-the-north", "hk/bericht/elections-in-the-north", "name=4"),
        ("pkd/", "pkd/index_fr.html", "name1"), ("en/", "fr/index.html", "name0"),
    ):  # fmt: skip
        assert expected in words(u, v)


def test_both_urls_are_compared_as_bags_of_tokens() -> None:
    for u, v, expected in (
        ("en/a/b", "fr/a/c", "only2:2 jaccard2 langs1:1:2 others2"), ("a/7", "b/8/7", "all-numbers~1:2"),
        ("en/a/a", "a", "only0:1 jaccard5 langs0:1:1 others0"), ("a7", "b?c=7", "all-numbers=1:1 query1"),
        ("a?c=7", "b?c=7", "query="), ("a?c=7", "a?c=8", "query2"),
    ):  # fmt: skip
        assert expected in pair_text(f"https://s.org/{u}", f"https://s.org/{v}")


@pytest.mark.parametrize("sign", ["²", "%C2%B2", "①", "٣", "५"])
def test_signs_that_look_like_digits_are_read(sign: str) -> None:
    assert words(sign, "7") == words("7", sign)
    assert words(f"a{sign}b", f"a7b?l={sign}")


def test_only_words_of_one_side_follow_the_marks() -> None:
    text = pair_text("https://s.org/en/news/our-wine", "https://s.org/fr/news/notre-vin")
    assert text.partition(" <a> ")[2] in ("our wine <b> notre vin", "notre vin <b> our wine")


def test_subdomains_and_country_suffixes_count_as_language_tokens() -> None:
    assert "lang:swap:all" in pair_text("https://en.s.org/x", "https://fr.s.org/x")
    assert "tld:lang" in pair_text("https://s.is/x", "https://s.fi/x")
    assert "host=" not in pair_text("https://shop.s.org/x", "https://s.org/x")
    assert "host=" in pair_text("https://www.s.org/x", "https://s.org/is/x")


def test_tokens_that_name_a_language() -> None:
    named = {"en": "eng", "zh-hans": "zho", "pt_br": "por", "pra_fr": None, "news": None}
    assert {token: language_of(token) for token in named} == named


def test_long_urls_are_cut() -> None:
    parts = url_parts("https://s.org/" + "/".join(["word"] * 500) + "?" + "&".join(f"a{i}=b" for i in range(300)))
    assert len(parts.texts) == len(parts.zones) <= MAX_TOKENS
