"""Pages without a translation get no partner: what a site, its addresses and its sentences say against a pair."""

import json
from pathlib import Path
from random import Random
from string import ascii_lowercase

import numpy as np
import pytest
from support.texts import MODELS, corpus, only_domain

from bilingual_crawler.pairing.align import align
from bilingual_crawler.pairing.arrays import Floats32
from bilingual_crawler.pairing.convention import SITE_FEATURES, contradictions, site_columns, without_mistaken
from bilingual_crawler.pairing.corpus import Corpus
from bilingual_crawler.pairing.evidence import CandidateEvidence, PairClassifier, load_judge
from bilingual_crawler.pairing.methods import make_method
from bilingual_crawler.pairing.model import Alignment
from bilingual_crawler.pairing.sentences import BitextReader, doubtful
from bilingual_crawler.scoring.models import ModelError

HOST = "https://site.example"
WORDS = {
    "eng": "The share of the population that lives below the line of poverty was measured in {} by the office.",
    "spa": "La proporción de la población que vive bajo el umbral de pobreza fue medida en {} por la oficina.",
}
SECOND = {
    "eng": "Data of the region of indicator {} are collected by the ministry and published in a report.",
    "spa": "Los datos de la región del indicador {} son recogidos por el ministerio y publicados en un informe.",
}
NOTES = {
    "eng": ("Nobody has checked these values for the last two years.", "The table has all of the values."),
    "spa": ("Nadie ha comprobado estos valores en los últimos dos años.", "La tabla contiene todos los valores."),
}

WHEN = ("on Mondays", "on public holidays", "during storms", "at night", "in the winter", "while it rains")


def indicator(language: str, number: int, announced: str = "") -> bytes:
    """A page of one template, in which little but numbers tells what it is about."""
    lines = (
        WORDS[language].format(1990 + number),
        SECOND[language].format(f"{number}-{number % 5 + 1}-1"),
        *(f"{NOTES[language][place % 2]} {number * 7 + place}" for place in range(4)),
        *NOTES[language],
    )
    title = {"eng": "Indicator", "spa": "Indicador"}[language]
    body = "".join(f"<p>{line}</p>" for line in lines)
    head = f"<title>{title} {number}-{number % 5 + 1}-1</title>{announced}"
    return f"<html lang={language[:2]}><head>{head}</head><body><h1>{title}</h1>{body}</body></html>".encode()


def link(language: str, url: str) -> str:
    return f'<link rel="alternate" hreflang="{language}" href="{HOST}{url}">'


def on_site(pages: dict[str, bytes]) -> Corpus:
    return corpus({HOST + url: body for url, body in pages.items()})


def aligned(pages: dict[str, bytes], threshold: float = 0.5) -> Alignment:
    ((_, alignment),) = align(on_site(pages), make_method("auto", MODELS, "", Path("unused"), threshold))
    return alignment


def half_translated(announced: bool) -> dict[str, bytes]:
    """Indicators 0 to 19 in both languages; 20 to 29 in English, and 30 to 39 in Spanish only."""
    pages = {}
    for number in range(40):
        english, spanish = f"/en/page-{number}", f"/es/pagina-{number}"
        if number < 30:
            head = link("es", spanish) if announced and number < 20 else ""
            pages[english] = indicator("eng", number, head)
        if number < 20 or number >= 30:
            head = link("en", english) if announced and number < 20 else ""
            pages[spanish] = indicator("spa", number, head)
    return pages


RIGHT = {(f"/en/page-{number}", f"/es/pagina-{number}") for number in range(20)}


def in_both(count: int, spanish: str = "pagina") -> dict[str, bytes]:
    """Indicators in both languages that announce nothing."""
    pages = {f"/en/page-{n}": indicator("eng", n) for n in range(count)}
    return pages | {f"/es/{spanish}-{n}": indicator("spa", n) for n in range(count)}


def pairs_of(alignment: Alignment) -> set[tuple[str, str]]:
    return {(pair.url_a.removeprefix(HOST), pair.url_b.removeprefix(HOST)) for pair in alignment.pairs}


def test_where_pairs_are_announced_pages_that_announce_nothing_get_no_partner() -> None:
    assert pairs_of(aligned(half_translated(announced=True))) == RIGHT


