"""An XLM-R so small that a test can train and export it."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaForSequenceClassification

SPECIAL = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def tokenizer() -> PreTrainedTokenizerFast:
    """One piece per printable ASCII character, framed as XLM-R does."""
    pieces = {piece: i for i, piece in enumerate([*SPECIAL.values(), *map(chr, range(32, 127))])}
    inner = Tokenizer(models.WordLevel(pieces, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    inner.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return PreTrainedTokenizerFast(tokenizer_object=inner, **SPECIAL)


def network(dropout: float = 0.1, **changes: Any) -> XLMRobertaForSequenceClassification:
    """It is over the pieces of the tokenizer and knows nothing."""
    torch.manual_seed(1)
    drops = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    given: dict[str, Any] = {**SIZES, **drops, "max_position_embeddings": 130, **changes}
    return XLMRobertaForSequenceClassification(XLMRobertaConfig(vocab_size=120, pad_token_id=1, **given))


def save(folder: Path, **changes: Any) -> Path:
    """A folder of such a network and its tokenizer."""
    network(**changes).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder
