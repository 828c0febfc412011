"""Signals of a bilingual crawl, beside Scrapy's own."""

from __future__ import annotations

from dataclasses import dataclass

pair_found = object()
"""Sent with ``pair`` when both of its documents are fetched; a better pair of one of them may follow."""
url_fetched = object()
"""Sent once for every URL that was asked for, with ``fetch``: a :class:`Fetch`."""

document_read = object()
"""Sent with ``document`` for each :class:`~bilingual_crawler.items.Document` of a spider that yields other items."""

site_judged = object()
"""Sent with ``site``, a :class:`~bilingual_crawler.discovery.sites.JudgedSite`, at each verdict of a discovery."""

sitemaps_named = object()
"""Sent with ``urls``, those of the sitemaps that a robots.txt names."""

page_rendered = object()
"""Sent with ``request`` and ``response`` (HTML in UTF-8) for a page that the browser rendered."""

output_failed = object()
"""Sent with ``error``, an OSError, when an output cannot be written (disk full): nothing may be finished any more."""

FAILED_OUTPUTS = "bilingual/output/failed"
"""The stat that counts outputs that are not written, or not as they should be: the exit code of the command is 1."""

phase_changed = object()
"""Sent with ``phase``, a few words: what a crawl that ends is doing, such as ``stopping, transfers left: 2``."""

stop_now = object()
"""Sent when a crawl that is stopping is told so again: whatever would make it wait is given up."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """What came of asking for a URL; a line of ``crawl.tsv``."""

    time: str
    status: int
    """HTTP status; 0 if there was no answer."""
    url: str
    language: str
    """Language of the content, ISO 639-3; ``un`` if unknown, empty if there is no content to look at."""
    priority: float
    referrer: str
    depth: int
    outcome: str
    """``document``, ``other-language``, ``sitemap``, ``redirect``, or why the URL was dropped."""
    location: str = ""
    """Target of a redirect."""
