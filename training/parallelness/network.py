"""The pair network: a bag of features, and the similarities between the words of both URLs.

Reads the ids of `urls.pair_text` and gives one logit. Token ids below `features` are features (and the marks ``<a>``,
``<b>``), the others are pieces of words; each has its own table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.common.int8 import Int8Table
from training.common.model_folder import exported

if TYPE_CHECKING:
    import onnx

PAD, UNKNOWN, MARK_A, MARK_B = 0, 1, 2, 3
SPECIAL = ("<pad>", "<unk>", "<a>", "<b>")
FAR = -1e4


@dataclass(frozen=True, slots=True)
class PairNetConfig:
    """Sizes: ids below `features` are features, `words` more are pieces of words."""

    features: int
    words: int
    feature_width: int = 64
    word_width: int = 48
    hidden: int = 128
    dropout: float = 0.1


class PairNet(nn.Module):
    """Ids [B, L], padded with 0, to logits [B, 1]."""

    def __init__(self, config: PairNetConfig) -> None:
        super().__init__()
        self.config = config
        self.feature_table = nn.Embedding(config.features, config.feature_width)
        self.word_table = nn.Embedding(config.words + 1, config.word_width + 1)
        nn.init.normal_(self.feature_table.weight, std=0.05)
        nn.init.normal_(self.word_table.weight, std=0.3)
        with torch.no_grad():
            self.word_table.weight[:, -1] = 0.0
        width = config.feature_width + 6
        self.first = nn.Linear(width, config.hidden)
        self.second = nn.Linear(config.hidden, config.hidden)
        self.last = nn.Linear(config.hidden, 1)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, ids: Tensor) -> Tensor:
        config = self.config
        in_a = (ids == MARK_A).cumsum(1) > 0
        in_b = (ids == MARK_B).cumsum(1) > 0
        is_word = ids >= config.features
        feature = (~is_word & ~in_a & (ids > MARK_B)).float().unsqueeze(2)
        features = (self.feature_table(ids.clamp(max=config.features - 1)) * feature).sum(1)
        rows = self.word_table((ids - config.features + 1).clamp(min=0))
        vectors = functional.normalize(rows[:, :, :-1], dim=2, eps=1e-6)
        weight = torch.sigmoid(rows[:, :, -1:])
        a = (is_word & in_a & ~in_b).float().unsqueeze(2)
        b = (is_word & in_b).float().unsqueeze(2)
        mean_a, mean_b = _mean(vectors, weight * a), _mean(vectors, weight * b)
        near = vectors @ vectors.transpose(1, 2) + (a @ b.transpose(1, 2) - 1) * -FAR
        found_a, found_b = near.amax(2, keepdim=True), near.amax(1).unsqueeze(2)
        best_a, best_b = _mean(found_a, weight * a), _mean(found_b, weight * b)
        lost_a, lost_b = ((1 - found_a) * weight * a).amax(1), ((1 - found_b) * weight * b).amax(1)
        cosine = (functional.normalize(mean_a, dim=1, eps=1e-6) * functional.normalize(mean_b, dim=1, eps=1e-6)).sum(
            1, keepdim=True
        )
        both = torch.minimum(a.amax(1), b.amax(1))
        x = torch.cat(
            [
                features,
                cosine,
                torch.maximum(best_a, best_b) * both,
                torch.minimum(best_a, best_b) * both,
                torch.maximum(lost_a, lost_b) * both,
                torch.minimum(lost_a, lost_b) * both,
                both,
            ],
            1,
        )
        x = self.dropout(torch.relu(self.first(x)))
        x = self.dropout(torch.relu(self.second(x)))
        logits: Tensor = self.last(x)
        return logits


def _mean(x: Tensor, weight: Tensor) -> Tensor:
    return (x * weight).sum(1) / weight.sum(1).clamp(min=1e-3)


def with_int8_tables(net: PairNet) -> PairNet:
    """A copy of `net` for run time: tables in int8, ready for `pair_graph`."""
    copy = PairNet(net.config)
    copy.load_state_dict(net.state_dict())
    copy.feature_table = Int8Table(net.feature_table)  # type: ignore[assignment]
    copy.word_table = Int8Table(net.word_table)  # type: ignore[assignment]
    return copy.eval()


def pair_graph(net: PairNet) -> onnx.ModelProto:
    """ONNX graph with free batch and length: int64 input_ids to float32 logits."""
    ids = torch.randint(0, net.config.features + net.config.words, (3, 20))
    ids[:, 5], ids[:, 9] = MARK_A, MARK_B
    return exported(net, {"input_ids": ids})
