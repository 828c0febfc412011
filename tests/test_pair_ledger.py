"""One rule for "these two are a pair", for the crawl, its policy and the alignment of URLs."""

from itertools import permutations

import pytest
from msgspec.structs import replace

from bilingual_crawler.crawl.learner import Learner
from bilingual_crawler.items import Pair, Proposal, Unpaired
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.model import Link, LinkPosition, PageRecord
from bilingual_crawler.pairing.book import MAX_RELATED, Book
from bilingual_crawler.pairing.ledger import PairLedger
from bilingual_crawler.pairing.model import REASONS
from bilingual_crawler.policies.gain import Gain

PAIR = LanguagePair.parse("eng-isl")
EN, IS, SLUG = "https://a.is/en/about", "https://a.is/is/about", "https://a.is/is/um-okkur"


def page(url: str, language: str, *claims: Link, length: int = 500, noindex: bool = False) -> PageRecord:
    return PageRecord(
        url, language, PAIR.side(language), length=length, links=claims, objection="noindex" if noindex else None
    )


def announced(language: str, url: str) -> Link:
    return Link(url, hreflang=language, alternate=True, position=LinkPosition.HEAD)


def switch(language: str | None, url: str) -> Link:
    return Link(url, label=language, position=LinkPosition.SWITCHER)


def holding(*pages: PageRecord) -> PairLedger:
    ledger = PairLedger(Book(PAIR))
    for one in pages:
        ledger.add_page(one)
    return ledger


def on(path: str) -> str:
    return f"https://a.is/{path}"


def read_by(learner: Learner, *pages: PageRecord) -> list[Pair]:
    """The pairs that are found while a crawl reads *pages*."""
    return [pair for one in pages for pair in learner.observe_page(one, one.claims)]


def found(*pages: PageRecord) -> list[tuple[str, str, str]]:
    """The pairs, whatever the order in which *pages* arrive."""
    first, *others = (holding(*order).pairs() for order in permutations(pages))
    assert all(pairs == first for pairs in others)
    return [(pair.url_a, pair.url_b, pair.method) for pair in first]


CLAIMS = announced("eng", EN), announced("isl", SLUG)
JUDGED: dict[str, tuple[list[PageRecord], list[tuple[str, str, str]]]] = {
    "URLs that differ in the language identifier": ([page(EN, "eng"), page(IS, "isl")], [(EN, IS, "url")]),
    "a country that says no language": ([page(on("about"), "eng"), page(IS, "isl")], [(on("about"), IS, "url")]),
    "marker_disagrees": ([page(IS, "eng"), page(EN, "isl")], []),
    "length": ([page(EN, "eng"), page(IS, "isl", length=50)], []),
    "hreflang before the rule of URLs": (
        [page(EN, "eng"), page(IS, "isl"), page(SLUG, "isl", *CLAIMS)],
        [(EN, SLUG, "hreflang")],
    ),
    "a claim of one language": ([page(on("x"), "eng", announced("isl", on("y"))), page(on("y"), "eng")], []),
    "a claim of another language": ([page(on("x"), "eng", announced("fra", on("y"))), page(on("y"), "isl")], []),
}


@pytest.mark.parametrize("name", JUDGED)
def test_what_is_a_pair_and_why_others_are_refused(name: str) -> None:
    pages, pairs = JUDGED[name]
    assert found(*pages) == pairs
    assert name not in REASONS or holding(*pages).refused(0) == {name: 1}


def test_the_likeliest_proposal_counts_whatever_their_order() -> None:
    proposals = [Proposal(on("1"), "switcher", 0.6), Proposal(on("1"), "parallel_links", 0.75)]
    of_two = [Proposal(on("1"), "linked", 0.81), Proposal(on("2"), "switcher", 0.95)]
    here, other, there = page(on("1"), "eng"), page(on("2"), "eng"), page(on("3"), "isl")
    for order in permutations(proposals):
        assert holding(here).add_page(there, order) == Pair(on("1"), on("3"), 0.75, "parallel_links", "eng-isl")
    for order in permutations(of_two):
        pair = holding(here, other).add_page(there, order)
        assert pair
        assert pair.url_a == on("2")


