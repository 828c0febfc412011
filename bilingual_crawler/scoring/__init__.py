"""What a URL, or a pair of URLs, tells before anything is fetched."""

from __future__ import annotations