def test_where_addresses_claim_most_pairs_translated_names_are_found_by_their_text() -> None:
    english = {f"/en/page-{n}": indicator("eng", n) for n in range(24)}
    names = ["page"] * 16 + ["pagina"] * 8
    spanish = {f"/es/{name}-{n}": indicator("spa", n + 10 * (n > 19)) for n, name in enumerate(names)}
    assert pairs_of(aligned(english | spanish)) == set([*zip(english, spanish, strict=True)][:20])


def test_pages_of_two_kinds_are_no_pair_whatever_their_text_says() -> None:
    kinds = (("en", "eng", "data", 0), ("es", "spa", "map", 0), ("en", "eng", "map", 20), ("es", "spa", "data", 30))
    pages = {f"/{code}/{at + n}/{kind}": indicator(name, at + n) for code, name, kind, at in kinds for n in range(9)}
    assert not pairs_of(aligned(pages))


def test_pages_with_other_numbers_are_no_pairs_and_a_user_may_raise_the_threshold() -> None:
    pages = half_translated(announced=False)
    alignment = aligned(pages)
    assert len(pairs_of(alignment) & RIGHT) >= 18
    assert not pairs_of(alignment) - RIGHT
    assert all(0.5 <= pair.score <= 1 for pair in alignment.pairs)
    assert pairs_of(aligned(pages, 1.0)) == set()


def numbered(folder: str, language: str, count: int, moved: int = 0, since: int = 0) -> dict[str, bytes]:
    """A manual of numbered sections that link to the next one; numbers from *since* on are *moved*."""
    numbers = [n + moved * (n >= since) for n in range(count)]
    following = [f'<a href="node{n}.html">{n}</a></body>'.encode() for n in [*numbers[1:], 0]]
    pages = [indicator(language, n).replace(b"</body>", link) for n, link in enumerate(following)]
    return {f"/{folder}/node{n}.html": page for n, page in zip(numbers, pages, strict=True)}


def believed(pages: dict[str, bytes]) -> Floats32:
    """Which candidates equal addresses claim, by content, too."""
    proposed = CandidateEvidence(only_domain(on_site(pages)), "structure", urls=True).candidates()
    held = PairClassifier(MODELS, "structure").log_odds(proposed.columns)
    return without_mistaken(held, proposed.columns, proposed.a, proposed.b)["key"]


@pytest.mark.parametrize(("moved", "since", "kept"), [(3, 0, 0), (0, 0, 20), (1, 12, 0)])
def test_equal_addresses_are_no_claims_where_each_language_numbers_its_pages_otherwise(
    moved: int, since: int, kept: int
) -> None:
    english, spanish = numbered("en", "eng", 20), numbered("es", "spa", 20, moved, since)
    pages = {"/en/about.html": indicator("eng", 30), "/es/about.html": indicator("spa", 30)} | english | spanish
    assert believed(pages).sum() == kept + 1  # names without a number claim what they did
    found = pairs_of(aligned(pages))
    assert found <= {("/en/about.html", "/es/about.html"), *zip(english, spanish, strict=True)}
    assert len(found) >= 19


def test_links_to_the_next_article_are_no_claims() -> None:
    names = {
        "eng": [f"/{letter}-post" for letter in ascii_lowercase],
        "spa": [f"/{letter}-nota" for letter in "abcdefghijklmnop"],
    }
    posts = [(url, indicator(language, n)) for language, urls in names.items() for n, url in enumerate(urls)]
    Random(3).shuffle(posts)  # as written
    urls = [url for url, _ in posts]
    pages = {}
    for (url, page), last, following in zip(posts, ["/", *urls], [*urls[1:], "/"], strict=False):
        pages[url] = page.replace(b"</body>", f'<a href="{last}">←</a> <a href="{following}">→</a></body>'.encode())
    found = pairs_of(aligned(pages))
    assert found <= {*zip(names["eng"], names["spa"], strict=False)}
    assert len(found) >= 8


def test_lists_of_other_articles_at_equal_addresses_are_no_pairs() -> None:
    pages = half_translated(announced=True)
    for language, of, seed in (("eng", "/en/page", 1), ("spa", "/es/pagina", 5)):
        posts = [url for url in pages if url.startswith(of)]
        Random(seed).shuffle(posts)
        for n in range(0, len(posts), 5):
            told = [(url, WORDS[language].format(1990 + int(url.rpartition("-")[2]))) for url in posts[n : n + 5]]
            items = "".join(f'<li><a href="{url}">{text}</a></li>' for url, text in told)
            pages[f"{of[:3]}/tag/{'abcdef'[n // 5]}"] = f"<html lang={of[1:3]}><ul>{items}</ul></html>".encode()
    assert not believed(pages).any()
    assert not [pair for pair in pairs_of(aligned(pages)) if "tag" in pair[0]]