@pytest.mark.parametrize("label", ["isl", None])
def test_switchers_count_only_when_they_lead_to_each_other(label: str | None) -> None:
    here, there = page(on("one"), "eng", switch(label, on("tvo"))), page(on("tvo"), "isl", switch("eng", on("one")))
    assert found(here, there) == [(on("one"), on("tvo"), "switcher")]
    assert found(here, page(on("tvo"), "isl", switch("eng", on("")))) == []
    assert found(page(on("one"), "eng", switch("fra", on("tvo"))), there) == []


@pytest.mark.parametrize("claimed_first", [True, False])
@pytest.mark.parametrize("hops", [[("um", "")], [("um", "x"), ("x", "")], [("x", ""), ("um", "x")]])
def test_an_announced_url_that_redirects_counts_for_its_last_target(
    hops: list[tuple[str, str]], claimed_first: bool
) -> None:
    claim, ledger = page(EN, "eng", announced("isl", on("um"))), PairLedger(Book(PAIR))
    if claimed_first:
        assert ledger.add_page(claim) is None
    for source, target in hops:
        assert ledger.redirect(on(source), on(target) if target else SLUG) is None
    if not claimed_first:
        assert ledger.add_page(claim) is None
    assert ledger.add_page(page(SLUG, "isl")) == Pair(EN, SLUG, 0.95, "hreflang", "eng-isl")


def test_a_redirect_that_is_known_after_both_pages_makes_a_pair() -> None:
    ledger = holding(page(EN, "eng", announced("isl", on("um"))), page(SLUG, "isl"))
    assert ledger.pairs() == []
    expected = Pair(EN, SLUG, 0.95, "hreflang", "eng-isl")
    assert ledger.redirect(on("um"), SLUG) == expected == ledger.pair_of(EN) == ledger.pair_of(SLUG)


def test_pairs_are_one_to_one_and_a_page_seen_twice_counts_once() -> None:
    both = holding(page(EN, "eng"), page("https://en.a.is/about", "eng"), page(IS, "isl"))
    assert both.add_page(page(IS, "isl")) is None
    assert len(both.pairs()) == len(both) == 1
    assert both.unpaired() == [Unpaired("https://en.a.is/about", "taken", IS, 0.85, "eng-isl")]
    assert both.refused(1) == {"taken": 1}


def test_a_page_that_asks_to_be_left_out_is_no_document_and_no_half_of_a_pair() -> None:
    ledger = holding(page(EN, "eng", noindex=True), page(IS, "isl"))
    assert not ledger.pairs()
    assert ledger.unpaired() == [Unpaired(IS, "no_candidate", "", 0.0, "eng-isl")]


def test_a_proposal_counts_where_there_is_nothing_better_and_is_checked_like_everything() -> None:
    def judged(*others: PageRecord) -> Pair | None:
        proposals = [Proposal(on(path), "parallel", 0.7) for path in ("um", "gone")]
        return holding(*others).add_page(page(EN, "eng"), proposals)

    assert judged(page(on("um"), "isl")) == Pair(EN, on("um"), 0.7, "parallel", "eng-isl")
    assert judged(page(on("um"), "isl"), page(IS, "isl")) == Pair(EN, IS, 0.85, "url", "eng-isl")
    assert judged(page(on("um"), "eng")) is None
    assert judged(page(on("um"), "isl", length=5)) is None
    assert holding(page(EN, "eng")).propose(EN, Proposal(on("um"), "parallel", 0.7)) is None


def proposed(ledger: PairLedger, english: str, icelandic: str) -> Pair | None:
    """The pair of two pages that only their links propose."""
    ledger.add_page(page(on(icelandic), "isl"))
    return ledger.add_page(page(on(english), "eng"), [Proposal(on(icelandic), "parallel", 0.7)])


