import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilingual_crawler.urls.model_input import tokenise
from training.parallelness.hard_negatives import hard_negatives
from training.parallelness.negatives import (
    KINDS,
    NegativesError,
    clusters,
    generate,
    maximise_jaccard,
    parse_combination,
    random_match,
    remove_random_tokens,
    split_resource,
)

words = st.text("abcxyz", min_size=1, max_size=4)
paths = st.lists(words, min_size=1, max_size=4).map("/".join)
site_pairs = st.lists(paths, min_size=1, max_size=12, unique=True).map(
    lambda found: [(f"https://site.org/en/{path}", f"https://site.org/is/{path}") for path in found]
)
everything = "+".join(KINDS)


def jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0


def similarity(a: str, b: str) -> tuple[float, float]:
    tokens = [set(tokenise(split_resource(url)[1])) for url in (a, b)]
    return round(jaccard(*tokens), 5), round(jaccard(set(a), set(b)), 5)


@settings(max_examples=60, deadline=None)
@given(site_pairs, st.integers(1, 4))
def test_jaccard_takes_exactly_the_most_similar(pairs: list[tuple[str, str]], limit: int) -> None:
    found = list(maximise_jaccard(pairs, limit, random.Random(1)))
    for i, (source, _) in enumerate(pairs):
        mine = [similarity(source, b) for a, b in found if a == source]
        wanted = sorted((similarity(source, b) for j, (_, b) in enumerate(pairs) if j != i), reverse=True)[:limit]
        assert mine == wanted


@settings(max_examples=60, deadline=None)
@given(site_pairs, st.integers(1, 3), st.integers(0, 5))
def test_negatives_are_never_positive_identical_or_doubled(pairs: list[tuple[str, str]], limit: int, seed: int) -> None:
    pairs = [*pairs, ("https://other.net/en/a", "https://other.net/is/a")]
    found = generate(pairs, everything, limit, seed)
    keys = [(negative.url_a, negative.url_b) for negative in found]
    assert len(keys) == len(set(keys))
    document = clusters(pairs)
    for a, b in keys:
        assert a != b
        assert a not in document or document[a] != document.get(b)
        assert split_resource(a)[0] == split_resource(b)[0]


@settings(max_examples=60, deadline=None)
@given(site_pairs, st.integers(0, 5))
def test_removal_shortens_the_resource_only(pairs: list[tuple[str, str]], seed: int) -> None:
    found = list(remove_random_tokens(pairs, 2, random.Random(seed)))
    assert len(found) == 2 * len(pairs)
    for (a, b), (x, y) in zip((pair for pair in pairs for _ in range(2)), found, strict=True):
        for before, after in ((a, x), (b, y)):
            assert split_resource(after)[0] == split_resource(before)[0]
            assert len(after) <= len(before)
            assert "//" not in split_resource(after)[1]


def test_removal_keeps_port_and_host_when_the_first_slash_goes() -> None:
    for seed in range(50):
        ((a, b),) = remove_random_tokens([("http://h.org:81/x/y?z=1", "http://h.org:81/u")], 1, random.Random(seed))
        assert a.startswith("http://h.org:81")
        assert a[15:16] in ("", "/", "?")
        assert b in ("http://h.org:81/", "http://h.org:81/u", "http://h.org:81")


def test_random_match_never_takes_the_own_target() -> None:
    pairs = [(f"https://s.org/{i}", f"https://s.org/is/{i}") for i in range(6)]
    found = list(random_match(pairs, 3, random.Random(0)))
    assert not set(found) & set(pairs)
    assert all(sum(a == source for a, _ in found) in (2, 3) for source, _ in pairs)


def test_monolingual_kinds_stay_on_one_side() -> None:
    pairs = [(f"https://s.org/en/page-{i}", f"https://s.org/is/sida-{i}") for i in range(5)]
    for negative in generate(pairs, "4+5", 2):
        assert ("/en/" in negative.url_a) == ("/en/" in negative.url_b)


def test_translations_of_translations_are_one_document_and_no_negatives() -> None:
    a, b, c = (f"https://s.org/{lang}/x" for lang in ("en", "is", "fi"))
    found = generate([(a, b), (b, c), ("https://s.org/en/y", "https://s.org/is/y")], everything, 3)
    assert not [n for n in found if {n.url_a, n.url_b} <= {a, b, c}]
    # www and scheme do not make another document
    document = clusters([("http://www.s.org/en/x", "http://s.org/is/x"), ("https://s.org/en/x/", "http://s.org/fi/x")])
    assert len(set(document.values())) == 1


def test_combinations_are_read_by_number_and_by_name() -> None:
    for text in ("12345", "1+2+3+4+5", "random-bi+jaccard-bi+remove-bi+random-mono+jaccard-mono"):
        assert parse_combination(text) == KINDS[:5]
    for unreadable in ("7", "0", "1+1", "jaccard", ""):
        with pytest.raises(NegativesError):
            parse_combination(unreadable)


def test_a_seed_gives_the_same_negatives() -> None:
    pairs = [(f"https://s.org/en/a-{i}/b", f"https://s.org/is/a-{i}/b") for i in range(8)]
    first = generate(pairs, everything, 3, 5)
    assert generate(pairs, everything, 3, 5) == first != generate(pairs, everything, 3, 6)


def test_hard_negatives_are_rewritten_on_the_same_site() -> None:
    pairs = [(f"https://www.s.org/en/news/{i}", f"https://www.s.org/is/frettir/{i}") for i in range(30)]
    found = hard_negatives(pairs, per_pair=8)
    document = clusters(pairs)
    assert {n.kind for n in found} >= {"pagination", "nesting", "other-number", "same-document", "parent", "child"}
    for negative in found:
        assert "s.org" in negative.url_b
        assert negative.url_a != negative.url_b
        assert negative.url_a not in document or document[negative.url_a] != document.get(negative.url_b)