def test_regional_editions_under_equal_addresses_are_no_rivals() -> None:
    pages = {f"/en/page-{n}": indicator("eng", n) for n in range(3)}
    pages |= {f"/en-gb/page-{n}": indicator("eng", n).replace(b"the", b"ye") for n in range(3)}
    pages |= {f"/es/page-{n}": indicator("spa", n) for n in range(3)}
    alignment = aligned(pages)
    assert pairs_of(alignment) == {(f"/en/page-{n}", f"/es/page-{n}") for n in range(3)}
    assert all(pair.score >= 0.9 for pair in alignment.pairs)


def test_where_nothing_is_translated_nothing_is_paired() -> None:
    pages = {f"/en/page-{number}": indicator("eng", number) for number in range(20)}
    pages |= {f"/es/pagina-{number}": indicator("spa", number) for number in range(20, 40)}
    alignment = aligned(pages)
    assert not alignment.pairs
    assert set(alignment.unpaired.values()) <= {"low_score", "no_candidate"}


def test_the_same_text_under_both_addresses_is_no_pair_whatever_announces_it() -> None:
    body = indicator("eng", 3).decode().split("<body>")[1]
    pages = half_translated(announced=True)
    # menus make it count as Spanish, its own lines are those of the English page
    menus = "".join(f"<p>{NOTES['spa'][0]} {WORDS['spa'].format(1900)}</p>" for _ in range(6))
    pages |= {f"/es/otra-{n}": f"<body>{menus}<p>{WORDS['spa'].format(n)}</p>".encode() for n in range(9)}
    pages["/en/page-77"] = f"<html><head>{link('es', '/es/pagina-77')}</head><body>{body}".encode()
    pages["/es/pagina-77"] = f"<html><head>{link('en', '/en/page-77')}</head><body>{menus}{body}".encode()
    alignment = aligned(pages)
    assert "/en/page-77" not in {a for a, _ in pairs_of(alignment)}
    assert alignment.unpaired[f"{HOST}/es/pagina-77"] in ("same_text", "copy")


def test_pages_without_text_of_their_own_are_no_pair() -> None:
    menus = {language: "".join(f"<p>{text}</p>" for text in NOTES[language]) for language in NOTES}
    pages = half_translated(announced=True)
    for number in range(50, 60):
        english, spanish = f"/en/empty-{number}", f"/es/vacio-{number}"
        for language, url, announced in (("eng", english, link("es", spanish)), ("spa", spanish, link("en", english))):
            head = f"<title>{number}</title>{announced}"
            pages[url] = f"<html><head>{head}</head><body>{menus[language]}</body></html>".encode()
    alignment = aligned(pages)
    assert not any("empty" in a for a, _ in pairs_of(alignment))
    assert {reason for url, reason in alignment.unpaired.items() if "empty" in url} == {"no_text"}
    # the partner that is refused is named with the score that it would have had
    nearest = alignment.nearest[f"{HOST}/en/empty-50"]
    assert nearest[0].startswith(f"{HOST}/es/vacio-")
    assert nearest[1] > 0.5


def test_a_page_of_a_few_lines_is_no_translation_of_a_long_one_whatever_announces_it() -> None:
    text = "".join(f"<p>{SECOND['eng'].format(number)} {WORDS['eng'].format(1990 + number)}</p>" for number in range(9))
    pages = {
        "/en/talk": f"<html><head><title>PyQt 5</title>{link('es', '/es/charla')}</head><body>{text}".encode(),
        "/es/charla": f"<html><head>{link('en', '/en/talk')}</head><body><p>{WORDS['spa'].format(1990)}".encode(),
    }
    alignment = aligned(pages)
    assert (alignment.pairs, set(alignment.unpaired.values())) == ((), {"length"})


