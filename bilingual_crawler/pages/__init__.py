"""Parse a page once: its text, its links with their evidence, its language, its outline.

- ``model``: the values ``PageRecord`` and ``Link``.
- ``html``: HTML to ``PageRecord``; ``walk`` visits the nodes, ``wrapping`` joins wrapped lines, ``links`` merges the
  anchors, ``tables`` has the word lists.
- ``labels``: the language that a link names by a name, a code or a flag.
- ``pdf``: the paragraphs of a PDF; needs the extra ``pdf``.
- ``decode``: the bytes of a response to text.
- ``language``: the language of a text, by the ``detectors`` of a crawl.
- ``outline``: what a page has in common with its translation; ``dates`` finds the dates in it.
- ``declarations``: what a page declares about where it comes from, as an ``origin``; ``opt_outs``: what it opts out of.
- ``sitemap``, ``robots``: sitemaps and robots.txt.
- ``formats``: the formats of documents, by URL and by media type.
- ``characters``: which characters of foreign text are kept, and in what form.
- ``jobs``: all of this as jobs of the helper processes in ``sandbox``.

The room may import ``urls`` and ``languages``, and neither Scrapy nor Twisted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler import lazy_exports

if TYPE_CHECKING:
    from bilingual_crawler.pages.html import parse_page
    from bilingual_crawler.pages.jobs import PageJob, PdfJob, RobotsJob, SitemapJob
    from bilingual_crawler.pages.model import Link, LinkPosition, LinkSource, PageRecord
    from bilingual_crawler.pages.outline import Outline
    from bilingual_crawler.pages.sitemap import parse_sitemap
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "parse_page": "html",
            **dict.fromkeys(("PageJob", "PdfJob", "RobotsJob", "SitemapJob"), "jobs"),
            **dict.fromkeys(("Link", "LinkPosition", "LinkSource", "PageRecord"), "model"),
            "Outline": "outline",
            "parse_sitemap": "sitemap",
        },
    )

__all__ = [
    "Link",
    "LinkPosition",
    "LinkSource",
    "Outline",
    "PageJob",
    "PageRecord",
    "PdfJob",
    "RobotsJob",
    "SitemapJob",
    "parse_page",
    "parse_sitemap",
]
