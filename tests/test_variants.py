"""Sites that show several languages under one address, by request header, cookie or session."""

import itertools
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime
from email.message import Message
from functools import wraps
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.crawls import crawl, crawl_with_two_workers, documents, ended_well, kill_crawl, outcomes
from support.redis_server import redis_server
from support.scripted import Answer, Scripted, negotiating, scripted
from support.webserver import ABOUT_SITE, ALIGNED, TEXT, html

from bilingual_crawler.crawl.variants import MAX_COOKIES, MAX_REFUSED, Switch, Variants
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.model import Link, LinkSource, PageRecord
from bilingual_crawler.storage.archive import iter_responses
from bilingual_crawler.storage.records import read_tsv
from bilingual_crawler.storage.writer import Exchange, WarcWriter
from bilingual_crawler.urls.canonical import asked_language, bare, canonicalise, variant
from bilingual_crawler.urls.marks import marked_language, strip_language

PAGES = 16
Responder = Callable[[str, Message], Answer]
BITEXT = ("-s", "BILINGUAL_BITEXT=moses", "-s", "BILINGUAL_ENCODER=")
ADDRESS = "https://example.org/page?id=3"


# an address and its variants ------------------------------------------------------------------------------------------


@given(st.sampled_from([ADDRESS, "https://example.org/", "http://example.org/a#!/b"]), st.sampled_from(["spa", "mlt"]))
def test_a_variant_is_a_url_with_a_language(url: str, language: str) -> None:
    made = variant(url, language)
    assert (bare(made), asked_language(made)) == (url.partition("#")[0], language)
    assert variant(made, "eng") == variant(url, "eng")
    assert canonicalise(made) == made
    assert marked_language(made) == language
    assert marked_language(made, ["eng"]) is None
    assert strip_language(made) == strip_language(url)


@pytest.mark.parametrize("url", [ADDRESS, f"{ADDRESS}#!lang=es", f"{ADDRESS}#lang=spa", f"{ADDRESS}#!lang=spa/x"])
def test_other_fragments_are_no_variants(url: str) -> None:
    assert asked_language(url) is None
    assert bare(url) == url


# what sites are asked -------------------------------------------------------------------------------------------------


@pytest.fixture
def variants() -> Variants:
    return Variants(LanguagePairs.parse("eng-spa,eng-mlt"))


def test_languages_are_asked_for_in_order(variants: Variants) -> None:
    assert variants.accept_language(ADDRESS) == "es, mt;q=0.9, en;q=0.8"
    assert variants.accept_language(variant(ADDRESS, "eng")) == "en, es;q=0.9, mt;q=0.8"


def test_cookies_choose_a_language_of_the_crawl(variants: Variants) -> None:
    for url, headers, language in (
        (ADDRESS, ["lang=es; Path=/; HttpOnly"], "spa"),
        (ADDRESS, ["django_language=es", "csrf=x"], "spa"),
        ("https://example.org/lang/es", ["PHPSESSID=1"], "spa"),
        ("https://example.org/?lang=es", ["x=1", "lang=mt"], "mlt"),
        ("https://example.org/?lang=fr", ["PHPSESSID=1"], None),
        (ADDRESS, ["lang=fr"], None),
        (ADDRESS, ["PHPSESSID=1"], None),
        ("https://example.org/?lang=es", [], None),
        ("https://example.org/?lang=es", ["", "=", ";", "no"], None),
    ):
        switch = variants.switch(url, headers)
        assert (switch.language if switch else None) == language


def test_cookies_are_sent_with_variants_of_their_site_and_are_bounded(variants: Variants) -> None:
    fact = variants.note_switch(ADDRESS, Switch("spa", {f"n{n}": "v" for n in range(100)} | {"long": "x" * 10_000}))
    sent = variants.cookies(variant("https://example.org/other", "spa"))
    assert sent.count("=") == MAX_COOKIES
    assert "long" not in sent
    for url in (ADDRESS, variant(ADDRESS, "eng"), variant("https://example.com/", "spa")):
        assert not variants.cookies(url)
    again = Variants(LanguagePairs.parse("eng-spa"))
    again.recall(ADDRESS, fact)
    assert again.cookies(variant(ADDRESS, "spa")) == sent


