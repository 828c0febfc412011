"""What a crawl learns about traps."""

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count, islice, permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from scrapy import Request
from support.crawls import crawl, documents, ended_well, outcomes, summary
from support.scripted import Answer, scripted
from support.webserver import ABOUT_SITE, TEXT, bilingual_site, html, varied

from bilingual_crawler.crawl import traps as limits
from bilingual_crawler.crawl.middlewares.traps import TrapRequestsMiddleware
from bilingual_crawler.crawl.signals import ENTRY, Refused
from bilingual_crawler.crawl.traps import PROBE_AFTER, Forms, MissingPages, Repeats, Staleness, Traps, folders
from bilingual_crawler.frontier.entry import Entry, Kind
from bilingual_crawler.pages.model import ENOUGH_NEW_TEXT, Link, PageRecord
from bilingual_crawler.pages.sequences import sample_of
from bilingual_crawler.settings import DOWNLOADER_MIDDLEWARES
from bilingual_crawler.urls.traps import shapes

MONTHS = ("January", "February", "March", "April", "May", "June", "July")
STALE_PAGES = 20
START, END = ("ba", "do", "ke", "li", "mu", "ra", "so", "ti"), ("lan", "mer", "nis", "pol", "rud")
WORDS = [f"{a}{b}{c}" for a in START for b in START for c in END]


def prose(seed: int, words: int = 60) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def test_unreadable_pages_count_by_site_since_hosts_cost_nothing() -> None:
    traps = Traps(stale_pages=0)
    for number in range(limits.MAX_UNREADABLE):
        url = f"https://host-{number}.farm.is/"
        assert traps.refuses(url) is None
        assert traps.was_unreadable(url) == (number > 0)
        traps.note_unreadable(url)
    assert traps.refuses("https://another.farm.is/page") == "unreadable"
    assert traps.refuses("https://www.honest.is/") is None
    assert not traps.was_unreadable("https://www.honest.is/")


def test_an_ending_of_files_alone_is_refused_on_its_host() -> None:
    traps = Traps(stale_pages=0)
    traps.learn(PageRecord("https://a.is/index.php?p=1"))
    for number in range(limits.MAX_FILES):
        assert traps.refuses("https://a.is/score.ly") is None
        for name in ("score.ly", "image.php", "download"):
            traps.note_file(f"https://a.is/{number}/{name}")
    assert traps.refuses("https://a.is/x/other.LY?version=2") == "file"
    for url in ("https://a.is/news.php", "https://a.is/x", "https://b.is/score.ly", "https://a.is/score.ly.html"):
        assert traps.refuses(url) is None, url


def test_shapes() -> None:
    for path, groups in (
        ("/calendar/2031/5", ("a.is/calendar/0/0", "a.is/calendar/0/*")), ("", ("a.is", "/*")),
        ("/list?sort=a&p=3&p=4", ("a.is/list?p&sort", "a.is/list?*", "a.is/*")),
        ("/S(1x2y3z4w5v)/x", ("a.is/x/x", "a.is/x/*")),
        ("/news/a-good-year-2031.html", ("a.is/news/a-good-year-0.html", "a.is/news/*")),
    ):  # fmt: skip
        assert shapes(f"https://a.is{path}") == groups


def test_folders() -> None:
    assert folders("https://a.is/b/c/d/e/f.html") == ["a.is/", "a.is/b/", "a.is/b/c/", "a.is/b/c/d/"]
    assert folders("https://a.is") == ["a.is/"]


def test_a_calendar_becomes_stale_and_the_articles_beside_it_do_not() -> None:
    staleness = Staleness(STALE_PAGES)
    menu = prose(0)
    for number in range(100):
        month = f"https://a.is/calendar/{2026 + number // 7}/{number % 7}"
        staleness.learn(month, sample_of(f"{menu} Events of {MONTHS[number % 7]} {number}: there are none."))
        staleness.learn(f"https://a.is/?p={number}", sample_of(f"{menu} {prose(number + 1)}"))
    assert staleness.refuses("https://a.is/calendar/2099/1")
    assert not staleness.refuses("https://a.is/calendar")
    assert not staleness.refuses("https://a.is/?p=100")
    assert not staleness.refuses("https://b.is/calendar/2099/1")


