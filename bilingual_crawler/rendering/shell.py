"""Whether a page is nearly empty without its scripts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bilingual_crawler.pages.model import LinkPosition

if TYPE_CHECKING:
    from bilingual_crawler.pages.model import Page

MIN_TEXT = 100
"""Characters of visible text below which a page with scripts is taken for a shell."""
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)


def is_shell(page: Page, body: bytes) -> bool:
    """Whether *page*, parsed from *body*, has scripts, and almost no text or no visible link to another page."""
    empty = len(page.text) < MIN_TEXT or all(link.position is LinkPosition.HEAD for link in page.links)
    return empty and _SCRIPT.search(body) is not None
