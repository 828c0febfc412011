"""Rewritings of URLs: the edits between the URLs of one document pair, applied to other URLs."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from rapidfuzz.distance import Levenshtein, Postfix, Prefix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

MAX_EDITS = 3
MAX_TOKENS = 4
"""Tokens that one edit removes or inserts: ``&lang=fr`` has four. Longer ones are words of a title."""
MAX_OFFSET = 9
"""Largest difference of two numbers that stand for languages; page numbers differ by more."""
MAX_LETTERS = 2
"""Letters of a language mark at the beginning or end of a word."""
MIN_STEM = 3
"""Letters of the rest of a word with a language mark."""
MIN_SHOWN = 3
"""Pairs that show a rewriting before it counts as one of the site."""
MAX_REWRITINGS = 8
"""Rewritings of a site, those that most pairs show."""
MAX_ALIKE = 10
"""URLs of one language that are equal but for one token; where there are more, as in a numbered list, anything fits."""
MAX_COMPARED = 100
"""Tokens of a URL that is compared with all others of its site, as the work grows with their square."""
LEAST_RELIABLE = 0.75
"""Share of the URLs that a rewriting applies to whose target exists, from which it is one of the site."""

_TOKEN = re.compile(r"(?i:https?)://[^/?]*|(?:[A-Za-z]|%[0-9A-F]{2})+|[0-9]+|.", re.DOTALL)
_LETTER, _DIGIT, _WORD, _EDGE = "a", "0", "a0", ""
"""Kinds of neighbours: part of a word, of a number, of either, the beginning or end of a URL. Others are separators."""
_BEFORE = {
    _LETTER: "(?:(?<=[A-Za-z])|(?<=%[0-9A-F][0-9A-F]))",
    _DIGIT: "(?<=[0-9])",
    _WORD: "(?<=[A-Za-z0-9])",
    _EDGE: r"\A",
}
_AFTER = {_LETTER: "(?=[A-Za-z%])", _DIGIT: "(?=[0-9])", _WORD: "(?=[A-Za-z0-9%])", _EDGE: r"\Z"}
_NUMBER = "(?<![0-9])[0-9]+(?![0-9])"


@dataclass(frozen=True, slots=True)
class Edit:
    """One place where two URLs differ: a text that is replaced, or a number to which *offset* is added."""

    old: str
    new: str
    offset: int
    before: str
    after: str
    """The neighbours in both URLs: a separator, or the kind of a character."""

    @property
    def inverse(self) -> Edit:
        return Edit(self.new, self.old, -self.offset, self.before, self.after)

    def places(self, url: str, start: int) -> Iterator[re.Match[str]]:
        """Yield the places of *url*, from character *start* on, where the edit applies."""
        return _pattern(None if self.offset else self.old, self.before, self.after).finditer(url, start)

    def replaced(self, text: str) -> str:
        """Return the replacement of *text*, found at one of :meth:`places`."""
        if not self.offset:
            return self.new
        return str(int(text) + self.offset).zfill(len(text) if text[0] == "0" else 0)


@dataclass(frozen=True, slots=True)
class Rewriting:
    """One to three edits in the order of their places, each at the first place that fits, or at the last."""

    edits: tuple[Edit, ...]
    last: bool

    @property
    def inverse(self) -> Rewriting:
        """The rewriting of the second URL into the first."""
        return Rewriting(tuple(edit.inverse for edit in self.edits), self.last)

    def apply(self, url: str) -> str | None:
        """The URL that *url* is rewritten into; None if there is nothing to replace. Takes linear time."""
        places = self._from_the_end(url) if self.last else self._from_the_start(url)
        if places is None:
            return None
        parts: list[str] = []
        end = 0
        for edit, place in zip(self.edits, places, strict=True):
            parts += (url[end : place.start()], edit.replaced(place[0]))
            end = place.end()
        return "".join((*parts, url[end:]))

    def _from_the_start(self, url: str) -> Sequence[re.Match[str]] | None:
        places: list[re.Match[str]] = []
        start = 0
        for edit in self.edits:
            place = next(edit.places(url, max(start, _start(url, edit))), None)
            if place is None:
                return None
            places.append(place)
            start = place.end()
        return places

    def _from_the_end(self, url: str) -> Sequence[re.Match[str]] | None:
        places: list[re.Match[str]] = []
        end = len(url)
        for edit in reversed(self.edits):
            fitting = [place for place in edit.places(url, _start(url, edit)) if place.end() <= end]
            if not fitting:
                return None
            places.append(fitting[-1])
            end = fitting[-1].start()
        return places[::-1]


def rewriting_of(url: str, other: str) -> Rewriting | None:
    """The rewriting of *url* into *other* whose inverse is the way back; None if they differ in too much."""
    old, new = _TOKEN.findall(url), _TOKEN.findall(other)
    edits: list[Edit] = []
    for changed, group in groupby(Levenshtein.opcodes(old, new), key=lambda block: block.tag != "equal"):
        if not changed:
            continue
        blocks = list(group)
        first, last = blocks[0], blocks[-1]
        before = _kind(old[first.src_start - 1]) if first.src_start else _EDGE
        after = _kind(old[last.src_end]) if last.src_end < len(old) else _EDGE
        edits += _edits(old[first.src_start : last.src_end], new[first.dest_start : last.dest_end], before, after)
        if len(edits) > MAX_EDITS or any(_is_long(edit) for edit in edits):
            return None
    if len(edits) == 1 and abs(edits[0].offset) > MAX_OFFSET:
        return None
    for found in (Rewriting(tuple(edits), last) for last in (False, True)):
        if edits and found.apply(url) == other and found.inverse.apply(other) == url:
            return found
    return None


def rewritten_pairs(urls: Sequence[str], others: Sequence[str]) -> list[tuple[int, int, float]]:
    """Return the pairs that the URLs of a site show by what they have in common, without a known pair.

    *urls* and *others*: documents of a site in two languages. A rewriting counts if its target is among *others* for
    nearly all *urls* that it applies to, as for ``cain2.htm``, ``gina2.htm`` and ``mason2.htm`` if there are
    ``cain.htm``, ``gina.htm`` and ``mason.htm``. Returns places in both and the reliability of the rewriting, 0 to 1;
    each document is in one pair at most, and in none if rewritings lead to several.
    """
    shown = Counter(found for a, b in _one_token_apart(urls, others) if (found := rewriting_of(a, b)))
    places = {url: j for j, url in enumerate(others)}
    pairs: dict[tuple[int, int], float] = {}
    for rewriting, count in shown.most_common(MAX_REWRITINGS):
        if count < MIN_SHOWN:
            break
        back = rewriting.inverse
        targets = [(i, rewriting.apply(url)) for i, url in enumerate(urls)]
        targets = [(i, target) for i, target in targets if target and back.apply(target) == urls[i]]
        held = [(i, places[target]) for i, target in targets if target in places]
        reliability = (len(held) + 1) / (len(targets) + 2)
        for pair in held:
            pairs[pair] = max(reliability, pairs.get(pair, 0.0))
    times, times_other = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    return [
        (i, j, reliability)
        for (i, j), reliability in pairs.items()
        if reliability >= LEAST_RELIABLE and times[i] == times_other[j] == 1
    ]


def _one_token_apart(urls: Sequence[str], others: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of URLs with one token replaced, removed or inserted."""
    (keys, owners), (other_keys, other_owners) = (_sorted_keys(members) for members in (urls, others))
    shared = np.intersect1d(keys, other_keys)
    ends = (np.searchsorted(of, shared, side).tolist() for of in (keys, other_keys) for side in ("left", "right"))
    found = {
        (int(i), int(j))
        for start, end, other_start, other_end in zip(*ends, strict=True)
        if end - start <= MAX_ALIKE and other_end - other_start <= MAX_ALIKE
        for i in owners[start:end]
        for j in other_owners[other_start:other_end]
    }
    yield from ((urls[i], others[j]) for i, j in sorted(found) if urls[i] != others[j])


