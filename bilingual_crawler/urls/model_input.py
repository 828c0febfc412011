"""URLs as model input, the same in training and in crawls: after a change here, train the parallelness model again."""

import re
import unicodedata
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote

from rapidfuzz.distance import Indel, Postfix, Prefix

from bilingual_crawler.languages.tables import by_word, read_tables, words
from bilingual_crawler.urls.hosts import split_host, url_cache

_TOKEN = re.compile(r"[^\W_0-9]+|[^\w\s]+|_+|\s+|[0-9]+")
_BLANKS = re.compile(r"\s+")


@url_cache(65536)
def model_text(url: str) -> str:
    """*url* exactly as García-Romero et al. 2026 prepare it: a blank inside becomes three."""
    return " ".join(tokenise(plain_text(url)))


def plain_text(url: str) -> str:
    r"""*url* without scheme and last slashes, decoded once (``\xe9`` if it is no UTF-8), with single blanks."""
    text = url.rstrip("/")
    _, separator, rest = text.partition("://")
    text = unquote(rest if separator else text, errors="backslashreplace")
    return _BLANKS.sub(" ", text).strip()


def tokenise(text: str) -> list[str]:
    """Runs of letters, of punctuation, of underscores, of blanks and of digits; joined they give *text*."""
    return _TOKEN.findall(text)


_TABLES = read_tables(__name__)
# Lower-case token to ISO 639-3.
LANGUAGE_OF = by_word({lang: f"{lang} {tokens}" for lang, tokens in _TABLES["pair_model_languages"].items()})
AMBIGUOUS = words(_TABLES["pair_model_common"])  # language tokens with another meaning: words, ordinals, …
MAX_URL = 800
MAX_TOKENS = 60
MAX_PIECES = 4
SIGNS = "._-"
INSIDE = "i"
TRAINED_LANGUAGE_KEYS = words(_TABLES["pair_model_keys"])  # query keys of languages, as in training
INDEX = frozenset(("index", "default", "home", "main", "start", "welcome", "inicio", "accueil", "homepage"))

_LOCALE = re.compile(r"([a-z]{2,3})[-_](?:[a-z]{2}|[0-9]{3}|hans|hant|latn|cyrl)(?:[.@][a-z]+-?8?)?")
_SEPARATED = re.compile(r"(?<![\W_])([\W_]*+)([^\W_]++)")
_PIECES = re.compile(r"\d+|[^\d]+")


class UrlParts(NamedTuple):
    """Host in three parts (no ``www``), tokens of the rest with their zones, and the form of the rest.

    Zones: 1 first directory, d directory, f last segment, k query key, q value, l value of a language key, x fragment;
    upper case if the token fills its part, else followed by the sign before it. The sign is ``i`` for a word in the
    middle of others that looks like a language, and ``^`` inside a run of letters and digits.
    """

    subdomain: str
    label: str
    suffix: str
    texts: list[str]
    zones: list[str]
    segments: int
    extension: str
    shape: str
    nested: bool  # two language directories in a row
    name: str  # tokens of the last segment, without languages and names of index pages
    query: str
    odd: frozenset[str]  # segments that start or end with a sign, as truncated ones do


@url_cache(65536)
def url_parts(url: str) -> UrlParts:
    """Cut *url*: without scheme, lower case, percent-decoded; only the first 800 characters and 60 tokens count."""
    rest = url[:MAX_URL]
    rest = rest.partition("://")[2] or rest
    if "%" in rest:
        rest = unquote(rest, errors="replace")
    rest = rest.lower().rstrip("/")
    rest, _, fragment = rest.partition("#")
    path, _, query = rest.partition("?")
    authority, _, path = path.partition("/")
    subdomain, label, suffix = split_host(authority)
    if subdomain.startswith("www"):
        subdomain = subdomain.partition(".")[2]
    tokens: list[tuple[str, str]] = []
    segments = [segment for segment in path.split("/") if segment]
    odd = {one for one in segments if len(one) > 1 and (one[0] in SIGNS or one[-1] in SIGNS)}
    nested = any(language_of(one) and language_of(other) for one, other in pairwise(segments))
    extension = ""
    for position, segment in enumerate(segments, 1):
        zone = "1" if position == 1 else "d"
        if position == len(segments):
            zone = "f"
            stem, dot, last = segment.rpartition(".")
            if dot and last.isalnum() and len(last) <= 5 and last not in LANGUAGE_OF:
                segment, extension = stem, last
        tokens += _with_zones(segment, zone)
    for part in query.split("&") if query else ():
        key, _, value = part.partition("=")
        tokens += _with_zones(key, "k")
        tokens += _with_zones(value, "l" if key in TRAINED_LANGUAGE_KEYS or "lang" in key else "q")
    tokens += _with_zones(fragment, "x")
    shape = "".join(char for char in path + query if not char.isalnum())
    del tokens[MAX_TOKENS:]
    named = (token for token in tokens if token[1][0] in "fF" and token[0] not in INDEX)
    name = " ".join(text for text, zone in named if not language_in_zone(text, zone))
    form = len(segments), extension, shape, nested, name, query, frozenset(odd)
    return UrlParts(subdomain, label, suffix, [text for text, _ in tokens], [zone for _, zone in tokens], *form)


