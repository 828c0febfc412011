"""Own text: what is frame, what a site repeats, and what both mean for languages, pairs and monolingual files."""

from pathlib import Path
from typing import Any

import pytest
from support.crawls import crawl, documents, each, ended_well, summary
from support.texts import ENGLISH, SPANISH, corpus, only_domain
from support.webserver import serve

from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.html import parse_page, walk_through
from bilingual_crawler.pages.language import Detection
from bilingual_crawler.pairing.reading import RawPage, read_document
from bilingual_crawler.storage.records import read_json_lines, read_tsv

HOST = "https://example.org"
PROSE = (
    "The harvest of the year was good, and the people of the village went to the market with their fruit.",
    "They sold all of it before the evening and came back home with songs, because the winter would be easy.",
)
TEXT = "".join(f"<p>{line}</p>" for line in PROSE)
MENU = "<ul><li><a href=/a>Products</a><li><a href=/b>About the company</a><li><a href=/c>News</a></ul>"
CONSENT = 20 * "<p>This website stores small files on your device, so that it can work and count its visitors.</p>"


def own(html: str) -> list[str]:
    return walk_through(html).own_lines


# frame ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        *(f"<{tag}>{MENU}</{tag}>" for tag in ("nav", "footer", "header", "aside", "menu", "search")),
        *(f"<div role={role}>{MENU}</div>" for role in ("navigation", "banner", "contentinfo", "search", "dialog")),
        *(f"<div class='{name}'>{MENU}</div>" for name in ("sidebar", "main-menu", "site-footer", "breadcrumbs")),
        *(f"<div id={name}>{MENU}</div>" for name in ("toc", "navbar", "siteNotice", "announcement")),
        f"<table><tr><td class=left-nav>{MENU}</table>",
        "<div class=lang-switcher><a href=/es/>Español</a> <a href=/fr/>Français</a></div>",
        "<p>Also available in: <a href=/es/a>Español</a>",
        "<p><a href=#content>Skip to content</a>",
        "<p><a href=/2 rel=next>The winter</a>",
        "<p><a href=/tags/village/>village</a> <a href=/tags/harvest/>harvest</a>",
        "<p><a href=/shop class='btn btn-primary'>Explore</a><p><a href=/about role=button>Learn more</a>",
        "<button>Accept all</button><button>Save my choice</button>",
        "<form action=/order><p><label>Name * <input name=n></label><p><label for=m>E-mail *</label> <input id=m>"
        "<p><label><input type=checkbox> Remember me</label> <button>Log in</button></form>",
        MENU,
        # consent, however long it is
        f"<div id=gdpr-dialog class=consent-modal role=dialog aria-modal=true>{CONSENT}</div>",
        *(f"<div id={name}>{CONSENT}</div>" for name in ("CybotCookiebotDialog", "onetrust-banner-sdk")),
        f"<div class='cc-window cookie-notice'>{CONSENT}</div>",
        *(f"<section class=cookie-consent>{CONSENT}</section>", f"<dialog open>{CONSENT}</dialog>"),
    ],
)
def test_what_is_around_a_text_is_frame(frame: str) -> None:
    assert own(f"<body>{frame}<main>{TEXT}</main>") == [*PROSE]
    assert own(f"<body><main>{TEXT}</main>{frame}") == [*PROSE]


def test_a_heading_that_opens_an_answer_is_own_text_though_it_has_the_role_of_a_button() -> None:
    question = "When does the mill stand still?"
    for heading in (f"<h3><a role=button href=#winter>{question}</a></h3>", f"<h3><button>{question}</button></h3>"):
        assert own(f"<body><main>{heading}{TEXT}</main>") == [question, *PROSE]


ORDER = (
    "<h3>Your order</h3><p><label>Name <input></label><p><label>E-mail <input></label><p><label>Town <input></label>"
    "<table><tr><th>Product<th>Total<tr><td>Oil<td>30</table><button>Pay</button>"
)


def test_a_form_that_asks_is_frame_but_not_one_around_a_text_or_a_page() -> None:
    assert own(f"<body>{TEXT}<form action=/>{ORDER}</form>") == [*PROSE]
    assert own(f"<body>{TEXT}<form action=/>{ORDER}{2 * TEXT}</form>")[2] == "Your order"
    assert own(f"<body><form action=/><nav>{MENU}</nav>{ORDER}</form>")[0] == "Your order"
    assert own(f"<body><form action=/><main>{ORDER}</main></form>")[0] == "Your order"


def test_a_label_outside_of_a_form_and_the_text_of_a_form_are_own() -> None:
    html = f"<body><label>{PROSE[0]}</label><form action=/><p>{PROSE[1]} <label>Name</label></form>"
    assert own(html) == [PROSE[0], f"{PROSE[1]} Name"]


def test_comments_and_their_form_are_frame() -> None:
    others = "<h3>2 comments</h3><p>What a nice village! I would like to go there some day.</p>"
    for comments in ("<section class=comments>{}</section>", "<div id=comments>{}</div>", "<div id=respond>{}</div>"):
        assert own(f"<body><article>{TEXT}{comments.format(others)}</article>") == [*PROSE]