def _sorted_keys(urls: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The keys of all *urls*, ascending, and the place of the URL of each; hashes, as a URL has some fifty keys."""
    keys, owners = array("q"), array("i")
    for place, url in enumerate(urls):
        of_url = {hash(key) for key in _without_one_token(url)}
        keys.extend(of_url)
        owners.extend([place] * len(of_url))
    hashes = np.array(keys, dtype=np.int64)
    order = np.argsort(hashes, kind="stable")
    return hashes[order], np.array(owners, dtype=np.int32)[order]


def _without_one_token(url: str) -> Iterator[str]:
    """Yield *url* with a gap instead of each token but the host, and with a gap between each two."""
    tokens = _TOKEN.findall(url)
    if not 0 < len(tokens) <= MAX_COMPARED:
        return
    at = len(tokens[0])
    for token in tokens[1:]:
        yield f"{url[:at]}\0{url[at:]}"
        yield f"{url[:at]}\0{url[at + len(token) :]}"
        at += len(token)


def _edits(old: Sequence[str], new: Sequence[str], before: str, after: str) -> list[Edit]:
    """The edits between neighbouring tokens that all differ: one for each token if their kinds correspond."""
    kinds = [_kind(token) for token in old]
    if kinds != [_kind(token) for token in new]:
        return [_edit("".join(old), "".join(new), before, after)]
    around = (before, *kinds, after)
    return [_edit(*texts, around[i], around[i + 2]) for i, texts in enumerate(zip(old, new, strict=True))]


def _edit(old: str, new: str, before: str, after: str) -> Edit:
    if old.isdecimal() and new.isdecimal():
        return Edit("", "", int(new) - int(old), before, after)
    if old.isalpha() and new.isalpha():
        stem = Prefix.similarity(old, new)
        if _is_marked(stem, old, new):
            return Edit(old[stem:], new[stem:], 0, _LETTER, after)
        stem = Postfix.similarity(old, new)
        if _is_marked(stem, old, new):
            return Edit(old[:-stem], new[:-stem], 0, before, _LETTER)
    # a text that begins or ends with a separator may stand beside a word or a number
    texts = [text for text in (old, new) if text]
    if before in (_LETTER, _DIGIT) and not any(text[0].isalnum() for text in texts):
        before = _WORD
    if after in (_LETTER, _DIGIT) and not any(text[-1].isalnum() for text in texts):
        after = _WORD
    return Edit(old, new, 0, before, after)


def _is_long(edit: Edit) -> bool:
    return any(len(_TOKEN.findall(text)) > MAX_TOKENS for text in (edit.old, edit.new))


def _is_marked(stem: int, old: str, new: str) -> bool:
    """Whether two words are the same *stem*, so many letters, but for a mark."""
    return stem >= MIN_STEM and max(len(old), len(new)) - stem <= MAX_LETTERS


def _kind(token: str) -> str:
    if token[0].isdigit():
        return _DIGIT
    return _LETTER if token[0].isalpha() or token[0] == "%" else token


def _start(url: str, edit: Edit) -> int:
    """Where the part of *url* begins that *edit* may be in: the host is replaced as a whole or not at all."""
    return 0 if edit.before == _EDGE else max(url.find("/", url.find("://") + 3), 0)


@lru_cache(4096)
def _pattern(text: str | None, before: str, after: str) -> re.Pattern[str]:
    return re.compile(
        _BEFORE.get(before, f"(?<={re.escape(before)})")
        + (_NUMBER if text is None else re.escape(text))
        + _AFTER.get(after, f"(?={re.escape(after)})")
    )
