"""Fine-tuning of pre-trained encoders: the paper's recipe and its offline relative.

`python -m training.language` and `python -m training.parallelness` call it when `--recipe` names such a recipe.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SMALL = "small"


def hand_over(kind: str, arguments: Sequence[str] | None) -> list[str] | None:
    """Fine-tune and return None if `--recipe` asks for it; otherwise the arguments left for the small recipe."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--recipe", default=SMALL)
    given = list(sys.argv[1:] if arguments is None else arguments)
    options, rest = parser.parse_known_args(given)
    if options.recipe == SMALL:
        return rest
    from training.transformer.cli import main  # transformers takes seconds to import

    main(kind, options.recipe, rest)
    return None
