"""multilingual-e5-small in the layout of XLM-R, whose tokenizer it shares: the base encoder that needs no hub.

The two architectures differ in where positions start to count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast, XLMRobertaConfig

from bilingual_crawler.encoders import e5

if TYPE_CHECKING:
    from torch import Tensor

    from bilingual_crawler.encoders.e5 import E5Weights

LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


def config(weights: E5Weights) -> XLMRobertaConfig:
    """The sizes of the model."""
    return XLMRobertaConfig(
        vocab_size=weights.vocabulary,
        hidden_size=weights.width,
        num_hidden_layers=weights.layers,
        num_attention_heads=weights.heads,
        intermediate_size=weights.inner,
        max_position_embeddings=weights.positions + weights.pad + 1,
        type_vocab_size=weights.types,
        layer_norm_eps=weights.epsilon,
        bos_token_id=weights.bos,
        eos_token_id=weights.eos,
        pad_token_id=weights.pad,
    )


def state_dict(weights: E5Weights) -> dict[str, Tensor]:
    """The weights under the names of `transformers.XLMRobertaModel`, without a pooler."""
    width = weights.width
    unused = np.zeros((weights.pad + 1, width), dtype=np.float32)
    state = {
        "embeddings.word_embeddings.weight": weights.tensor("emb.word").reshape(-1, width),
        "embeddings.token_type_embeddings.weight": weights.tensor("emb.type").reshape(-1, width),
        "embeddings.position_embeddings.weight": np.concatenate([unused, weights.tensor("emb.pos").reshape(-1, width)]),
        "embeddings.LayerNorm.weight": weights.tensor("emb.ln.w"),
        "embeddings.LayerNorm.bias": weights.tensor("emb.ln.b"),
    }
    for number in range(weights.layers):
        for short, name in LAYER.items():
            weight, bias = (weights.tensor(f"l{number}.{short}.{part}") for part in "wb")
            shape = (-1,) if short.endswith("ln") else (len(bias), -1)
            state[f"encoder.layer.{number}.{name}.weight"] = weight.reshape(shape)
            state[f"encoder.layer.{number}.{name}.bias"] = bias
    return {name: torch.from_numpy(values.copy()) for name, values in state.items()}


def tokenizer(weights: E5Weights) -> PreTrainedTokenizerFast:
    """The tokenizer as transformers wants it."""
    inner = e5.tokenizer(weights)
    inner.add_special_tokens([AddedToken(name, normalized=False) for name in SPECIAL])
    names = ("bos_token", "pad_token", "eos_token", "unk_token")
    return PreTrainedTokenizerFast(tokenizer_object=inner, sep_token="</s>", **dict(zip(names, SPECIAL, strict=True)))