def test_filters_and_sort_orders_of_the_same_things_become_stale() -> None:
    staleness = Staleness(STALE_PAGES)
    things = [prose(number, 20) for number in range(8)]
    chooser = random.Random(1)
    for number in range(300):
        shown = chooser.sample(things, 4)
        keys = "&".join(f"{name}={number}" for name in chooser.sample("abcdefgh", 3))
        staleness.learn(f"https://a.is/shop?{keys}", sample_of(" ".join(shown)))
    assert staleness.refuses("https://a.is/shop?a=1&z=2")


def test_a_large_site_of_one_shape_is_never_stale() -> None:
    staleness = Staleness(STALE_PAGES)
    for number in range(3000):
        assert staleness.learn(f"https://a.is/node/{number}", sample_of(prose(number, 300)))[0] is None


def test_a_template_that_is_translated_is_no_trap_for_ten_times_as_long() -> None:
    staleness = Staleness(STALE_PAGES)
    text = sample_of(prose(0))
    for number in range(10_000):
        pair = f"https://a.is/en/{number}/data/", f"https://a.is/is/{number}/data/"
        left = [staleness.learn(url, text)[0] for url in pair]
        staleness.note_pair(*pair)
        if any(left):
            break
    assert number == limits.PAIRS_FACTOR * STALE_PAGES
    assert limits.FOLDER_FACTOR > 1


FILTERS = ("red", "blue", "small", "large", "wool", "silk", "new", "cheap")


def test_filters_that_are_folders_become_stale_and_the_pages_beside_them_do_not() -> None:
    staleness = Staleness(STALE_PAGES)
    chooser = random.Random(1)
    text = sample_of(prose(0))
    left = set()
    for _ in range(5000):
        chosen = "/".join(chooser.sample(FILTERS, chooser.randint(3, len(FILTERS))))
        if not staleness.refuses(url := f"https://a.is/en/shop/{chosen}/"):
            left.add(staleness.learn(url, text)[0])
    assert left - {None} == {"a.is/en/shop/**"}
    assert not staleness.refuses("https://a.is/en/docs/guide/first/steps/")
    assert not staleness.refuses("https://a.is/en/shop/about")


def test_filters_that_are_folders_soon_have_no_new_text() -> None:
    staleness = Staleness(0)
    things = [prose(number, 20) for number in range(8)]
    chooser = random.Random(1)
    shares = []
    for _ in range(3 * limits.TREE_ROW):
        chosen = " ".join(chooser.sample(FILTERS, chooser.randint(3, len(FILTERS))))
        shown = sample_of(f"{chosen} {' '.join(chooser.sample(things, 4))}")
        shares.append(staleness.learn(f"https://a.is/en/shop/{chosen.replace(' ', '/')}/", shown)[1])
    assert max(shares[-20:]) < ENOUGH_NEW_TEXT
    assert staleness.learn("https://a.is/en/docs/guide/first/", sample_of(prose(99)))[1] == 1
    assert staleness.learn("https://a.is/en/shop/about/us/", sample_of(prose(100)))[1] > ENOUGH_NEW_TEXT


def test_the_same_filters_in_another_order_are_refused_once_they_say_the_same() -> None:
    repeats = Repeats(STALE_PAGES)

    def fetch(chosen: Sequence[str]) -> str | None:
        text = f"{' '.join(chosen)} {prose(len({*chosen}))}"
        return repeats.learn(f"https://a.is/en/shop/{'/'.join(chosen)}/", text, sample_of(text))

    red = ["red", "small", "wool", "new", "cheap"]
    for chosen in islice(permutations(red), STALE_PAGES):
        assert fetch(chosen) is None
        assert not repeats.refuses("https://a.is/en/shop/cheap/new/wool/small/red/")
    assert fetch(red[::-1])
    assert repeats.refuses("https://a.is/en/shop/new/cheap/wool/small/red/")
    for new in (
        "a.is/en/shop/red/small/wool/new/cheap",
        "a.is/en/shop/red/silk",
        "b.is/en/shop/cheap/new/wool/small/red",
    ):
        assert not repeats.refuses(f"https://{new}/")