def of_site(english: str, icelandic: str, count: int = 10, *, announcing: bool = False) -> PairLedger:
    """A ledger with *count* pairs of a site; ``{}`` in the addresses stands for a number."""
    ledger = PairLedger(Book(PAIR))
    for n in range(count):
        claims = (announced("isl", on(icelandic.format(n))),) if announcing else ()
        ledger.add_page(page(on(icelandic.format(n)), "isl"))
        proposals = [Proposal(on(icelandic.format(n)), "parallel", 0.7)]
        assert ledger.add_page(page(on(english.format(n)), "eng", *claims), proposals)
    return ledger


def test_a_pair_unlike_the_others_of_its_site_is_unlikely() -> None:
    expected = Pair(on("about"), on("um"), 0.7, "parallel", "eng-isl")
    assert proposed(PairLedger(Book(PAIR)), "about", "um") == expected
    assert proposed(of_site("en/{}", "is/{}"), "about", "um") is None
    # files cannot announce anything
    for ending, wanted in ((".pdf", True), ("", False)):
        ledger = of_site("en/{}", "is/{}", announcing=True)
        assert bool(proposed(ledger, f"files/9a0b{ending}", f"files/1f2c{ending}")) is wanted
    # where pairs have equal numbers
    for year, wanted in (("2018", True), ("2019", False)):
        assert bool(proposed(of_site("one-{}", "ein-{}"), f"road-{year}", "vegur-2018")) is wanted


def test_a_page_that_nobody_has_translated_is_no_partner_unless_a_page_announces_it() -> None:
    def judged(address: str, *others: PageRecord, claims: tuple[Link, ...] = ()) -> Pair | None:
        ledger = holding(*others, page(address, "eng"))
        return ledger.add_page(page(IS, "isl", *claims), [Proposal(address, "parallel", 0.7)])

    german = on("de/about")
    assert judged(on("en/pumps"))
    assert judged(german) is None
    assert judged(german, claims=(announced("eng", german),)) == Pair(german, IS, 0.95, "hreflang", "eng-isl")
    # where the codes mean something else
    assert judged(german, *(page(on(f"de/{n}"), "eng") for n in range(5)))


PUMP = "<p>In 1897 the firm Halvorsen of Bergen built the first X-400 pump, number 7731.<img src=/x400-side.jpg>"
DAELA = "<p>Fyrirtækið Halvorsen frá Bergen smíðaði árið 1897 fyrstu dæluna X-400, númer 7731.<img src=/x400-side.jpg>"
PIPES = "<p>Verksmiðjan í Reykjavík var seld Lindqvist árið 1931 fyrir 25400 krónur.<img src=/pipes-1931.jpg>"


def holds(url: str, language: str, html: str) -> PageRecord:
    read = PageJob(html.encode(), "text/html; charset=utf-8", url).run()
    return PageRecord(url, language, PAIR.side(language), length=read.length, outline=read.outline)


def announcing(url: str, language: str, html: str, other: str) -> PageRecord:
    return replace(holds(url, language, html), links=(announced("isl" if language == "eng" else "eng", other),))


def test_what_pages_hold_confirms_and_refutes() -> None:
    en, pump, pipes = holds(EN, "eng", PUMP), holds(IS, "isl", DAELA), holds(IS, "isl", PIPES)
    assert holding(pump).add_page(en) == Pair(EN, IS, 0.85, "url", "eng-isl")
    # an equal URL is not enough
    assert holding(pipes).add_page(en) is None
    slug = on("um")
    ledger = holding(holds(slug, "isl", PIPES))
    assert ledger.add_page(en, [Proposal(slug, "parallel", 0.5)]) is None
    assert ledger.refused(0) == {"content": 1}
    assert ledger.unpaired() == [Unpaired(url, "no_candidate", "", 0.0, "eng-isl") for url in (slug, EN)]


YEARS = range(40, 45)
STORY = "".join(f"<p>The {n}th pump of Halvorsen was sold to the {n + 30} miners of Bergen in 18{n}." for n in YEARS)
SAGA = "".join(f"<p>Dæla {n} frá Halvorsen var seld {n + 30} námumönnum í Bergen árið 18{n}." for n in YEARS)