def language_of(token: str) -> str | None:
    """ISO 639-3 that a token or locale (``pt-br``) may stand for."""
    lang = LANGUAGE_OF.get(token)
    if lang is None and len(token) > 4 and (match := _LOCALE.fullmatch(token)):
        return LANGUAGE_OF.get(match[1])
    return lang


def language_in_zone(token: str, zone: str) -> str | None:
    """`language_of`; None for a word in the middle of other words."""
    return None if zone[-1] == INSIDE else language_of(token)


def _is_word(token: str, position: int, last: int) -> bool:
    """Whether a language token among other words is a word, as in ``nor-gara`` and ``finnish-history-of…``."""
    common = token in AMBIGUOUS
    if last == 1:
        return position == 0 and common and len(token) > 2
    if 0 < position < last:
        return common or last > 3 or len(token) > 3
    return (position == 0 and common) or len(token) > 3 or (len(token) == 3 and common)


def _with_zones(part: str, zone: str) -> list[tuple[str, str]]:
    """The tokens of *part* with their zones."""
    if part.isalpha() or part.isdecimal() or (("_" in part or "-" in part) and language_of(part)):
        return [(part, zone.upper())]
    tokens: list[tuple[str, str]] = []
    found = _SEPARATED.findall(part)
    last = len(found) - 1
    for position, (separator, word) in enumerate(found):
        sign = separator[-1:]
        if last > 0 and word in LANGUAGE_OF and sign not in (".", ":") and _is_word(word, position, last):
            sign = INSIDE
        pieces = [word] if word.isalpha() or word.isdecimal() else _PIECES.findall(word)
        first, *others = pieces if len(pieces) <= MAX_PIECES else [word]
        tokens += (first, zone + sign), *((piece, zone + "^") for piece in others)
    return tokens


MAX_WORDS = 14


def pair_text(u: str, v: str) -> str:
    """Features of the pair (u, v) as words joined by blanks; symmetric."""
    a, b = url_parts(u), url_parts(v)
    if (len(b.texts), b[:-1]) < (len(a.texts), a[:-1]):
        a, b = b, a
    return _Comparison(_Side(a, "-"), _Side(b, "+")).text()


