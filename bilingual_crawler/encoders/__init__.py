"""Sentence encoders, for documents and for sentences.

- ``base.py``: encoders by name, with vectors kept on disk
- ``e5.py``, ``e5_graph.py``, ``e5_weights.py``: multilingual-e5-small without a hub
"""

from __future__ import annotations


class EncoderError(ValueError):
    """A missing or unknown sentence encoder; the message says what to install."""
