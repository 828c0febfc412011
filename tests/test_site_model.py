from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilingual_crawler.languages import LanguagePair
from bilingual_crawler.scoring.site_model import SiteModel, place_of

PAIR = LanguagePair.parse("eng-fin")
URLS = st.sampled_from(
    [
        f"https://{host}/{path}"
        for host in ("a.fi", "b.org")
        for path in ("", "fi/x", "en/x", "d/e/f", "x.fi.html?lang=en")
    ]
)


def test_places_are_folders_and_the_most_telling_mark() -> None:
    place = place_of("https://docs.a.org/fi/guide/page.html")
    assert place.folders == ("docs.a.org", "docs.a.org/fi", "docs.a.org/fi/guide")
    assert place.mark == ("a.org", "directory", "fi")
    assert place.marked == "fin"
    assert place_of("https://a.org/x").mark is None


def test_a_mark_is_believed_at_first_and_disbelieved_after_a_few_pages() -> None:
    model = SiteModel(PAIR)
    assert model.language("https://a.org/fi/new")[1] > 0.8
    for number in range(8):
        model.learn_language(f"https://a.org/fi/{number}", "eng")
    english, finnish, _ = model.language("https://a.org/fi/new")
    assert english > 0.8
    assert finnish < 0.2
    assert model.language("https://b.org/fi/new")[1] > 0.8


def test_unmarked_folders_are_learnt_and_backed_off_to_their_host() -> None:
    model = SiteModel(PAIR)
    for number in range(5):
        model.learn_language(f"https://a.org/tuotteet/{number}", "fin")
        model.learn_language(f"https://a.org/archive/{number}", None)
    assert model.language("https://a.org/tuotteet/x")[1] > 0.7
    assert model.language("https://a.org/archive/x")[2] > 0.7
    assert 0.3 < model.language("https://a.org/elsewhere/x")[1] < 0.6


def test_the_pair_rate_of_a_folder() -> None:
    model = SiteModel(PAIR)
    for number in range(6):
        for folder in ("docs", "news"):
            model.learn_language(f"https://a.org/{folder}/{number}", "fin")
        model.learn_pair(f"https://a.org/docs/{number}")
    assert model.pair_rate("https://a.org/docs/x") > 0.7 > 0.3 > model.pair_rate("https://a.org/news/x")
    assert model.pair_rate("https://other.org/") == 0.5


def test_the_key_rule_is_learnt() -> None:
    model = SiteModel(PAIR)
    here, there = "https://a.fi/x", "https://b.org/x"
    before = model.key_rule(here)
    model.learn_key_rule(here, False)
    model.learn_key_rule(here, False)
    assert model.key_rule(here) < before == model.key_rule(there)
    model.learn_key_rule(here, True)
    assert 0 < model.key_rule(here) < 1


def test_the_wording_of_links_is_believed_as_far_as_it_was_right_on_the_site() -> None:
    model, even = SiteModel(PAIR), (0.3, 0.3, 0.4)
    here, there = "https://a.fi/x", "https://b.org/x"
    assert model.read(here, even, 4)[1] > 0.4 > even[1] > model.read(here, even, 0)[1]
    for _ in range(10):
        model.learn_wording(here, 4, "eng")
        model.learn_wording(here, 0, "eng")
    assert model.read(here, even, 4)[1] < model.read(there, even, 4)[1] - 0.1
    assert model.read(there, even, 4)[1] > 0.4


@given(st.lists(st.tuples(URLS, st.sampled_from(["eng", "fin", None]))), URLS)
def test_beliefs_are_probabilities_whatever_was_learnt(pages: list[tuple[str, str | None]], url: str) -> None:
    model = SiteModel(PAIR)
    for page, side in pages:
        model.learn_language(page, side)
        if side:
            model.learn_pair(page)
    belief = model.language(url)
    assert sum(belief) == pytest.approx(1)
    assert min(belief) > 0
    assert 0 <= model.pair_rate(url) <= 1