@dataclass(slots=True)
class _Side:
    """One of the URLs, and the tokens that only it has: languages, languages in affixes, words, numbers."""

    url: UrlParts
    sign: str  # of a token that only this one has
    langs: list[str] = field(default_factory=list)
    affixes: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Comparison:
    """Collects the features of one pair."""

    left: _Side
    right: _Side
    out: list[str] = field(default_factory=list)
    common: int = 0

    def text(self) -> str:
        self._hosts()
        self._tokens()
        out, left, right, common = self.out, self.left, self.right, self.common
        a, b = left.url, right.url
        total = common + max(len(left.words) + len(left.numbers), len(right.words) + len(right.numbers))
        rest_u, rest_v = "/".join(a.texts), "/".join(b.texts)
        longest = max(1, len(rest_u), len(rest_v))
        out += (
            self._summary(),
            f"same{min(common, 9)}",
            f"share{10 * common // total if total else 'none'}",
            f"text{_alike(rest_u, rest_v, 10)}",
            f"begin{8 * Prefix.similarity(rest_u, rest_v) // longest}",
            f"end{8 * Postfix.similarity(rest_u, rest_v) // longest}",
            f"length{8 * min(len(rest_u), len(rest_v)) // longest}",
            f"depth{max(-3, min(3, b.segments - a.segments))}",
            "ext=" if a.extension == b.extension else f"ext{a.extension[:4]}~{b.extension[:4]}",
        )
        if a.shape != b.shape:
            out.append(f"shape{_alike(a.shape, b.shape, 4)}")
        if left.words or right.words:
            out.append(f"words{min(len(left.words), 5)}:{min(len(right.words), 5)}")
            out.append(_matched(left.words, right.words))
            out.append(f"alike{_alike(' '.join(left.words), ' '.join(right.words), 6)}")
        if left.numbers or right.numbers:
            out.append(f"numbers{min(len(left.numbers), 3)}:{min(len(right.numbers), 3)}")
        if not a.name or not b.name:
            out.append(f"name{bool(a.name) + bool(b.name)}")
        else:
            out.append(f"name={min(len(a.name), 34) // 5}" if a.name == b.name else f"name~{_alike(a.name, b.name, 4)}")
        self._bags()
        if a.nested or b.nested:
            out.append("nested2" if a.nested and b.nested else "nested1")
        if a.odd != b.odd:
            out.append("odd")
        out += ("<a>", *map(plain_word, left.words[:MAX_WORDS]), "<b>", *map(plain_word, right.words[:MAX_WORDS]))
        return " ".join(out)

    def _bags(self) -> None:
        """Compare the URLs as sets of tokens, their numbers and their queries."""
        a, b, out = self.left.url, self.right.url, self.out
        bag_a, bag_b = set(a.texts), set(b.texts)
        kept, only_a, only_b = bag_a & bag_b, bag_a - bag_b, bag_b - bag_a
        langs, langs_a, langs_b = (sum(token in LANGUAGE_OF for token in bag) for bag in (kept, only_a, only_b))
        changed = len(only_a) + len(only_b)
        fewer, more = sorted((len(only_a), len(only_b)))
        out.append(f"only{min(fewer, 5)}:{min(more, 7)}")
        out.append(f"jaccard{10 * len(kept) // max(1, len(kept) + changed)}")
        fewer, more = sorted((langs + langs_a, langs + langs_b))
        out.append(f"langs{min(fewer, 3)}:{min(more, 3)}:{min(langs_a + langs_b, 4)}")
        out.append(f"others{min(changed - langs_a - langs_b, 9)}")
        numbers_a, numbers_b = ([token for token in one.texts if token.isdecimal()] for one in (a, b))
        if numbers_a or numbers_b:
            sign = "=" if numbers_a == numbers_b else "~"
            out.append(f"all-numbers{sign}{min(len(numbers_a), 2)}:{min(len(numbers_b), 2)}")
        if a.query or b.query:
            out.append("query=" if a.query == b.query else f"query{bool(a.query) + bool(b.query)}")

    def _hosts(self) -> None:
        a, b, out = self.left.url, self.right.url, self.out
        if a.label != b.label:
            out.append(f"host{_alike(a.label, b.label, 4)}")
        elif a.subdomain == b.subdomain and a.suffix == b.suffix:
            out.append("host=")
            return
        for side in (self.left, self.right) if a.subdomain != b.subdomain else ():
            part = side.url.subdomain
            lang = language_of(part.partition(".")[0]) or language_of(part.rpartition(".")[2])
            side.langs += [lang] if lang else []
            out.append("sub:lang" if lang else "sub:other" if part else "sub:none")
        for side in (self.left, self.right) if a.suffix != b.suffix else ():
            country = side.url.suffix.rpartition(".")[2]
            lang = LANGUAGE_OF.get(country) if len(country) == 2 else None
            side.langs += [lang] if lang else []
            out.append("tld:lang" if lang else f"tld:{'country' if len(country) == 2 else 'generic'}")

    def _tokens(self) -> None:
        """Describe the longest common subsequence of both token lists and the gaps between its parts."""
        a, b = self.left.url, self.right.url
        end_a = end_b = 0
        for i, j, size in Indel.opcodes(a.texts, b.texts).as_matching_blocks():
            self._gap(end_a, i, end_b, j)
            end_a, end_b = i + size, j + size
            self.common += size
            for k in range(i, end_a):
                self._kept(a.texts[k], a.zones[k])

    def _gap(self, i: int, i_end: int, j: int, j_end: int) -> None:
        """Describe the tokens between two common parts: in pairs if both sides have as many, else one by one."""
        a, b = self.left.url, self.right.url
        left = list(zip(a.texts[i:i_end], a.zones[i:i_end], strict=True))
        right = list(zip(b.texts[j:j_end], b.zones[j:j_end], strict=True))
        if len(left) != len(right):
            langs_a = [token for token in left if language_in_zone(*token)]
            langs_b = [token for token in right if language_in_zone(*token)]
            if len(langs_a) == len(langs_b) == 1:
                self._replaced(*langs_a[0], *langs_b[0])
                left.remove(langs_a[0])
                right.remove(langs_b[0])
        if len(left) == len(right):
            for x, y in zip(left, right, strict=True):
                self._replaced(*x, *y)
            return
        for side, tokens in ((self.left, left), (self.right, right)):
            for token in tokens:
                self._single(side, *token)

    def _kept(self, token: str, zone: str) -> None:
        if token.isdecimal():
            self.out.append(f"=n{min(len(token), 6)}")
        elif zone in WHOLE and language_of(token):
            self.out.append(f"={'maybe' if token in AMBIGUOUS else 'lang'}{zone}")
        elif not token.isalpha() and len(token) > 4:
            self.out.append("=id")

    def _replaced(self, x: str, x_zone: str, y: str, y_zone: str) -> None:
        out = self.out
        lang_x, lang_y = language_in_zone(x, x_zone), language_in_zone(y, y_zone)
        if lang_x and lang_x == lang_y and "uk" in (x, y) and not ENGLISH.isdisjoint((x, y)):
            # beside English it is Ukrainian, elsewhere mostly British
            lang_x, lang_y = ("ukr" if token == "uk" else "eng" for token in (x, y))
        if lang_x and lang_y and lang_x != lang_y:
            self.left.langs.append(lang_x)
            self.right.langs.append(lang_y)
            out += (f"swap{x_zone}" if x_zone == y_zone else f"swap{x_zone}{y_zone}", _mark(x), _mark(y))
            return
        if x.isdecimal() and y.isdecimal():
            if x_zone == y_zone == "L":
                self.left.langs.append(x)
                self.right.langs.append(y)
                out.append("swapL:number")
                return
            distance = _distance(x, y)
            zones = x_zone if x_zone[0] == y_zone[0] else x_zone + y_zone
            out += (f"n~{zones}:{'near' if distance < 2 else 'far'}", f"n-{distance}")
            out.append(f"n~{min(len(x), 6)}:{min(len(y), 6)}")
            self.left.numbers.append(x)
            self.right.numbers.append(y)
            return
        if (lang_x and x_zone in WHOLE) or (lang_y and y_zone in WHOLE):
            self._single(self.left, x, x_zone)
            self._single(self.right, y, y_zone)
            return
        start = Prefix.similarity(x, y)
        end = Postfix.similarity(x[start:], y[start:])
        inner_x, inner_y = x[start : len(x) - end], y[start : len(y) - end]
        if self._inflected(inner_x, inner_y, start, end) or self._ending(x, y, start, end):
            return
        kinds = _kind(x) + _kind(y)
        out.append(f"{kinds}~{x_zone[0]}{y_zone[0]}:{_alike(x, y, 5)}")
        if kinds != "ww":
            out.append(f"in:{_kind(inner_x)}{_kind(inner_y)}:{min(start + end, 6)}")
        (self.left.numbers if x.isdecimal() else self.left.words).append(x)
        (self.right.numbers if y.isdecimal() else self.right.words).append(y)

    def _inflected(self, x: str, y: str, start: int, end: int) -> bool:
        """Whether two tokens differ by a language code at one end (``indexen``, ``indexfr``; ``pies``, ``piesf``)."""
        lang_x, lang_y = LANGUAGE_OF.get(x), LANGUAGE_OF.get(y)
        if bool(start) == bool(end) or lang_x == lang_y or (x and not lang_x) or (y and not lang_y):
            return False
        if "s" in (x, y) and not (x and y):
            return False
        self.out += (f"affix{'2' if x and y else '1'}{'end' if start else 'start'}", f"i:{x[:3]}", f"i:{y[:3]}")
        self.out.append(f"kept{min(start + end, 8)}")
        self.left.affixes += [lang_x] if lang_x else []
        self.right.affixes += [lang_y] if lang_y else []
        return True

    def _ending(self, x: str, y: str, start: int, end: int) -> bool:
        """Whether the codes at one end of two tokens have a letter in common (``indexen``, ``indexes``)."""
        for size in (2, 3):
            kept = min(len(x), len(y)) - size
            if len(x) != len(y) or kept < 3:
                return False
            if start >= kept and self._inflected(x[kept:], y[kept:], kept, 0):
                return True
            if end >= kept and self._inflected(x[:size], y[:size], 0, kept):
                return True
        return False

    def _single(self, side: _Side, token: str, zone: str) -> None:
        lang = language_in_zone(token, zone)
        if lang:
            side.langs.append(lang)
            self.out += (f"{side.sign}lang{zone}", _mark(token))
        elif token.isdecimal() and zone == "L":
            side.langs.append(token)
            self.out.append(f"{side.sign}langL:number")
        elif token in TRAINED_LANGUAGE_KEYS and zone[0] in "kK":
            self.out.append(f"{side.sign}key:lang")
        elif token in INDEX and zone[0] in "fF1":
            self.out.append(f"{side.sign}index")
        else:
            self.out.append(f"{side.sign}{zone[0]}:{_kind(token)}")
            (side.numbers if token.isdecimal() else side.words).append(token)

    def _summary(self) -> str:
        """How the language tokens changed, and which other tokens did."""
        left, right = self.left, self.right
        langs_a, langs_b = set(left.langs), set(right.langs)
        if not langs_a or not langs_b:
            kind = {0: "none", 1: "add"}.get(len(langs_a | langs_b), "adds")
        elif langs_a & langs_b:
            kind = "mixed"
        else:
            kind = "swap" if len(langs_a) == len(langs_b) == 1 else "swaps"
        rest = "words" if left.words or right.words else ""
        if left.numbers or right.numbers:
            rest += "numbers"
        if left.affixes or right.affixes:
            if kind == "none" and len({*left.affixes}) == len({*right.affixes}) == 1:
                rest += "inflected"
            else:
                agree = langs_a.issuperset(left.affixes) and langs_b.issuperset(right.affixes)
                rest += "agree" if agree else "affix"
        return f"lang:{kind}:{rest or 'all'}"


