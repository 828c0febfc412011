"""Sentence alignment of the document pairs of a domain, with a lexicon learnt from them."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from statistics import median
from typing import TypeAlias

from bilingual_crawler.bitext.beads import Bead, best_beads
from bilingual_crawler.bitext.evidence import Lexicon, Meaning, Nearness, have_paragraphs, weigh, words
from bilingual_crawler.bitext.quality import Quality
from bilingual_crawler.bitext.splitting import Sentence, split
from bilingual_crawler.encoders.base import Encoder
from bilingual_crawler.languages.codes import base_of
from bilingual_crawler.pages.words import SENTENCE_ENDS, count_words

LEXICON_SCORE = 0.6  # score from which beads of the first pass teach the lexicon
LONGEST = 3000  # maximum aligned sentences of a document
MAX_LINE = 20_000  # maximum aligned characters of a line
WINDOW = 600
"""Sentences of each side that are aligned together in longer documents, so that time is linear in their length."""
KEPT = 0.75  # share of a window up to which its beads hold
CHARACTERS = {
    "amh": 0.51, "ara": 0.75, "bod": 1.2, "ckb": 0.9, "deu": 1.12, "ell": 1.17, "fas": 0.85, "fra": 1.12, "heb": 0.68,
    "hun": 1.13, "ind": 1.18, "ita": 1.12, "jpn": 0.39, "kor": 0.44, "lzh": 0.2, "msa": 1.18, "mya": 1.42, "nld": 1.2,
    "ron": 1.12, "spa": 1.12, "tam": 1.24, "tha": 0.87, "tir": 0.51, "urd": 0.9, "vie": 1.21, "yue": 0.27, "zho": 0.27,
}  # fmt: skip
"""Characters of a translation by a character of English, of the Universal Declaration of Human Rights; otherwise 1."""
RATIO_WEIGHT = 10  # weight of the usual length ratio, in sure sentence pairs
MIN_BROKEN = 30  # minimum characters of a line that goes on in the next one
MAX_SHORT_WORDS = 2

Sides: TypeAlias = tuple["Sequence[Sentence]", "Sequence[Sentence]"]


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Sentences that are translations. The paragraphs are line numbers from 0, joined by ``+``."""

    text_a: str
    text_b: str
    score: float
    """Confidence of the alignment, 0 to 1."""
    paragraph_a: str
    paragraph_b: str
    quality: float = 0.0
    """P(a reader would call the pair right), 0 to 1."""
    dropped: str = ""
    """Why it is not in the bitext, as a key of :data:`.cleaning.REASONS`; empty if it is kept."""
    personal: str = ""
    """Kinds of personal data in both, of :data:`~.personal.KINDS`, separated by blanks."""
    places_a: tuple[int, int] = (0, 0)
    """Places of the sentences in the first document, half-open."""
    places_b: tuple[int, int] = (0, 0)

    @property
    def short(self) -> bool:
        """Whether neither side has more than two words."""
        return max(map(count_words, (self.text_a, self.text_b))) <= MAX_SHORT_WORDS


