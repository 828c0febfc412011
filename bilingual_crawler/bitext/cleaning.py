"""Cleaning of bitext: which sentence pairs a reader would not train a translation model with, and why."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Protocol
from unicodedata import category

from bilingual_crawler.bitext.duplicates import normal
from bilingual_crawler.languages.codes import LanguagePair, base_of
from bilingual_crawler.languages.scripts import may_be_in
from bilingual_crawler.pages.language import BY_DEFAULT, Detection
from bilingual_crawler.pages.words import SENTENCE_ENDS, count_words, width_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bilingual_crawler.bitext.align import SentencePair

REASONS = {
    "quality": "it is more likely wrong than right",
    "letters": "a side has fewer than two letters",
    "equal": "both sides have the same words",
    "length": "a side is more than three times as long as the other, or far too long for a sentence",
    "language": "a side is in another language or script",
    "navigation": "it leads through the site: arrows, brackets, links or fields",
    "template": "the template of the site makes it: many pages have lines that begin the same",
    "duplicate": "the bitext has the same pair",
    "near_duplicate": "the bitext has a pair that differs in case, digits, punctuation or a few words",
    "repeated": "the bitext has a better pair with one of its sides",
}
"""Reasons why a sentence pair is dropped, and what they mean to a reader."""

MIN_QUALITY = 0.5
MAX_RATIO = 3.0  # maximum ratio of the lengths in characters, beyond `SLACK` characters; wide characters count twice
SLACK = 15
MAX_CHARACTERS = 2000
MIN_LETTERS = 2
LEGIBLE, CERTAIN = 40, 120
"""Minimum characters of a sentence in the language of the other side, and in a third one, for this to be noticed."""
COPIED, UNTRANSLATED_SIDE = 0.9, 0.5
"""Share of the words of both sides that are the same in a copy, and in a side in the language of the other side."""
MIN_COPIED = 5  # words of both sides from which a copy may differ in some

_BACK = re.compile(r"^\W{0,9}(?:<{1,2}\s+|[←⇐◀◄❮]\s*|‹(?!.*›)\s*)\w|^[↑⇑]|[↑⇑▲]$")
_UP = re.compile(r"^▲|^«\s(?!.*»)")
"""At the beginning of a few words; before a sentence ``▲`` is a warning sign, and ``«`` a quotation mark."""
_REQUIRED_FIELD = re.compile(r"\w\s?\*\W*$")
_FORTH = re.compile(r"\s(?:>{1,2}|[›→⇒▶►❯])\W*$")
_BRACKETS = re.compile(r"^\[\s.*\]$|^\[\w.*\s\]$")
"""With a blank inside, as for links without a frame; ``[sic]`` has none."""
_SEPARATOR = re.compile(r"\s[|·•]\s")
_TRAIL = re.compile(r"\s[›»❯]\s")
"""Between the steps of a breadcrumb trail. ``>`` is also in the paths of menus, which texts explain."""
MIN_LINKS = 3  # items of a list of links, or steps of a trail
MAX_LINK_WORDS = 4
_BRACKETED = re.compile(r"\([^()]*\)|（[^（）]*）|\[[^\[\]]*\]")
TEMPLATE_SHARE, LABEL_SHARE = 0.3, 0.1
"""Share of the documents with a line that begins like one of the template; with a label, or what follows a number."""
MIN_DOCUMENTS = 10  # the same as a number of documents
PROSE_SHARE = 0.25
"""The same part in the sentences of documents, by the documents with such lines, from which it is no template."""
MIN_PROSE_WORDS = 4
MIN_PROSE = 0.02  # share of a document, by characters, that sentences have at least
MAX_ITEM = 3  # words of an item of a list that leads through the site
_LABEL = re.compile(r"[^\W\d_]+ ?[:：]")
MAX_LINES = 500


def is_navigation(a: str, b: str) -> bool:
    """Whether a sentence pair leads through the site (``[ < Rests ]``, ``Next →``, ``Home | News | Contact``, ``Home ›
    News › The library has moved``) or names a field of a form (``Name *``).

    A longer text before an arrow counts as a sentence, and an arrow that leads forth at the beginning as a bullet.
    """
    return (
        bool(_BACK.search(a) or _BACK.search(b))
        or all(map(_BRACKETS.search, (a, b)))
        or any(
            all(sign.search(text) and len(text.split()) <= MAX_LINK_WORDS for text in (a, b))
            for sign in (_FORTH, _UP, _REQUIRED_FIELD)
        )
        or all(map(_is_list_of_links, (a, b)))
    )


def _is_list_of_links(text: str) -> bool:
    """Whether *text* is a list of links, or a trail to a page, whose title may be long."""
    # the other sign of a quotation is no step
    steps, items = [] if "«" in text else _TRAIL.split(text), _SEPARATOR.split(text)
    if len(steps) >= MIN_LINKS:
        items = steps[:-1]
    elif len(items) < MIN_LINKS:
        return False
    return all(0 < len(item.split()) <= MAX_LINK_WORDS for item in items) and not text.endswith(SENTENCE_ENDS)


class Templates:
    """How the lines of a site begin and end: ``Posted in …``, ``Tags: …``, ``… · 3 min read`` are made by its template.

    What ends like a sentence is prose: the provisions of laws and the steps of recipes begin alike, too, and what prose
    says often (``Department of …``) is no template.
    """

    def __init__(self) -> None:
        self._documents = 0
        self._counts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        self._prose: tuple[Counter[str], Counter[str]] = Counter(), Counter()

    def add(self, a: Sequence[str], b: Sequence[str]) -> None:
        """Count the lines of a document pair."""
        self._documents += 1
        for side, prose, lines in zip(self._counts, self._prose, (a, b), strict=True):
            lines = lines[:MAX_LINES]
            side.update({part for line in lines for part in _constant_parts(line)})
            sentences = (normal(line[:200]).split() for line in lines if line.endswith(SENTENCE_ENDS))
            prose.update({f"{one} {other}" for words in sentences for one, other in pairwise(words)})

    def has(self, a: str, b: str) -> bool:
        """Whether both sides of a sentence pair begin, or end, like lines of the template."""
        return all(
            any(
                side[part]
                >= max(MIN_DOCUMENTS, self._documents * (TEMPLATE_SHARE if part[-1:].isalnum() else LABEL_SHARE))
                and prose[" ".join(part.split()[:2])] < PROSE_SHARE * side[part]
                for part in _constant_parts(text)
            )
            for side, prose, text in zip(self._counts, self._prose, (a, b), strict=True)
        )


def _constant_parts(line: str) -> Iterator[str]:
    """What a template may have put into *line*: its first four words, or two, a label, and two words after a number."""
    if line.endswith(SENTENCE_ENDS):
        return
    if label := _LABEL.match(line):
        yield label[0].casefold()
    # long lines are many, and only their beginning counts
    words = normal(line[:200]).split()
    for count, least in ((4, 6), (2, 3)):
        if len(words) >= least and not any(map(str.isdigit, words[:count])):
            yield " ".join(words[:count])
    if "0" in words[:-2] and not any(map(str.isdigit, words[-2:])):
        yield " ".join([*words[-2:], "…"])


def is_list(lines: Sequence[str]) -> bool:
    """Whether a document has next to no sentence: a list of posts, a form, an index."""
    prose = sum(len(line) for line in lines if line.endswith(SENTENCE_ENDS) and count_words(line) >= MIN_PROSE_WORDS)
    return prose < MIN_PROSE * sum(map(len, lines))


def same_words(a: str, b: str) -> float:
    """The share of the words of both sides that are the same, 0 to 1; 1 if there are none.

    Digits do not count, nor what is in brackets, unless all is.
    """
    one, other = (normal(_BRACKETED.sub(" ", text).strip() or text).split() for text in (a, b))
    return (Counter(one) & Counter(other)).total() / max(1, len(one), len(other)) if one != other else 1.0


def _letters(text: str) -> int:
    """The letters and vowel signs of *text*; a letter of Chinese, Japanese and Korean counts as two."""
    letters = sum(map(str.isalpha, text))
    if letters >= MIN_LETTERS:
        return letters
    return sum(width_of(sign) for sign in text if category(sign)[0] in "LM")


class Cleaner:
    """Judges sentence pairs of two languages, each by itself."""

    def __init__(self, pair: LanguagePair, detection: Detection = BY_DEFAULT) -> None:
        self._pair = pair
        self._detection = detection
        # "nor nno": a detector takes translations, which share most of their words, for copies
        self._confused = any(pair.bases <= group for group in pair.equivalents)

    def objection(self, found: SentencePair, templates: Templates | None = None, in_list: bool = False) -> str:
        """Why *found* does not belong in the bitext, as a key of :data:`REASONS`; empty if it does.

        *templates*: those of the site; *in_list*: whether both documents are lists, by :func:`is_list`.
        """
        a, b = found.text_a, found.text_b
        if min(map(_letters, (a, b))) < MIN_LETTERS:
            return "letters"
        same, words = same_words(a, b), min(len(a.split()), len(b.split()))
        if same >= (COPIED if words >= MIN_COPIED else 1):
            return "equal"
        if is_navigation(a, b) or (in_list and max(len(a.split()), len(b.split())) <= MAX_ITEM):
            return "navigation"
        if templates and templates.has(a, b):
            return "template"
        shorter, longer = sorted((width_of(a), width_of(b)))
        if max(len(a), len(b)) > MAX_CHARACTERS or longer > MAX_RATIO * shorter + SLACK:
            return "length"
        scripts = zip((a, b), (self._pair.a.partition("_")[2], self._pair.b.partition("_")[2]), strict=True)
        if any(script and not may_be_in(text, script) for text, script in scripts) or self._is_foreign(a, b, same):
            return "language"
        return "quality" if found.quality < MIN_QUALITY else ""

    def _is_foreign(self, a: str, b: str, same: float) -> bool:
        """Whether a side is in another language: copied, both exchanged, or long and in a third one.

        A name or title in the language of the other side makes a sentence look like that language.
        """
        seen = self._language(a, self._pair.a), self._language(b, self._pair.b)
        exchanged = [seen[0] == self._pair.b, seen[1] == self._pair.a]
        # CLD2 is sure that some Spanish is Galician
        third = [
            base_of(language) not in ("", *self._pair.languages)
            and len(text) >= CERTAIN
            and self._detection.confirms(text, language)
            for text, language in zip((a, b), seen, strict=True)
        ]
        return all(exchanged) or (any(exchanged) and same >= UNTRANSLATED_SIDE and not self._confused) or any(third)

    def _language(self, text: str, own: str) -> str:
        """The language of *text*, as that of the pair that it counts as; empty if it is not sure."""
        if len(text) < LEGIBLE:
            return ""
        identified = self._detection.identify(text, (own,))
        return (self._pair.side(identified.language) or identified.language) if identified.reliable else ""


class SentenceFilter(Protocol):
    """Judges sentence pairs that the cleaner keeps. One is made for each pair of languages, with that pair."""

    def keep(self, pair: SentencePair) -> bool | tuple[Literal[False], str]:
        """Whether *pair* stays in the bitext; False may come with the reason, by default the name of the class."""


def refusal(filters: Iterable[SentenceFilter], found: SentencePair) -> str:
    """Why the first of *filters* that refuses *found* does; empty if none does."""
    for each in filters:
        kept = each.keep(found)
        reason = kept[1] if isinstance(kept, tuple) else ""
        if kept is False or reason:
            return reason or type(each).__name__
    return ""