def test_copies_are_no_rivals_and_bring_their_claims_to_the_original() -> None:
    node = "https://a.is/node/7"
    en = replace(holds(EN, "eng", STORY), links=(announced("isl", SLUG),), canonical=EN)
    copy = replace(holds(node, "eng", STORY + "<p>Print"), links=(announced("isl", SLUG),), canonical=EN)
    # the page in the other language announces the copy
    other = replace(holds(SLUG, "isl", SAGA), links=(announced("eng", node),))
    for order in permutations((en, copy, other)):
        ledger = holding(*order)
        assert ledger.pairs() == [Pair(EN, SLUG, 0.99, "hreflang", "eng-isl")]
        assert ledger.pair_of(EN) == ledger.pair_of(SLUG) == ledger.pairs()[0]
        assert ledger.pair_of(node) is None
        assert len(ledger) == 1
        assert ledger.unpaired() == [Unpaired(node, "copy", "", 0.0, "eng-isl")]
        assert not ledger.adopt(Pair(node, SLUG, 0.9, "structure", "eng-isl"))
        read_by(Learner(policy := Told()), *order)
        assert set(policy.pairs[-1]) == {EN, SLUG}


def test_the_addresses_of_copies_speak_for_their_document() -> None:
    """The same site under several hosts, of which none announces anything."""
    ledger = PairLedger(Book(PAIR))
    said = [("what the choir sang", "sungið í kirkjunni"), ("bread is baked here", "brauð"), ("no boat sails", "bátur")]
    for n, texts in enumerate(said):
        for host, side in (("m", 0), ("x", 1), ("x", 0), ("m", 1)):
            url = f"https://{host}.a.is/{('en', 'is')[side]}/{n}"
            ledger.add_page(holds(url, ("eng", "isl")[side], f"<p>{texts[side]}"))
    pairs = ledger.pairs()
    assert [(pair.url_a, pair.url_b, pair.method) for pair in pairs] == [
        (f"https://m.a.is/en/{n}", f"https://x.a.is/is/{n}", "url") for n in range(3)
    ]
    assert {one.reason for one in ledger.unpaired()} == {"copy"}


def test_a_proposal_of_a_copy_is_one_of_its_document() -> None:
    original, copy = holds(EN, "eng", STORY), holds("https://x.a.is/7", "eng", STORY)
    ledger = holding(original, copy)
    pair = ledger.add_page(page(SLUG, "isl"), [Proposal(copy.url, "parallel_links", 0.8)])
    assert pair == Pair(EN, SLUG, 0.8, "parallel_links", "eng-isl")
    ledger = holding(original, page(SLUG, "isl"))
    assert ledger.add_page(copy, [Proposal(SLUG, "parallel_links", 0.8)]) == pair


def test_a_page_with_another_text_or_language_is_no_copy_whatever_it_gives_as_canonical() -> None:
    lying = replace(holds("https://a.is/en/other", "eng", PUMP), canonical=EN)
    foreign = replace(holds(IS, "isl", SAGA), canonical=EN)
    ledger = holding(replace(holds(EN, "eng", STORY), canonical=EN), lying, foreign)
    assert [pair.url_b for pair in ledger.pairs()] == [IS]
    assert {one.url: one.reason for one in ledger.unpaired()} == {lying.url: "no_candidate"}


def test_pages_that_give_each_other_as_canonical_are_one_document() -> None:
    pages = [replace(holds(on(str(n)), "eng", STORY), canonical=on(str((n + 1) % 3))) for n in range(3)]
    for order in permutations(pages):
        assert [one.reason for one in holding(*order).unpaired()].count("copy") == 2


def test_one_text_does_not_pair_with_many() -> None:
    missing = "<title>Ekki til</title><p>Síðan sem þú leitar að er ekki til."
    ledger = PairLedger(Book(PAIR))
    for n in range(10):
        ledger.add_page(holds(on(f"is/{n}"), "isl", missing))
        ledger.add_page(holds(on(f"en/{n}"), "eng", f"<p>What the town of {n} sells."))
    assert len(ledger.pairs()) == 1
    assert sum(one.reason == "copy" for one in ledger.unpaired()) == 9


