"""Write a fine-tuned classifier as model folders with calibration and a card."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from training.common.calibration import fit_temperature
from training.transformer.hub import Classifier, Shipment, load_classifier, load_tokenizer, write_models
from training.transformer.lists import TRAINED
from training.transformer.recipes import RecipeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from training.transformer.hub import Parity
    from training.transformer.lists import Lists
    from training.transformer.recipes import FineTuningRecipe

PRECISIONS = ("fp32", "fp16", "int8")
PROBE = 256
WHAT = {
    "language": "Probabilities of the language (ISO 639-3) of the page behind a URL, from the URL alone; `unk` is not "
    "a page.",
    "parallelness": "The probability that two URLs lead to translations of each other, from the URLs alone. The order "
    "of the two matters.",
}


def ship(
    kind: str,
    lists: Lists,
    logits: NDArray[np.float32],
    history: Sequence[dict[str, float]],
    recipe: FineTuningRecipe,
    out: Path,
) -> dict[str, Parity]:
    """Write `out/fp32`, `out/fp16` and `out/int8` from `out/classifier`; `logits` are those of the development rows."""
    temperature = calibrate(logits, np.array(lists.dev["label"]))
    best = max(history, key=lambda entry: entry["macro_f1"])
    epochs = "\n".join(f"| {e['step']:.0f} | {e['loss']:.4f} | {e['macro_f1']:.4f} |" for e in history)
    every = max(1, len(lists.dev) // PROBE)
    shipment = Shipment(
        kind,
        lists.labels if kind == "language" else (),
        lists.dev["text"][::every][:PROBE],
        {
            "What it does": f"{WHAT[kind]} Fine-tuned from `{recipe.base}`.",
            "Trained on": "\n".join(f"- {line}" for line in lists.report),
            "Labels": " ".join(lists.labels),
            "Recipe": f"`python -m training.{kind} --recipe …`\n\n```json\n{json.dumps(asdict(recipe), indent=1)}\n```",
            "Scores": f"Development part, step {best['step']:.0f}: macro-F1 {best['macro_f1']:.4f}; temperature fitted "
            f"there {temperature:.3f}.\n\n| step | loss | macro-F1 |\n|---|---|---|\n{epochs}",
        },
        recipe.max_length,
        temperature,
    )
    trained = str(out / TRAINED)
    folders = {precision: out / precision for precision in PRECISIONS}
    return write_models(load_classifier(trained, kind), load_tokenizer(trained), shipment, folders)


def rehearse(kind: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, recipe: FineTuningRecipe) -> None:
    """Write the model folders of the untrained *model* and throw them away; RecipeError if that cannot be done.

    Hours of training are lost on a network that nothing can export.
    """
    shipment = Shipment(kind, (), ["https://example.org/en/", "https://example.org/mt/dwarna"], {}, recipe.max_length)
    with tempfile.TemporaryDirectory() as folder:
        folders = {precision: Path(folder, precision) for precision in PRECISIONS}
        try:
            write_models(Classifier(model, difference=False).eval(), tokenizer, shipment, folders)
        except Exception as error:  # of three libraries
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise RecipeError(f"{recipe.base} cannot be exported: {reason}") from error


def calibrate(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    """Temperature with the least cross-entropy; a single logit is that of the second of two classes."""
    both = np.concatenate([np.zeros_like(logits), logits], axis=1) if logits.shape[1] == 1 else logits
    return fit_temperature(torch.from_numpy(both), labels)