@pytest.mark.parametrize(
    "layout",
    [
        "<div class=wy-grid-for-nav>{}</div>", "<div class='VPContent has-sidebar'>{}</div>",
        "<section class=wy-nav-content-wrap><div class=wy-nav-content>{}</div></section>", "<body class=no-sidebar>{}",
        "<div class=content-with-toc>{}</div>", "<div class=sidebar-layout><main>{}</main></div>",
        "<div class=toolbar><div role=main>{}</div></div>", "<div class=masthead><div>{}</div></div>",
        "<nav><main>{}</main></nav>",
    ],
)  # fmt: skip
def test_a_class_that_mentions_a_menu_is_no_menu(layout: str) -> None:
    assert own(layout.format(TEXT)) == [*PROSE]


@pytest.mark.parametrize(
    "content",
    [
        "<h1><a class=header href=#x>Title</a></h1>", "<article><header><h1>Title</h1></header></article>",
        "<main><div class=page-header><h1>Title</h1></div></main>", "<main><aside class=note>Title</aside></main>",
        "<h2><button aria-expanded=false>Title</button></h2>", "<table><tr><th class=head>Title</table>",
        "<section id=sharing-and-cookies><h2>Title</h2></section>", "<li><a href=/title>Title</a>",
        "<div class=section id=navigation><h2>Title</h2></div>",
    ],
)  # fmt: skip
def test_headings_notes_cells_and_lists_of_a_text_are_its_own(content: str) -> None:
    assert own(f"<main>{content}</main>{TEXT}")[0] == "Title"


def test_a_page_of_frame_alone_keeps_its_text() -> None:
    assert parse_page(f"<nav>{MENU}</nav>", "https://example.org/").text == "Products\nAbout the company\nNews"


# what a site repeats --------------------------------------------------------------------------------------------------


def main_text(pages: dict[str, list[str]]) -> dict[str, list[str]]:
    """The lines that are each page's own on a site."""

    def html(lines: list[str]) -> bytes:
        return f"<title>{lines[0]}</title><main>{''.join(f'<p>{line}' for line in lines)}".encode()

    domain = only_domain(corpus({f"{HOST}{path}": html(lines) for path, lines in pages.items()}))
    return {path: domain.main_text(f"{HOST}{path}") for path in pages if f"{HOST}{path}" in domain.main}


TOLD = "It was told {} times in a town with {} towers."
ARTICLES = [
    [f"Story number {number}", *(f"{line} {TOLD.format(number, number + 7)}" for line in ENGLISH)]
    for number in range(4)
]


def test_what_lists_repeat_of_an_article_stays_its_own() -> None:
    """A small blog shows whole articles in its index and in archives by tag, month and author."""
    footer = "Thank you for reading these stories, and come back soon for the next one of them."
    pages = {f"/story-{number}": [*article, footer] for number, article in enumerate(ARTICLES)}
    whole = [line for article in ARTICLES for line in article]
    for path in ("/", "/tag/towns", "/tag/towers", "/2013/05", "/author/ann", "/category/tales"):
        pages[path] = [f"Stories at {path}", *whole, footer]
    found = main_text(pages)
    for number, article in enumerate(ARTICLES):
        assert found[f"/story-{number}"] == article
    assert all(set(lines) <= {f"Stories at {path}"} for path, lines in found.items() if not path.startswith("/story"))


def test_what_many_pages_have_alike_is_no_article() -> None:
    stub = [f"{line} Please log in to read this page, or ask for an account." for line in ENGLISH]
    pages = {f"/story-{number}": article for number, article in enumerate(ARTICLES)}
    pages |= {f"/locked-{number}": [f"Locked {number}", *stub] for number in range(8)}
    found = main_text(pages)
    assert all(found[f"/locked-{number}"] == [f"Locked {number}"] for number in range(8))


# crawl and alignment --------------------------------------------------------------------------------------------------


PAGES = 6
TRANSLATED = 3
MENUS = {
    "en": "<li><a href=/en/0>Home of the documentation</a><li><a href=/en/1>How to install the program</a>",
    "es": "<li><a href=/es/0>Inicio de la documentación</a><li><a href=/es/1>Cómo instalar el programa</a>",
}


def half_translated() -> dict[str, str]:
    """A site whose generator shows the English text in the Spanish frame where there is no translation."""
    pages = {}
    for number in range(PAGES):
        english, spanish = (lines[number % 5 :] + lines[: number % 5] for lines in (ENGLISH, SPANISH))
        code = f"A{number}{number}7"
        announced = "".join(f"<link rel=alternate hreflang={other} href=/{other}/{number}>" for other in MENUS)
        for language, lines in (("en", english), ("es", spanish if number < TRANSLATED else english)):
            links = "".join(f"<a href=/{language}/{to}>{to}</a> " for to in range(PAGES))
            text = "".join(f"<p>{line} {code}</p>" for line in lines)
            pages[f"/{language}/{number}"] = (
                f"<!doctype html><html lang={language}><head><meta charset=utf-8><title>{code}</title>{announced}"
                f"</head><body><nav><ul>{12 * MENUS[language]}</ul></nav><main><h1>{code}</h1>{text}{links}"
                f"<a href=/es/{number}>Español</a></main></body></html>"
            )
    return pages