@pytest.mark.parametrize("other", ["/(S({}))/en/news", "/sid-{}/en/news", "/en/news?share={}", "/en/news?from={}&to=2"])
def test_sessions_and_parameters_that_change_nothing_are_refused(other: str) -> None:
    repeats = Repeats(STALE_PAGES)
    addresses = [f"https://a.is{other.format(f'{number}a1b2c3d4e5')}" for number in range(10, 40)]
    fetched, queued = addresses[: STALE_PAGES + 1], addresses[STALE_PAGES + 1 :]
    for url in fetched:
        assert not any(map(repeats.refuses, addresses))
        repeats.learn(url, prose(1), sample_of(prose(1)))
    assert all(map(repeats.refuses, queued))
    assert not repeats.refuses(fetched[0]), "it may be asked for again"
    for new in (queued[0].replace("news", "about"), "https://a.is/en/news", "https://a.is/en/news?lang=es"):
        assert not repeats.refuses(new)


def test_a_language_beside_that_of_the_path_is_a_parameter_that_changes_nothing() -> None:
    repeats = Repeats(STALE_PAGES)
    for number, word in enumerate(("new", *WORDS[:STALE_PAGES])):
        text = prose(number, 200)
        for end in ("", "?set_language=es"):
            repeats.learn(f"https://a.is/en/{word}{end}", text, sample_of(text))
            repeats.learn(f"https://a.is/{word}{end}", text, sample_of(text))
    assert repeats.refuses("https://a.is/en/new?set_language=es")
    assert not repeats.refuses("https://a.is/en/new")
    assert not repeats.refuses("https://a.is/en/newer?set_language=es")
    assert not repeats.refuses(f"https://a.is/{WORDS[0]}?set_language=fr"), "untranslated pages stand in a row"


def test_links_are_rewritten_once_their_form_is_only_redirected() -> None:
    forms = Forms()

    def rewritten(url: str, at: str = "https://b.is/") -> str:
        return forms.of_page(PageRecord(at, links=(Link(url),))).links[0].url

    for number in range(limits.MIN_REDIRECTED):
        assert rewritten("http://a.is/es/1") == "http://a.is/es/1"
        forms.learn(f"http://a.is/en/{number}", f"https://www.a.is/en/{number}/")
        forms.learn(f"http://a.is/en/{number}", f"https://a.is/es/{number}")
        forms.learn(f"https://c.is/{number}/index.html", f"https://c.is/{number}/")
        forms.learn(f"https://d.is/{number}/", f"https://d.is/{number}/index.php")
    assert rewritten("http://a.is/es/1") == "https://www.a.is/es/1/"
    assert forms.given("https://www.a.is/es/1/") == "http://a.is/es/1"
    assert forms.given("https://www.a.is/es/1/") is None
    assert rewritten("https://c.is/index.html") == "https://c.is/"
    assert rewritten("https://d.is/x/") == "https://d.is/x/index.php"
    others = (
        "https://a.is/es/1 http://a.is/es/1/ http://a.is/1.pdf http://a.is/es?b http://b.is/es/1 https://c.is/1.html"
    )
    for other in others.split():
        assert rewritten(other) == other
    assert rewritten("http://a.is/es/1", at="http://a.is/en/here") == "http://a.is/es/1", "a page has this form"


def test_pages_of_a_template_that_differ_in_a_number_are_no_repeats() -> None:
    repeats = Repeats(STALE_PAGES)
    for number in range(10 * STALE_PAGES):
        text = f"{prose(1)} {number}"
        for path in (f"indicator-{number:05}", f"table?id={number}", f"{number}/data", f"table?lang={number}"):
            assert repeats.learn(f"https://a.is/en/{path}", text, sample_of(text)) is None


def test_hosts_that_say_the_same_become_stale() -> None:
    staleness = Staleness(STALE_PAGES)
    text = sample_of(prose(0))
    for host in WORDS[: limits.FOLDER_FACTOR * STALE_PAGES + 1]:
        assert not staleness.refuses(f"https://{host}.a.is/")
        staleness.learn(f"https://{host}.a.is/", text)
    assert staleness.refuses("https://another.a.is/")
    for honest in ("a.is/", "www.a.is/", "another.a.is/en/", "another.b.is/"):
        assert not staleness.refuses(f"https://{honest}")


