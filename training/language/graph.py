"""`WordNet` as an ONNX graph: hashing in integers, tables in int8, everything else in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from bilingual_crawler.scoring.models import FIRST_BYTE
from training.common.int8 import Int8Table, rounded
from training.common.model_folder import exported
from training.language.network import WordNet

if TYPE_CHECKING:
    import onnx

    from training.language.network import Words

OPSET = 18


class ExportedWordNet(WordNet):
    """A `WordNet` for the exporter, whose n-grams are summed by one product of bytes."""

    gram_bytes: Tensor
    gram_scale: Tensor

    def __init__(self, net: WordNet) -> None:
        super().__init__(net.config)
        self.load_state_dict(net.state_dict())
        values, scale = rounded(net.grams.weight)
        counted = torch.ones(len(values), 1, dtype=torch.int8)
        counted[0] = 0  # the row for missing n-grams
        self.register_buffer("gram_bytes", torch.cat([values, counted], dim=1))
        self.register_buffer("gram_scale", scale)
        self.names = Int8Table(net.names)  # type: ignore[assignment]
        del self.grams

    def sum_grams(self, words: Words) -> Tensor:
        rows = functional.embedding(words.grams.flatten(1), self.gram_bytes)
        belongs = torch.cat([words.belongs.to(torch.uint8)] * words.grams.shape[1], dim=2)
        shape = (*words.names.shape, rows.shape[2])
        # PyTorch has no product of bytes with sums in 32 bits on a processor.
        product = torch.onnx.ops.symbolic(
            "MatMulInteger", (belongs, rows), dtype=torch.int32, shape=shape, version=OPSET
        )
        sums = product.float()
        summed: Tensor = sums[:, :, :-1] * self.gram_scale / sums[:, :, -1:].clamp(min=1).sqrt()
        return summed


def round_tables(net: WordNet) -> None:
    """Round the tables in place to values of int8 with one scale per column."""
    for table in (net.grams, net.names):
        values, scale = rounded(table.weight)
        with torch.no_grad():
            table.weight.copy_(values * scale)


def language_graph(net: WordNet) -> onnx.ModelProto:
    """Graph of a `WordNet` whose tables were rounded: int64 input_ids [B, L] to logits [B, labels]."""
    ids = torch.randint(FIRST_BYTE, FIRST_BYTE + 256, (3, 20))
    return exported(ExportedWordNet(net).eval(), {"input_ids": ids})
