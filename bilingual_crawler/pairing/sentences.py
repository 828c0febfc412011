"""Whether the sentences of two documents align: the last evidence on pairs that what the pages hold leaves in doubt.

Either nobody claims the pair, or the site claims it and what the pages hold hardly supports the claim.
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
    from bilingual_crawler.encoders.base import Encoder
    from bilingual_crawler.pairing.corpus import Domain

LEAST = 0.02
"""Minimum probability of a pair that is read."""
SURE = 0.995
"""Maximum probability of a pair that nobody claims and that is read."""
SUPPORTED = 1.0
"""Log-odds by content under which a claimed pair is read."""
ALIGNED = 2 / 3
"""Minimum share of both texts that aligns very well, if one domain announces a page of another that does not."""
MAX_READ_PAIRS = 500
"""Maximum pairs of a domain that are read, the best first."""
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
"""Evidence against a pair that nobody claims: the share of both texts that aligns very well, below
:data:`USUALLY_ALIGNED`; the share that aligns well, below that of the first document and its next candidate. Shares of
characters, 0 to 1, without sentences that both documents have word for word."""
CLAIM_FEATURES = ("held", "aligned")
"""Evidence for a claimed pair: its log-odds by content, from :data:`MIN_HELD` to :data:`SUPPORTED`, and the share of
both texts that aligns very well."""
MIN_HELD = -8.0


def doubtful(
    domain: Domain,
    i: NDArray[np.intp],
    j: NDArray[np.intp],
    scores: NDArray[np.float64],
    disputed: NDArray[np.bool_],
) -> NDArray[np.intp]:
    """Return the *disputed* candidates that would be pairs by their *scores*, best first, and have no objection."""
    scores = scores.copy()
    while True:
        chosen = greedy(domain.alike_a[i], domain.alike_b[j], scores, LEAST) if len(i) else i
        refused = [k for k in chosen if domain.objection(i[k], j[k])]
        if not refused:
            return chosen[disputed[chosen]][:MAX_READ_PAIRS]
        scores[refused] = 0


class BitextReader:
    """Aligns the sentences of candidates of a domain, with a lexicon learnt from its sure pairs."""

    def __init__(
        self,
        domain: Domain,
        i: NDArray[np.intp],
        j: NDArray[np.intp],
        probabilities: NDArray[np.float64],
        encoder: Encoder | None = None,
    ) -> None:
        self._domain, self._i, self._j, self._probabilities = domain, i, j, probabilities
        self._aligner = SentenceAligner(domain.pair.a, domain.pair.b, encoder)
        sure = greedy(domain.alike_a[i], domain.alike_b[j], probabilities, MIN_TEACHER)[:TEACHERS]
        self._aligner.learn_lexicon([self._sides(k) for k in sure])

    def columns(self, asked: NDArray[np.intp]) -> dict[str, NDArray[np.float64]]:
        """The columns of :data:`BITEXT_FEATURES` of the candidates *asked*, ``(asked,)``."""
        ahead, aligned = np.array(list(self._rows(asked)), dtype=np.float64).reshape(-1, 2).T
        return {"unaligned": np.maximum(0, USUALLY_ALIGNED - aligned), "behind": np.maximum(0, -ahead)}

    def aligned(self, asked: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the share of the texts of each of the candidates *asked* that aligns very well, ``(asked,)``."""
        return np.array([self._shares(k)[1] for k in asked], dtype=np.float64)

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
        both = self._sides(k)
        same = set.intersection(*({sentence.text for sentence in side} for side in both))
        a, b = ([sentence for sentence in side if sentence.text not in same] for side in both)
        beads = self._aligner.beads(a, b)
        shares = []
        for least in (GOOD, VERY_GOOD):
            kept = [bead for bead in beads if bead.score >= least]
            parts = (
                sum(len(sentence.text) for place in places for sentence in side[slice(*place)])
                / max(1, sum(len(sentence.text) for sentence in side))
                for side, places in ((a, [bead.a for bead in kept]), (b, [bead.b for bead in kept]))
            )
            shares.append(sum(parts) / 2)
        return shares[0], shares[1]
