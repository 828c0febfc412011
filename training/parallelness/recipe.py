"""How the pair model is trained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PairRecipe:
    """How the model is trained; the defaults are those of the shipped model.

    An example of a domain with n examples weighs min(1, (domain / n) ** .5), a synthetic one `synthetic` times
    that, an unclear negative nothing, the refused links (`pairs.is_refused`) of a site together at most `refused`.
    An epoch draws examples by weight, as many as the weights add up to. `hide` is the share of tokens hidden from the
    network in training. `negatives` and `hard` are per positive (and generator). `made_up` sites of each kind are made
    up. The table of word pieces learns at `word_rate` times the rate, after `word_epochs` on the lexicon; at 0 it stays
    as the lexicon left it, which halves the work.
    """

    seed: int = 71213
    epochs: int = 4
    batch: int = 512
    rate: float = 4e-3
    decay: float = 0.01
    warmup: float = 0.1
    hide: float = 0.25
    domain: float = 600.0
    refused: float = 30.0
    made_up: int = 1000
    synthetic: float = 0.5
    negatives: int = 3
    hard: int = 3
    pieces: int = 56_000
    word_epochs: int = 3
    word_rate: float = 0.0
