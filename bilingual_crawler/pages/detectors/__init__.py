"""Detectors of languages: ``base`` has what one is, the vote of several, and detectors by name."""
