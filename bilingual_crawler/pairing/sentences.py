"""Whether the sentences of two documents align: the last evidence where content and site disagree.

Either content alone supports a pair, or the site claims the pair and content contradicts it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.bitext.align import SentenceAligner
from bilingual_crawler.pairing.matching import greedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from bilingual_crawler.bitext.align import Sides
    from bilingual_crawler.pairing.corpus import Domain

DOUBTFUL = (0.02, 0.995)
"""Probabilities between which a pair is read."""
REFUTED_BY_SENTENCES = 0.5
"""Probability under which site evidence is discarded, whatever BILINGUAL_MIN_SCORE."""
MAX_READ_PAIRS = 500
"""Maximum pairs of a domain that are read, the most doubtful first."""
MIN_TEACHER = 0.9
"""Minimum probability of a pair that teaches the lexicon."""
TEACHERS = 60
LINES = 60
"""Lines of main text that are read."""
SENTENCES = 40
GOOD, VERY_GOOD = 0.5, 0.9
"""Scores of sentence pairs that count as aligned."""

USUALLY_ALIGNED = 0.8
"""Minimum share of the texts of translations, by characters, that aligns very well."""

BITEXT_FEATURES = ("unaligned", "behind")
"""Evidence against a pair: the share of both texts that aligns very well, below :data:`USUALLY_ALIGNED`; the share that
aligns well, below that of the first document and its next candidate. Shares of characters, 0 to 1."""


def doubtful(
    domain: Domain,
    i: NDArray[np.intp],
    j: NDArray[np.intp],
    probabilities: NDArray[np.float64],
    disputed: NDArray[np.bool_],
) -> NDArray[np.intp]:
    """Return the candidates that would be pairs and are doubtful, of those that are *disputed*."""
    chosen = greedy(domain.alike_a[i], domain.alike_b[j], probabilities, DOUBTFUL[0])
    asked = chosen[disputed[chosen] & (probabilities[chosen] <= DOUBTFUL[1])]
    return np.asarray(asked[np.argsort(np.abs(probabilities[asked] - 0.5), kind="stable")][:MAX_READ_PAIRS])


class BitextReader:
    """Aligns the sentences of candidates of a domain, with a lexicon learnt from its sure pairs."""

    def __init__(
        self, domain: Domain, i: NDArray[np.intp], j: NDArray[np.intp], probabilities: NDArray[np.float64]
    ) -> None:
        self._domain, self._i, self._j, self._probabilities = domain, i, j, probabilities
        self._aligner = SentenceAligner(domain.pair.a, domain.pair.b)
        sure = greedy(domain.alike_a[i], domain.alike_b[j], probabilities, MIN_TEACHER)[:TEACHERS]
        self._aligner.learn_lexicon([self._sides(k) for k in sure])

    def columns(self, asked: NDArray[np.intp]) -> dict[str, NDArray[np.float64]]:
        """The columns of :data:`BITEXT_FEATURES` of the candidates *asked*, ``(asked,)``."""
        ahead, aligned = np.array(list(self._rows(asked)), dtype=np.float64).reshape(-1, 2).T
        return {"unaligned": np.maximum(0, USUALLY_ALIGNED - aligned), "behind": np.maximum(0, -ahead)}

    def _rows(self, asked: NDArray[np.intp]) -> Iterator[tuple[float, float]]:
        places = self._domain.alike_b[self._j]
        for k in asked:
            rivals = np.flatnonzero((self._i == self._i[k]) & (places != places[k]))
            good, very_good = self._shares(k)
            other = self._shares(rivals[np.argmax(self._probabilities[rivals])])[0] if len(rivals) else 0.0
            yield good - other, very_good

    def _sides(self, k: int) -> Sides:
        a, b = self._domain.a[self._i[k]].url, self._domain.b[self._j[k]].url
        one, other = self._aligner.read(*(self._domain.main_text(url)[:LINES] for url in (a, b)))
        return one[:SENTENCES], other[:SENTENCES]

    def _shares(self, k: int) -> tuple[float, float]:
        """Shares of the text of a candidate, by characters, that align well and very well."""
        sides = self._sides(k)
        beads = self._aligner.beads(*sides)
        shares = []
        for least in (GOOD, VERY_GOOD):
            kept = [bead for bead in beads if bead.score >= least]
            parts = (
                sum(len(sentence.text) for place in places for sentence in side[slice(*place)])
                / max(1, sum(len(sentence.text) for sentence in side))
                for side, places in zip(sides, ([b.a for b in kept], [b.b for b in kept]), strict=True)
            )
            shares.append(sum(parts) / 2)
        return shares[0], shares[1]
