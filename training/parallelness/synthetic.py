"""Made-up positives, for training only: one site keeps one convention and one pair of languages.

`marked_pairs` puts language marks into real URLs; `slug_pairs` makes sites whose addresses are translated word by
word with a bilingual lexicon.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from bilingual_crawler.urls.hosts import domain_label
from bilingual_crawler.urls.model_input import LANGUAGE_OF, language_of, plain_word, url_parts
from training.parallelness.negatives import split_resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SHORT = {lang: token for token, lang in reversed(LANGUAGE_OF.items()) if len(token) == 2}
NAMES = {lang: token for token, lang in reversed(LANGUAGE_OF.items()) if len(token) > 3 and token.isascii()}
REGIONS = {
    "eng": "us gb", "spa": "es mx", "por": "br pt", "fra": "fr ca be", "deu": "de at", "zho": "cn tw", "nld": "nl be",
    "ara": "ae", "swe": "se", "dan": "dk", "ces": "cz", "ell": "gr", "eus": "es", "cat": "es", "glg": "es", "jpn": "jp",
    "kor": "kr", "ukr": "ua", "slv": "si", "srp": "rs", "sqi": "al", "vie": "vn", "nor": "no", "hin": "in",
}  # fmt: skip
_FREQUENT = """
eng eng eng eng fra deu spa ita por nld rus zho jpn pol tur swe fin isl mlt eus cat hrv slv mkd sqi bul ell
"""
FREQUENT = _FREQUENT.split()
LEAST_URLS, MOST_URLS = 3, 12
NUMBER = re.compile(r"[0-9]+")
PAGES = 8
SUFFIXES = ("com", "org", "net", "eu", "info")
EXTENSIONS = ("", "", "", "/", "/", ".html", ".htm", ".php", ".aspx")


def marked_pairs(rows: Iterable[tuple[str, str]], domains: int, seed: int = 71213) -> list[tuple[str, str]]:
    """Pairs of up to `domains` sites from rows (url, lang); URLs without path or with a language token are left out."""
    rng = random.Random(seed)
    sites: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for url, lang in rows:
        if lang in SHORT and split_resource(url)[1].strip("/"):
            sites[domain_label(url)].append((url, lang))
    names = sorted(name for name, urls in sites.items() if len(urls) >= LEAST_URLS)
    found: list[tuple[str, str]] = []
    for name in rng.sample(names, min(domains, len(names))):
        convention = rng.choice(CONVENTIONS)
        lang = sites[name][0][1]
        other = rng.choice([code for code in FREQUENT if code != lang])
        form = rng.choice((_short, _short, _short, _three, _name, _locale, _capital))
        first, second = form(lang, rng), form(other, rng)
        for url, of in rng.sample(sites[name], min(MOST_URLS, len(sites[name]))):
            if of == lang and not any(map(language_of, url_parts(url).texts)):
                found.append(convention(url, first, second))
    return found


def slug_pairs(lexicon: Iterable[tuple[str, str, str, str]], sites: int, seed: int = 71213) -> list[tuple[str, str]]:
    """Pairs of `sites` made-up sites from rows (language, text, language, text)."""
    rng = random.Random(seed)
    phrases: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for lang_a, text_a, lang_b, text_b in lexicon:
        if lang_a in SHORT and lang_b in SHORT:
            phrases[lang_a, lang_b].append((text_a, text_b))
    languages = sorted(pair for pair, rows in phrases.items() if len(rows) > 100)
    weights = [len(phrases[pair]) ** 0.3 for pair in languages]
    found: list[tuple[str, str]] = []
    for number in range(sites if languages else 0):
        pair = rng.choices(languages, weights)[0]
        found += _slug_site(f"{rng.choice(phrases[pair])[0].split()[0]}{number}", pair, phrases[pair], rng)
    return found


def _slug_site(
    name: str, languages: tuple[str, str], phrases: list[tuple[str, str]], rng: random.Random
) -> list[tuple[str, str]]:
    base = f"https://{rng.choice(('www.', ''))}{name}.{rng.choice(SUFFIXES)}"
    marked = rng.random() < 0.75
    convention = rng.choice(SLUG_CONVENTIONS)
    first, second = (_short(lang, rng) for lang in languages)
    sections = [_folders(phrases, rng) for _ in range(rng.randint(0, 3))]
    separator, extension, shared = rng.choice("---_"), rng.choice(EXTENSIONS), rng.random()
    untranslated = bool(sections) and rng.random() < 0.3
    found = []
    for _ in range(PAGES):
        chosen = [_words(rng.choice(phrases)) for _ in range(rng.choice((1, 1, 2, 2, 3, 4)))]
        a, b = ([word for one in chosen for word in one[side]] for side in (0, 1))
        if shared < 0.35:
            token = str(rng.randint(1, 20000)) if shared < 0.2 else rng.choice(phrases)[rng.randint(0, 1)].split()[0]
            place = rng.choice((0, 99))
            a.insert(place, token)
            b.insert(place, token)
        for words in (a, b):
            if len(words) > 2 and rng.random() < 0.25:
                words.pop(rng.randrange(len(words)))
        if untranslated:
            b = a
        section = rng.choice(sections) if sections and (untranslated or rng.random() < 0.8) else ((), ())
        u, v = ("/".join((base, *section[side], separator.join(words))) + extension for side, words in ((0, a), (1, b)))
        if marked:
            u, v = convention(u, first, second)[0], convention(v, first, second)[1]
        if u != v:
            found.append((u, v))
    return found


def _folders(phrases: list[tuple[str, str]], rng: random.Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Translated folders; one side may lack the last."""
    names = [_words(rng.choice(phrases)) for _ in range(rng.choice((1, 1, 1, 2)))]
    a, b = (tuple("-".join(name[side]) for name in names) for side in (0, 1))
    return (a, b[:-1]) if len(names) > 1 and rng.random() < 0.25 else (a, b)


