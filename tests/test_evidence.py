from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilingual_crawler.crawl.learner import Learner
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.model import Link, LinkPosition, PageRecord
from bilingual_crawler.pairing.book import Book
from bilingual_crawler.policies.evidence.base import Known, place_of
from bilingual_crawler.policies.evidence.language import Folders, Marks
from bilingual_crawler.policies.evidence.prospects import PairRate
from bilingual_crawler.policies.evidence.shared_words import MAX_WORDS, WordIndex
from bilingual_crawler.policies.gain import EVIDENCE, Gain

PAIR = LanguagePair.parse("eng-fin")
PATHS = ("", "fi/x", "en/x", "d/e/f", "x.fi.html?lang=en")
URLS = st.sampled_from([f"https://{host}/{path}" for host in ("a.fi", "b.org") for path in PATHS])

switcher = partial(Link, label="fin", position=LinkPosition.SWITCHER)
hreflang = partial(Link, hreflang="fin", alternate=True, position=LinkPosition.HEAD)


def knowing(*kinds: str) -> Gain:
    """A policy that asks these kinds of evidence only."""
    return Gain(PAIR, weights={"gain.future": 1.0}, without=EVIDENCE.keys() - {*kinds})


def fetch(crawl: Learner, url: str, side: str | None, *found: Link) -> None:
    page = PageRecord(url, side or "fra", side, length=1000, links=found)
    crawl.observe_page(page, found)
    crawl.policy.priorities(page, found, None)


def fetch_article(crawl: Learner, number: int, folder: str = "fi") -> str:
    """Fetch an English article whose switcher leads to an address in *folder*, which is returned."""
    target = f"https://a.org/{folder}/{number}"
    fetch(crawl, f"https://a.org/en/{number}", "eng", switcher(target))
    return target


def test_places_are_folders_and_the_most_telling_mark() -> None:
    place = place_of("https://docs.a.org/fi/guide/page.html")
    assert place.folders == ("docs.a.org", "docs.a.org/fi", "docs.a.org/fi/guide")
    assert place.mark == ("a.org", "directory", "fi")
    assert place.marked == "fin"
    assert place_of("https://a.org/x").mark is None


def test_a_mark_is_believed_at_first_and_disbelieved_after_a_few_pages() -> None:
    crawl = Learner(gain := knowing("folders", "marks"))
    assert gain.explain("https://a.org/fi/new").belief[1] > 0.8
    for number in range(8):
        fetch(crawl, f"https://a.org/fi/{number}", "eng")
    english, finnish, _ = gain.explain("https://a.org/fi/new").belief
    assert english > 0.8
    assert finnish < 0.2
    assert gain.explain("https://b.org/fi/new").belief[1] > 0.8


def test_unmarked_folders_are_learnt_and_backed_off_to_their_host() -> None:
    crawl = Learner(gain := knowing("folders"))
    for number in range(5):
        fetch(crawl, f"https://a.org/tuotteet/{number}", "fin")
        fetch(crawl, f"https://a.org/archive/{number}", None)
    assert gain.explain("https://a.org/tuotteet/x").belief[1] > 0.7
    assert gain.explain("https://a.org/archive/x").belief[2] > 0.7
    assert 0.3 < gain.explain("https://a.org/elsewhere/x").belief[1] < 0.6


def test_the_pair_rate_of_a_folder() -> None:
    def rate(folder: str) -> float:
        worth = gain.explain(f"https://a.org/{folder}/x")
        return worth.later / (worth.belief[0] + worth.belief[1])

    crawl = Learner(gain := knowing("pair_rate"))
    assert rate("docs") == pytest.approx(0.5)
    for number in range(6):
        fetch(crawl, f"https://a.org/docs/fi/{number}", "fin")
        fetch(crawl, f"https://a.org/docs/en/{number}", "eng")
        fetch(crawl, f"https://a.org/news/fi/{number}", "fin")
    assert rate("docs") > 0.7 > 0.3 > rate("news")


