"""What a site says of two pages is a prior: their text confirms it, refutes it, or prefers another partner."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pytest
from support.texts import MODELS, alternate, corpus, html, only_domain

from bilingual_crawler.items import Pair
from bilingual_crawler.pairing.align import align
from bilingual_crawler.pairing.candidates import exchanged
from bilingual_crawler.pairing.methods import make_method
from bilingual_crawler.pairing.model import Alignment

WHO = (
    *(("The baker", "El panadero"), ("My grandmother", "Mi abuela"), ("The old captain", "El viejo capitán")),
    *(("Our neighbour", "Nuestro vecino"), ("A young painter", "Una joven pintora"), ("The mayor", "El alcalde")),
    *(("The gardener", "El jardinero"), ("Every student", "Cada estudiante"), ("The doctor", "La doctora")),
)
DOES = (
    *(("sells fresh bread", "vende pan fresco"), ("repairs broken clocks", "repara relojes rotos")),
    *(("writes long letters", "escribe cartas largas"), ("grows yellow roses", "cultiva rosas amarillas")),
    *(("reads strange books", "lee libros extraños"), ("builds wooden boats", "construye barcos de madera")),
    *(("collects old coins", "colecciona monedas antiguas"), ("teaches the violin", "enseña a tocar el violín")),
)
WHERE = (
    *(("in the market square", "en la plaza del mercado"), ("behind the railway station", "detrás de la estación")),
    *(("near the harbour", "cerca del puerto"), ("under the stone bridge", "bajo el puente de piedra")),
    *(("on the top floor", "en el último piso"), ("beside the town hall", "junto al ayuntamiento")),
)
WHEN = (
    *(("before sunrise", "antes del amanecer"), ("every second winter", "cada dos inviernos")),
    *(("while it rains", "mientras llueve"), ("without asking anybody", "sin preguntar a nadie")),
    *(("with great patience", "con mucha paciencia"), ("after the long holidays", "tras las largas vacaciones")),
)
NAMES = (
    "Tallinn Bergen Valletta Girona Turku Akranes Donostia Mdina Tromsø Narva Gozo Bilbao Tampere Oulu Rovaniemi "
    "Reykholt Getaria Zarautz Hondarribia Kuopio Marsaxlokk"
)


def article(number: int, sentences: int = 9) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """An article in English and in Spanish, with some names and years; two hardly have a sentence in common."""
    random = Random(number)
    english, spanish = [], []
    for _ in range(sentences):
        parts = [random.choice(part) for part in (WHO, DOES, WHERE, WHEN)]
        note = random.choice(("", f" ({random.choice(NAMES.split())}, {random.randrange(1850, 1999)})"))
        english.append(" ".join(part[0] for part in parts) + f"{note}.")
        spanish.append(" ".join(part[1] for part in parts) + f"{note}.")
    return tuple(english), tuple(spanish)


def alignments(pages: dict[str, bytes]) -> list[Alignment]:
    method = make_method("auto", MODELS, "", Path("unused"))
    return [alignment for _, alignment in align(corpus(pages), method)]


def aligned(pages: dict[str, bytes]) -> list[Pair]:
    return [pair for alignment in alignments(pages) for pair in alignment.pairs]


def couples(
    numbers: Iterable[int], spanish_of: int = 0, more: Callable[[str, int], str] = lambda *_: ""
) -> dict[str, bytes]:
    """Pages that announce each other; the Spanish one is the article *spanish_of* numbers on. All have *more*."""
    pages = {}
    for number in numbers:
        a, b = f"https://site.example/en/{number}", f"https://site.example/es/{number}"
        pages[a] = html(article(number)[0], alternate("es", b), more("en", number))
        pages[b] = html(article(number + spanish_of)[1], alternate("en", a), more("es", number + spanish_of))
    return pages


def numbers_of(pairs: Iterable[Pair]) -> set[tuple[int, int]]:
    return {(int(pair.url_a.rsplit("/", 1)[1]), int(pair.url_b.rsplit("/", 1)[1])) for pair in pairs}


def test_an_announced_page_about_something_else_is_no_translation() -> None:
    found = aligned(couples(range(14)) | couples(range(20, 26), spanish_of=500))
    assert numbers_of(pair for pair in found if pair.score >= 0.9) == {(number, number) for number in range(14)}
    assert len(found) < 20


def listing(language: str, number: int) -> str:
    """Links of a list to three articles."""
    urls = (f"https://site.example/{language}/{(number + place) % 14}" for place in range(3))
    return "".join(f'<p><a href="{url}">{url[-2:]}</a></p>' for url in urls)


def test_lists_whose_numbers_are_shifted_are_paired_by_what_they_show() -> None:
    found = numbers_of(aligned(couples(range(14)) | couples(range(30, 40), spanish_of=-3, more=listing)))
    assert {(number, number) for number in range(14)} <= found
    assert len({(number, number + 3) for number in range(30, 37)} & found) >= 6
    assert not {(number, number) for number in range(30, 40)} & found


def wiki(links: Iterable[tuple[str, str]], texts: dict[str, tuple[str, ...]]) -> dict[str, bytes]:
    """Pages at ``https://wiki.example/…`` with *texts*; those of each of *links* link to each other in their text."""
    to: dict[str, list[str]] = {url: [] for url in texts}
    for a, b in links:
        to[a].append(b)
        to[b].append(a)
    shown = {url: f'<p>… <a href="https://wiki.example{url}">{url[-3:]}</a></p>' for url in texts}
    return {
        f"https://wiki.example{url}": html(lines, more="".join(shown[other] for other in to[url]))
        for url, lines in texts.items()
    }


