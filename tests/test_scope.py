import pytest

from bilingual_crawler.frontier.scope import Scope

SEEDS = ["https://www.site.is/start"]


def test_scopes() -> None:
    for name, admitted, refused in (
        ("host", ["https://www.site.is/a", "http://www.site.is/"], ["https://en.site.is/", "https://other.is/"]),
        ("site", ["https://en.site.is/a", "https://site.is/"], ["https://other.is/"]),
        ("web", ["https://other.is/", "http://127.0.0.1/"], []),
    ):
        scope = Scope(name, SEEDS)
        assert (name, [url for url in (*admitted, *refused) if scope.admits(url)]) == (name, admitted)


def test_aliases_widen_and_prefixes_decide() -> None:
    assert Scope("site", SEEDS, aliases=["site.github.io"]).admits("https://site.github.io/x")
    folder = Scope("site", SEEDS, prefixes=["https://www.site.is/docs/"])
    assert folder.admits("https://www.site.is/docs/a")
    assert folder.admits("http://site.is/docs/a?b=http://c")
    assert not folder.admits("https://www.site.is/blog/a")
    assert not folder.join("https://new.is/docs/")
    assert not folder.admits("https://new.is/docs/")


@pytest.mark.parametrize("name", ["site", "host"])
def test_a_site_that_joins_is_admitted_by_domain_or_host(name: str) -> None:
    scope = Scope(name, SEEDS)
    assert scope.join("https://www.new.is/start")
    assert not scope.join("https://www.new.is/other")
    assert scope.admits("https://www.new.is/a")
    assert scope.admits(SEEDS[0])
    assert scope.admits("https://new.is/a") == (name == "site")


def test_the_web_is_joined_by_nobody_and_endless_paths_are_out_of_every_scope() -> None:
    scope = Scope("web", SEEDS)
    assert not scope.join("https://new.is/")
    assert scope.admits("https://a.is/x/x/y?x/x/x/x")
    assert not scope.admits("https://a.is/x/x/x/y")
    assert not scope.admits("https://a.is/" + "/".join(str(i) for i in range(21)))
