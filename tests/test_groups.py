"""Domains that announce each other's pages are aligned together; editions of a page are no rivals."""

from collections import Counter
from dataclasses import astuple
from itertools import compress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import ENGLISH, MODELS, SPANISH, alternate, corpus, html

from bilingual_crawler.items import Pair
from bilingual_crawler.pairing.align import align
from bilingual_crawler.pairing.corpus import MAX_DOCUMENTS, MAX_DOMAINS, join
from bilingual_crawler.pairing.methods import make_method

DOMAINS = st.integers(0, 40).map("{}.org".format)


def pairs(pages: dict[str, bytes], method: str = "auto", editions: str = "best") -> list[Pair]:
    """The pairs of *pages*, by URL."""
    aligned = align(corpus(pages), make_method(method, MODELS, "", Path("unused")), editions=editions)
    return sorted((pair for _, alignment in aligned for pair in alignment.pairs), key=astuple)


def text(sentences: tuple[str, ...], number: int, count: int = 6) -> tuple[str, ...]:
    """A page of its own."""
    return tuple(f"{sentences[(number + n) % 5]} {number * 31 + n}" for n in range(count))


@given(
    st.dictionaries(DOMAINS, st.integers(1, MAX_DOCUMENTS), min_size=1),
    st.dictionaries(st.tuples(DOMAINS, DOMAINS), st.integers(1, 9)),
)
def test_every_domain_is_in_one_group_and_groups_keep_within_their_limits(
    sizes: dict[str, int], announced: dict[tuple[str, str], int]
) -> None:
    groups = join(sizes, announced)
    assert sorted(domain for group in groups for domain in group) == sorted(sizes)
    for group in groups:
        assert len(group) == 1 or len(group) <= MAX_DOMAINS
        assert len(group) == 1 or sum(sizes[domain] for domain in group) <= MAX_DOCUMENTS
    for a, b in announced:
        joined = [group for group in groups if {a, b} & set(group)]
        free = sum(map(len, joined)) <= MAX_DOMAINS and sum(sizes[d] for g in joined for d in g) <= MAX_DOCUMENTS
        assert len(joined) < 2 or not free or not {a, b} <= sizes.keys()


def test_who_announces_everybody_does_not_part_those_who_announce_each_other() -> None:
    sizes = dict.fromkeys(("hostile.org", "company.fr", "company.de", *(f"{n}.org" for n in range(3000))), 10)
    announced = Counter({("hostile.org", domain): 50 for domain in sizes if domain != "hostile.org"})
    announced |= Counter({("company.fr", "company.de"): 1, ("company.de", "company.fr"): 1})
    groups = join(sizes, announced)
    assert max(map(len, groups)) == MAX_DOMAINS
    assert any({"company.fr", "company.de"} <= set(group) for group in groups)


@pytest.mark.parametrize("method", ["auto", "url"])
@pytest.mark.parametrize("announces", ["both", "one"])
def test_pages_of_two_domains_are_paired(method: str, announces: str) -> None:
    pages, wanted = {}, []
    for number in range(12):
        a, b = f"https://firm.co.uk/page-{number}", f"https://empresa.es/p{(number * 7) % 12}"
        pages[a] = html(text(ENGLISH, number), alternate("es", b))
        pages[b] = html(text(SPANISH, number), alternate("en", a) if announces == "both" else "")
        wanted.append((a, b))
    pages["https://other.org/en/a"] = html(text(ENGLISH, 90))
    pages["https://other.org/es/a"] = html(text(SPANISH, 90))
    wanted.append(("https://other.org/en/a", "https://other.org/es/a"))
    assert corpus(pages).groups() == [("empresa.es", "firm.co.uk"), ("other.org",)]
    if (announces, method) == ("one", "url"):  # nothing but the content can confirm what only one domain says
        wanted = wanted[-1:]
    assert [(pair.url_a, pair.url_b) for pair in pairs(pages, method)] == sorted(wanted)


