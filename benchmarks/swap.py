"""Likely URLs of the translation of a page: language marks swapped, dropped or added (for the baseline PTI)."""

from __future__ import annotations

import re

from bilingual_crawler.languages.codes import LanguagePair, fold, language_name, own_name, to_bcp47
from bilingual_crawler.urls.hosts import url_cache
from bilingual_crawler.urls.marks import Component, Marker, find_markers

MAX_CANDIDATES = 6
_EXTENSION = re.compile(r"\.[a-z]{2,5}\d?$", re.IGNORECASE)


def swap_language(url: str, pair: LanguagePair, language: str | None = None) -> list[str]:
    """Candidate URLs of the translation of *url* into the other language of *pair*, best first, at most six.

    *language* (a side of *pair*) is the known language of the page; it decides where the URL names none.
    """
    return list(_swap(url, pair, language))[:MAX_CANDIDATES]


@url_cache(16384)
def _swap(url: str, pair: LanguagePair, language: str | None) -> tuple[str, ...]:
    markers = [m for m in find_markers(url, (pair.a, pair.b)) if not m.is_country]
    markers = [m for m in markers if m.language is not None and language in (None, m.language)]
    found: dict[str, None] = {}
    for marker in markers:
        if marker.language is not None:
            for token in _translations(marker, pair.other(marker.language)):
                found[url[: marker.start] + token + url[marker.end :]] = None
    found.update(dict.fromkeys(_without(url, m) for m in markers[:1]))
    if not markers:
        targets = (pair.other(language),) if language else (pair.b, pair.a)
        for candidates in zip(*(_with_mark(url, target) for target in targets), strict=True):
            found.update(dict.fromkeys(candidates))
    found.pop(url, None)
    return tuple(found)


def _translations(marker: Marker, target: str) -> list[str]:
    """Forms of *target* in the style of the mark: code for code, locale for locale, name for name."""
    token = marker.token
    short = to_bcp47(target)
    locale = re.fullmatch(r"([A-Za-z]{2,3})([-_])([A-Za-z]{2,4})", token)
    if locale is not None:
        region = _REGION.get(short, short)
        region = region.upper() if locale[3].isupper() else region
        return [f"{short}{locale[2]}{region}", short]
    if len(token) == 2:
        forms = [short, *_ALSO.get(short, ())]
    elif len(token) == 3:
        forms = [target, *_ALSO.get(target, ()), short]
    else:
        names = (fold(name).replace(" ", "-") for name in (language_name(target), own_name(target)))
        forms = [name.capitalize() if token[0].isupper() else name for name in names if name.isascii()]
        return [*dict.fromkeys(forms), short]
    return [form.upper() for form in forms] if token.isupper() else forms


_REGION = {
    "en": "us", "cs": "cz", "da": "dk", "el": "gr", "sv": "se", "ja": "jp", "ko": "kr", "zh": "cn", "uk": "ua",
    "vi": "vn", "et": "ee", "sl": "si", "sq": "al", "sr": "rs", "bs": "ba", "he": "il", "fa": "ir", "ar": "sa",
    "hi": "in", "ca": "es", "eu": "es", "gl": "es", "ga": "ie", "cy": "gb", "be": "by", "ka": "ge", "hy": "am",
    "kk": "kz", "nb": "no", "nn": "no", "ms": "my", "ur": "pk", "bn": "bd",
}  # fmt: skip
_ALSO = {
    "cs": ("cz",), "el": ("gr",), "uk": ("ua",), "ja": ("jp",), "zh": ("cn",), "da": ("dk",), "sv": ("se",),
    "sl": ("si",), "no": ("nb",), "isl": ("ice",), "deu": ("ger",), "fra": ("fre",), "spa": ("esp",), "eus": ("baq",),
    "ces": ("cze",), "ell": ("gre",), "nld": ("dut",), "cym": ("wel",), "sqi": ("alb",), "mkd": ("mac",),
    "ron": ("rum",), "slk": ("slo",), "zho": ("chi",),
}  # fmt: skip


def _without(url: str, marker: Marker) -> str:
    """*url* without the mark and the sign that joins it to the rest."""
    head, tail = url[: marker.start], url[marker.end :]
    if marker.component is Component.QUERY:
        head = re.sub(r"[?&;][^?&;=]*=$", "", head)
        return head + tail if not tail.startswith("&") or "?" in head else head + "?" + tail[1:]
    if marker.component is Component.SUBDOMAIN:
        return head + tail.removeprefix(".")
    if marker.component is Component.DIRECTORY:
        return head + tail.removeprefix("/")
    return head.rstrip("-_.") + tail if head[-1:] in "-_." else head + tail.lstrip("-_.")


def _with_mark(url: str, target: str) -> list[str]:
    """*url* with a mark of *target* at the places where sites put one, usual ones first."""
    code = to_bcp47(target)
    match = re.fullmatch(r"([a-z]+://)([^/?#]+)([^?#]*)(\?[^#]*)?(#.*)?", url)
    if match is None:
        return []
    scheme, host, path, query = match[1], match[2], match[3] or "/", match[4] or ""
    directory, _, name = path.rpartition("/")
    extension = _EXTENSION.search(name)
    stem = name[: extension.start()] if extension else name
    ending = extension[0] if extension else ""
    named = f"{directory}/{stem}.{code}{ending}" if ending else f"{path.rstrip('/')}/{code}{'/' * path.endswith('/')}"
    return [
        f"{scheme}{host}/{code}{path}{query}",
        f"{scheme}{host}{path}{query}{'&' if query else '?'}lang={code}",
        f"{scheme}{host}{named}{query}",
        f"{scheme}{code}.{host.removeprefix('www.')}{path}{query}",
    ]