def test_a_site_that_answers_in_other_languages_is_given_up(variants: Variants) -> None:
    for _ in range(MAX_REFUSED):
        assert variants.are_wanted(ADDRESS)
        variants.note_answer(ADDRESS, right=False)
    assert not variants.are_wanted(ADDRESS)
    assert variants.are_wanted("https://example.com/")
    variants.note_answer("https://example.com/", right=True)
    for _ in range(100):
        variants.note_answer("https://example.com/", right=False)
    assert variants.are_wanted("https://example.com/")


def test_forms_of_a_page_in_a_third_language_are_no_choice_of_it(variants: Variants) -> None:
    """Neither German nor French is in the crawl, which makes them no one language."""
    german = Link(f"{ADDRESS}&lang=de", source=LinkSource.FORM, label="deu")
    variants.note_page(PageRecord(ADDRESS, "fra", links=(german,)))
    assert variants.plain(german) is None
    variants.note_page(PageRecord(ADDRESS, "deu", links=(german,)))
    assert variants.plain(german) == ADDRESS


# crawls ---------------------------------------------------------------------------------------------------------------

HOME = {"en": "Home", "es": "Inicio"}


def text(lang: str, number: int) -> str:
    words = TEXT[lang].split()
    random.Random(f"{lang}{number}").shuffle(words)
    return f"<p>{' '.join(words)} {number}</p>"


def page(lang: str, number: int, links: Callable[[int], str], more: str = "") -> str:
    """The page of a site in the language *lang*; every page leads to the next ones."""
    onward = "".join(f"<a href={links(n)}>{n}</a> " for n in range(number + 1, min(number + 6, PAGES)))
    return html(lang, f"{HOME[lang]} {number}", f"{more}<h1>{number}</h1>{text(lang, number)}{onward}")


def path_of(number: int) -> str:
    return f"/page-{number}" if number else "/"


def number_of(path: str) -> int | None:
    found = re.fullmatch(r"/(?:page-(\d+))?", path.partition("?")[0])
    number = int(found[1] or 0) if found else PAGES
    return number if number < PAGES else None


def preferred(headers: Message) -> str:
    """The language that a browser with these headers prefers, of the two of the site; English if it knows neither."""
    tags = [part.partition(";")[0].strip()[:2] for part in (headers["Accept-Language"] or "").split(",")]
    return next((tag for tag in tags if tag in HOME), "en")


def numbered(site: Callable[[int, str, Message], Answer]) -> Responder:
    """A site of numbered pages, of which *site* is asked for the number, too; it lacks all others."""

    @wraps(site)
    def answer(path: str, headers: Message) -> Answer:
        number = number_of(path)
        return Answer(status=404) if number is None else site(number, path, headers)

    return answer


@numbered
def by_header(number: int, _: str, headers: Message) -> Answer:
    return Answer(page(preferred(headers), number, path_of), headers={"Vary": "Accept-Language"})


@numbered
def by_header_beside_a_form(number: int, _: str, headers: Message) -> Answer:
    """A form that is sent by POST chooses the language as well, as in Django."""
    form = FORM.replace("<form ", "<form method=post ")
    return Answer(page(preferred(headers), number, path_of, form), headers={"Vary": "Cookie"})


@numbered
def by_cookie(number: int, path: str, headers: Message) -> Answer:
    """``?lang=es`` sets a cookie and leads back to the page."""
    if "?lang=" in path:
        chosen = path.rpartition("=")[2]
        return Answer(status=302, headers={"Location": path_of(number), "Set-Cookie": f"locale={chosen}; Path=/"})
    morsel = SimpleCookie(headers["Cookie"] or "").get("locale")
    lang = morsel.value if morsel and morsel.value in HOME else "en"
    switch = "".join(f"<a href={path_of(number)}?lang={one}>{one}</a> " for one in HOME)
    return Answer(page(lang, number, path_of, f"<nav class=language-switcher>{switch}</nav>"))