class SentenceAligner:
    """Aligns the sentences of document pairs by lengths, numbers, names, paragraphs and a learnt lexicon.

    Languages are ISO 639-3. With an encoder it also compares sentence vectors.
    """

    def __init__(self, language_a: str, language_b: str, encoder: Encoder | None = None) -> None:
        self._languages = (language_a, language_b)
        self._meaning = Meaning(encoder) if encoder else None
        self._lexicon = Lexicon({})
        self._usual_ratio = CHARACTERS.get(base_of(language_b), 1.0) / CHARACTERS.get(base_of(language_a), 1.0)
        self._ratio = self._usual_ratio
        self._has_paragraphs = True

    def read(self, lines_a: Iterable[str], lines_b: Iterable[str]) -> Sides:
        """Split both documents into sentences: the first 3,000, of the first 20,000 characters of each line."""
        both = zip((lines_a, lines_b), self._languages, strict=True)
        side_a, side_b = (split((line[:MAX_LINE] for line in lines), language, LONGEST) for lines, language in both)
        return side_a, side_b

    def learn_lexicon(self, documents: Iterable[Sides]) -> None:
        """Replace the lexicon by one learnt from the probable beads of *documents*."""
        sides = [(whole(a)[0], whole(b)[0]) for a, b in documents]
        self._has_paragraphs = any(have_paragraphs(side) for side in ([a for a, _ in sides], [b for _, b in sides]))
        self._estimate_common(sides)
        second = [words(sentence.text) for _, b in sides for sentence in b]
        counts = Counter(word for sentence in second for word in sentence)
        shares = {word: count / len(second) for word, count in counts.items()}
        self._lexicon, self._ratio = Lexicon(shares), self._usual_ratio
        beads = ((a, b, bead) for a, b in sides for bead in self.beads(a, b) if bead.score >= LEXICON_SCORE)
        sure = {(_text(a, bead.a), _text(b, bead.b)) for a, b, bead in beads}
        self._lexicon = Lexicon.from_pairs(sorted({(words(a), words(b)) for a, b in sure}), shares)
        if sure:
            here = median(math.log((len(b) + 1) / (len(a) + 1)) for a, b in sure)
            usual = RATIO_WEIGHT * math.log(self._usual_ratio)
            self._ratio = math.exp((len(sure) * here + usual) / (len(sure) + RATIO_WEIGHT))

    def with_encoder(self, encoder: Encoder, documents: Iterable[Sides]) -> "SentenceAligner":
        """Return an aligner with the same lexicon that compares meanings, too, as usual in *documents*."""
        aligner = copy(self)
        aligner._meaning = Meaning(encoder)
        aligner._estimate_common([(whole(a)[0], whole(b)[0]) for a, b in documents])
        return aligner

    def _estimate_common(self, sides: Sequence[Sides]) -> None:
        if self._meaning:
            self._meaning.estimate_common([s.text for a, _ in sides for s in a], [s.text for _, b in sides for s in b])

    def align(self, a: Sequence[Sentence], b: Sequence[Sentence]) -> list[SentencePair]:
        """Return the sentence pairs of two documents, in order."""
        (whole_a, starts_a), (whole_b, starts_b) = whole(a), whole(b)
        beads, quality = self.judged_beads(whole_a, whole_b)
        places = [
            replace(bead, a=(starts_a[bead.a[0]], starts_a[bead.a[1]]), b=(starts_b[bead.b[0]], starts_b[bead.b[1]]))
            for bead in beads
        ]
        return [_pair(a, b, bead, score) for bead, score in zip(places, quality.scores(beads), strict=True)]

    def beads(self, a: Sequence[Sentence], b: Sequence[Sentence]) -> list[Bead]:
        return self.judged_beads(a, b)[0]

    def judged_beads(self, a: Sequence[Sentence], b: Sequence[Sentence]) -> tuple[list[Bead], Quality]:
        """Return the beads of two documents, in order, and what judges them."""
        if not a or not b:
            return [], Quality(a, b, self._lexicon, self._ratio, None)
        nearness = self._meaning.nearness([s.text for s in a], [s.text for s in b]) if self._meaning else None
        return list(self._windows(a, b, nearness)), Quality(a, b, self._lexicon, self._ratio, nearness)

    def _windows(self, a: Sequence[Sentence], b: Sequence[Sentence], nearness: Nearness | None) -> Iterator[Bead]:
        """The beads of each window; the next window begins after the last bead that holds."""
        i = j = 0
        while i < len(a) and j < len(b):
            here = a[i : i + WINDOW], b[j : j + WINDOW]
            near = nearness.window(i, j, WINDOW) if nearness else None
            beads = best_beads(weigh(*here, self._lexicon, near, self._ratio, self._has_paragraphs))
            # what is before the end of a document holds
            whole_a, whole_b = i + WINDOW >= len(a), j + WINDOW >= len(b)
            if not (whole_a and whole_b):
                beads = [bead for bead in beads if bead.a[1] <= WINDOW * KEPT and bead.b[1] <= WINDOW * KEPT]
            yield from (
                Bead((i + bead.a[0], i + bead.a[1]), (j + bead.b[0], j + bead.b[1]), bead.score) for bead in beads
            )
            if whole_a and whole_b:
                return
            step = (beads[-1].a[1], beads[-1].b[1]) if beads else (WINDOW // 2, WINDOW // 2)
            i, j = i + step[0], j + step[1]


def whole(side: Sequence[Sentence]) -> tuple[list[Sentence], list[int]]:
    """Return *side* with sentences that are broken into lines as one, and where each begins in *side*, and its end.

    A long line goes on in the next one if it does not end like a sentence and the next one, no item, begins small.
    """
    lengths = Counter[int]()
    for sentence in side:
        lengths[sentence.paragraph] += len(sentence.text)
    starts = [0] * bool(side)
    for n, (one, other) in enumerate(pairwise(side), 1):
        is_broken = (
            other.paragraph == one.paragraph + 1
            and other.text[0].islower()
            and not one.text.endswith(SENTENCE_ENDS)
            and not side[starts[-1]].text[0].islower()
            and lengths[one.paragraph] >= MIN_BROKEN
        )
        if not is_broken:
            starts.append(n)
    ends = [*starts, len(side)]
    return [replace(side[i], text=_text(side, (i, j)), blank=side[j - 1].blank) for i, j in pairwise(ends)], ends


def _text(side: Sequence[Sentence], places: tuple[int, int]) -> str:
    """The sentences at *places* as one text, with the blanks of the page: Chinese and Japanese have none between."""
    merged = side[slice(*places)]
    gaps = (" " if one.blank or one.paragraph != other.paragraph else "" for one, other in pairwise(merged))
    return "".join(chain.from_iterable(zip((sentence.text for sentence in merged), (*gaps, ""), strict=True)))


def _pair(a: Sequence[Sentence], b: Sequence[Sentence], bead: Bead, quality: float) -> SentencePair:
    sides = ((a, bead.a), (b, bead.b))
    numbers = (sorted({sentence.paragraph for sentence in side[slice(*places)]}) for side, places in sides)
    paragraph_a, paragraph_b = ("+".join(map(str, one)) for one in numbers)
    values = (_text(a, bead.a), _text(b, bead.b), bead.score, paragraph_a, paragraph_b, quality)
    return SentencePair(*values, places_a=bead.a, places_b=bead.b)
