"""Turn texts into token ids, byte by byte or with the tokenizer of a model folder."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Protocol

import numpy as np
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FIRST_BYTE = 2
"""The id of byte 0 for models that read bytes; 0 is padding, 1 stands between the two halves of a pair."""


class Tokens(Protocol):
    """Turns texts into ids."""

    pad: int

    def __call__(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The concatenated ids of all texts, and the number of ids of each."""


class ByteTokens:
    """One id for each byte of UTF-8, at most `longest` for a text."""

    pad = 0

    def __init__(self, longest: int) -> None:
        self._longest = longest

    def __call__(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows = [text.encode("utf-8", "replace")[: self._longest] for text in texts]
        ids = np.frombuffer(b"".join(rows), dtype=np.uint8).astype(np.int64) + FIRST_BYTE
        return ids, np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))


class FileTokens:
    """The ids of a `tokenizer.json`, at most `longest` for a text; ValueError if it is no such file."""

    def __init__(self, content: bytes, longest: int) -> None:
        try:
            self._tokenizer = Tokenizer.from_buffer(content)
        except Exception as error:  # the library raises the class itself
            raise ValueError(f"not a tokenizer: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(longest)
        self.pad = self._tokenizer.token_to_id("<pad>") or 0

    def __call__(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        return np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum())), lengths