def by_session(path: str, headers: Message) -> Answer:
    """``/lang/es`` begins a session in Spanish and leads to the home page."""
    if path.startswith("/lang/"):
        return Answer(status=302, headers={"Location": "/", "Set-Cookie": f"PHPSESSID=x{path[-2:]}; Path=/"})
    return in_session(path, headers)


@numbered
def in_session(number: int, _: str, headers: Message) -> Answer:
    morsel = SimpleCookie(headers["Cookie"] or "").get("PHPSESSID")
    lang = morsel.value[1:] if morsel else "en"
    return Answer(page(lang, number, path_of, "<p><a href=/lang/es>Español</a> <a href=/lang/en>English</a></p>"))


def by_root(path: str, headers: Message) -> Answer:
    """The root leads to ``/en/`` or ``/es/``, which do not lead to each other."""
    if path == "/":
        return Answer(status=302, headers={"Location": f"/{preferred(headers)}/", "Vary": "Accept-Language"})
    found = re.fullmatch(r"/(en|es)(/.*)", path)
    number = number_of(found[2]) if found else None
    if found is None or number is None:
        return Answer(status=404)
    return Answer(page(found[1], number, lambda n: f"/{found[1]}{path_of(n)}"))


CHOICES = "<select name=lang><option value=en>English</option><option value=es>Español</option></select>"
FORM = f"<form action=/>{CHOICES}<input type=submit value=Go></form>"
SCRIPT = """<button onclick="location.href='/?lang=es'">Español</button>"""


def by_parameter(switch: str) -> Responder:
    """``?lang=es`` shows the page in Spanish, and *switch* is the only way there."""

    @numbered
    def answer(number: int, path: str, _: Message) -> Answer:
        more = "?lang=es" if path.endswith("?lang=es") else ""
        return Answer(page(more[-2:] or "en", number, lambda n: f"{path_of(n)}{more}", switch))

    return answer


def pairs_of(folder: Path) -> list[tuple[str, str]]:
    return [(row["url_a"], row["url_b"]) for row in read_tsv(folder / "out" / "pairs.tsv")]


def check_pairs(folder: Path) -> None:
    """All pairs but one at most, and none that is false."""
    pairs = pairs_of(folder)
    assert len(pairs) >= PAGES - 1
    assert all(re.findall(r"page-\d+", one) == re.findall(r"page-\d+", other) for one, other in pairs)


def asked_pages(site: Scripted) -> int:
    return sum(path not in ABOUT_SITE for path in site.paths())


SITES = {
    "header": by_header,
    "header beside a form": by_header_beside_a_form,
    "cookie": by_cookie,
    "session": by_session,
    "root": by_root,
    "form": by_parameter(FORM),
    "form to the page itself": by_parameter(f"<form>{CHOICES}</form>"),
    "script": by_parameter(SCRIPT),
    "header, by http as its seed without a scheme": by_header,
    "root, by http as its seed without a scheme": by_root,
}


@pytest.mark.parametrize("kind", SITES)
def test_pairs_under_one_address(tmp_path: Path, kind: str) -> None:
    with negotiating(SITES[kind]) as server:
        seed = f"{server.url}/".removeprefix("http://" if "without a scheme" in kind else "")
        ended_well(crawl(tmp_path, seed, *ALIGNED, *BITEXT, policy="gain"))
        check_pairs(tmp_path)
        assert asked_pages(server) <= 1.2 * 2 * PAGES
        assert not any("#" in request for request in server.requests), "fragments are not for servers"
    languages = {url: record["language"] for url, record in documents(tmp_path).items()}
    assert sorted(languages.values())[-PAGES:] == ["spa"] * PAGES
    assert PAGES <= len(languages) - PAGES <= PAGES + (kind != "form to the page itself")
    for url, language in languages.items():
        assert asked_language(url) in (None, language)
    [english] = (tmp_path / "out" / "bitext").glob("*.en")
    assert len(english.read_text().splitlines()) >= PAGES - 1


