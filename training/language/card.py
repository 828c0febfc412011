"""The card of a language model."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from training.common.model_folder import write_card

if TYPE_CHECKING:
    from pathlib import Path

    from training.language.recipe import LanguageRecipe

FEW, MANY = 5, 30
SMALL = ("mlt", "eus", "isl", "fin", "cnr", "mkd", "sqi")


def write_language_card(
    out: Path,
    report: list[str],
    recipe: LanguageRecipe,
    numbers: dict[str, float],
    names: tuple[str, ...],
    scores: dict[str, Any],
) -> None:
    """The model card; `scores` are those of `score_languages` on the held-out domains."""
    small = ", ".join(f"{k} {v['f1']:.2f} ({v['support']})" for k in SMALL if (v := scores["classes"].get(k)))
    write_card(
        out,
        "The language of a document from its URL",
        {
            "What it does": "Probabilities of the language (ISO 639-3) of the page behind a URL, from the URL alone; "
            "`unk` is not a page (images, scripts, archives). Hashed n-grams of the words of the URL, mixed with "
            f"their neighbours in {recipe.layers} layer(s) of width {recipe.width}, pooled by attention; the n-gram "
            "tables are int8. It reads the bytes of the URL, percent-decoded and in lower case.",
            "Trained on": "\n".join(f"- {line}" for line in report),
            "Labels": " ".join(names),
            "Recipe": f"`python -m training.language`\n\n```json\n{json.dumps(asdict(recipe), indent=1)}\n```",
            "Scores": "On domains held out from training.\n\n"
            f"- macro-F1 {numbers['macro_f1']:.4f} over classes with {MANY} URLs or more, "
            f"{numbers['macro_f1_few']:.4f} with {FEW} or more; accuracy {scores['accuracy']:.4f}\n"
            f"- small languages, F1 (URLs): {small}\n"
            f"- {scores['errors_to_english']:.0%} of the errors call a page English that is not\n"
            f"- fitted here: priors moved {numbers['prior_shift']:.0%} of the way from the draw to the lists; "
            f"temperature {numbers['temperature']:.3f}, which brings the calibration error from "
            f"{numbers['ece_before']:.4f} to {numbers['ece']:.4f}\n"
            f"- largest difference of logits between PyTorch and ONNX: {numbers['parity']:.2g}",
            "Limits": "English is what remains when a URL says nothing; a domain seen in training is recognised "
            "better than a new one. Country domains tell the likely language of the country, not of the page.",
        },
    )