@pytest.mark.parametrize("method", ["auto", "url"])
@pytest.mark.parametrize("translated", [True, False])
def test_who_announces_the_pages_of_another_domain_gets_no_pair(method: str, translated: bool) -> None:
    pages, wanted = {}, []
    for number in range(30):
        spanish = f"https://firm.es/es/page-{number}"
        pages[spanish] = html(text(SPANISH, number))
        pages[f"https://hostile.org/{number}"] = html(text(ENGLISH, 200 + 7 * number), alternate("es", spanish))
        if translated:
            pages[f"https://firm.es/en/page-{number}"] = html(text(ENGLISH, number))
            wanted.append((f"https://firm.es/en/page-{number}", spanish))
    assert sorted((pair.url_a, pair.url_b) for pair in pairs(pages, method)) == sorted(wanted)


def test_what_all_pages_of_one_domain_repeat_is_no_main_text_beside_another_domain() -> None:
    menu = ("Home and news from our house",)
    pages = {f"https://firm.co.uk/{n}": html((*menu, *text(ENGLISH, n))) for n in range(6)}
    pages |= {f"https://other.org/{n}": html(text(ENGLISH, 100 + n)) for n in range(80)}
    documents = corpus(pages)
    documents.announced["firm.co.uk", "other.org"] = 1
    ((domain, _),) = align(documents, make_method("url", MODELS, "", Path("unused")))
    assert menu[0] not in domain.main_text("https://firm.co.uk/1")


def test_the_menus_of_the_other_language_are_no_lines_of_a_page_that_is_not_translated() -> None:
    menus = ("Our house, our news and our people",), ("Nuestra casa, las noticias y nuestra gente",)
    pages = {f"https://a.org/en/{n}": html((*menus[0], *text(ENGLISH, n))) for n in range(9)}
    pages |= {f"https://a.org/es/{n}": html((*menus[1], *text(SPANISH, n))) for n in range(9)}
    pages["https://a.org/es/not-yet"] = html((*menus[1], *text(ENGLISH, 80)))
    ((domain, _),) = align(corpus(pages), make_method("url", MODELS, "", Path("unused")))
    own = {url: list(compress(domain.main_text(url), lines)) for _, url, _, lines in domain.distinct(())}
    assert own["https://a.org/es/not-yet"] == list(text(ENGLISH, 80))
    assert own["https://a.org/es/7"] == list(text(SPANISH, 7))


def site_of_editions(count: int) -> dict[str, bytes]:
    """Pages in British and American English, and in Spanish, all of which announce each other."""
    pages: dict[str, bytes] = {}
    for number in range(count):
        british, spanish = text(ENGLISH, number), text(SPANISH, number)
        american = (*british[:3], "You can call us for free from all fifty states.", *british[4:])
        editions = {"en-gb": british, "en-us": american, "es": spanish}
        urls = {code: f"https://firm.com/{code}/page-{number}" for code in editions}
        head = "".join(alternate(code, url) for code, url in urls.items())
        pages |= {urls[code]: html(lines, head) for code, lines in editions.items()}
    return pages


def test_editions_of_a_page_are_no_rivals() -> None:
    pages = site_of_editions(36)
    best = pairs(pages)
    assert {pair.url_b for pair in best} == {url for url in pages if "/es/" in url}
    assert len({pair.url_a for pair in best}) == 36
    assert all(pair.score > 0.9 and pair.method == "hreflang" for pair in best)
    every = pairs(pages, editions="all")
    assert {url for pair in every for url in (pair.url_a, pair.url_b)} == set(pages)
    assert len(every) == 72
    assert all(pair.url_a.rpartition("/")[2] == pair.url_b.rpartition("/")[2] for pair in best + every)


def test_an_announcement_that_the_content_contradicts_is_no_pair() -> None:
    """Every Spanish article says that it is the English home page."""
    home = "https://firm.com/"
    pages = site_of_editions(12) | {home: html((*ENGLISH[:2], "Read more", "Contact", "Opening hours 8 to 17"))}
    for number in range(20, 30):
        pages[f"https://firm.com/noticias/{number}"] = html(text(SPANISH, number, 30), alternate("en", home))
    assert home not in {pair.url_a for pair in pairs(pages)}