def test_versions_that_say_nothing_new_say_nothing_of_the_articles_in_their_folder() -> None:
    def new_text(path: str) -> float:
        return gain.explain(f"https://a.org/wiki/{path}").new_text

    crawl = Learner(gain := knowing("new_text"))
    for number in range(20):
        pages = [(f"{number}-th/", 1.0), *((f"{number}-th/?oldid={n}", 0.01) for n in range(number, 2 * number))]
        for path, share in pages:
            crawl.observe_page(PageRecord(f"https://a.org/wiki/{path}", "eng", "eng", new_text=share), ())
    assert new_text("new-one/") == 1
    assert new_text("new-one/?oldid=99") < 0.2
    assert new_text("new-one/?printable=yes") == 1


@pytest.mark.parametrize(
    ("gone", "same", "other"),
    [
        ("https://a.org/posts/{}.md", "https://a.org/posts/new.md", "https://a.org/posts/new.html"),
        ("https://a.org/{}/feed.xml", "https://a.org/new/feed.xml", "https://a.org/new/"),
        ("https://a.org/w/Special:{}", "https://a.org/w/Special:Log", "https://a.org/w/Ljubljana"),
        ("https://a.org/w?title={}&action=edit", "https://a.org/w?title=B&action=edit", "https://a.org/w?title=B"),
    ],
)
@pytest.mark.parametrize("is_page", [False, True])
def test_downloads_that_are_no_documents_have_no_new_text(gone: str, same: str, other: str, is_page: bool) -> None:
    crawl = Learner(gain := knowing("new_text"))
    for name in ("one", "two", "three", "four", "five"):
        url = gone.format(name)
        if is_page:
            crawl.observe_page(PageRecord(url, "eng", "eng", objection="noindex"), ())
        else:
            crawl.observe_failure(url)
        crawl.observe_page(PageRecord(other.replace("new", name).replace("B", name), "eng", "eng"), ())
    assert gain.explain(same).new_text < 0.4
    assert gain.explain(other).new_text > 0.65


def test_how_reliable_mirrors_are_is_learnt_by_site() -> None:
    crawl = Learner(gain := knowing("mirrors"))
    for host in ("a.org", "b.org"):
        fetch(crawl, f"https://{host}/en/x", "eng")
    chances = [gain.explain("https://a.org/fi/x").completes]
    for number in range(6):
        fetch(crawl, f"https://a.org/en/{number}", "eng")
        fetch(crawl, f"https://a.org/fi/{number}", "eng" if number < 3 else "fin")
        chances.append(gain.explain("https://a.org/fi/x").completes)
    assert 0 < chances[3] < chances[0] == gain.explain("https://b.org/fi/x").completes
    assert chances[3] < chances[-1] < 1


def test_articles_of_two_wikis_that_link_to_each_other_are_learnt_to_be_pairs() -> None:
    """Each article links to its translation in the text, to others of its wiki, and all to one page of the other."""

    def article(wiki: str, number: int, side: str) -> None:
        other = "wiki" if wiki == "fiwiki" else "fiwiki"
        targets = (f"{wiki}/{number + 1}", f"{other}/Author", f"{other}/{number}")
        fetch(crawl, f"https://a.org/{wiki}/{number}", side, *(Link(f"https://a.org/{path}") for path in targets))

    def chance(path: str) -> float:
        return gain.explain(f"https://a.org/{path}").completes

    crawl = Learner(gain := knowing("cross_links", "folders"))
    article("wiki", 0, "eng")
    assert 0 < chance("fiwiki/0") < 0.2
    assert chance("wiki/1") == 0
    for number in range(8):
        article("wiki", number, "eng")
        article("fiwiki", number, "fin")
    article("wiki", 8, "eng")
    assert chance("fiwiki/8") > 0.4
    assert chance("fiwiki/Author") == 0
    pairs = crawl.ledgers[PAIR].pairs()
    articles = {(f"https://a.org/wiki/{number}", f"https://a.org/fiwiki/{number}") for number in range(8)}
    assert {(pair.url_a, pair.url_b) for pair in pairs} == articles
    assert "linked" in {pair.method for pair in pairs}