def test_calendars_of_many_sites_become_stale_in_turns() -> None:
    staleness = Staleness(2)
    calendars = [f"https://site-{number}.is/calendar" for number in range(700)]
    text = sample_of(prose(0))
    for day in range(3):
        for calendar in calendars:
            staleness.learn(f"{calendar}/{day}", text)
    assert all(staleness.refuses(f"{calendar}/99") for calendar in calendars)


def test_one_new_page_ends_a_row() -> None:
    staleness = Staleness(STALE_PAGES)
    for number in range(10 * STALE_PAGES):
        text = prose(number) if number % (STALE_PAGES - 1) == 0 else prose(0)
        assert staleness.learn(f"https://a.is/?p={number}", sample_of(text))[0] is None


def test_copies_are_counted_per_host_and_empty_pages_are_none() -> None:
    traps = Traps(stale_pages=0)
    same, elsewhere, empty = (
        PageRecord(f"https://{host}/", text=text) for host, text in (("a.is", "same"), ("b.is", "same"), ("a.is", ""))
    )
    assert [traps.is_copy(same) for _ in range(limits.MAX_COPIES + 1)] == [False] * limits.MAX_COPIES + [True]
    assert not traps.is_copy(elsewhere)
    assert not any(traps.is_copy(empty) for _ in range(limits.MAX_COPIES + 1))


def test_a_page_is_missing_if_it_says_what_a_missing_page_says_and_no_more() -> None:
    missing = MissingPages()
    sorry = f"{prose(0)} Sorry, there is nothing at"
    missing.learn("a.is/", f"{sorry} /zzz", "https://a.is/zzz")
    assert missing.is_missing("https://a.is/old/news", f"{sorry} /old/news")
    assert not missing.is_missing("https://a.is/x", f"{prose(0)} {prose(1, 20)}")
    assert not missing.is_missing("https://b.is/old/news", f"{sorry} /old/news")
    missing.learn("c.is/", "Not here", "https://c.is/zzz")
    assert not missing.is_missing("https://c.is/x", "Not here")


def test_what_a_folder_shows_for_missing_pages_holds_in_the_folder() -> None:
    missing = MissingPages()
    missing.learn("a.is/", f"{prose(0)} nothing at /zzz", "https://a.is/zzz")
    missing.learn("a.is/es/", f"{prose(1)} nothing at /es/zzz", "https://a.is/es/zzz")
    assert missing.is_missing("https://a.is/es/old/news", f"{prose(1)} nothing at /es/old/news")
    assert missing.is_missing("https://a.is/es/old/news", f"{prose(0)} nothing at /es/old/news")
    assert not missing.is_missing("https://a.is/en/old/news", f"{prose(1)} nothing at /en/old/news")


def test_sitemaps_have_a_depth_and_a_number() -> None:
    traps = Traps(stale_pages=0)
    at = [Entry(f"https://a.is/{depth}.xml", "a.is", 0.0, depth=depth, kind=Kind.SITEMAP) for depth in range(1, 6)]
    assert [traps.wants_sitemap(entry) for entry in at] == [True] * 4 + [False]
    # a robots.txt on each of its hosts may name the same ones
    assert all(traps.wants_sitemap(entry) for entry in at[:4] * limits.MAX_SITEMAPS)
    more = [Entry(f"https://a.is/more-{number}.xml", "a.is", 0.0, depth=1, kind=Kind.SITEMAP) for number in range(2000)]
    assert [traps.wants_sitemap(entry) for entry in more].count(True) == limits.MAX_SITEMAPS - 5
    assert not traps.wants_sitemap(more[-1])
    assert traps.wants_sitemap(Entry("https://b.is/1.xml", "b.is", 0.0, depth=1, kind=Kind.SITEMAP))


def test_a_host_is_probed_until_it_answers() -> None:
    missing = MissingPages()
    assert [page for page in range(1, 500) if missing.places_to_probe("https://silent.is/x", None)] == [10, 20, 40, 80]
    assert sum(len(missing.places_to_probe("https://a.is/x", None)) for _ in range(15)) == 1
    missing.answered("a.is/")
    assert not any(missing.places_to_probe("https://a.is/x", None) for _ in range(500))


def probed(missing: MissingPages, *pages: tuple[str, str]) -> list[str]:
    """The places that are probed as these pages (path, language) come, in order."""
    return [place for path, lang in pages for place in missing.places_to_probe(f"https://a.is{path}", lang)]


