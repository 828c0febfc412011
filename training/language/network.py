"""The small network: hashed n-grams of a URL's words, mixed with their neighbours, pooled by attention."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from bilingual_crawler.scoring.models import FIRST_BYTE

PAD, SEPARATOR = 0, 1
VOCABULARY = FIRST_BYTE + 256
PRIME = 2_147_483_647
FACTOR = 1_000_003
COMPONENTS = ("suffix", "host", "first directory", "path", "query")
LETTER, DIGIT, PUNCTUATION = 1, 2, 3


@dataclass(frozen=True, slots=True)
class WordNetConfig:
    """Sizes. `orders` are n-gram lengths in bytes; `rows` of the n-gram table is best a prime; a text has `heads`
    weighted means of its words besides the plain one. In training, `gram_dropout` of the n-grams and `name_dropout` of
    the words' own vectors are left out, so that a name is not learnt by heart.
    """

    labels: int
    rows: int = 131_071
    word_rows: int = 65_521
    columns: int = 32
    orders: tuple[int, ...] = (2, 3, 4, 5, 6)
    width: int = 96
    heads: int = 4
    layers: int = 1
    max_words: int = 48
    dropout: float = 0.1
    gram_dropout: float = 0.0
    name_dropout: float = 0.0


def byte_tables() -> tuple[Tensor, Tensor]:
    """Per token id: the symbol that is hashed (all digits alike) and the class of the byte."""
    symbols, classes = torch.zeros(VOCABULARY, dtype=torch.int64), torch.zeros(VOCABULARY, dtype=torch.int64)
    for byte in range(256):
        char, token = chr(byte), FIRST_BYTE + byte
        digit = "0" <= char <= "9"
        symbols[token] = token if not digit else FIRST_BYTE + ord("0")
        letter = byte >= 128 or (char.isascii() and char.isalpha())
        classes[token] = DIGIT if digit else LETTER if letter else PUNCTUATION
    symbols[SEPARATOR], classes[SEPARATOR] = SEPARATOR, PUNCTUATION
    return symbols, classes


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a batch of B texts of L ids, at most W words each.

    A word is a run of letters or of digits with the punctuation before it. `grams` [B, orders, L] are rows of the
    n-gram table (0: none), `owner` [B, L] is the word that each id belongs to (-1: none), and `belongs` [B, W, L] says
    the same; `names` [B, W] are rows of the word table, `components` [B, W] index `COMPONENTS`, `present` [B, W] tells
    words from padding.
    """

    grams: Tensor
    owner: Tensor
    belongs: Tensor
    names: Tensor
    components: Tensor
    present: Tensor


def shifted(x: Tensor, by: int) -> Tensor:
    """`x` [B, L] moved `by` places to the left, zeros coming in."""
    return functional.pad(x, (0, by))[:, by:]


def read_words(ids: Tensor, config: WordNetConfig, symbols: Tensor, classes: Tensor) -> Words:
    """Split texts into words and hash them, in integer arithmetic, so that the ONNX graph is exact."""
    symbol, kind = symbols[ids], classes[ids]
    before = functional.pad(kind, (1, 0))[:, :-1]
    start = (kind != before) & (before != PUNCTUATION) & (kind != 0)
    owner = torch.where(kind != 0, start.long().cumsum(1) - 1, -1).clamp(max=config.max_words - 1)

    grams, hashed, names = [], symbol, symbol
    for order in range(2, max(config.orders) + 1):
        hashed = (hashed * FACTOR + shifted(symbol, order - 1)) % PRIME
        if order == 3:
            names = hashed
        if order in config.orders:
            last = shifted(owner + 1, order - 2) - 1
            inside = (last == owner) & (owner >= 0)
            grams.append(torch.where(inside, 1 + hashed % (config.rows - 1), 0))

    count = (owner.max() + 1).clamp(min=1).item()
    # The exporter cannot know the range of a number that depends on the data.
    torch._check(count >= 1)  # type: ignore[no-untyped-call]
    torch._check(count <= config.max_words)  # type: ignore[no-untyped-call]
    word = torch.arange(count)
    belongs = owner[:, None, :] == word[None, :, None]
    present = word <= owner.amax(1, keepdim=True)
    first = belongs.int().argmax(2)
    slash, query = FIRST_BYTE + ord("/"), FIRST_BYTE + ord("?")
    depth = (ids == slash).long().cumsum(1).clamp(max=2)
    queries = (ids == query).long().cumsum(1).clamp(max=1)
    component = torch.maximum(depth + 1, queries * 4)
    component = torch.where(present, component.gather(1, first), 0)
    component = torch.where((component == 1) & (shifted(component, 1) != 1), 0, component)

    mixed = (names * names) % PRIME
    name = (belongs.long() @ mixed[:, :, None])[:, :, 0] % PRIME
    name = (name * FACTOR + component) % PRIME
    name = torch.where(present, 1 + name % (config.word_rows - 1), 0)
    return Words(torch.stack(grams, dim=1), owner, belongs, name, component, present)