def _alike(a: str, b: str, steps: int) -> int:
    """How alike two texts are, 0 to *steps*."""
    return int(steps * Indel.normalized_similarity(a, b))


def plain_word(word: str) -> str:
    """*word* without diacritics, as most sites write it in addresses."""
    if word.isascii():
        return word
    return "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char)) or "_"


def _mark(token: str) -> str:
    return f"l:{token}" if len(token) < 4 else "l:long"


def _kind(token: str) -> str:
    """``w`` letters, ``n`` digits, ``m`` both, ``e`` nothing."""
    if not token:
        return "e"
    if token.isalpha():
        return "w"
    return "n" if token.isdecimal() else "m"


def _matched(left: list[str], right: list[str]) -> str:
    """Numbers of words with and without a word of similar spelling on the other side."""
    matched = sum(any(Indel.normalized_similarity(x, y) > ALIKE for y in right[:MAX_WORDS]) for x in left[:MAX_WORDS])
    return f"match{min(matched, 4)}of{min(len(left), len(right), 6)}"


def _distance(x: str, y: str) -> int:
    """Size of the difference of two numbers: -1 for none (``07``, ``7``), 0 for 1, 1 for 2, 2 to 9 as 2, up to 5."""
    difference = abs(int(x[-15:]) - int(y[-15:]))
    return min(5, difference - 1 if difference < 3 else len(str(difference)) + 1)


ENGLISH = frozenset(("en", "eng", "english"))  # tokens beside which `uk` is Ukrainian
WHOLE = frozenset("1DFQLXK")  # zones of tokens that fill their segment, value, key or fragment
ALIKE = 0.7  # similarity in spelling from which two words count as one, such as a name in two languages
