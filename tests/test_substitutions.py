"""What the crawl learns from the URLs of two pairs of a site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bilingual_crawler.crawl.learner import Learner
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.model import Link, LinkPosition, PageRecord
from bilingual_crawler.policies.evidence.substitutions import MAX_DOCUMENTS, MAX_RULES, Substitutions
from bilingual_crawler.policies.gain import EVIDENCE, Gain

if TYPE_CHECKING:
    from bilingual_crawler.items import Pair

PAIR = LanguagePair.parse("eng-fra")


class Crawl:
    """A crawl that asks no evidence but substitutions."""

    def __init__(self) -> None:
        self.gain = Gain(PAIR, without=EVIDENCE.keys() - {"substitutions"})
        self.learner = Learner(self.gain)

    def fetch(self, url: str, side: str | None, *claims: Link) -> list[tuple[str, str, str]]:
        """The pairs that the page makes."""
        page = PageRecord(url, side or "deu", side, length=1000, links=claims)
        return [_shown(pair) for pair in self.learner.observe_page(page, ())]

    def pair(self, url: str, partner: str) -> None:
        """Both are fetched, and say that they are translations."""
        self.fetch(url, "eng", _announced("fra", partner))
        assert self.fetch(partner, "fra")

    def queue(self, url: str) -> None:
        self.gain.resume([url])

    def chance(self, url: str) -> float:
        return self.gain.explain(url).completes


def _announced(language: str, url: str) -> Link:
    return Link(url, hreflang=language, alternate=True, position=LinkPosition.HEAD)


def _shown(pair: Pair) -> tuple[str, str, str]:
    return pair.url_a, pair.url_b, pair.method


EXAMPLES = [
    ("English/{}_e_.htm", "Francais/{}_f_.htm"),
    ("{}-e/", "{}-f/"),
    ("en_article{}2", "fr_article{}1"),
    ("{}.html", "{}_zz.html"),
]


@pytest.fixture(params=EXAMPLES, ids=lambda example: example[0])
def urls(request: pytest.FixtureRequest) -> list[tuple[str, str]]:
    first, second = request.param
    return [(f"https://a.org/{first.format(n)}", f"https://a.org/{second.format(n)}") for n in (10, 20, 30, 40)]


def test_one_pair_does_not_tell_two_do(urls: list[tuple[str, str]]) -> None:
    crawl = Crawl()
    (_, there), (back, _) = urls[2:]
    crawl.fetch(urls[2][0], "eng")
    crawl.fetch(urls[3][1], "fra")
    for url in (there, back):
        crawl.queue(url)
    crawl.pair(*urls[0])
    assert crawl.chance(there) == crawl.chance(back) == 0
    crawl.gain.changed()
    crawl.pair(*urls[1])
    assert crawl.chance(there) > 0.5
    assert crawl.chance(back) > 0.5
    assert crawl.gain.changed().keys() >= {there, back}


def test_a_queued_page_is_expected_when_its_partner_arrives_and_paired_when_it_does(
    urls: list[tuple[str, str]],
) -> None:
    crawl = Crawl()
    for pair in urls[:2]:
        crawl.pair(*pair)
    url, partner = urls[2]
    crawl.queue(partner)
    assert crawl.chance(partner) == 0
    crawl.gain.changed()
    crawl.fetch(url, "eng")
    assert crawl.chance(partner) > 0.5
    assert partner in crawl.gain.changed()
    assert [pair[:2] for pair in crawl.fetch(partner, "fra")] == [(url, partner)]
    assert crawl.chance(partner) == 0


def test_documents_held_before_the_rule_was_known_become_pairs() -> None:
    crawl = Crawl()
    crawl.fetch("https://a.org/x-1/c", "eng")
    crawl.fetch("https://a.org/y-1/c", "fra")
    crawl.pair("https://a.org/x-1/a", "https://a.org/y-1/a")
    crawl.fetch("https://a.org/x-1/b", "eng", _announced("fra", "https://a.org/y-1/b"))
    assert crawl.fetch("https://a.org/y-1/b", "fra") == [
        ("https://a.org/x-1/b", "https://a.org/y-1/b", "hreflang"),
        ("https://a.org/x-1/c", "https://a.org/y-1/c", "substitutions"),
    ]


def test_a_rule_is_believed_as_far_as_it_was_right_on_its_site() -> None:
    crawl = Crawl()
    for host in ("a.org", "b.net"):
        for name in ("x", "y"):
            crawl.pair(f"https://{host}/one/{name}", f"https://{host}/two/{name}")
        crawl.fetch(f"https://{host}/one/new", "eng")
    before = crawl.chance("https://a.org/two/new")
    for number in range(6):
        crawl.fetch(f"https://a.org/one/{number}", "eng")
        crawl.fetch(f"https://a.org/two/{number}", "eng")
    assert 0 < crawl.chance("https://a.org/two/new") < before / 2
    assert crawl.chance("https://b.net/two/new") == before
    # and it proposes no pairs any more
    assert crawl.fetch("https://a.org/two/new", "fra") == []


def test_a_rule_that_the_documents_held_contradict_is_not_believed_from_the_start() -> None:
    def expected(*others: str) -> float:
        crawl = Crawl()
        for url in others:
            crawl.fetch(url, "eng")
        for number in (10, 50):
            crawl.pair(f"https://a.org/p{number}", f"https://a.org/p{number + 1}")
        crawl.fetch("https://a.org/p70", "eng")
        return crawl.chance("https://a.org/p71")

    assert expected(*(f"https://a.org/p{number}" for number in range(20, 30))) < 0.3 < 0.5 < expected()


def test_what_is_expected_of_a_url_is_expected_where_it_redirects_to() -> None:
    crawl = Crawl()
    for name in ("x", "y"):
        crawl.pair(f"https://a.org/one/{name}", f"https://a.org/two/{name}")
    crawl.queue("https://a.org/two/new")
    crawl.fetch("https://a.org/one/new", "eng")
    crawl.learner.observe_redirect("https://a.org/two/new", "https://a.org/two/moved")
    assert crawl.chance("https://a.org/two/moved") > 0.5
    assert crawl.fetch("https://a.org/two/moved", "fra") == [
        ("https://a.org/one/new", "https://a.org/two/moved", "substitutions")
    ]


def test_no_pair_of_documents_in_one_language_is_expected() -> None:
    crawl = Crawl()
    for name in ("x", "y"):
        crawl.pair(f"https://a.org/one/{name}", f"https://a.org/two/{name}")
    crawl.fetch("https://a.org/two/new", "eng")
    assert crawl.chance("https://a.org/one/new") == 0


def test_rules_and_documents_of_a_site_are_bounded() -> None:
    crawl = Crawl()
    for number in range(3 * MAX_RULES):
        for name in ("x", "y"):
            crawl.pair(f"https://a.org/{'e' * number}one/{name}", f"https://a.org/{'e' * number}two/{name}")
    for number in range(MAX_DOCUMENTS):
        crawl.fetch(f"https://a.org/{number}", "eng")
    [kind] = (kind for kind in crawl.gain._evidence if isinstance(kind, Substitutions))
    assert len(kind._rules["a"]) == MAX_RULES
    assert len(kind._documents["a"]) == MAX_DOCUMENTS


def test_a_pair_whose_documents_are_not_known_teaches_nothing(urls: list[tuple[str, str]]) -> None:
    crawl = Crawl()
    for pair in urls[:2]:
        crawl.gain.observe_pair(*pair)
    crawl.fetch(urls[2][0], "eng")
    crawl.queue(urls[2][1])
    assert crawl.chance(urls[2][1]) == 0