def test_links_from_one_folder_to_another_are_believed_less_if_no_pair_comes_of_them() -> None:
    crawl = Learner(gain := knowing("cross_links"))
    chances = []
    for number in range(8):
        product, news = f"https://a.org/tuotteet/{number}", f"https://a.org/news/{number}"
        fetch(crawl, news, "eng", Link(product))
        chances.append(gain.explain(product).completes)
        fetch(crawl, product, None)
    assert chances[-1] < chances[0] / 2


WIKI, FIWIKI = "https://a.org/wiki/x", "https://a.org/fiwiki/x"


def hold(book: Book, url: str, side: str, *found: Link) -> PageRecord:
    page = PageRecord(url, side, side, links=found)
    book.hold(page)
    book.note_claims(page)
    return page


def book_of(*pages: tuple[str, str, list[Link]]) -> Book:
    book = Book(PAIR)
    for url, side, found in pages:
        hold(book, url, side, *found)
    return book


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (WIKI, [Link(FIWIKI, position=LinkPosition.NAVIGATION)]),
        (WIKI, [Link(FIWIKI), *(Link(f"https://a.org/{number}/") for number in range(4))]),
        ("https://a.org/fiwiki/y", [Link(FIWIKI)]),
        ("https://b.org/wiki/x", [Link(FIWIKI)]),
        ("https://a.org/fiwiki/y?to=/x/", [Link(FIWIKI)]),
    ],
    ids=["menu", "list", "same part", "other site", "slash in the query"],
)
def test_links_that_are_no_cross_links(source: str, found: list[Link]) -> None:
    assert book_of((WIKI, "eng", [Link(FIWIKI)])).linked_by(FIWIKI) == (WIKI,)
    assert not book_of((source, "eng", found)).linked_by(FIWIKI)


def test_copies_of_a_document_link_once_and_a_redirect_within_a_part_is_no_cross_link() -> None:
    book = book_of((WIKI, "eng", []))
    for number in range(5):
        book.merge(hold(book, f"{WIKI}?v={number}", "eng", Link(FIWIKI)).url, WIKI)
    assert book.linked_by(FIWIKI)
    book.redirect("https://a.org/old/y", "https://a.org/wiki/y")
    hold(book, "https://a.org/wiki/z", "eng", Link("https://a.org/old/y"))
    assert not book.linked_by("https://a.org/wiki/y")


def test_links_that_cannot_be_translations_make_no_list() -> None:
    elsewhere = [Link(f"https://b{number}.org/") for number in range(9)]
    own = [(f"https://a.org/en{number}/", "eng", list[Link]()) for number in range(9)]
    book = book_of(*own, (WIKI, "eng", [*elsewhere, *(Link(url) for url, *_ in own), Link(FIWIKI)]))
    assert book.linked_by(FIWIKI) == (WIKI,)


def test_a_redirect_takes_cross_links_along() -> None:
    old = "https://a.org/fi/old"
    book = book_of((WIKI, "eng", [Link(old)]))
    assert book.redirect(old, FIWIKI) == (FIWIKI, [WIKI])
    assert book.linked_by(FIWIKI) == (WIKI,)
    assert not book.linked_by(old)


def test_a_copy_that_links_is_mutual_with_its_original() -> None:
    gain = knowing("cross_links")
    hold(gain.book, WIKI, "eng")
    hold(gain.book, f"{WIKI}?v=1", "eng", Link(FIWIKI))
    page = hold(gain.book, FIWIKI, "fin", Link(WIKI))
    assert not list(gain.candidates(page, page.links))
    gain.book.merge(f"{WIKI}?v=1", WIKI)
    [proposal] = gain.candidates(page, page.links)
    assert proposal.method == "linked"


