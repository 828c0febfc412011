"""What is wrong with a mining before it starts, or with its input."""

from __future__ import annotations


class MiningError(Exception):
    """Names the input and the fix."""
