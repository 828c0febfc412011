"""A sentence filter: sentences that are too long for a model with a short context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bilingual_crawler.bitext.align import SentencePair
    from bilingual_crawler.languages.codes import LanguagePair

CHARACTERS = 150


class MaxLength:
    """Counts as the reason ``too_long``."""

    def __init__(self, languages: LanguagePair) -> None:
        """It is the same for all *languages*."""

    def keep(self, pair: SentencePair) -> bool | tuple[Literal[False], str]:
        return (len(pair.text_a) <= CHARACTERS and len(pair.text_b) <= CHARACTERS) or (False, "too_long")