@pytest.mark.parametrize("heading", ["", "<h1>Noticias {}</h1>"])
def test_pages_that_say_only_that_they_are_not_translated_yet_are_no_pair(heading: str) -> None:
    pages = half_translated(announced=True)
    note = "Esta página todavía no está traducida. Puede leer la versión original en inglés o ayudar a traducirla."
    for number in range(50, 60):
        pages[f"/en/news-{number}"] = indicator("eng", number)
        head, body = f"<title>Noticias {number}</title>", f"{heading.format(number)}<p>{note}</p>"
        pages[f"/es/news-{number}"] = f"<html lang=es><head>{head}</head><body>{body}</body></html>".encode()
    alignment = aligned(pages)
    assert not any("news" in a for a, _ in pairs_of(alignment))
    assert {reason for url, reason in alignment.unpaired.items() if "news" in url} == {"no_text"}


def test_the_home_page_that_all_pages_announce_takes_no_partner_away() -> None:
    home = {"en": link("en", "/en/"), "es": link("es", "/es/")}
    head = f"{''.join(home.values())}</head>".encode()
    pages = {url: body.replace(b"</head>", head) for url, body in half_translated(announced=False).items()}
    pages |= {"/en/": indicator("eng", 99, home["es"]), "/es/": indicator("spa", 99, home["en"])}
    found = pairs_of(aligned(pages))
    assert len(found & RIGHT) >= 18
    assert found - RIGHT == {("/en/", "/es/")}


@pytest.mark.parametrize("says", ["address", "one page", "both pages"])
def test_what_pages_hold_and_their_sentences_refute_what_the_site_says(says: str) -> None:
    """Numbers that are equal by chance, or pages that announce one after the right one."""
    pages: dict[str, bytes] = {}
    for number in range(20):
        wrong, wronged = (number + 7) % 20, (number - 7) % 20
        english, spanish = f"/en/node/{number + 100}", f"/es/pagina-{number}"
        head = link("es", f"/es/pagina-{wrong}") if says != "address" else ""
        back = link("en", f"/en/node/{wronged + 100}") if says == "both pages" else ""
        pages[english] = indicator("eng", number, head)
        pages[f"/es/node/{wrong + 100}" if says == "address" else spanish] = indicator("spa", number, back)
    right = {tuple(list(pages)[place : place + 2]) for place in range(0, 40, 2)}
    found = pairs_of(aligned(pages))
    assert len(found & right) >= 18
    assert not found - right


