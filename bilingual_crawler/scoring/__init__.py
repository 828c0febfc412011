"""Scores of URLs and of pairs of URLs, before anything is fetched."""

from __future__ import annotations
