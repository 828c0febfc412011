"""Rewritings of URLs: the edit between the URLs of one document pair, applied to other URLs."""

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein, Postfix, Prefix

MAX_OFFSET = 9  # largest difference of two numbers that stand for languages; page numbers differ by more
MAX_LETTERS = 2  # letters of a language mark at the beginning or end of a word
MIN_STEM = 3  # letters of the rest of a word with a language mark
MIN_SHOWN = 3  # pairs that show a rewriting before it counts as one of the site
MAX_REWRITINGS = 8  # rewritings of a site, those that most pairs show
MAX_ALIKE = 10  # URLs of one language that are equal but for a token; of more, as in a numbered list, anything fits
MAX_COMPARED = 100  # tokens of a URL that is compared with all others of its site, as the work grows with their square
LEAST_RELIABLE = 0.75  # share of the URLs to which a rewriting of the site applies that have its target

_TOKEN = re.compile(r"(?i:https?)://[^/?]*|(?:[A-Za-z]|%[0-9A-F]{2})+|[0-9]+|.", re.DOTALL)
_LETTER, _DIGIT, _WORD, _EDGE = "a", "0", "a0", ""  # neighbours: part of a word, number, either, or end of a URL
_BEFORE = {_LETTER: "(?:(?<=[A-Za-z])|(?<=%[0-9A-F][0-9A-F]))", _DIGIT: "(?<=[0-9])", _WORD: "(?<=[A-Za-z0-9])"}
_AFTER = {_LETTER: "(?=[A-Za-z%])", _DIGIT: "(?=[0-9])", _WORD: "(?=[A-Za-z0-9%])", _EDGE: r"\Z"}
_NUMBER = "(?<![0-9])[0-9]+(?![0-9])"


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A text to be replaced, or a number to which *offset* is added, where it first or last fits behind the host."""

    old: str
    new: str
    offset: int
    before: str  # the neighbour in both URLs: a separator, or the kind of a character
    after: str
    last: bool = False

    @property
    def inverse(self) -> "Rewriting":
        return replace(self, old=self.new, new=self.old, offset=-self.offset)

    def apply(self, url: str) -> str | None:
        """The URL that *url* is rewritten into; None if there is nothing to replace. Takes linear time."""
        start = max(url.find("/", url.find("://") + 3), 0)
        places = list(_pattern(None if self.offset else self.old, self.before, self.after).finditer(url, start))
        if not places:
            return None
        place = places[-1 if self.last else 0]
        new, text = self.new, place[0]
        if self.offset:
            new = str(int(text) + self.offset).zfill(len(text) if text[0] == "0" else 0)
        return url[: place.start()] + new + url[place.end() :]


def rewriting_of(url: str, other: str) -> Rewriting | None:
    """The rewriting of *url* into *other*, and back; None unless they are one token or small number apart."""
    old, new = _TOKEN.findall(url), _TOKEN.findall(other)
    changes = list(Levenshtein.editops(old, new))
    if len(changes) != 1 or not changes[0].src_pos:
        return None
    change = changes[0]
    at, end = change.src_pos, change.src_pos + (change.tag != "insert")
    before, after = _kind(old[at - 1]), _kind(old[end]) if end < len(old) else _EDGE
    found = _rewriting("".join(old[at:end]), "" if change.tag == "delete" else new[change.dest_pos], before, after)
    if abs(found.offset) > MAX_OFFSET:
        return None
    both = (found, replace(found, last=True))
    return next((one for one in both if one.apply(url) == other and one.inverse.apply(other) == url), None)


def rewritten_pairs(urls: Sequence[str], others: Sequence[str]) -> list[tuple[int, int, float]]:
    """The pairs among documents of a site in two languages, *urls* and *others*, by what their URLs have in common.

    A rewriting counts if it leads from nearly all *urls* that it fits to *others*, as ``cain2.htm`` to ``cain.htm``.
    Returns places in both and its reliability, 0 to 1; a document to which several lead is in no pair.
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
    reliable = ((i, j, reliability) for (i, j), reliability in pairs.items() if reliability >= LEAST_RELIABLE)
    return [(i, j, reliability) for i, j, reliability in reliable if times[i] == times_other[j] == 1]


def _one_token_apart(urls: Sequence[str], others: Sequence[str]) -> Iterator[tuple[str, str]]:
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


def _rewriting(old: str, new: str, before: str, after: str) -> Rewriting:
    if old.isdecimal() and new.isdecimal():
        return Rewriting("", "", int(new) - int(old), before, after)
    if old.isalpha() and new.isalpha():
        shortest = max(MIN_STEM, max(len(old), len(new)) - MAX_LETTERS)
        stem = Prefix.similarity(old, new)
        if stem >= shortest:
            return Rewriting(old[stem:], new[stem:], 0, _LETTER, after)
        stem = Postfix.similarity(old, new)
        if stem >= shortest:
            return Rewriting(old[:-stem], new[:-stem], 0, before, _LETTER)
    # a text that begins or ends with a separator may stand beside a word or a number
    texts = [text for text in (old, new) if text]
    if before in (_LETTER, _DIGIT) and not any(text[0].isalnum() for text in texts):
        before = _WORD
    if after in (_LETTER, _DIGIT) and not any(text[-1].isalnum() for text in texts):
        after = _WORD
    return Rewriting(old, new, 0, before, after)


def _kind(token: str) -> str:
    if token[0].isdigit():
        return _DIGIT
    return _LETTER if token[0].isalpha() or token[0] == "%" else token


@lru_cache(4096)
def _pattern(text: str | None, before: str, after: str) -> re.Pattern[str]:
    return re.compile(
        _BEFORE.get(before, f"(?<={re.escape(before)})")
        + (_NUMBER if text is None else re.escape(text))
        + _AFTER.get(after, f"(?={re.escape(after)})")
    )