@pytest.mark.parametrize(("lang", "more"), [("en", 0), ("es", 1)])
def test_a_site_that_ignores_the_header_costs_at_most_one_request(tmp_path: Path, lang: str, more: int) -> None:
    """Spanish is asked for first: a site that answers in English does not choose by the header."""

    @numbered
    def answer(number: int, *_: object) -> Answer:
        return Answer(page(lang, number, path_of))

    with negotiating(answer) as server:
        done = ended_well(crawl(tmp_path, f"{server.url}/", policy="gain"))
        assert ("Asked for English, the site answered in another language." in done.stderr) == bool(more)
        assert ("-a render=always" in done.stderr) == bool(more)
        asked = [path for path in server.paths() if number_of(path) is not None]
        assert sorted(asked) == sorted([*["/"] * more, *map(path_of, range(PAGES))])
    assert len(documents(tmp_path)) == PAGES
    assert [row["outcome"] for row in read_tsv(tmp_path / "out" / "crawl.tsv")].count("not-negotiated") == more


def test_each_host_of_a_site_is_asked_in_other_languages_if_it_has_a_seed(tmp_path: Path) -> None:
    archive = WarcWriter(tmp_path / "archive")
    # hosts that answer in one language only do not stand for the others
    deaf = [f"blog{number}.example.org" for number in range(12)]
    shops = ["shop.example.org", "shop.example.org:8443"]
    answers = [(host, "es", asked) for host in deaf for asked in (None, "eng")]
    answers += [(shop, lang, asked) for shop in shops for lang, asked in (("es", None), ("en", "eng"))]
    for number, (host, lang, asked) in itertools.product(range(3), answers):
        # the shops are no copies of each other
        more = text(lang, PAGES + number) if host == shops[0] else ""
        url, body = f"https://{host}{path_of(number)}", page(lang, number, path_of, more).encode()
        headers = [(b"Content-Type", b"text/html; charset=utf-8"), (b"Vary", b"Accept-Language")]
        archive.write_exchange(Exchange(url, "GET", (), 200, headers, body, datetime.now(UTC), language=asked))
    archive.close()
    seeds = ",".join(f"https://{host}/" for host in (*deaf, *shops))
    crawl(tmp_path, seeds, "-s", f"BILINGUAL_REPLAY={tmp_path / 'archive'}", *ALIGNED, policy="gain")
    urls = [f"https://{shop}{path_of(number)}" for shop in shops for number in range(3)]
    assert set(pairs_of(tmp_path)) == {(variant(url, "eng"), url) for url in urls}


@pytest.mark.parametrize(("site", "stops"), [(by_cookie, "killed"), (by_header, "by its budget")])
def test_a_resumed_crawl_loses_no_variant(tmp_path: Path, site: Responder, stops: str) -> None:
    job = ("-s", f"JOBDIR={tmp_path / 'job'}")
    with negotiating(site) as server:
        if stops == "killed":
            kill_crawl(tmp_path, f"{server.url}/", *job, when=lambda: asked_pages(server) >= 20)
        else:
            assert crawl(tmp_path, f"{server.url}/", *job, "-a", "max_pages=20", policy="gain").returncode == 0
        assert asked_pages(server) < 2 * PAGES
        assert crawl(tmp_path, f"{server.url}/", *job, policy="gain").returncode == 0
        check_pairs(tmp_path)
        assert len(documents(tmp_path)) == 2 * PAGES
        assert asked_pages(server) <= 1.2 * 2 * PAGES


@pytest.mark.parametrize("site", [by_header, by_cookie])
def test_a_recrawl_asks_for_each_variant_once_and_an_archive_answers_for_it(tmp_path: Path, site: Responder) -> None:
    first, again, replayed = (tmp_path / name for name in ("first", "again", "replayed"))
    for folder in (first, again, replayed):
        folder.mkdir()
    with negotiating(site) as server:
        seeds = f"{server.url}/"
        assert crawl(first, seeds, policy="gain").returncode == 0
        before = asked_pages(server)
        assert crawl(again, seeds, "-s", f"BILINGUAL_KNOWN={first / 'out'}", policy="gain").returncode == 0
        assert asked_pages(server) - before <= 1.2 * 2 * PAGES
    urls = {response.url for response in iter_responses([first / "out"]) if response.status == 200}
    assert urls >= set(documents(first))
    assert crawl(replayed, seeds, "-s", f"BILINGUAL_REPLAY={first / 'out'}", policy="gain").returncode == 0
    for folder in (again, replayed):
        assert documents(folder).keys() == documents(first).keys()
        check_pairs(folder)