def test_a_menu_that_leads_back_makes_no_pair_of_a_home_page_and_an_article() -> None:
    crawl = Learner(knowing("cross_links"))
    fetch(crawl, "https://a.org/", "eng", Link("https://a.org/uutiset/1"))
    fetch(crawl, "https://a.org/uutiset/1", "fin", Link("https://a.org/", position=LinkPosition.NAVIGATION))
    assert not crawl.ledgers[PAIR].pairs()


def test_many_cross_links_displace_no_announcement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bilingual_crawler.pairing.book.MAX_AWAITED", 10)
    other = "https://b.org/fi/x"
    announcing = ("https://b.org/x", "eng", [hreflang(other)])
    many = [(f"https://a.org/wiki/{n}", "eng", [Link(f"https://a.org/fiwiki/{n}")]) for n in range(20)]
    book = book_of(announcing, *many)
    assert book.announced_by(other) == ("https://b.org/x",)
    assert [n for n in range(20) if book.linked_by(f"https://a.org/fiwiki/{n}")] == list(range(10, 20))


@pytest.mark.parametrize("announce", [hreflang, switcher], ids=["hreflang", "switcher"])
def test_announcements_that_lie_are_believed_less_and_less(announce: Callable[[str], Link]) -> None:
    """A site that shows one text under the addresses of both languages, and announces each as the translation."""

    def told(host: str, number: int, link: Callable[[str], Link]) -> float:
        other = f"https://{host}/fi/{number}"
        fetch(crawl, f"https://{host}/en/{number}", "eng", link(other))
        return policy.explain(other).total

    crawl = Learner(policy := Gain(PAIR))
    assert told("a.org", 0, announce) > 0.6
    for number in range(60):
        told("a.org", number, announce)
        fetch(crawl, f"https://a.org/fi/{number}", "eng")
    assert told("a.org", 60, announce) < 0.2
    assert told("b.org", 1, hreflang) > 0.6, "elsewhere announcements are still believed"


def test_the_wording_of_links_is_believed_as_far_as_it_was_right_on_the_site() -> None:
    def finnish(host: str, text: str) -> float:
        fetch(crawl, f"https://{host}/", "eng", Link(f"https://{host}/new", text=text))
        belief = gain.explain(f"https://{host}/new").belief[1]
        gain.drop_url(f"https://{host}/new")
        return belief

    crawl = Learner(gain := knowing("wording"))
    title, other = "Kirjaston historia ja sen lukijat", "The history of the library"
    assert finnish("a.org", title) > 0.4 > 0.3 > finnish("a.org", other)
    for number in range(10):
        for path, text in (("x", title), ("y", other)):
            url = f"https://a.org/{path}{number}"
            fetch(crawl, "https://a.org/", "eng", Link(url, text=text))
            fetch(crawl, url, "eng")
    assert finnish("a.org", title) < finnish("b.org", title) - 0.1
    assert finnish("b.org", title) > 0.4


def test_links_at_the_same_place_of_a_pair_lead_to_a_pair_and_so_on() -> None:
    def links(*numbers: int) -> list[Link]:
        return [Link(f"https://a.org/?p={number}") for number in numbers]

    def chance(number: int) -> float:
        return gain.explain(f"https://a.org/?p={number}").chances["parallel_links"]

    crawl, shared = Learner(gain := knowing("parallel_links")), 99
    fetch(crawl, "https://a.org/en/", "eng", *links(1, shared, 2, 3))
    assert not chance(11)
    fetch(crawl, "https://a.org/fi/", "fin", *links(11, 12, shared, 13))  # a pair by its URLs
    assert not chance(12)  # nothing that it could complete is there yet
    fetch(crawl, "https://a.org/?p=2", "eng", *links(21, 22))
    assert chance(12) > 0.4 > chance(11) == chance(13) == chance(shared) == 0
    fetch(crawl, "https://a.org/?p=12", "fin", *links(31, 32))
    _, pair = crawl.ledgers[PAIR].pairs()
    assert (pair.url_a, pair.url_b, pair.method) == ("https://a.org/?p=2", "https://a.org/?p=12", "parallel_links")
    fetch(crawl, "https://a.org/?p=32", "fin")
    assert chance(22) > 0.4 > chance(21) == 0


