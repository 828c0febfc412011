"""An XLM-R so small that a test can train and export it."""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, XLMRobertaConfig

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]


def tokenizer() -> PreTrainedTokenizerFast:
    """One piece per printable ASCII character, framed as XLM-R does."""
    pieces = {piece: i for i, piece in enumerate([*SPECIAL, *map(chr, range(32, 127))])}
    inner = Tokenizer(models.WordLevel(pieces, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    inner.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=inner, **names)


def config(**changes: Any) -> XLMRobertaConfig:
    """One layer over the pieces of the tokenizer, unless *changes* has another number."""
    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    return XLMRobertaConfig(vocab_size=120, pad_token_id=1, **{**sizes, **changes})
