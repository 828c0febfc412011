"""What can be wrong with the parts of document alignment."""

from __future__ import annotations


class EncoderError(ValueError):
    """The sentence encoder is not installed, or not the known one; the message says what to install."""
