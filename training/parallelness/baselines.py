"""Rules for the parallelness of two URLs: WMT16's language stripper and YODA's token replacement."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

import numpy as np
from langcodes.data_dicts import LANGUAGE_ALPHA3_BIBLIOGRAPHIC

from bilingual_crawler.languages.codes import LANGUAGES_OF_COUNTRY, fold, names_of, to_bcp47
from bilingual_crawler.urls.model_input import tokenise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

WMT16 = {
    "ara": "arabic ara ar",
    "bul": "bulgarian bul bg",
    "ces": "czech cze cz cs",
    "deu": "deutsch german ger deu de tedesco de-de de-ch de-at de-li de-lu allemand",
    "eng": "english eng en en-en en-us en-uk en-ca en-bz en-ab en-in en-ie en-jm en-nz en-ph en-za en-tt gb en-gb "
    "inglese englisch us e",
    "spa": "espanol spanish spa esp es",
    "fra": "french francais fran fra fre fr fr-be fr-ca fr-fr fr-lu fr-ch f",
    "zho": "chinese chi zh",
    "ita": "italian italiano ital ita it-it it-ch it",
    "ron": "romanian romana romlang rom ro-ro ro",
    "som": "soma som so somal somali so-so af-soomaali soomaali",
    "tur": "turkish tur turkic tr-tr tr",
    "fin": "finnish finnisch fin suomi suomeksi suominen suomija fi-fi fi",
}
"""The token lists of the WMT16 baseline (spec 1.4.5)."""
EXTENDED = """
por nld rus jpn kor pol slk slv hun ell fas heb hin dan swe nor nno isl fao est lav lit ukr bel srp hrv bos cnr mkd
sqi mlt eus cat glg cym gle gla ltz tha vie ind msa hye kat aze kaz mon urd ben tam tel afr swa epo
"""
"""Languages added by the rule of spec 1.4.10; tokens of rarer languages are mostly common words."""
QUERY_KEYS = ("lang", "clang", "language", "locale", "selectedlocale")
EDGES = re.compile(r"^[^a-zA-Z0-9]+|[^a-zA-Z0-9]+$")
RUNS = ((re.compile(r"//+"), "/"), (re.compile(r"__+"), "_"), (re.compile(r"/_+"), "/"), (re.compile(r"_/"), "/"),
        (re.compile(r"--+"), "-"))  # fmt: skip


@lru_cache(maxsize=1)
def token_lists() -> dict[str, tuple[str, ...]]:
    """Lower-case tokens of each language: the WMT16 lists, and names, codes and locales of the others."""
    lists = {lang: dict.fromkeys(tokens.split()) for lang, tokens in WMT16.items()}
    for lang in EXTENDED.split():
        short = to_bcp47(lang)
        names = [fold(name) for name in names_of(lang) if " " not in fold(name)]
        locales = [f"{short}-{country}" for country, langs in LANGUAGES_OF_COUNTRY.items() if short in langs.split()]
        lists[lang] = dict.fromkeys(
            filter(None, (*names, LANGUAGE_ALPHA3_BIBLIOGRAPHIC.get(short), lang, short, *locales))
        )
    return {
        lang: tuple(dict.fromkeys(form for token in tokens for form in (token, token.replace("-", "_"))))
        for lang, tokens in lists.items()
    }


class LanguageStripper:
    """The WMT16 baseline for all label languages: parallel if both URLs are equal without their language tokens.

    Errors of the original are corrected: a URL counts as stripped only if a language token went, both schemes are
    alike, and the host stays. Scores tell the order of matching apart: one URL stripped equals the other as it is (1),
    both stripped (.9), stripped with language variables of the query (.8).
    """

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        return np.array([self.score(a, b) for a, b in pairs], dtype=np.float32)

    def score(self, a: str, b: str) -> float:
        plain_a, plain_b = plain(a), plain(b)
        if plain_a == plain_b:
            return 0.0
        for query, top in ((False, 1.0), (True, 0.8)):
            (key_a, gone_a), (key_b, gone_b) = strip(a, query), strip(b, query)
            if (gone_a and key_a == plain_b) or (gone_b and key_b == plain_a):
                return top
            if gone_a and gone_b and key_a == key_b and gone_a != gone_b:
                return top - 0.1
        return 0.0


class TokenReplacement:
    """YODA's brute force: parallel if replacing all tokens of one language by one of another gives the other URL."""

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        return np.array([float(self.parallel(a, b)) for a, b in pairs], dtype=np.float32)

    def parallel(self, a: str, b: str) -> bool:
        x, y = tokenise(plain(a)), tokenise(plain(b))
        if len(x) != len(y) or x == y:
            return False
        changes = {(i.lower(), j.lower()) for i, j in zip(x, y, strict=True) if i != j}
        languages = _languages_by_token()
        if len({i for i, _ in changes}) > 1 or len({j for _, j in changes}) > 1:
            return False
        ((i, j),) = changes
        return any(left != right for left in languages.get(i, ()) for right in languages.get(j, ()))