def _words(phrase: tuple[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    a, b = (tuple(plain_word(word) for word in text.split()) for text in phrase)
    return a, b


def _short(lang: str, rng: random.Random) -> str:
    return SHORT[lang]


def _three(lang: str, rng: random.Random) -> str:
    return lang


def _name(lang: str, rng: random.Random) -> str:
    return NAMES.get(lang, SHORT[lang])


def _locale(lang: str, rng: random.Random) -> str:
    region = REGIONS.get(lang, SHORT[lang]).split()[0]
    return f"{SHORT[lang]}-{region}"


def _capital(lang: str, rng: random.Random) -> str:
    return SHORT[lang].upper()


def _both_first(url: str, a: str, b: str) -> tuple[str, str]:
    host, rest = split_resource(url)
    return f"{host}/{a}{rest}", f"{host}/{b}{rest}"


def _added_first(url: str, a: str, b: str) -> tuple[str, str]:
    host, rest = split_resource(url)
    return url, f"{host}/{b}{rest}"


def _inside(added: bool) -> Callable[[str, str, str], tuple[str, str]]:
    def convention(url: str, a: str, b: str) -> tuple[str, str]:
        host, rest = split_resource(url)
        _, first, *others = rest.split("/") if "/" in rest[1:] else ("", "site", rest[1:])
        tail = "/".join(others)
        return f"{host}/{first}/{'' if added else f'{a}/'}{tail}", f"{host}/{first}/{b}/{tail}"

    return convention


def _last(url: str, a: str, b: str) -> tuple[str, str]:
    base = url.rstrip("/")
    return f"{base}/{a}", f"{base}/{b}"


def _query(key: str) -> Callable[[str, str, str], tuple[str, str]]:
    def convention(url: str, a: str, b: str) -> tuple[str, str]:
        sign = "&" if "?" in url else "?"
        return f"{url}{sign}{key}={a}", f"{url}{sign}{key}={b}"

    return convention


def _added_query(url: str, a: str, b: str) -> tuple[str, str]:
    return url, f"{url}{'&' if '?' in url else '?'}lang={b}"


def _number_query(url: str, a: str, b: str) -> tuple[str, str]:
    sign = "&" if "?" in url else "?"
    x, y = len(a) % 4, (len(b) + ord(b[0])) % 4
    return f"{url}{sign}L={x}", f"{url}{sign}L={y if x != y else y + 1}"


def _suffix(separator: str, added: bool = False) -> Callable[[str, str, str], tuple[str, str]]:
    def convention(url: str, a: str, b: str) -> tuple[str, str]:
        base, _, query = url.rstrip("/").partition("?")
        stem, dot, extension = base.rpartition(".")
        if not dot or "/" in extension:
            stem, dot, extension = base, "", ""
        end = dot + extension + ("?" + query if query else "")
        return (url if added else f"{stem}{separator}{a}{end}"), f"{stem}{separator}{b}{end}"

    return convention


def _prefix(url: str, a: str, b: str) -> tuple[str, str]:
    base, slash, last = url.rstrip("/").rpartition("/")
    return f"{base}{slash}{a}_{last}", f"{base}{slash}{b}_{last}"


def _single_letters(separator: str) -> Callable[[str, str, str], tuple[str, str]]:
    def convention(url: str, a: str, b: str) -> tuple[str, str]:
        first, second = a[0].lower(), b[0].lower()
        return _suffix(separator)(url, first, second if first != second else b[:2].lower())

    return convention


def _capital_ending(added: bool) -> Callable[[str, str, str], tuple[str, str]]:
    def convention(url: str, a: str, b: str) -> tuple[str, str]:
        return _suffix("", added)(url, a[:2].upper(), b[:2].upper())

    return convention


def _inside_name(url: str, a: str, b: str) -> tuple[str, str]:
    base, slash, last = url.rstrip("/").rpartition("/")
    sign = next((char for char in last if char in "-_"), None)
    if sign is None:
        return _suffix("_")(url, a, b)
    head, _, tail = last.partition(sign)
    return f"{base}{slash}{head}{sign}{a}{sign}{tail}", f"{base}{slash}{head}{sign}{b}{sign}{tail}"


def _start(separator: str) -> Callable[[str, str, str], tuple[str, str]]:
    def convention(url: str, a: str, b: str) -> tuple[str, str]:
        base, slash, last = url.rstrip("/").rpartition("/")
        first, second = (a, b) if separator else (a[0].lower(), b[0].lower())
        if first == second:
            first, second = a[:2].lower(), b[:2].lower()
        return f"{base}{slash}{first}{separator}{last}", f"{base}{slash}{second}{separator}{last}"

    return convention


def _directory_and_letter(url: str, a: str, b: str) -> tuple[str, str]:
    first, second = _single_letters("_")(url, a, b)
    return _both_first(first, a, b)[0], _both_first(second, a, b)[1]


def _shifted_number(offset: int) -> Callable[[str, str, str], tuple[str, str]]:
    """Pages of a content system: the translation has a directory of its language and a number that comes later."""

    def convention(url: str, a: str, b: str) -> tuple[str, str]:
        first, second = _both_first(url, a, b)
        numbers = list(NUMBER.finditer(split_resource(second)[1]))
        if not numbers:
            return first, second
        start = len(split_resource(second)[0])
        last = numbers[-1]
        number = str(int(last[0]) + offset).zfill(len(last[0]))
        return first, second[: start + last.start()] + number + second[start + last.end() :]

    return convention


def _added_number_query(url: str, a: str, b: str) -> tuple[str, str]:
    sign = "&" if "?" in url else "?"
    key = "lang" if len(a) % 2 else "L"
    return url, f"{url}{sign}{key}={1 + ord(b[0]) % 4}"


def _index_file(separator: str) -> Callable[[str, str, str], tuple[str, str]]:
    """The address of a folder leads to one language, a file in it to the other."""

    def convention(url: str, a: str, b: str) -> tuple[str, str]:
        folder, _, last = url.partition("?")[0].rstrip("/").rpartition("/")
        folder = folder if "." in last else f"{folder}/{last}"
        return f"{folder}/", f"{folder}/index{separator}{b}.html"

    return convention


def _subdomain(url: str, a: str, b: str) -> tuple[str, str]:
    scheme, _, rest = url.replace("://www.", "://").partition("://")
    return f"{scheme}://{a}.{rest}".lower(), f"{scheme}://{b}.{rest}".lower()


def _added_subdomain(url: str, a: str, b: str) -> tuple[str, str]:
    scheme, _, rest = url.replace("://www.", "://").partition("://")
    return url, f"{scheme}://{b.lower()}.{rest}"


CONVENTIONS: tuple[Callable[[str, str, str], tuple[str, str]], ...] = (
    _both_first, _both_first, _both_first, _added_first, _added_first, _added_first, _inside(added=False), _last,
    _query("lang"), _query("hl"), _query("locale"), _query("l"), _added_query, _number_query,
    _suffix("_"), _suffix("-"), _suffix("."), _suffix(""), _suffix(".", added=True), _suffix("_", added=True),
    _suffix("-", added=True), _prefix, _single_letters(""), _subdomain, _added_subdomain,
    _single_letters("_"), _single_letters("_"), _single_letters("-"), _capital_ending(added=False),
    _capital_ending(added=True), _inside_name, _start("_"), _start("-"), _start(""), _directory_and_letter,
    _shifted_number(1), _shifted_number(2), _shifted_number(7), _added_number_query,
    _inside(added=True), _inside(added=True), _index_file("_"), _index_file("."),
)  # fmt: skip
SLUG_CONVENTIONS = (_both_first, _both_first, _added_first, _added_first, _query("lang"), _suffix("_"), _subdomain)