def test_couples_that_a_site_refutes_are_no_news_any_more() -> None:
    crawl = Learner(gain := knowing("parallel_links", "mirrors"))

    def news_of_pair(number: int) -> set[str]:
        """A pair by its URLs whose links, one on each page, lead to two pages that are no pair."""
        gain.changed()
        for side, language, ahead in (("en", "eng", 2), ("fi", "fin", 1)):
            link = Link(f"https://a.org/{side}/{number + ahead}")
            fetch(crawl, f"https://a.org/{side}/{number}", language, link)
        return {*gain.changed()}

    assert "https://a.org/en/2" in news_of_pair(0)
    for number in range(1, 60):
        news_of_pair(number)
    assert "https://a.org/en/62" not in news_of_pair(60)


def test_two_queued_urls_that_correspond_are_worth_more_than_others() -> None:
    def later(*paths: str) -> list[float]:
        return [gain.explain(f"https://a.fi/{path}").later for path in paths]

    crawl = Learner(gain := knowing("parallel_links", "mirrors", "pair_rate"))
    fetch(crawl, "https://a.fi/en", "eng", Link("https://a.fi/guide"), Link("https://a.fi/en/new"))
    fetch(crawl, "https://a.fi/news", "eng", Link("https://a.fi/alone"))
    assert len({*later("guide", "alone", "en/new")}) == 1
    fetch(crawl, "https://a.fi/fi", "fin", Link("https://a.fi/opas"), Link("https://a.fi/fi/new"))
    for number in range(9):
        fetch(crawl, f"https://a.fi/{number}", "eng")
    *others, alone = later("guide", "opas", "en/new", "fi/new", "alone")
    assert min(others) > 2 * alone
    gain.drop_url("https://a.fi/opas")
    assert later("guide") == [alone]


def test_lists_are_cut_at_links_that_are_pairs() -> None:
    crawl = Learner(gain := knowing("parallel_links"))
    fetch(crawl, "https://a.org/en/x", "eng")
    fetch(crawl, "https://a.org/fi/x", "fin")
    fetch(crawl, "https://a.org/en/", "eng", *map(Link, ("https://a.org/1", "https://a.org/en/x", "https://a.org/2")))
    fetch(crawl, "https://a.org/fi/", "fin", *map(Link, ("https://a.org/fi/x", "https://a.org/12")))
    fetch(crawl, "https://a.org/1", "eng")
    assert not gain.explain("https://a.org/12").completes
    fetch(crawl, "https://a.org/2", "eng")
    assert gain.explain("https://a.org/12").chances["parallel_links"] == gain.explain("https://a.org/12").completes > 0


def test_couples_that_are_wrong_on_a_site_are_disbelieved_there() -> None:
    crawl = Learner(gain := knowing("parallel_links"))
    for host in ("a.org", "b.org"):
        fetch(crawl, f"https://{host}/en/", "eng", *(Link(f"https://{host}/en-{number}") for number in range(10)))
        fetch(crawl, f"https://{host}/fi/", "fin", *(Link(f"https://{host}/fi-{number}") for number in range(10)))
        fetch(crawl, f"https://{host}/en-9", "eng")
    for number in range(8):
        fetch(crawl, f"https://a.org/en-{number}", "eng")
        fetch(crawl, f"https://a.org/fi-{number}", "eng")
    assert 0 < gain.explain("https://a.org/fi-9").completes < 0.5 < gain.explain("https://b.org/fi-9").completes


def test_pages_link_to_their_own_language_until_a_site_shows_otherwise() -> None:
    def finnish(host: str) -> float:
        return gain.explain(f"https://{host}/new").belief[1]

    crawl = Learner(gain := knowing("linking_pages"))
    for host in ("a.org", "b.org"):
        fetch(crawl, f"https://{host}/", "fin", Link(f"https://{host}/new"))
    before = finnish("a.org")
    assert before == finnish("b.org") > 0.4
    for number in range(6):
        fetch(crawl, f"https://a.org/{number}", "fin", Link(f"https://a.org/{number + 100}"))
        fetch(crawl, f"https://a.org/{number + 100}", "eng")
    assert finnish("a.org") < before - 0.05
    assert finnish("b.org") == before