@pytest.fixture(scope="module")
def untranslated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("half")
    with serve(half_translated()) as site:
        settings = each("-s", "BILINGUAL_ALIGN=auto", "BILINGUAL_ENCODER=", "BILINGUAL_BITEXT=jsonl,monolingual")
        return folder, ended_well(crawl(folder, f"{site.url}/en/0", *settings, policy="gain"))


def test_the_text_of_a_page_decides_and_its_frame_does_not(untranslated: tuple[Path, Any]) -> None:
    folder, done = untranslated
    expected = {f"en/{number}": "eng" for number in range(PAGES)}
    expected |= {f"es/{number}": "spa" if number < TRANSLATED else "eng" for number in range(PAGES)}
    assert {url[-4:]: document["language"] for url, document in documents(folder).items()} == expected
    assert summary(folder)["pairs"] == TRANSLATED
    assert summary(folder)["contradicted"] == {"spa eng": PAGES - TRANSLATED}
    assert "pages that declare Spanish and read as English" in done.stderr
    assert "Spanish declared, English read" in (folder / "out" / "report.html").read_text()


def test_the_reason_names_the_announced_page_that_is_not_translated(untranslated: tuple[Path, Any]) -> None:
    rows = {row["url"][-4:]: row for row in read_tsv(untranslated[0] / "out" / "unpaired.tsv")}
    for number in range(TRANSLATED, PAGES):
        assert rows[f"en/{number}"]["reason"] == "untranslated"
        assert rows[f"en/{number}"]["nearest"].endswith(f"/es/{number}")


def test_monolingual_files_have_each_paragraph_once_and_no_other_language(untranslated: tuple[Path, Any]) -> None:
    texts: dict[str, list[str]] = {"en": [], "es": []}
    for row in read_json_lines(untranslated[0] / "out" / "bitext" / "en-es.monolingual.jsonl.gz"):
        texts[row["language"]] += row["paragraphs"]
    for language, expected in (("en", ENGLISH), ("es", SPANISH)):
        found = texts[language]
        assert len(found) == len(set(found))
        assert {line.rpartition(" A")[0] for line in found} >= set(expected)
        assert not any("Home of" in line or "Inicio" in line for line in found)
    assert not any("The river" in line for line in texts["es"])


@pytest.mark.parametrize("pair", ["hrv-srp", "bos-hrv", "bos-srp"])
def test_languages_of_a_class_are_a_pair_by_what_their_pages_declare(pair: str) -> None:
    """No detector tells them apart."""
    pairs = LanguagePairs.parse(pair)
    detection = Detection.for_pairs(("cld2",), pairs)
    for language in pair.split("-"):
        code = {"hrv": "hr", "srp": "sr", "bos": "bs"}[language]
        body = f"<html lang={code}><meta charset=utf-8><p>{'<p>'.join(BALKAN)}".encode()
        read = read_document(RawPage(f"{HOST}/{code}/", body), pairs, detection)
        assert read is not None
        assert read[0].language == language


BALKAN = (
    "Sva ljudska bića rađaju se slobodna i jednaka u dostojanstvu i pravima.",
    "Ona su obdarena razumom i sviješću i treba da jedno prema drugome postupaju u duhu bratstva.",
    "Svako ima pravo na život, slobodu i ličnu sigurnost.",
)
SAMI = (
    "Buot olbmot leat riegádan friddjan ja olmmošárvvu ja olmmošvuoigatvuođaid dáfus.",
    "Sii leat jierbmásat ja sis lea oamedovdu ja sii gálggaše leat dego vieljačagat.",
    "Juohkehaččas lea vuoigatvuohta eallimii, friddjavuhtii ja persovnnalaš sihkarvuhtii.",
)


def test_small_languages_are_declared_in_any_way(tmp_path: Path) -> None:
    heads = ("<html lang=se>", "<body lang=se>", "<meta http-equiv=Content-Language content=se>")
    pages = {}
    for number, (line, head) in enumerate(zip(SAMI, heads, strict=True)):
        links = "".join(f"<a href=/{kind}{to}>{to}</a>" for kind in "xy" for to in range(3))
        english = f"<p>{' '.join(ENGLISH)} {number}"
        pages[f"/x{number}"] = f"<html lang=en><meta charset=utf-8><title>{number}</title>{links}{english}"
        pages[f"/y{number}"] = f"{head}<meta charset=utf-8><title>{number}</title>{links}<p>{3 * line}"
    with serve(pages) as site:
        ended_well(crawl(tmp_path, f"{site.url}/x0", policy="gain", pair="eng-sme"))
    assert summary(tmp_path)["documents"] == {"eng": 3, "sme": 3}