def candidates(said: int, unsaid: int) -> tuple[np.ndarray, dict[str, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Documents 0 to *said* - 1 with an announced partner and a wrong candidate each, others with one candidate."""
    i = np.array([*range(said), *range(said), *range(said, said + unsaid)])
    j = np.array([*range(said), *np.roll(np.arange(said), 1), *range(said, said + unsaid)])
    held = np.array([*np.full(said, 4.0), *np.linspace(-3, 1, said), *np.linspace(-3, 3, unsaid)])
    names = ("hreflang", "switcher", "key", "linked", "refused", "one_sided", "outvoted")
    others = ("rivals_a", "rivals_b", "marked_otherwise", "title_numbers", "url_numbers")
    columns = dict.fromkeys((*names, *others), np.zeros(len(i), dtype=np.float32))
    columns["hreflang"] = np.array([*np.full(said, 2), *np.zeros(said + unsaid)], dtype=np.float32)
    return held, columns, (i, j)


def test_sure_pairs_show_what_a_wrong_candidate_looks_like() -> None:
    held, columns, places = candidates(said=10, unsaid=5)
    found = site_columns(held, columns, places, (np.arange(15), np.arange(15)), 0.0)
    assert found.keys() == set(SITE_FEATURES)
    unsaid = slice(20, 25)
    # the better a candidate is, the fewer known wrong ones are as good
    assert np.all(np.diff(found["usual_wrong"][unsaid]) <= 0)
    assert found["usual_wrong"][20] > 2 > -2 > found["usual_wrong"][24]
    assert found["site_said"][20] == pytest.approx(10 / 15)
    # nothing of it counts where the site itself says that a pair is one
    assert not any(found[name][:10].any() for name in ("usual_wrong", "usual_unknown", "site_said", "site_unsaid"))


def test_a_site_that_pages_contradict_is_believed_less_where_they_do_not_confirm_it() -> None:
    """Of ten announced pairs what the pages of five hold contradicts, and speaks weakly against one more."""
    held, columns, places = candidates(10, 0)
    held[9] = -2.0

    def odds(held: np.ndarray) -> np.ndarray:
        alike, share = (np.arange(10), np.arange(10)), contradictions(held, columns)
        return load_judge(MODELS, "site", SITE_FEATURES).predict(site_columns(held, columns, places, alike, share))

    honest, lying = odds(held), odds(np.array([*np.full(5, -6.0), *held[5:]]))
    assert lying[9] < honest[9] - 5
    assert np.array_equal(honest[5:9], lying[5:9])
    assert (lying[:5] < -5).all()


def test_a_switcher_to_pages_that_are_not_translated_yet_takes_no_partner_away() -> None:
    pages = in_both(10, "page")
    for number in range(4):
        # the switcher of each edition leads to all, and the Irish and the Romanian one are in English still
        editions = {code: f"/{code}/page-{number}" for code in ("en", "es", "ga", "ro")}
        names = {"en": "English", "es": "Español", "ga": "Gaeilge", "ro": "Română"}
        menu = "".join(f'<li><a hreflang="{code}" href="{HOST}{url}">{names[code]}' for code, url in editions.items())
        for code, url in editions.items():
            body = indicator("spa" if code == "es" else "eng", number)
            note = f"<p>{WHEN[number]} {code} {number * 31}</p>" if code in ("ga", "ro") else ""
            pages[url] = body.replace(b"<h1>", f"<ul>{menu}</ul>{note}<h1>".encode())
    assert {(f"/en/page-{n}", f"/es/page-{n}") for n in range(10)} <= pairs_of(aligned(pages))


def test_a_site_without_sure_pairs_shows_nothing() -> None:
    held, columns, places = candidates(said=0, unsaid=5)
    found = site_columns(held, columns, places, (np.arange(5), np.arange(5)), 0.0)
    assert found["usual_unknown"].all()
    assert not found["usual_wrong"].any()
    assert all(np.isfinite(column).all() for column in found.values())


def test_the_sentences_of_a_translation_align_and_those_of_another_page_do_not() -> None:
    pages = in_both(20)
    museum = "".join(f"<p>The museum is closed {when}, and nobody remembers why.</p>" for when in WHEN)
    pages["/en/page-99"] = f"<html lang=en><body>{museum}</body></html>".encode()
    domain = only_domain(on_site(pages))
    i, j = np.arange(21), np.array([*range(20), 5])
    probabilities = np.array([*np.full(18, 0.95), 0.6, 0.6, 0.4])
    asked = doubtful(domain, i, j, probabilities, np.ones(len(i), dtype=bool))
    assert set(asked) == set(range(20))  # each document once
    found = BitextReader(domain, i, j, probabilities).columns(np.array([18, 19, 20]))
    assert found["unaligned"][:2].max() < found["unaligned"][2]


def test_a_judge_that_is_missing_or_of_another_version_is_named(tmp_path: Path) -> None:
    config = tmp_path / "document-pairs" / "config.json"
    config.parent.mkdir()
    with pytest.raises(ModelError, match=r"config\.json"):
        load_judge(tmp_path, "site", SITE_FEATURES)
    view = {"features": ["total"], "slope": 1, "shift": 0, "threshold": 0.5}
    config.write_text(json.dumps({"views": {"structure": view}, "site": {"intercept": 0, "weights": {"held": 1}}}))
    for name in ("structure", "auto"):
        with pytest.raises(ModelError, match=f"no view {name} of this version: train it again"):
            PairClassifier(tmp_path, name)
    with pytest.raises(ModelError, match="train it again"):
        load_judge(tmp_path, "site", SITE_FEATURES)
    with pytest.raises(ModelError, match="no judge bitext"):
        load_judge(tmp_path, "bitext", ("site",))


def test_the_same_documents_give_the_same_pairs_in_any_order() -> None:
    pages = {f"/en/page-{n}": indicator("eng", n) for n in range(12)}
    pages |= {f"/es/pagina-{n}": indicator("spa", n) for n in range(3, 15)}
    # the same document twice, and two that are as long
    pages |= {"/en/page-3?a": pages["/en/page-3"], "/en/page-4/": pages["/en/page-4"]}
    found = {
        tuple((pair.url_a, pair.url_b, pair.score) for pair in sorted(aligned(dict(order)).pairs, key=str))
        for order in (pages.items(), reversed(pages.items()), Random(1).sample([*pages.items()], len(pages)))
    }
    assert len(found) == 1