@lru_cache(maxsize=1)
def _languages_by_token() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for lang, tokens in token_lists().items():
        for token in tokens:
            found[token] = (*found.get(token, ()), lang)
    return found


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    tokens = sorted({token for tokens in token_lists().values() for token in tokens}, key=len, reverse=True)
    simple = [token for token in tokens if "-" not in token and "_" not in token]
    code = rf"(?<![a-zA-Z0-9])(?:{'|'.join(map(re.escape, tokens))})(?![a-zA-Z0-9])"
    affix = rf"[-_](?:{'|'.join(map(re.escape, simple))})(?![a-zA-Z0-9])"
    return re.compile(affix, re.IGNORECASE), re.compile(code, re.IGNORECASE)


def split_url(url: str) -> SplitResult:
    """The parts of *url*, also if its host is none that the standard library admits (``a.com[1]``)."""
    try:
        return urlsplit(url)
    except ValueError:
        scheme, _, rest = url.partition("://")
        rest, _, fragment = rest.partition("#")
        rest, _, query = rest.partition("?")
        host, slash, path = rest.partition("/")
        return SplitResult(scheme, host, slash + path, query, fragment)


def plain(url: str) -> str:
    """*url* without scheme, fragment, final slash and final question mark."""
    return url.partition("#")[0].partition("://")[2].rstrip("?").rstrip("/")


@lru_cache(maxsize=65536)
def strip(url: str, query_too: bool) -> tuple[str, tuple[str, ...]]:
    """*url* in the form of `plain` without language tokens in path and query, and the removed tokens."""
    parts = split_url(url.partition("#")[0])
    gone: list[str] = []
    segments = [strip_segment(segment, gone) for segment in parts.path.split("/")]
    path = "/".join(segment for segment in segments if segment)
    for pattern, replacement in RUNS:
        path = pattern.sub(replacement, path)
    query = strip_query(parts.query, gone) if query_too else parts.query
    return plain(f"x://{parts.netloc}/{path}{'?' + query if query else ''}"), tuple(gone)


def strip_segment(segment: str, gone: list[str]) -> str:
    """A path segment without language tokens, and without the signs that are left at its ends."""
    result = segment
    for pattern in _patterns():
        gone += [match.lower().lstrip("-_") for match in pattern.findall(result)]
        result = pattern.sub("", result)
    if result == segment:
        return segment
    for end in EDGES.finditer(result):
        if not (segment.startswith(end[0]) if end.start() == 0 else segment.endswith(end[0])):
            result = result.removeprefix(end[0]) if end.start() == 0 else result.removesuffix(end[0])
    return result


def strip_query(query: str, gone: list[str]) -> str:
    """A query without language variables and without variables that are a language token."""
    kept = []
    for pair in query.split("&"):
        key, _, value = pair.partition("=")
        name = key.lower()
        whole = _languages_by_token()
        if name.startswith(QUERY_KEYS) or name.endswith(QUERY_KEYS) or name in whole or value.lower() in whole:
            gone.append(value.lower() or name)
        elif pair:
            kept.append(pair)
    return "&".join(kept)


RULES: dict[str, type[LanguageStripper | TokenReplacement]] = {"rules": LanguageStripper, "yoda": TokenReplacement}
"""Rule baselines by the name that ``--model`` takes."""