def test_the_same_text_is_no_translation_whatever_announces_it() -> None:
    ledger = holding(announcing(EN, "eng", STORY, IS), announcing(IS, "isl", STORY, EN))
    assert ledger.pairs() == []
    assert ledger.refused(0) == {"same_text": 1}
    unpaired = {one.url: (one.reason, one.nearest) for one in ledger.unpaired()}
    assert unpaired == {EN: ("same_text", IS), IS: ("same_text", EN)}
    assert {"copy", "same_text"} < REASONS.keys()


def test_an_equal_url_does_not_part_a_pair_that_the_content_confirms() -> None:
    ledger = holding(holds(EN, "eng", PUMP))
    right = ledger.add_page(holds(SLUG, "isl", DAELA), [Proposal(EN, "parallel_links", 0.8)])
    assert right == Pair(EN, SLUG, 0.8, "parallel_links", "eng-isl")
    assert ledger.add_page(holds(IS, "isl", PIPES)) is None
    assert ledger.pairs() == [right]


def test_the_score_says_what_speaks_against_an_announced_pair() -> None:
    right = holding(announcing(EN, "eng", PUMP, IS), announcing(IS, "isl", DAELA, EN)).pairs()
    wrong = holding(announcing(EN, "eng", PUMP, IS), announcing(IS, "isl", PIPES, EN)).pairs()
    assert [pair.score for pair in right] == [0.99]
    assert [0.5 <= pair.score < 0.9 for pair in wrong] == [True]


def announce_halvorsens(ledger: PairLedger, count: int, english: str, icelandic: str) -> None:
    """Add *count* announced pairs, of texts that are alike but for a number."""
    for n in range(count):
        urls = on(english.format(n)), on(icelandic.format(n))
        en, other = (text.replace("Halvorsen", f"Halvorsen-{n}") for text in (STORY, SAGA))
        ledger.add_page(announcing(urls[0], "eng", en, urls[1]))
        assert ledger.add_page(holds(urls[1], "isl", other))


def test_an_equal_url_is_unlikely_where_the_pairs_of_the_site_have_others() -> None:
    """As of the archives of a month, which list other posts."""

    def judged(slug: str, variant: str = "") -> Pair | None:
        month = [f"{variant}{code}" if variant else f"https://a.is/{code[:2]}/2024/05/" for code in ("eng", "isl")]
        ledger = PairLedger(Book(PAIR))
        announce_halvorsens(ledger, 10, "en/{}", f"is/{slug}{{}}")
        ledger.add_page(holds(month[0], "eng", "<p>What the choir sang in the church on Sunday."))
        return ledger.add_page(holds(month[1], "isl", "<p>Bókasafnið er lokað vegna viðgerða."))

    assert judged("")
    assert judged("saga-") is None
    # but for what one address answers in two languages
    assert judged("saga-", "https://a.is/2024/05/#!lang=")


def test_pairs_that_are_not_sure_do_not_show_what_is_usual() -> None:
    """False ones would make others of their kind likely."""

    def added(ledger: PairLedger, n: int) -> Pair | None:
        ledger.add_page(holds(on(f"news-{n}"), "eng", f"<p>{words[n]} are sold in the town from Monday on."))
        other = holds(on(f"frett-{n}"), "isl", f"<p>Fundur um {words[n][::-1]} verður í kvöld.")
        return ledger.add_page(other, [Proposal(on(f"news-{n}"), "parallel_links", 0.8)])

    words, ledger = ["apples", "boats", "coats", "doors", "eggs", "fish"], PairLedger(Book(PAIR))
    assert all(added(ledger, n) for n in range(3))
    announce_halvorsens(ledger, 6, "en/{}", "is/{}")
    assert not any(added(ledger, n) for n in range(3, 6))


