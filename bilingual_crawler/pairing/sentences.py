"""Whether the sentences of two documents align: the last evidence on a pair in doubt, be it claimed or not."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bilingual_crawler.bitext.align import SentenceAligner, Sides
from bilingual_crawler.bitext.splitting import Sentence
from bilingual_crawler.encoders.base import Encoder
from bilingual_crawler.pairing.arrays import Floats, Mask, Places
from bilingual_crawler.pairing.corpus import Domain
from bilingual_crawler.pairing.matching import greedy

LEAST = 0.02  # minimum probability of a pair that is read
SURE = 0.995  # maximum probability of a pair that nobody claims and that is read
SUPPORTED = 1.0  # log-odds by content under which a claimed pair is read
COMPARED = 300  # minimum characters of the shorter text of a claimed pair that is read
TRANSLATED = 0.5
"""Minimum share of both texts that aligns very well and differs, if only one of two domains announces the pair."""
MAX_READ_PAIRS = 500  # maximum pairs of a domain that are read, the best first
MIN_TEACHER = 0.9  # minimum probability of a pair that teaches the lexicon
TEACHERS, ENCODED_TEACHERS = 60, 10
LINES = 60  # lines of main text that are read
SENTENCES = 40
MAX_ENCODED = 1_000
"""Sentences that the encoder compares, some 15 ms each; further pairs are read with the lexicon alone."""
GOOD, VERY_GOOD = 0.5, 0.9  # scores of sentence pairs that count as aligned
USUALLY_ALIGNED = 0.8  # minimum share of the texts of translations, by characters, that aligns very well
HARDLY_BEHIND = 0.05  # maximum share that aligns better with the next candidate, if the content is to count alone

BITEXT_FEATURES = ("unaligned", "behind")
"""Evidence against a pair that nobody claims: the share of both texts that aligns very well, below
:data:`USUALLY_ALIGNED`; the share that aligns well, below that of the first document and its next candidate. Shares of
characters, 0 to 1, without sentences that both documents have word for word."""
CLAIM_FEATURES = ("held", "aligned", "outshone")
"""Evidence for a claimed pair: its log-odds by content, from :data:`MIN_HELD` to :data:`SUPPORTED`; the share of both
texts that aligns very well; whether another pair of one of its documents is much better by content."""
MIN_HELD = -8.0


def doubtful(domain: Domain, i: Places, j: Places, scores: Floats, disputed: Mask) -> Places:
    """Return the *disputed* candidates that would be pairs by their *scores*, best first, and have no objection."""
    scores = scores.copy()
    while True:
        chosen = greedy(domain.alike_a[i], domain.alike_b[j], scores, LEAST)
        refused = [k for k in chosen if domain.objection(i[k], j[k])]
        if not refused:
            return chosen[disputed[chosen]][:MAX_READ_PAIRS]
        scores[refused] = 0


class Shares(NamedTuple):
    """Shares of both texts of candidates, by characters, 0 to 1, ``(candidates,)``."""

    good: Floats
    """What aligns well, of what is not the same word for word."""
    aligned: Floats
    """What aligns very well, of the same."""
    same: Floats
    """Sentences that both have word for word."""


class BitextReader:
    """Aligns the sentences of candidates of a domain, by a lexicon learnt from its sure pairs, and an encoder."""

    def __init__(self, domain: Domain, i: Places, j: Places, scores: Floats, encoder: Encoder | None = None) -> None:
        self._domain, self._i, self._j, self._scores = domain, i, j, scores
        self._aligner = self._lexical = SentenceAligner(domain.pair.a, domain.pair.b)
        sure = greedy(domain.alike_a[i], domain.alike_b[j], scores, MIN_TEACHER)[:TEACHERS]
        texts = [self._sides(k) for k in sure]
        self._lexical.learn_lexicon(texts)
        self._encoded = 0
        if encoder:
            self._aligner = self._lexical.with_encoder(encoder, texts[:ENCODED_TEACHERS])

    def columns(self, asked: Places) -> dict[str, Floats]:
        """The columns of :data:`BITEXT_FEATURES` of the candidates *asked*, ``(asked,)``."""
        own, places = self.shares(asked), self._domain.alike_b[self._j]
        behind = []
        for k, good in zip(asked, own.good, strict=True):
            rivals = np.flatnonzero((self._i == self._i[k]) & (places != places[k]))
            best = rivals[np.argmax(self._scores[rivals])][None] if len(rivals) else asked[:0]
            behind.append(self.shares(best).good.sum() - good)
        return {"unaligned": np.maximum(0, USUALLY_ALIGNED - own.aligned), "behind": np.maximum(0, behind)}

    def shares(self, asked: Places) -> Shares:
        """Return how much of the texts of the candidates *asked* aligns."""
        return Shares(*np.array([self._shares(k) for k in asked], dtype=np.float64).reshape(-1, 3).T)

    def _sides(self, k: int) -> Sides:
        urls = self._domain.a[self._i[k]].url, self._domain.b[self._j[k]].url
        one, other = self._lexical.read(*(self._domain.main_text(url)[:LINES] for url in urls))
        return one[:SENTENCES], other[:SENTENCES]

    def _shares(self, k: int) -> tuple[float, float, float]:
        both = self._sides(k)
        same = set.intersection(*({sentence.text for sentence in side} for side in both))
        a, b = ([sentence for sentence in side if sentence.text not in same] for side in both)
        aligner = self._aligner if self._encoded < MAX_ENCODED else self._lexical
        self._encoded += len(a) + len(b)
        beads = aligner.beads(a, b)
        found = []
        for least in (GOOD, VERY_GOOD):
            kept = [bead for bead in beads if bead.score >= least]
            aligned_a = sum(_length(a[slice(*bead.a)]) for bead in kept) / max(1, _length(a))
            aligned_b = sum(_length(b[slice(*bead.b)]) for bead in kept) / max(1, _length(b))
            found.append((aligned_a + aligned_b) / 2)
        own = sum(_length(part) / max(1, _length(side)) for part, side in zip((a, b), both, strict=True)) / 2
        return found[0], found[1], 1 - own


def _length(side: Iterable[Sentence]) -> int:
    return sum(len(sentence.text) for sentence in side)