def test_the_language_that_is_behind_is_preferred() -> None:
    def chances(host: str) -> list[float]:
        return [gain.explain(f"https://{host}/{mark}/new").chances["surplus"] for mark in ("en", "fi")]

    crawl = Learner(gain := knowing("surplus", "marks"))
    for number in range(6):
        fetch(crawl, f"https://a.org/en/{number}", "eng")
    english, finnish = chances("a.org")
    assert finnish > 0.1 > 0.02 > english
    assert chances("b.org") == [0, 0]
    for number in range(6):
        fetch(crawl, f"https://a.org/fi/{number}", "fin")
    assert chances("a.org") == [0, 0]


def test_dead_links_tell_of_their_template_and_not_of_their_folder() -> None:
    crawl = Learner(gain := knowing("new_text"))
    fetch(crawl, "https://a.org/wiki/start", "eng")
    for number in range(20):
        crawl.observe_failure(f"https://a.org/wiki/old/x{number}")
    assert gain.explain("https://a.org/wiki/old/x99").new_text < 0.2
    assert gain.explain("https://a.org/wiki/old/other").new_text == 1


def test_switchers_that_lead_nowhere_are_learnt_by_folder_and_no_other_link_is_blamed() -> None:
    crawl = Learner(gain := knowing("switchers", "claimed"))
    before = gain.explain(fetch_article(crawl, 0)).total
    for number in range(1, 12):
        crawl.observe_failure(fetch_article(crawl, number))
    assert gain.explain("https://a.org/fi/0").total < before / 4
    assert gain.explain("https://a.org/fi/unclaimed").new_text == 1
    fetch(crawl, "https://a.org/en/other", "eng", switcher("https://a.org/sv/0"))
    assert gain.explain("https://a.org/fi/0").new_text < gain.explain("https://a.org/sv/0").new_text
    for number in range(12, 40):
        fetch(crawl, fetch_article(crawl, number), "fin")
    assert gain.explain(fetch_article(crawl, 99)).new_text > 0.7


@pytest.mark.parametrize(("end", "is_dead"), [("home", True), ("back", True), ("partner", False), ("new", False)])
def test_switchers_that_are_redirected_to_a_known_page_lead_nowhere(end: str, is_dead: bool) -> None:
    crawl = Learner(gain := knowing("switchers", "claimed"))
    fetch(crawl, "https://a.org/en/", "eng", switcher("https://a.org/fi/"))
    fetch(crawl, "https://a.org/fi/", "fin")
    before = gain.explain(fetch_article(crawl, 0, "select")).new_text
    for number in range(1, 12):
        switch, partner = fetch_article(crawl, number, "select"), f"https://a.org/fi/{number}"
        if end == "partner":
            fetch(crawl, partner, "fin")
        targets = {"home": "https://a.org/fi/", "back": f"https://a.org/en/{number}"}
        crawl.observe_redirect(switch, targets.get(end, partner))
    assert (gain.explain("https://a.org/select/0").new_text < before / 4) == is_dead


def test_a_calendar_whose_switchers_lead_to_pages_has_no_new_text() -> None:
    crawl = Learner(gain := knowing("switchers", "new_text", "claimed"))
    for number in range(40):
        for side, other in (("eng", "fin"), ("fin", "eng")):
            switch = Link(f"https://a.org/{other}/{number}", label=other, position=LinkPosition.SWITCHER)
            month = PageRecord(f"https://a.org/{side}/{number}", side, side, length=1000, links=(switch,), new_text=0.0)
            crawl.observe_page(month, month.links)
    assert gain.explain("https://a.org/eng/40").new_text < 0.2
    assert gain.explain("https://a.org/fin/7").new_text < 0.2


