"""Parse HTML to a page, in linear time for any markup."""

import re
from collections.abc import Sequence

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from bilingual_crawler.pages.formats import ONLY_HTML
from bilingual_crawler.pages.links import header_anchors, in_formats, limited, merge
from bilingual_crawler.pages.model import MAX_LINES, MAX_TEXT, LinkSource, PageRecord
from bilingual_crawler.pages.origin import NOINDEX, TDM_POLICY, TDM_RESERVATION, opt_outs
from bilingual_crawler.pages.outline import Outline, files_in, outline_of_text
from bilingual_crawler.pages.robots import page_rules
from bilingual_crawler.pages.tables import SELF_CLOSING_TAGS
from bilingual_crawler.pages.walk import Walk
from bilingual_crawler.pages.words import width_of
from bilingual_crawler.urls.canonical import canonicalise, linked

_DEEP = 5000  # open elements at which markup is cut
_LONG = 100_000  # characters of a tag that is removed
_OPTIONS = 5000  # options of a page that are parsed

_OPTION = re.compile(r"<[oO][pP][tT][iI][oO][nN]")
_LONG_TAG = re.compile(rf"<[a-zA-Z/][^<>]{{{_LONG},}}>?")
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_NOSCRIPT = re.compile(r"(?i)<(/?)noscript(?=[\s/>])")
_TEMPLATE = re.compile(r"(?i)<template((?:\s[^<>]*)?)>|</template\s*>")
_SHADOW_ROOT = re.compile(r"\sshadowrootmode\s*=\s*[\"']?(?:open|closed)\b")


def as_shown(html: str) -> str:
    """*html* as browsers show it, for a parser without scripts: ``<noscript>`` ends, shadow trees replace templates."""
    if ("</noscript>" in html or "</NOSCRIPT>" in html) and "<frameset" not in html and "<FRAMESET" not in html:
        # the end of <applet> closes all that is open in it; it would end a frameset
        html = _NOSCRIPT.sub(lambda tag: "</applet" if tag[1] else "<applet hidden", html)
    return _with_shadow_trees(html) if "shadowrootmode" in html else html


def _with_shadow_trees(html: str) -> str:
    """*html* with ``<shadow-root>`` for each template that declares a shadow tree."""
    is_shown: list[bool] = []

    def renamed(tag: re.Match[str]) -> str:
        if tag[1] is not None:
            # in a template that is not shown nothing is
            is_shown.append(all(is_shown[-1:]) and _SHADOW_ROOT.search(tag[1]) is not None)
            return "<shadow-root>" if is_shown[-1] else tag[0]
        return "</shadow-root>" if is_shown and is_shown.pop() else tag[0]

    return _TEMPLATE.sub(renamed, html)


def tame(html: str) -> str:
    """*html* cut where lexbor takes quadratic time: in its depth, in attributes of a tag, in options of a list."""
    if len(html) < _DEEP * len("<b>"):
        return html
    if len(html) > _LONG:
        html = _LONG_TAG.sub("", html)
    tags = html.count("<")
    if tags > _OPTIONS and len(starts := [match.start() for match in _OPTION.finditer(html)]) > _OPTIONS:
        # the rest becomes text of the last option
        html = html[: starts[_OPTIONS]] + _OPTION.sub("<b", html[starts[_OPTIONS] :])
        tags = html.count("<")
    if tags <= _DEEP or tags - 2 * html.count("</") <= _DEEP:
        return html
    # drawings are no text, and thousands of their tags may end themselves (`<path/>`)
    *drawn, rest = html.split("</svg>")
    html = "".join([*(part.partition("<svg")[0] for part in drawn), rest])
    depth = 0
    for match in _TAG.finditer(html):
        if match[2].lower() not in SELF_CLOSING_TAGS:
            depth += -1 if match[1] else 1
            if depth > _DEEP:
                return html[: match.start()]
    return html


def parse_page(html: str, url: str, link_headers: Sequence[str] = ()) -> PageRecord:
    """Parse *html*, fetched from *url*, to a page without its language; raises nothing but MemoryError.

    *link_headers* are the values of HTTP ``Link`` headers. Links are canonical and unique, with the evidence of all
    occurrences; links to the page itself and to what is no page are left out.
    """
    return page_of(walk_through(html), url, link_headers)


def walk_through(html: str) -> Walk:
    """Walk the tree of *html*; raises nothing but MemoryError."""
    walk = Walk()
    try:
        root = LexborHTMLParser(tame(as_shown(html))).root
    except SelectolaxError as error:
        # the parser takes any text, so this error means that there was no memory
        raise MemoryError from error
    if root is not None:
        walk.run(root)
    return walk


def page_of(walk: Walk, url: str, link_headers: Sequence[str] = (), formats: frozenset[str] = ONLY_HTML) -> PageRecord:
    """Return *walk* as the page at *url*, as :func:`parse_page` does, with links to documents in *formats*."""
    walk.anchors.extend(header_anchors(link_headers))
    declared = walk.declarations
    base = (canonicalise(declared.base, url) if declared.base else None) or url
    for anchor in walk.anchors if base != url else ():
        # a form without an address leads to the page, not to its base (HTML, "form submission algorithm")
        if anchor.source is LinkSource.FORM and anchor.href.startswith("?"):
            anchor.href = url.partition("#")[0].partition("?")[0] + anchor.href
    links, documents = in_formats(merge(walk.anchors, base, canonicalise(url)), formats)
    followed = limited(links)
    noindex, nofollow = page_rules(declared.robots)
    text = "\n".join(walk.own_lines[:MAX_LINES])[:MAX_TEXT]
    return PageRecord(
        url=url,
        title=walk.title,
        text=text,
        length=width_of(text),
        links=followed,
        links_left=len(links) - len(followed),
        documents=documents,
        declared=tuple(filter(None, (declared.language, *walk.languages, *declared.languages()))),
        canonical=linked(declared.canonical, base) if declared.canonical else None,
        nofollow=nofollow,
        objection=NOINDEX if noindex else None,
        origin=declared.origin(walk.anchors, walk.lines, walk.main, url, base),
        opt_outs=opt_outs(declared.robots, declared.values.get(TDM_RESERVATION), declared.values.get(TDM_POLICY), base),
    )


def outline_of(walk: Walk, url: str) -> Outline:
    """The outline of the page at *url* that *walk* has visited."""
    files = files_in(walk.images, [anchor.href for anchor in walk.anchors], url)
    return outline_of_text(walk.title, walk.own_lines, files)
