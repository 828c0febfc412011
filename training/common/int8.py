"""Embedding tables in int8, with one scale for each column."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def rounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A table [N, columns] as int8 values and the scale of each column."""
    scale = weight.detach().abs().amax(0).clamp(min=1e-6) / 127
    return (weight.detach() / scale).round().to(torch.int8), scale


class Int8Table(nn.Module):
    """An embedding table held as int8."""

    values: Tensor
    scale: Tensor

    def __init__(self, table: nn.Embedding) -> None:
        super().__init__()
        values, scale = rounded(table.weight)
        self.register_buffer("values", values)
        self.register_buffer("scale", scale)

    def forward(self, ids: Tensor) -> Tensor:
        return functional.embedding(ids, self.values).float() * self.scale
