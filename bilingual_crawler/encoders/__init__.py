"""Sentence encoders: ``base`` finds them by name and keeps vectors, ``e5`` is multilingual-e5-small without a hub."""


class EncoderError(ValueError):
    """A missing or unknown sentence encoder; the message says what to install."""