def wiki_of(count: int) -> tuple[list[tuple[str, str]], dict[str, tuple[str, ...]]]:
    links, texts = [], {}
    for number in range(count):
        a, b = f"/w/{number * 7 % 23}a", f"/v/{number * 5 % 23}b"
        texts[a], texts[b] = article(number)
        links.append((a, b))
    return links, texts


def test_articles_that_link_to_each_other_are_pairs_though_nothing_is_announced() -> None:
    links, texts = wiki_of(20)
    pairs = aligned(wiki(links, texts))
    assert {(pair.url_a[20:], pair.url_b[20:]) for pair in pairs} == set(links)
    assert {pair.method for pair in pairs} == {"linked"}


def test_pages_that_exchange_links_with_many_others_are_no_pair_for_that() -> None:
    links, texts = wiki_of(8)
    texts["/w/home"], texts["/v/home"] = article(77)[0], article(78)[1]
    many = [("/w/home", b) for _, b in links] + [(a, "/v/home") for a, _ in links] + [("/w/home", "/v/home")]
    domain = only_domain(corpus(wiki([*links, *many], texts)))
    found = {(domain.a[i].url[20:], domain.b[j].url[20:]) for i, j in exchanged(domain)}
    assert found == set(links)


def mixed(number: int) -> tuple[str, ...]:
    """The English article with Spanish sentences of another one between, and after."""
    english, spanish = article(number, 4)[0], article(900 + number, 14)[1]
    return (*(line for both in zip(spanish, english, strict=False) for line in both), *spanish[4:])


@pytest.mark.parametrize(("kind", "wanted"), [("translation", 30), ("mixed", 0), ("other", 0), ("untranslated", 0)])
def test_what_one_host_says_of_another_needs_a_translated_text(kind: str, wanted: int) -> None:
    pages = {}
    for number in range(30):
        a, b = f"https://one.example/{number}", f"https://other.example/q{number}"
        text = {
            "translation": article(number)[1],
            "mixed": mixed(number),
            "other": article(500 + number)[1],
            "untranslated": (*article(500 + number, 5)[1], *article(number)[0][:4]),
        }[kind]
        pages[a], pages[b] = html(article(number)[0], alternate("es", b)), html(text)
    pairs = aligned(pages)
    assert wanted - 2 <= len(pairs) <= wanted
    assert all(pair.url_a.rsplit("/", 1)[1] == pair.url_b.rsplit("/q", 1)[1] for pair in pairs)


CAST = "Anna Magnani, Alida Valli, Silvana Mangano, Sophia Loren, Monica Vitti, Giulietta Masina, " * 2


@pytest.mark.parametrize(
    ("english", "spanish"),
    [
        ("<h1>Eurolines</h1>", "<h1>Eurolines</h1>"),
        ("<h1>Pat</h1><p>Pat alla galleria.</p>", "<h1>Pat</h1><p>Pat alla galleria.</p>"),
        (
            f"<h1>Cast</h1><p>{CAST}</p><p>You may also like the other films.</p>",
            f"<h1>Cast</h1><p>{CAST}</p><p>Te gustarán las otras películas.</p>",
        ),
    ],
    ids=["nothing but a name", "a short text that nobody has translated", "only labels are translated"],
)
def test_announced_pages_without_a_translated_text_are_no_pair(english: str, spanish: str) -> None:
    pages = couples(range(12))
    a, b = "https://site.example/en/99", "https://site.example/es/99"
    for url, language, body, head in ((a, "en", english, alternate("es", b)), (b, "es", spanish, alternate("en", a))):
        title = body.partition("<p>")[0].replace("h1", "title")
        pages[url] = f"<html lang={language}><head>{title}{head}</head><body>{body}</body></html>".encode()
    (alignment,) = alignments(pages)
    assert numbers_of(alignment.pairs) == {(number, number) for number in range(12)}
    assert {alignment.unpaired.get(url) for url in (a, b)} == {"same_text"}


def test_editions_that_count_their_sections_otherwise_are_pairs() -> None:
    """One edition has a chapter more, and next to no number or name in its text: its addresses stay."""

    def section(number: int, counted: int, side: int) -> bytes:
        parts = [re.sub(r" \(.*?\)", "", sentence) for sentence in article(number, 3 + number % 5)[side]]
        titles = [f"{counted // 3 + 1}.{counted % 3 + 1}.{part}. {text.split()[-1]}" for part, text in enumerate(parts)]
        return html(tuple(line for pair in zip(titles, parts, strict=True) for line in pair))

    pages = {f"https://a.example/es/{n}.html": section(n, n, 1) for n in range(24)}
    pages |= {f"https://a.example/en/{n}.html": section(n, n + 3 * (n >= 9), 0) for n in range(24)}
    found = {(pair.url_a, pair.url_b) for pair in aligned(pages)}
    assert len(found & {(f"https://a.example/en/{n}.html", f"https://a.example/es/{n}.html") for n in range(24)}) >= 18