def test_two_workers_lose_no_variant(tmp_path: Path) -> None:
    with negotiating(by_cookie) as one, negotiating(by_header, "127.0.0.2") as two, redis_server(tmp_path) as server:
        folders = crawl_with_two_workers(tmp_path, f"{one.url}/,{two.url}/", server.url)
        assert asked_pages(one) + asked_pages(two) <= 1.2 * 2 * 2 * PAGES
    found = [url for folder in folders for url in documents(folder)]
    assert len(found) == len(set(found)) == 2 * 2 * PAGES
    assert sum(len(pairs_of(folder)) for folder in folders) >= 2 * (PAGES - 1)


def test_hostile_switchers_are_bounded(tmp_path: Path) -> None:
    """Each page has another switcher that sets cookies without end, and the site is in English whatever is asked."""

    @numbered
    def answer(number: int, path: str, _: Message) -> Answer:
        if "?" in path:
            cookies = "lang=es; " + "x" * 5000
            return Answer(status=302, headers={"Location": path_of(number), "Set-Cookie": cookies, "Vary": "*"})
        switch = f"<a href={path_of(number)}?setlang=es&t={random.random()}>Español</a>"
        more = {"Vary": "Accept-Language, *", "Content-Language": "es"}
        return Answer(page("en", number, path_of, switch), headers=more)

    with negotiating(answer) as server:
        assert crawl(tmp_path, f"{server.url}/", policy="gain").returncode == 0
        assert asked_pages(server) <= 2 * PAGES + MAX_REFUSED + 2
    assert len(documents(tmp_path)) == PAGES


# forms that lead to the page itself -----------------------------------------------------------------------------------


def test_a_form_that_is_the_only_way_to_a_language_is_followed(tmp_path: Path) -> None:
    """The home page is in Finnish, the other addresses without a parameter are in English or Finnish."""

    @numbered
    def answer(number: int, path: str, _: Message) -> Answer:
        lang = path.partition("?lang=")[2] or ("en" if number == 5 else "fi")
        choices = CHOICES.replace("</select>", "<option value=fi>Suomi</option></select>")
        onward = "".join(f"<a href={path_of(n)}>{n}</a> " for n in range(number + 1, min(number + 6, PAGES)))
        return Answer(html(lang, f"{number}", f"<form>{choices}</form>{text(lang, number)}{onward}"))

    with negotiating(answer) as server:
        assert crawl(tmp_path, f"{server.url}/", policy="gain").returncode == 0
    held = {url for url in documents(tmp_path) if "?lang=es" in url}
    assert len(held) == PAGES
    assert {url.replace("=es", "=en") for url in held} - documents(tmp_path).keys() <= {f"{server.url}/page-5?lang=en"}


@pytest.mark.parametrize("kind", ["lang", "la\tn%67"])
def test_a_site_makes_no_variants_by_its_links(tmp_path: Path, kind: str) -> None:
    fragment = f"#!{kind}=spa"

    def answer(path: str) -> Answer:
        if path == "/robots.txt":
            return Answer(f"Sitemap: {server.url}/map.xml{fragment}\n")
        if path == "/map.xml":
            return Answer(f"<urlset><url><loc>{server.url}/listed{fragment}</loc></url></urlset>", kind="text/xml")
        canonical = f"<link rel=canonical href='{path}{fragment}'>"
        return Answer(html("en", f"page{path}", f"<a href=/linked>a</a><a href='/linked{fragment}'>b</a>{canonical}"))

    with scripted(answer) as server:
        assert crawl(tmp_path, f"{server.url}/").returncode == 0
    found = {url: outcome for url, outcome in outcomes(tmp_path, server.url).items() if outcome != "sitemap"}
    assert found == dict.fromkeys(("/", "/linked", "/listed"), "document")
    assert server.paths().count("/linked") == 1
