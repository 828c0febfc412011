import pytest

from training.parallelness.baselines import LanguageStripper, TokenReplacement, strip, token_lists

PARALLEL = [
    ("https://a.com/en/x", "https://a.com/fr/x"), ("http://a.com/x_en.html", "http://a.com/x.html"),
    ("http://a.com/x-e.htm", "http://a.com/x-f.htm"), ("http://a.com/x?lang=en", "http://a.com/x?lang=fr"),
    ("http://a.com/x", "http://a.com/x?language=fr"), ("http://a.com/icelandic/x", "http://a.com/x"),
    ("http://a.com/sq-al/x", "http://a.com/en-us/x"), ("http://a.com[1]/en/x", "http://a.com[1]/fr/x"),
]  # fmt: skip
NOT_PARALLEL = [
    ("https://a.com/x", "http://a.com/x"), ("https://a.com/x", "https://a.com/x#f"),
    ("https://a.com/x", "https://a.com/x?"), ("https://a.com/x%20y", "https://a.com/x+y"),
    ("https://a.com/x--y", "https://a.com/x-y"), ("https://a.com/en/x", "https://a.com/en/y"),
    ("https://a.com/en/x", "https://b.com/fr/x"), ("https://a.com/en/x", "https://a.com/en/x"),
    ("https://a.com/island/x", "https://a.com/and/x"),
]  # fmt: skip


@pytest.mark.parametrize("pair", PARALLEL)
def test_stripper_finds(pair: tuple[str, str]) -> None:
    assert LanguageStripper().score(*pair) >= 0.5
    assert LanguageStripper().score(*reversed(pair)) >= 0.5


@pytest.mark.parametrize("pair", NOT_PARALLEL)
def test_stripper_refuses(pair: tuple[str, str]) -> None:
    assert LanguageStripper().score(*pair) == 0


def test_corrected_lists_of_added_languages() -> None:
    lists = token_lists()
    assert {"shqip", "albanian", "sqi", "alb", "sq", "sq-al", "sq_al", "sq-xk"} <= set(lists["sqi"])
    assert "sqp" not in lists["sqi"]
    assert "sq-sq" not in lists["sqi"]
    assert {"ice", "isl", "is", "icelandic"} <= set(lists["isl"])


def test_stripping_names_what_went_and_leaves_the_host() -> None:
    assert strip("https://en.a.com/en/x-fr.html?lang=is", True) == ("en.a.com/x.html", ("en", "fr", "is"))


def test_token_replacement_is_consistent() -> None:
    rule = TokenReplacement()
    assert rule.parallel("http://a.com/en/x-en", "http://a.com/fr/x-fr")
    assert rule.parallel("http://a.com/English/x", "http://a.com/francais/x")
    assert not rule.parallel("http://a.com/en/x-en", "http://a.com/fr/x-en-fr")
    assert not rule.parallel("http://a.com/en/x-en", "http://a.com/fr/x-is")
    assert not rule.parallel("http://a.com/x", "http://a.com/x")
