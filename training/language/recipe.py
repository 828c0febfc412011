"""How the language model is trained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LanguageRecipe:
    """How the language model is trained; the defaults are those of the shipped model.

    `class_power` and `domain_power` shape the draw of examples: a class with n URLs weighs n**class_power, a
    URL of a domain with m URLs of the class weighs m**-domain_power. `hide_host` is the share of URLs shown
    without their host, half of these with its suffix left; `synthetic_share` is that of made-up URLs drawn, whose
    classes weigh as the real ones to the power of `synthetic_power`. `held_out` is the share of the domains kept
    for validation. Classes with fewer than `least` real URLs are left out. `folds` networks, trained for `fold_epochs`
    each without its part of the domains, say the targets of that part (`cross_fit`; 1: labels are the targets).
    """

    seed: int = 71213
    epochs: int = 16
    epoch_size: int = 250_000
    batch: int = 512
    rate: float = 2e-3
    decay: float = 0.01
    warmup: float = 0.05
    smoothing: float = 0.05
    class_power: float = 0.5
    domain_power: float = 0.5
    hide_host: float = 0.35
    synthetic_share: float = 0.15
    synthetic_power: float = 0.5
    held_out: float = 0.05
    least: int = 5
    max_length: int = 128
    rows: int = 262_139
    word_rows: int = 65_521
    columns: int = 24
    width: int = 96
    layers: int = 1
    gram_dropout: float = 0.15
    name_dropout: float = 0.4
    folds: int = 4
    fold_epochs: int = 4
