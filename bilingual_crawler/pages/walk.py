"""The walk over the tree of a page that collects text and anchors."""

from __future__ import annotations

import re
from itertools import compress
from typing import TYPE_CHECKING
from urllib.parse import unquote

from bilingual_crawler.characters import one_line
from bilingual_crawler.languages import from_bcp47
from bilingual_crawler.pages.head import Head
from bilingual_crawler.pages.links import MAX_AROUND, MAX_TEXT, Anchor, hreflang_of
from bilingual_crawler.pages.model import MAX_TITLE, LinkPosition, LinkSource
from bilingual_crawler.pages.regions import NAVIGATION, SWITCHER, is_hidden, region_of
from bilingual_crawler.pages.switches import MAX_SWITCH, OptionList
from bilingual_crawler.pages.tables import INLINE_TAGS, NAVIGATION_ROLES, SKIPPED_TAGS, UNTOLD_TAGS

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_HEAD_TAGS = frozenset(("html", "base", "link", "meta"))
# These may be hidden until a script shows them.
_PAGE_TAGS = frozenset(("html", "body"))
_LINK_TAGS = frozenset(("a", "area", "frame"))
_NAVIGATION_TAGS = frozenset(("nav", "footer", "menu"))
_CONTENT_TAGS = frozenset(("main", "article", "section"))
_LETTER = re.compile(r"[^\W_]")
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))

MAX_ANCHORS = 20_000
"""Links of a page that are read, repetitions included."""
MAX_NAMES = 1000
"""Characters of the class and id of an element that are read."""
MAX_IMAGES = 500
"""Images of a page whose addresses are read, repetitions included."""

# Flags for the end of an element.
_BLOCK, _NAVIGATION, _CONTENT, _HIDDEN, _ANCHOR, _SWITCH, _SELECT = (1 << i for i in range(7))