def test_more_of_the_language_that_is_ahead_waits_for_the_other() -> None:
    def later(mark: str) -> float:
        return gain.explain(f"https://a.org/{mark}/new").later

    crawl = Learner(gain := knowing("marks"))
    fetch(crawl, "https://a.org/en/0", "eng")
    before = later("en"), later("fi")
    assert before[0] == pytest.approx(before[1], rel=0.2)
    for number in range(1, 20):
        fetch(crawl, f"https://a.org/en/{number}", "eng")
    assert later("en") < 0.5 * before[0]
    assert later("fi") == pytest.approx(before[1], rel=0.2)
    for number in range(20):
        fetch(crawl, f"https://a.org/fi/{number}", "fin")
    # these have equal addresses, and are partners of the English ones
    assert later("en") > 0.8 * before[0]


def test_what_is_counted_is_right_after_documents_have_changed_their_partners() -> None:
    changed, steady = (Gain(PAIR, without=EVIDENCE.keys() - {"surplus", "pair_rate"}) for _ in range(2))
    english, others = "https://a.fi/en/x", [f"https://a.fi/fi/{number}" for number in range(4)]
    for gain in (changed, steady):
        for url, side in ((english, "eng"), *((url, "fin") for url in others)):
            page = PageRecord(url, side, side, length=1000)
            gain.book.hold(page)
            gain.observe_page(page, ())
    for gain, url in (*((changed, url) for url in others), (steady, others[-1])):
        gain.book.join(english, url)
        gain.observe_pair(english, url)
    for url in ("https://a.fi/en/new", "https://a.fi/fi/new"):
        assert changed.explain(url) == steady.explain(url)
    assert changed.explain("https://a.fi/en/new").chances["surplus"] > 0


def test_rare_words_that_a_link_shares_with_a_document_speak_for_a_pair() -> None:
    def chance(path: str) -> float:
        return gain.explain(f"https://a.org/{path}").chances["shared_words"]

    crawl = Learner(gain := knowing("shared_words"))
    texts = {"a1": "Halvorsen pumps of 1897", "a2": "Halvorsenin pumput 1897"}
    texts |= {f"n{number}": f"Uutisia kaupungista osa {number}" for number in range(30)}
    fetch(crawl, "https://a.org/", None, *(Link(f"https://a.org/{path}", text=text) for path, text in texts.items()))
    assert not chance("a2")
    fetch(crawl, "https://a.org/a1", "eng")
    assert chance("a2") > 0.05 > chance("n7") == 0
    # a word that more texts have is weighed anew
    assert "https://a.org/a2" not in gain.changed()
    fetch(crawl, "https://a.org/n7", "eng")
    assert "https://a.org/a2" in gain.changed()


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.text("xyz 123", max_size=12)), max_size=60))
def test_an_index_of_words_finds_what_it_holds(added: list[tuple[str, str]]) -> None:
    index = WordIndex()
    for url, text in added:
        if text:
            index.add(url, text.split())
        else:
            index.remove(url)
    for word in {word for _, text in added for word in text.split()}:
        assert set(index.having(word)) == {url for url in "abcd" if word in index.words(url)}
    assert all(len(index.words(url)) <= MAX_WORDS for url in "abcd")


@given(st.lists(st.tuples(URLS, st.sampled_from(["eng", "fin", None]))), URLS)
def test_beliefs_are_probabilities_whatever_was_learnt(pages: list[tuple[str, str | None]], url: str) -> None:
    known = Known(Book(PAIR), (0.3, 0.3, 0.4))
    folders, marks, rate = Folders(known), Marks(known), PairRate(known)
    for page, side in pages:
        for kind in (folders, marks, rate):
            kind.observe_page(PageRecord(page, side or "fra", side), [])
        if side:
            rate.observe_pair(page, page)
    target = known.target(url)
    for belief in (folders.update(target, known.prior), marks.update(target, known.prior)):
        if belief is not None:
            assert sum(belief) == pytest.approx(1)
            assert min(belief) > 0
    assert 0 <= rate.factor(target) <= 1