def test_menus_in_two_languages_around_the_same_text_are_no_translation() -> None:
    """Of the first pages nobody knows that their menus are menus: all are judged again at the end."""
    menus = [
        "".join(f"<p>{line} {n}" for n in range(8))
        for line in ("Opening hours of the museum and prices for visitors", "Opnunartímar safnsins og verð fyrir gesti")
    ]
    ledger, found = PairLedger(Book(PAIR)), []
    for n in range(20):
        urls, text = [f"https://a.is/{code}/{n}" for code in ("en", "is")], STORY.replace("pump", f"pump-{n}")
        ledger.add_page(announcing(urls[0], "eng", menus[0] + text, urls[1]))
        found.append(ledger.add_page(announcing(urls[1], "isl", menus[1] + text, urls[0])))
    assert any(found)
    assert not any(found[5:])
    for pair in filter(None, found):
        # a resume reads the pairs of the earlier run
        ledger.adopt(pair)
    ledger.review()
    assert ledger.pairs() == []
    assert len(ledger) == ledger.book.pairs_on("a.is") == 0
    assert ledger.refused(0) == {"same_text": 20}
    assert {one.reason for one in ledger.unpaired()} == {"same_text"}


def test_documents_that_nothing_announces_are_paired_by_what_they_hold() -> None:
    others = [holds(on(str(year)), "isl", PIPES.replace("1931", str(year))) for year in range(1900, 1910)]
    pair = holding(*others, holds(on("7"), "isl", DAELA)).add_page(holds(on("8"), "eng", PUMP))
    assert pair is not None
    assert (pair.url_a, pair.url_b, pair.method) == (on("8"), on("7"), "content")
    assert 0.5 < pair.score < 0.85


@pytest.mark.parametrize("switching", ["eng", "isl"])
def test_a_switcher_that_does_not_lead_back_makes_a_pair_if_both_pages_hold_the_same(switching: str) -> None:
    def found(html: str) -> list[tuple[str, str]]:
        learner = Learner(Gain(PAIR))
        pages = {"eng": holds(on("8"), "eng", PUMP), "isl": holds(on("7"), "isl", html)}
        other = PAIR.other(switching)
        pages[switching] = replace(pages[switching], links=(switch(other, pages[other].url),))
        read_by(learner, *pages.values())
        return [(pair.url_a, pair.method) for pair in learner.ledgers[PAIR].pairs()]

    assert found(DAELA) == [("https://a.is/8", "switcher")]
    assert found(PIPES) == []


def test_a_page_that_thousands_announce_is_compared_with_a_few_of_them() -> None:
    home = announced("isl", "https://a.is/")
    ledger = holding(*(page(f"https://a.is/en/{number}", "eng", home) for number in range(10 * MAX_RELATED)))
    assert ledger.add_page(page("https://a.is/", "isl"))
    assert ledger.refused(1) == {"taken": MAX_RELATED - 1}


class Told(Gain):
    """A policy that keeps what it is told of pairs."""

    def __init__(self) -> None:
        super().__init__(PAIR)
        self.pairs: list[tuple[str, str]] = []

    def observe_page(self, page: PageRecord, links: object, partner: str | None = None) -> None:
        super().observe_page(page, (), partner)
        if partner:
            self.pairs.append((page.url, partner))

    def observe_pair(self, url: str, partner: str) -> None:
        super().observe_pair(url, partner)
        self.pairs.append((url, partner))


def test_the_policy_learns_from_exactly_the_pairs_that_the_crawl_reports() -> None:
    learner = Learner(policy := Told())
    read_by(
        learner,
        page(EN, "eng", announced("isl", on("um")), length=1600),
        page(on("en/contact"), "eng"),
        page(IS, "isl"),  # 3.2 times as short, which one rule once took for a pair and the other did not
        page(on("is/contact"), "isl", noindex=True),
        page(SLUG, "isl", length=1500),
    )
    assert policy.pairs == [(IS, EN)]
    late = learner.observe_redirect(on("um"), SLUG)
    assert late == [Pair(EN, SLUG, 0.95, "hreflang", "eng-isl")]
    assert policy.pairs == [(IS, EN), (EN, SLUG)]
    assert learner.ledgers[PAIR].pairs() == late
    # the one that has lost its partner lacks one again
    assert policy.explain("https://a.is/en/about/").completes > 0.1 > policy.explain("https://a.is/is/about/").completes


