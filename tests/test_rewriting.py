"""What two URLs differ in, and what it makes of others."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bilingual_crawler.urls.rewriting import rewriting_of, rewritten_pairs

SLUGS = st.text("bcdghkmpz", min_size=2, max_size=8)
MARKS = st.tuples(st.sampled_from(["en", "English", "e", "us"]), st.sampled_from(["fr", "Francais", "f", "q"]))
TEMPLATES = st.sampled_from(
    [
        "https://a.org/{mark}/{slug}.html",
        "https://a.org/docs/{slug}_{mark}.htm",
        "https://a.org/docs/{slug}-{mark}/{number}",
        "https://a.org/{slug}.php?l={mark}&id={number}",
        "https://a.org/view?id={number}&page={slug}&v={mark}",
    ]
)

EXAMPLES = [
    ("{}.htm", "{}f.htm", ("landat", "mjukvara", "forlag")),
    ("{}-e/", "{}-f/", ("about", "news", "team")),
    ("fma_12_{}_2_testo.htm", "fma_12_{}_4_testo.htm", ("2010", "2009", "2008")),
    ("N2-{}.htm", "N-{}.htm", ("0600", "1204", "07")),
]


def check_third(pairs: list[tuple[str, ...]]) -> None:
    """The first two pairs have one rule, which makes the third pair in either direction."""
    rule, again = (rewriting_of(*pair) for pair in pairs[:2])
    assert rule is not None
    assert rule == again
    assert rule.apply(pairs[2][0]) == pairs[2][1]
    assert rule.inverse.apply(pairs[2][1]) == pairs[2][0]


@pytest.mark.parametrize(("first", "second", "contents"), EXAMPLES)
def test_two_pairs_of_a_site_tell_the_third(first: str, second: str, contents: tuple[str, ...]) -> None:
    check_third([tuple(f"https://a.org/{end.format(content)}" for end in (first, second)) for content in contents])


@given(TEMPLATES, MARKS, st.lists(st.tuples(SLUGS, st.integers(10, 10**6)), min_size=3, max_size=3, unique=True))
def test_two_pairs_tell_any_third_one(template: str, marks: tuple[str, str], contents: list[tuple[str, int]]) -> None:
    check_third([tuple(template.format(mark=mark, slug=slug, number=n) for mark in marks) for slug, n in contents])


PATHS = st.text("ab1-_/.?=&%C3 ", max_size=15)
CHANGED = st.sampled_from(["", "a", "b", "f", "-", "_", "/", "=", "1", "2"])


@given(PATHS, CHANGED, CHANGED, PATHS)
def test_a_rewriting_is_the_way_there_and_back(before: str, old: str, new: str, after: str) -> None:
    url, partner = (f"https://a.org/{before}{changed}{after}" for changed in (old, new))
    rule = rewriting_of(url, partner)
    assume(rule is not None)
    assert rule is not None
    assert (rule.apply(url), rule.inverse.apply(partner)) == (partner, url)


def test_translated_slugs_and_other_page_numbers_are_no_rewriting() -> None:
    for url, other in (
        ("https://a.org/x", "https://a.org/x"),
        ("https://a.org/en/how-we-built-a-red-house", "https://a.org/fr/comment-nous-avons-bati-une-maison"),
        ("https://a.org/node/11132", "https://a.org/node/11193"),
    ):
        assert rewriting_of(url, other) is None


def test_a_rewriting_leaves_urls_alone_that_lack_its_marks() -> None:
    rule = rewriting_of("https://a.org/x_e.htm", "https://a.org/x_f.htm")
    assert rule is not None
    for url in ("https://a.org/x_es.htm", "https://a.org/xe.htm", "https://a.org/x_e/y", "https://a.org/"):
        assert rule.apply(url) is None


def test_the_host_stays() -> None:
    inserted = rewriting_of("https://a.org/x-.html", "https://a.org/x-f.html")
    assert rewriting_of("https://e.a.org/x", "https://f.a.org/x") is None
    assert inserted is not None
    assert inserted.apply("https://www-.a.org/y-.html") == "https://www-.a.org/y-f.html"


def on_site(*names: str) -> list[str]:
    return [f"https://a.org/{name}" for name in names]


def test_urls_of_a_site_that_differ_alike_are_pairs() -> None:
    urls = on_site("cain2.htm", "gina2.htm", "ted2.htm", "mason2.htm", "contact.htm")
    others = on_site("mason.htm", "ted.htm", "gina.htm", "cain.htm", "contact-us.htm")
    assert {(i, j) for i, j, _ in rewritten_pairs(urls, others)} == {(0, 3), (1, 2), (2, 1), (3, 0)}
    assert all(0.75 <= reliability < 1 for *_, reliability in rewritten_pairs(urls, others))


def test_a_rewriting_of_two_pages_or_whose_targets_mostly_lack_does_not_count() -> None:
    assert not rewritten_pairs(on_site("cain2.htm", "gina2.htm"), on_site("cain.htm", "gina.htm"))
    urls = on_site(*(f"{name}2.htm" for name in ("cain", "gina", "ted", "mason", "eden", "kelly", "pearl")))
    assert not rewritten_pairs(urls, on_site("cain.htm", "gina.htm", "ted.htm"))


@pytest.mark.parametrize("count", [8, 100])
def test_numbers_that_alternate_between_languages_pair_nothing(count: int) -> None:
    numbered = on_site(*(f"node/{n}" for n in range(100, 100 + count)))
    assert not [pair for pair in rewritten_pairs(numbered[::2], numbered[1::2]) if pair[0] not in (0, count // 2 - 1)]


def test_very_long_urls_are_not_compared() -> None:
    long = "/a" * 60
    names = ("cain", "gina", "ted", "mason")
    assert not rewritten_pairs(on_site(*(f"{n}2{long}" for n in names)), on_site(*(f"{n}{long}" for n in names)))
    assert not rewritten_pairs([], on_site(*names))