class Neighbours(nn.Module):
    """Mixes each word with the word before and the word after it."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(3 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, here: Tensor) -> Tensor:
        y = self.norm(x) * here
        before, after = functional.pad(y[:, :-1], (0, 0, 1, 0)), functional.pad(y[:, 1:], (0, 0, 0, 1))
        around = torch.cat([before, y, after], dim=2)
        result: Tensor = x + self.dropout(torch.relu(self.mix(around)))
        return result


class WordNet(nn.Module):
    """Logits of a text from its words."""

    symbols: Tensor
    classes: Tensor

    def __init__(self, config: WordNetConfig) -> None:
        super().__init__()
        self.config = config
        symbols, classes = byte_tables()
        self.register_buffer("symbols", symbols, persistent=False)
        self.register_buffer("classes", classes, persistent=False)
        self.grams = nn.Embedding(config.rows, config.columns, padding_idx=0)
        self.names = nn.Embedding(config.word_rows, config.columns, padding_idx=0)
        for table in (self.grams, self.names):
            nn.init.normal_(table.weight, std=0.1)
            with torch.no_grad():
                table.weight[0].zero_()
        self.components = nn.Embedding(len(COMPONENTS), config.width)
        self.positions = nn.Embedding(config.max_words, config.width)
        self.lift = nn.Linear(2 * config.columns, config.width)
        self.layers = nn.ModuleList(Neighbours(config.width, config.dropout) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.score = nn.Linear(config.width, config.heads)
        self.dropout = nn.Dropout(config.dropout)
        self.join = nn.Linear((config.heads + 1) * config.width, 2 * config.width)
        self.head = nn.Linear(2 * config.width, config.labels)

    def sum_grams(self, words: Words) -> Tensor:
        """The n-grams of each word summed, divided by the root of their number [B, W, columns]."""
        batch, count = words.names.shape
        grams = words.grams.transpose(1, 2)
        place = torch.arange(batch)[:, None] * count + words.owner
        used = grams > 0
        if self.training:
            used &= torch.rand(used.shape) >= self.config.gram_dropout
        bags = place[:, :, None].expand(grams.shape)[used]
        sizes = torch.bincount(bags, minlength=batch * count)
        offsets = sizes.cumsum(0) - sizes
        summed = functional.embedding_bag(grams[used], self.grams.weight, offsets, mode="sum")
        return (summed / sizes.clamp(min=1).sqrt()[:, None]).view(batch, count, -1)

    def embed(self, words: Words) -> Tensor:
        """Word vectors [B, W, width] before mixing."""
        names = self.names(words.names)
        if self.training:
            names = names * (torch.rand(words.names.shape) >= self.config.name_dropout)[:, :, None]
        x: Tensor = self.lift(torch.cat([self.sum_grams(words), names], dim=2))
        x = x + self.components(words.components) + self.positions.weight[: words.names.shape[1]]
        return x

    def pool(self, x: Tensor, here: Tensor) -> Tensor:
        """One weighted mean over the words per head, and the plain mean."""
        x = self.norm(x)
        scores = self.score(x).masked_fill(here == 0, -1e4).softmax(1) * here
        weights = torch.cat([scores, here / here.sum(1, keepdim=True).clamp(min=1)], dim=2)
        return (weights.transpose(1, 2) @ x).flatten(1)

    def forward(self, ids: Tensor, words: Words | None = None) -> Tensor:
        words = words or read_words(ids, self.config, self.symbols, self.classes)
        x = self.dropout(self.embed(words))
        here = words.present[:, :, None].to(x.dtype)
        for layer in self.layers:
            x = layer(x, here)
        out: Tensor = self.head(self.dropout(torch.relu(self.join(self.pool(x, here)))))
        return out