class Walk:
    """Visits each node of a tree once; the public attributes hold the results."""

    def __init__(self) -> None:
        self.head = Head()
        self.lines: list[str] = []
        self.main: list[bool] = []
        """Whether each line is outside navigation."""
        self.images: list[str] = []
        """Addresses of images as they are written."""
        self.anchors: list[Anchor] = []
        self._line: list[str] = []
        self._mark: tuple[int, int] | None = None
        self._anchor: Anchor | None = None
        self._anchor_start = 0
        self._anchors_told = 0
        """How many of the anchors have the text of their block."""
        self._options: OptionList | None = None
        self._switches: list[tuple[int, int]] = []
        self._hidden = 0
        self._navigation = 0
        self._content = 0
        self._characters = 0
        self._after_anchor = 0

    def run(self, root: LexborNode) -> None:
        """Visit all nodes under *root* without recursion."""
        stack: list[tuple[LexborNode, int]] = []
        node: LexborNode | None = root
        while node is not None:
            tag = node.tag or "-"
            if tag == "-text":
                self._text(node.text_content or "")
            elif tag == "title":
                self.head.title = self.head.title or one_line(node.text())[:MAX_TITLE].rstrip()
            elif tag not in SKIPPED_TAGS and tag[0] != "-":
                undo = self._start(tag, node)
                child = node.first_child
                if child is not None:
                    stack.append((node, undo))
                    node = child
                    continue
                if undo:
                    self._end(undo, node)
            following = node.next
            while following is None and stack:
                node, undo = stack.pop()
                if undo:
                    self._end(undo, node)
                following = node.next
            node = following
        self._flush()
        self._leave_out_invisible()

    def _text(self, text: str) -> None:
        if self._anchor is not None:
            self._anchor.words.append(text)
        if self._options is not None:
            self._options.text(text)
        elif not self._hidden:
            if self._line or not text.isspace():
                self._line.append(text)
            self._characters += len(text)

    def _flush(self) -> None:
        if self._anchor is not None:
            self._anchor.words.append(" ")
        if self._line:
            if self._mark is not None:
                self._remove_mark(*self._mark)
            line = " ".join("".join(self._line).split())
            if line:
                self.lines.append(line)
                self.main.append(not self._navigation)
                for anchor in self.anchors[self._anchors_told :]:
                    anchor.around = anchor.around or line[:MAX_AROUND]
            self._line.clear()
            self._anchor_start = self._after_anchor = 0
        self._anchors_told = len(self.anchors) - (self._anchor is not None)

    def _leave_out_invisible(self) -> None:
        # one check of the whole text is faster than one per line
        if not " ".join(self.lines).isprintable():
            cleaned = list(map(one_line, self.lines))
            self.main = list(compress(self.main, cleaned))
            self.lines = list(filter(None, cleaned))
        if not " ".join([anchor.text for anchor in self.anchors]).isprintable():
            for anchor in self.anchors:
                anchor.text = one_line(anchor.text)

    def _start(self, tag: str, node: LexborNode) -> int:
        undo = 0
        if tag not in INLINE_TAGS:
            self._flush()
            undo = _BLOCK
        if tag in _NAVIGATION_TAGS or (tag == "header" and not self._content):
            undo |= _NAVIGATION
        elif tag in _CONTENT_TAGS:
            undo |= _CONTENT
        elif tag == "noscript":
            undo |= _HIDDEN
        elif tag == "select":
            undo |= _SELECT
            self._options = OptionList()
        attributes = node.attributes
        if tag == "option" and self._options is not None:
            self._options.add(attributes.get("value"))
        if attributes:
            if is_hidden(attributes) and tag not in _PAGE_TAGS:
                undo |= _HIDDEN
            if tag == "img" and len(self.images) < MAX_IMAGES and (source := attributes.get("src")):
                self.images.append(source)
            if tag in _LINK_TAGS:
                undo |= self._open(tag, attributes)
            elif tag in _HEAD_TAGS:
                anchor = self.head.read(tag, attributes)
                if anchor is not None:
                    self.anchors.append(anchor)
            if tag not in UNTOLD_TAGS:
                undo |= self._region(tag, attributes)
            if self._anchor is not None:
                self._describe(tag, attributes)
        self._navigation += bool(undo & _NAVIGATION)
        self._content += bool(undo & _CONTENT)
        self._hidden += bool(undo & _HIDDEN)
        return undo

    def _end(self, undo: int, node: LexborNode) -> None:
        if undo & _BLOCK:
            self._flush()
        if undo == _BLOCK:
            return
        self._navigation -= bool(undo & _NAVIGATION)
        self._content -= bool(undo & _CONTENT)
        self._hidden -= bool(undo & _HIDDEN)
        if undo & _ANCHOR and self._anchor is not None:
            if "#" in self._anchor.href:
                self._find_mark(node, self._anchor.href.partition("#")[2])
            self._anchor.close()
            self._anchor = None
            self._after_anchor = len(self._line)
        if undo & _SWITCH:
            self._end_switch()
        if undo & _SELECT:
            if self._options is not None:
                self.anchors += self._options.anchors()
            self._options = None

    def _find_mark(self, node: LexborNode, fragment: str) -> None:
        """Leave out the link that ends here if it only gives its place an address, like the ``¶`` of headings.

        Such a link has neither letters nor digits, or leads to the heading that contains it. It comes last in its
        block, or first in a heading.
        """
        start, end = self._anchor_start, len(self._line)
        is_sign = not _LETTER.search("".join(self._line[start:]))
        if start == 0:
            if is_sign and _heading_around(node):
                self._line.clear()
        elif is_sign or ((heading := _heading_around(node)) and heading.id == unquote(fragment)):
            self._mark = (start, end)

    def _remove_mark(self, start: int, end: int) -> None:
        if not "".join(self._line[end:]).strip():
            del self._line[start:]
        self._mark = None

    def _region(self, tag: str, attributes: dict[str, str | None]) -> int:
        names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"[:MAX_NAMES]
        bits = region_of(names) if names != " " else 0
        if attributes.get("role") in NAVIGATION_ROLES:
            bits |= NAVIGATION
        if tag != "a":
            if bits & SWITCHER:
                self._switches.append((len(self.anchors), self._characters))
            return (_NAVIGATION if bits & NAVIGATION else 0) | (_SWITCH if bits & SWITCHER else 0)
        if self._anchor is not None:
            if bits & SWITCHER:
                self._anchor.position = LinkPosition.SWITCHER
            elif bits & NAVIGATION:
                self._anchor.position = LinkPosition.NAVIGATION
        return 0

    def _describe(self, tag: str, attributes: dict[str, str | None]) -> None:
        """Add the evidence of an element inside the open anchor, or of its own element."""
        anchor = self._anchor
        assert anchor is not None
        if anchor.lang is None and (lang := attributes.get("lang")):
            anchor.lang = from_bcp47(lang)
        if tag == "img":
            name = (attributes.get("src") or "").partition("?")[0]
            name = "/".join(name.split("/")[-2:]) if not name.startswith("data:") else ""
            anchor.images += [part for part in (attributes.get("alt"), attributes.get("title"), name) if part]
        elif tag != "a" and (names := attributes.get("class")) and ("flag" in names or names.startswith("fi fi-")):
            anchor.images.append(names)

    def _end_switch(self) -> None:
        """Make the links of an element whose class names a language switcher one, unless they are too many."""
        start, characters = self._switches.pop()
        links = len(self.anchors) - start
        if 0 < links <= MAX_SWITCH and self._characters - characters <= 100 + 60 * links:
            for anchor in self.anchors[start:]:
                anchor.position = LinkPosition.SWITCHER

    def _open(self, tag: str, attributes: dict[str, str | None]) -> int:
        href = attributes.get("src" if tag == "frame" else "href")
        if not href or len(self.anchors) >= MAX_ANCHORS:
            return 0
        position = LinkPosition.NAVIGATION if self._navigation else LinkPosition.BODY
        anchor = Anchor(href, LinkSource(tag), position)
        self.anchors.append(anchor)
        anchor.hreflang = hreflang_of(attributes.get("hreflang"))
        if relation := attributes.get("rel"):
            relations = relation.lower().split()
            anchor.nofollow = "nofollow" in relations
            anchor.alternate = "alternate" in relations
        anchor.title = attributes.get("title") or attributes.get("aria-label") or ""
        if tag == "a":
            if self._line and len(self._line) == self._after_anchor:
                self._line.append(" ")
            self._anchor = anchor
            self._anchor_start = len(self._line)
            return _ANCHOR
        anchor.text = " ".join((attributes.get("alt") or anchor.title).split())[:MAX_TEXT]
        return 0


def _heading_around(node: LexborNode) -> LexborNode | None:
    """The heading that holds *node*, at most four elements up."""
    for _ in range(4):
        parent = node.parent
        if parent is None or parent.tag in _HEADINGS:
            return parent
        node = parent
    return None