def test_a_language_is_probed_in_the_folder_that_is_its_own() -> None:
    missing = MissingPages()
    english, spanish = ([(f"/docs/{lang}/{n}/x", lang) for n in range(500)] for lang in ("en", "es"))
    assert probed(missing, *english[:9]) == [], "with one language the host is its own"
    assert probed(missing, *spanish[:3]) == ["a.is/", "a.is/docs/es/"]
    for place in ("a.is/", "a.is/docs/es/"):
        missing.answered(place)
    assert probed(missing, *spanish) == []
    assert probed(missing, *english) == ["a.is/docs/en/"] * limits.MAX_PROBES


def test_folders_that_are_probed_are_few() -> None:
    several = [(page, number, lang) for page in range(99) for number in range(20) for lang in ("eng", "spa")]
    without = [(f"/{number}/{page}", lang) for page, number, lang in several]
    assert {*probed(MissingPages(), *without)} == {"a.is/"}, "no language has a folder"
    missing = MissingPages()
    many = [(f"/{lang}-{number}/{page}", lang) for page, number, lang in several]
    assert len({*probed(missing, *many)}) == 1 + limits.MAX_FOLDERS_PROBED
    assert probed(missing, *many) == [], "places that never answer are left alone"


SITE = bilingual_site(PROBE_AFTER)
NOWHERE = re.compile(r"(/en|/es)?/[a-z]{16}")
GONE = [f"gone-{number}" for number in range(20)]


def crawl_with_soft_404(folder: Path, answer: Callable[[str], Answer], honest: Mapping[str, str]) -> dict[str, str]:
    """The outcomes of a site whose *honest* pages are documents, of which few addresses are asked for in vain."""
    with scripted(answer) as site:
        ended_well(crawl(folder, f"{site.url}/en/", "-s", "CONCURRENT_REQUESTS=1"))
    found = outcomes(folder, site.url)
    assert not [path for path in honest if path[1:3] in ("en", "es") and found[path] != "document"]
    assert len([path for path in site.paths() if NOWHERE.fullmatch(path)]) <= 3, "the host and two folders"
    return found


def test_a_soft_404_is_no_document_and_its_links_are_not_followed(tmp_path: Path) -> None:
    links = count()
    home = SITE["/en/"].replace("<h1>", "".join(f"<a href=/{name}>{name}</a> " for name in GONE) + "<h1>")

    def answer(path: str) -> Answer:
        if path == "/robots.txt":
            return Answer(status=404)
        sorry = f"<p>{TEXT['en'] * 2}<p>There is no {path}. <a href={path}/{next(links)}>Try this</a>"
        return Answer(home if path == "/en/" else SITE.get(path, html("en", "Sorry", sorry)))

    found = crawl_with_soft_404(tmp_path, answer, SITE)
    assert len([path for path, outcome in found.items() if outcome == "soft-404"]) >= len(GONE) - PROBE_AFTER
    assert len(documents(tmp_path)) <= 2 * PROBE_AFTER + 2 + PROBE_AFTER


def test_a_soft_404_in_the_language_of_its_folder_is_no_document(tmp_path: Path) -> None:
    """The articles name translations that are not there; the host as such answers 404."""
    articles = [f"article-{number}" for number in range(12)]
    links = "".join(f"<a href=/en/{name}>{name}</a> " for name in articles)
    switch = "<nav class=language-switcher><a href=/es/{}>es</a></nav>"
    english = {f"/en/{name}": html("en", name, switch.format(name)) for name in articles}
    pages = varied(SITE | english | {"/en/": SITE["/en/"].replace("<h1>", f"{links}<h1>")})

    def answer(path: str) -> Answer:
        if path in pages:
            return Answer(pages[path])
        sorry = f"<p>Página no encontrada. <p>{TEXT['es'] * 2}<p>{path}"
        return Answer(html("es", "Error", sorry)) if path.startswith("/es/") else Answer(status=404)

    found = crawl_with_soft_404(tmp_path, answer, pages)
    kept = [path for path, outcome in found.items() if path not in pages and outcome == "document"]
    assert len(kept) < limits.FOLDER_PROBE_AFTER, kept
    assert Counter(found.values())["soft-404"] >= len(articles) - len(kept)


