"""Two URLs as one text for the pair model: how they are alike, where they differ and in which words.

The text starts with feature codes (hosts, language tokens that changed, numbers, shape), then comes ``<a>`` with
the words that only the first URL has and ``<b>`` with those that only the second has. It is the same for (u, v)
and (v, u). Changing anything here asks for a newly trained model.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from rapidfuzz.distance import Indel, Levenshtein

from bilingual_crawler.urls.language_tokens import AMBIGUOUS, LANGUAGE_OF
from bilingual_crawler.urls.url_parts import LANGUAGE_KEYS, UrlParts, language_of, url_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_WORDS = 14


def pair_text(u: str, v: str) -> str:
    """Features of the pair (u, v) as words joined by blanks; symmetric."""
    a, b = url_parts(u), url_parts(v)
    if (len(b.texts), b) < (len(a.texts), a):
        a, b = b, a
    return _Comparison(a, b).text()


@dataclass(slots=True)
class _Side:
    """What one URL has and the other has not: languages named, languages in affixes, words, numbers."""

    langs: list[str] = field(default_factory=list)
    affixes: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)


class _Comparison:
    """Collects the features of one pair."""

    def __init__(self, a: UrlParts, b: UrlParts) -> None:
        self.a, self.b = a, b
        self.left, self.right = _Side(), _Side()
        self.out: list[str] = []
        self.common = 0

    def text(self) -> str:
        self._hosts()
        self._tokens()
        out, left, right, common = self.out, self.left, self.right, self.common
        out.append(self._summary())
        rest_a, rest_b = left.words + left.numbers, right.words + right.numbers
        total = common + max(len(rest_a), len(rest_b))
        out.append(f"same{min(common, 9)}")
        out.append(f"share{10 * common // total if total else 'none'}")
        out.append(f"depth{max(-3, min(3, self.b.segments - self.a.segments))}")
        if self.a.extension == self.b.extension:
            out.append("ext=")
        else:
            out.append(f"ext{self.a.extension[:4]}~{self.b.extension[:4]}")
        if self.a.shape != self.b.shape:
            out.append(f"shape{int(4 * Indel.normalized_similarity(self.a.shape, self.b.shape))}")
        if left.words or right.words:
            out.append(f"words{min(len(left.words), 5)}:{min(len(right.words), 5)}")
            out.append(f"alike{int(6 * Indel.normalized_similarity(' '.join(left.words), ' '.join(right.words)))}")
        if left.numbers or right.numbers:
            out.append(f"numbers{min(len(left.numbers), 3)}:{min(len(right.numbers), 3)}")
        if self.a.nested or self.b.nested:
            out.append("nested2" if self.a.nested and self.b.nested else "nested1")
        if self.a.odd or self.b.odd:
            out.append("odd")
        out.append("<a>")
        out += map(plain_word, left.words[:MAX_WORDS])
        out.append("<b>")
        out += map(plain_word, right.words[:MAX_WORDS])
        return " ".join(out)

    def _hosts(self) -> None:
        a, b, out = self.a, self.b, self.out
        if a.label != b.label:
            out.append(f"host{int(4 * Indel.normalized_similarity(a.label, b.label))}")
        elif a.subdomain == b.subdomain and a.suffix == b.suffix:
            out.append("host=")
            return
        if a.subdomain != b.subdomain:
            for part, side in ((a.subdomain, self.left), (b.subdomain, self.right)):
                lang = language_of(part.partition(".")[0]) or language_of(part.rpartition(".")[2])
                if lang:
                    side.langs.append(lang)
                    out.append("sub:lang")
                else:
                    out.append("sub:other" if part else "sub:none")
        if a.suffix != b.suffix:
            for part, side in ((a.suffix, self.left), (b.suffix, self.right)):
                country = part.rpartition(".")[2]
                lang = LANGUAGE_OF.get(country) if len(country) == 2 else None
                if lang:
                    side.langs.append(lang)
                out.append("tld:lang" if lang else f"tld:{'country' if len(country) == 2 else 'generic'}")

    def _tokens(self) -> None:
        """Describe the alignment of both token lists."""
        a, b = self.a, self.b
        changes = cast("list[tuple[str, int, int, int, int]]", Levenshtein.opcodes(a.texts, b.texts).as_list())
        for tag, i, i_end, j, j_end in changes:
            if tag == "equal":
                self.common += i_end - i
                for k in range(i, i_end):
                    self._kept(a.texts[k], a.zones[k])
            elif tag == "replace":
                for k in range(i_end - i):
                    self._replaced(a.texts[i + k], a.zones[i + k], b.texts[j + k], b.zones[j + k])
            elif tag == "delete":
                for k in range(i, i_end):
                    self._single("-", a.texts[k], a.zones[k], self.left)
            else:
                for k in range(j, j_end):
                    self._single("+", b.texts[k], b.zones[k], self.right)

    def _kept(self, token: str, zone: str) -> None:
        if token.isdigit():
            self.out.append(f"=n{min(len(token), 6)}")
        elif zone in WHOLE and language_of(token):
            self.out.append(f"={'maybe' if token in AMBIGUOUS else 'lang'}{zone}")
        elif not token.isalpha() and len(token) > 4:
            self.out.append("=id")

    def _replaced(self, x: str, x_zone: str, y: str, y_zone: str) -> None:
        out = self.out
        lang_x, lang_y = language_of(x), language_of(y)
        if lang_x and lang_y and lang_x != lang_y:
            self.left.langs.append(lang_x)
            self.right.langs.append(lang_y)
            out += (f"swap{x_zone}", _mark(x), _mark(y))
            return
        if x.isdigit() and y.isdigit():
            near = abs(int(x[-15:]) - int(y[-15:])) < 3
            out.append(f"n~{x_zone}{y_zone if y_zone[0] != x_zone[0] else ''}:{'near' if near else 'far'}")
            out.append(f"n~{min(len(x), 6)}:{min(len(y), 6)}")
            self.left.numbers.append(x)
            self.right.numbers.append(y)
            return
        if (lang_x and x_zone in WHOLE) or (lang_y and y_zone in WHOLE):
            self._single("-", x, x_zone, self.left)
            self._single("+", y, y_zone, self.right)
            return
        start, end = _affixes(x, y)
        inner_x, inner_y = x[start : len(x) - end], y[start : len(y) - end]
        if start + end:
            lang_x, lang_y = LANGUAGE_OF.get(inner_x), LANGUAGE_OF.get(inner_y)
            if lang_x != lang_y and (lang_x or not inner_x) and (lang_y or not inner_y):
                out.append(f"affix{'2' if inner_x and inner_y else '1'}{x_zone[0]}:{'in' if end and start else 'end'}")
                out += (f"i:{inner_x[:3]}", f"i:{inner_y[:3]}", f"kept{min(start + end, 8)}")
                self.left.affixes += [lang_x] if lang_x else []
                self.right.affixes += [lang_y] if lang_y else []
                return
        kinds = _kind(x) + _kind(y)
        out.append(f"{kinds}~{x_zone[0]}{y_zone[0]}:{int(5 * Indel.normalized_similarity(x, y))}")
        if kinds != "ww":
            out.append(f"in:{_kind(inner_x)}{_kind(inner_y)}:{min(start + end, 6)}")
        (self.left.numbers if x.isdigit() else self.left.words).append(x)
        (self.right.numbers if y.isdigit() else self.right.words).append(y)

    def _single(self, sign: str, token: str, zone: str, side: _Side) -> None:
        lang = language_of(token)
        if lang:
            side.langs.append(lang)
            self.out += (f"{sign}lang{zone}", _mark(token))
        elif token in LANGUAGE_KEYS and zone[0] in "kK":
            self.out.append(f"{sign}key:lang")
        else:
            self.out.append(f"{sign}{zone[0]}:{_kind(token)}")
            (side.numbers if token.isdigit() else side.words).append(token)

    def _summary(self) -> str:
        """How the language tokens changed, and what else did."""
        left, right = self.left, self.right
        langs_a, langs_b = set(left.langs), set(right.langs)
        if not langs_a and not langs_b:
            kind = "none"
        elif not langs_a or not langs_b:
            kind = "add" if len(langs_a | langs_b) == 1 else "adds"
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
    return "n" if token.isdigit() else "m"


def _affixes(x: Sequence[str], y: Sequence[str]) -> tuple[int, int]:
    """Lengths of the common start and of the common end of what follows it."""
    limit = min(len(x), len(y))
    start = 0
    while start < limit and x[start] == y[start]:
        start += 1
    end = 0
    while end < limit - start and x[-1 - end] == y[-1 - end]:
        end += 1
    return start, end


WHOLE = frozenset("1DFQLXK")
"""Zones of a token that is all of its segment, value, key or fragment."""