def test_a_pair_of_an_earlier_run_may_be_known_before_its_documents() -> None:
    learner = Learner(policy := Told())
    learner.adopt(Pair(EN, SLUG, 0.9, "structure", "eng-isl"))
    read_by(learner, page(EN, "eng"), page(SLUG, "isl"))
    assert policy.pairs == [(EN, SLUG)]
    assert policy.explain("https://a.is/is/new").chances["surplus"] == 0


def test_pairs_of_an_earlier_run_are_the_policys_too_and_told_once() -> None:
    learner = Learner(policy := Told())
    read_by(learner, page(EN, "eng"), page(on("saga"), "isl"), page(SLUG, "isl"))
    for score in (0.9, 0.9, 0.8):
        learner.adopt(Pair(EN, SLUG, score, "structure", "eng-isl"))
    assert policy.pairs == [(EN, SLUG)]
    assert learner.ledgers[PAIR].pair_of(EN) == Pair(EN, SLUG, 0.8, "structure", "eng-isl")


FOREIGN = "https://b.com/about"


def test_pages_of_two_registered_domains_must_announce_each_other() -> None:
    claiming, claimed = page(FOREIGN, "eng", announced("isl", IS)), page(IS, "isl")
    assert found(claiming, claimed) == []
    assert found(claiming, claimed, page(EN, "eng")) == [(EN, IS, "url")]
    both = claiming, page(IS, "isl", announced("eng", FOREIGN))
    assert found(*both) == [(FOREIGN, IS, "hreflang")]
    assert holding(*both).pairs()[0].score == 0.99
    own = page("https://www.a.is/x", "eng", announced("isl", IS))
    assert found(own, claimed) == [("https://www.a.is/x", IS, "hreflang")]


def test_many_foreign_announcements_do_not_keep_out_that_of_the_own_site() -> None:
    crowd = [page(f"https://b.com/{number}", "eng", announced("isl", SLUG)) for number in range(2 * MAX_RELATED)]
    ledger = holding(*crowd, page(EN, "eng", announced("isl", SLUG)))
    assert ledger.add_page(page(SLUG, "isl")) == Pair(EN, SLUG, 0.95, "hreflang", "eng-isl")


def test_gain_believes_foreign_claims_as_often_as_they_are_mutual() -> None:
    def worth(pages: list[PageRecord]) -> float:
        """That a page claimed by another domain completes a pair, after *pages*."""
        learner = Learner(Gain(PAIR))
        for one in [*pages, page("https://b.com/", "eng", announced("isl", on("um")))]:
            learner.observe_page(one, one.claims)
            learner.policy.priorities(one, one.claims, None)
        assert isinstance(learner.policy, Gain)
        return learner.policy.explain(on("um")).chances["hreflang"]

    def claims(number: int) -> PageRecord:
        return page(f"https://b.com/{number}", "eng", announced("isl", f"https://a.is/{number}"))

    one_sided = [one for n in range(9) for one in (claims(n), page(f"https://a.is/{n}", "isl"))]
    back = [announced("eng", f"https://b.com/{n}") for n in range(9)]
    mutual = [one for n in range(9) for one in (claims(n), page(on(str(n)), "isl", back[n]))]
    assert worth(one_sided) < 0.2 * worth([])
    assert worth(mutual) >= worth([])


def test_a_switcher_of_another_domain_is_no_proposal() -> None:
    pages = page(FOREIGN, "eng", switch("isl", IS)), page(IS, "isl")
    assert read_by(Learner(Gain(PAIR)), *pages) == []
    pages = page(on("x"), "eng", switch("isl", IS)), page(IS, "isl")
    assert [pair.method for pair in read_by(Learner(Gain(PAIR)), *pages)] == ["switcher"]