def test_queued_traps_are_refused_before_anything_is_asked_of_their_hosts() -> None:
    """Hosts cost nothing: thousands may be queued when they turn out to be a trap."""
    places = {name.rpartition(".")[2]: place for name, place in DOWNLOADER_MIDDLEWARES.items() if place is not None}
    assert places["TrapRequestsMiddleware"] < min(places["RobotsMiddleware"], places["TdmMiddleware"])


def test_an_honest_404_is_asked_for_once(tmp_path: Path) -> None:
    with scripted(lambda path: Answer(SITE[path]) if path in SITE else Answer(status=404)) as site:
        crawl(tmp_path, f"{site.url}/en/")
    assert len(documents(tmp_path)) == 2 * PROBE_AFTER + 2
    # the host and the two folders, beside /gone, /old and what is asked of each site
    assert len([path for path in site.paths() if path not in SITE]) <= 3 + 2 + len(ABOUT_SITE)
    assert summary(tmp_path)["traps"] == {}, "the crawler's own question is no link of the site"


def test_files_with_an_unknown_ending_are_not_all_asked_for(tmp_path: Path) -> None:
    links = "".join(f"<a href=/{number}.ly>x</a>" for number in range(200))
    with scripted(
        lambda path: Answer(html("en", "index", links)) if path == "/" else Answer("x", kind="text/x")
    ) as site:
        crawl(tmp_path, f"{site.url}/")
    assert 50 <= len([path for path in site.paths() if path.endswith(".ly")]) < 100
    assert summary(tmp_path)["traps"]["refused/file"] > 100


def test_sitemaps_are_read_whatever_files_share_their_ending() -> None:
    traps = Traps(stale_pages=0)
    for number in range(limits.MAX_FILES):
        traps.note_file(f"https://a.is/{number}/feed.xml")
    component: Any = SimpleNamespace(_context=SimpleNamespace(traps=traps), _stats=Mock())
    url = "https://a.is/news.xml"
    sitemap, page = (Entry(url, "a.is", 1.0, parent="https://a.is/", kind=kind) for kind in (Kind.SITEMAP, Kind.PAGE))
    TrapRequestsMiddleware.process_request(component, Request(url, meta={ENTRY: sitemap}))
    with pytest.raises(Refused, match="trap"):
        TrapRequestsMiddleware.process_request(component, Request(url, meta={ENTRY: page}))


def test_copies_that_link_to_copies_end(tmp_path: Path) -> None:
    def answer(path: str) -> Answer:
        if not {*path.split("/")} <= {"", *WORDS}:
            return Answer(status=404)
        first, second = random.Random(path).sample(WORDS, 2)
        links = f"<a href={path.rstrip('/')}/{first}>next</a><a href=/{second}/{first}>deep</a>"
        return Answer(html("en", "loop", links))

    with scripted(answer) as site:
        crawl(tmp_path, f"{site.url}/")
    assert len(site.asked) < 100
    assert summary(tmp_path)["traps"]["links/copy"] > 0


def test_a_page_with_too_many_links_gives_its_languages_and_the_first_a_sitemap_may_have_more(tmp_path: Path) -> None:
    many = "".join(f"<a href=/x/{number}>x</a>" for number in range(6000))
    switch = "<nav class=language-switcher><a href=/es/ hreflang=es>es</a></nav>"
    urls = "".join(f"<url><loc>/y/{number}</loc></url>" for number in range(6000))
    pages = {
        "/": Answer(html("en", "home", many + switch)),
        "/es/": Answer(html("es", "inicio", "")),
        "/robots.txt": Answer("User-agent: *\nSitemap: /sitemap.xml", kind="text/plain"),
        "/sitemap.xml": Answer(f"<urlset>{urls}</urlset>", kind="application/xml"),
    }
    with scripted(lambda path: pages.get(path, Answer(status=404))) as site:
        result = crawl(tmp_path, f"{site.url}/", "-a", "max_pages=20")
    assert "'bilingual/traps/links/too-many': 1001" in result.stderr
    # the home page and its first links, the sitemap and its links
    assert f"'bilingual/frontier/new': {5001 + 6001}" in result.stderr
