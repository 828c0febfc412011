"""One parse of an HTML page: text, and links with their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from bilingual_crawler.pages.formats import ONLY_HTML
from bilingual_crawler.pages.hostile import tame
from bilingual_crawler.pages.links import header_anchors, in_formats, limited, merge
from bilingual_crawler.pages.model import MAX_LINES, MAX_TEXT, Page
from bilingual_crawler.pages.robots import page_rules
from bilingual_crawler.pages.switches import find_switchers
from bilingual_crawler.pages.walk import Walk
from bilingual_crawler.urls.canonical import canonicalise

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def parse_page(html: str, url: str, link_headers: Sequence[str] = ()) -> Page:
    """The page that *html*, fetched from *url*, shows; *link_headers* are the values of HTTP ``Link`` headers.

    Links are canonical and unique. The evidence of all occurrences of a URL is merged into the first; the most direct
    source wins (an anchor before an alternate). URLs whose extension excludes a page, links to the page itself, and
    links beyond the limits are left out. Title and text are cut at the limits of a :class:`Page`. Raises nothing but
    MemoryError.
    """
    return page_of(walk_through(html), url, link_headers)


def walk_through(html: str) -> Walk:
    """All that is read of *html*; raises nothing but MemoryError."""
    walk = Walk()
    try:
        root = LexborHTMLParser(tame(html)).root
    except SelectolaxError as error:
        # the parser takes any text, so this error means that there was no memory
        raise MemoryError from error
    if root is not None:
        walk.run(root)
    return walk


def page_of(walk: Walk, url: str, link_headers: Sequence[str] = (), formats: Collection[str] = ONLY_HTML) -> Page:
    """What *walk* found as the page at *url*; as :func:`parse_page`, with links to documents in *formats*."""
    walk.anchors.extend(header_anchors(link_headers))
    find_switchers(walk.anchors)
    head = walk.head
    base = (canonicalise(head.base, url) if head.base else None) or url
    links, documents = in_formats(merge(walk.anchors, base, canonicalise(url)), formats)
    followed = limited(links)
    rules = page_rules(head.robots)
    return Page(
        url=url,
        title=head.title,
        text="\n".join(walk.lines[:MAX_LINES])[:MAX_TEXT],
        links=followed,
        links_left=len(links) - len(followed),
        documents=documents,
        language=head.language,
        nofollow=rules.nofollow,
        noindex=rules.noindex,
    )
