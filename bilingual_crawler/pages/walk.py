"""Walk the tree of an HTML page once: its text, anchors, images and declarations."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import compress, groupby
from typing import NamedTuple
from urllib.parse import unquote

from selectolax.lexbor import LexborNode

from bilingual_crawler.languages.codes import base_of, from_bcp47
from bilingual_crawler.pages import choosers, frame
from bilingual_crawler.pages.characters import collapsed, composed, is_escaped_twice, one_line, unescaped
from bilingual_crawler.pages.declarations import Declarations
from bilingual_crawler.pages.labels import MAX_LABEL, coded_language, named_language
from bilingual_crawler.pages.links import MAX_AROUND, MAX_TEXT, NO_ADDRESS, Anchor, hreflang_of
from bilingual_crawler.pages.model import MAX_TITLE, LinkPosition, LinkSource
from bilingual_crawler.pages.tables import FRAME_ROLES, ICON_FONTS, INLINE_TAGS, MARKS, SKIPPED_TAGS, UNTOLD_TAGS
from bilingual_crawler.pages.words import is_unspaced
from bilingual_crawler.pages.wrapping import unbroken

MAX_SWITCH = 12  # links of the largest element that its class alone makes a language switcher


def _find_switchers(anchors: Sequence[Anchor]) -> None:
    """Set the label of anchors that name a language, and the position of those that make a language switcher.

    A bare code (``IT``, ``no``) counts in navigation, beside another language, or if the link declares it.
    """
    names = [(one, one.name) for one in anchors if one.position is not LinkPosition.HEAD]
    found = [(one, name, name or (coded_language(one.text) if len(one.text) <= 9 else None)) for one, name in names]
    for names_none, group in groupby(found, lambda row: row[2] is None):
        run = [] if names_none else list(group)
        several = len({language for *_, language in run}) > 1
        for anchor, name, language in run:
            declared = base_of(anchor.hreflang or ""), anchor.lang
            if name or several or anchor.position is not LinkPosition.BODY or language in declared:
                anchor.label, anchor.position = language, LinkPosition.SWITCHER


_HIDING_ATTRIBUTES = frozenset(("hidden", "popover", "style"))
_HIDING = re.compile(r"(?i)(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)")


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    by_attribute = "popover" in attributes or attributes.get("hidden", "until-found") != "until-found"
    return by_attribute or _HIDING.search(attributes.get("style") or "") is not None


_SHADOW_ROOTS = frozenset(("shadow-root",))
_SPECIAL = frozenset(("br", "sup", "noscript", "dialog", "slot", "mjx-math"))


def _is_replaced(tag: str, node: LexborNode, attributes: dict[str, str | None]) -> bool:
    """Whether something else is shown in place of an element in ``_SPECIAL``, or nothing until a script runs."""
    if tag == "noscript":
        return True
    if tag == "dialog":
        return "open" not in attributes
    if tag == "slot":
        # the host of the shadow tree around it has children, if only a blank
        root = _around(node, _SHADOW_ROOTS, levels=20)
        return root is not None and root.next is not None
    # MathJax 3: MathML has the text of the same formula
    return node.next is not None and node.next.tag == "mjx-assistive-mml"


def _around(node: LexborNode, tags: frozenset[str], levels: int) -> LexborNode | None:
    """The innermost element of *tags* around *node*, at most so many *levels* up."""
    for _ in range(levels):
        parent = node.parent
        if parent is None or parent.tag in tags:
            return parent
        node = parent
    return None


_SPOKEN = re.compile(
    r"(?:^|\s)(?:sr-only|visually-?hidden|screen-reader-(?:text|only)|show-for-sr|element-invisible)(?:\s|$)"
)
_FORMULAS = frozenset(("katex-html", "MJX_Assistive_MathML", "MathJax_Preview"))
# For screen readers or an icon; one of two forms of a formula, perhaps; added by a generator.
_UNREAD, _TWICE, _ADDED = 1, 2, 3


@lru_cache(maxsize=16384)
def _hiding(tag: str, names: str) -> int:
    """Why an element with these class names is no text; 0 for most."""
    parts = names.split()
    is_spoken = tag == "span" and _SPOKEN.search(names) and "not-sr-only" not in names
    if is_spoken or (tag in {"i", "span", "em", "mat-icon"} and not ICON_FONTS.isdisjoint(parts)):
        return _UNREAD
    if not _FORMULAS.isdisjoint(parts):
        return _TWICE
    return _ADDED if (tag == "sup" and "reference" in parts) or not MARKS.isdisjoint(parts) else 0


def _is_repeated(node: LexborNode, names: str) -> bool:
    """Whether the element *node* repeats a formula beside it: KaTeX after MathML, MathJax 2 before and after it."""
    if "MathJax_Preview" in names:
        return node.next is not None and "MathJax" in (node.next.attributes.get("class") or "")
    # a drawing has no text
    return node.prev is not None and node.prev.tag != "svg"


_REFERENCE = re.compile(
    r"[\[(]?\s*(?:(?:[^\W\d_][\w-]*\s)?\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*|[^\W\d_]|[ivx]{2,5}|[*†‡§¶]+)\s*[\])]?"
)
MAX_FEW = 12  # nodes in the mark of a note, or the name of a language


def _is_reference(raised: LexborNode) -> bool:
    """Whether the ``sup`` element *raised* is the mark of a note: a link to a part of a page, such as ``[7]``."""
    nodes = _few_below(raised)
    has_link = _leads_into_page(raised.parent) and raised.prev is None and raised.next is None
    is_mark = _REFERENCE.fullmatch(_text_of_few(nodes).strip()) is not None
    return is_mark and (has_link or any(map(_leads_into_page, nodes)))


def _few_below(root: LexborNode) -> list[LexborNode]:
    """The nodes below *root*; empty if they are more than ``MAX_FEW``."""
    found: list[LexborNode] = []
    nodes = [root.first_child]
    while nodes:
        node = nodes.pop()
        if node is not None:
            found.append(node)
            if len(found) > MAX_FEW:
                return []
            nodes += node.next, node.first_child
    return found


def _text_of_few(nodes: Sequence[LexborNode]) -> str:
    return "".join(node.text_content or "" for node in nodes if node.tag == "-text")


def _leads_into_page(node: LexborNode | None) -> bool:
    return node is not None and node.tag == "a" and "#" in (node.attributes.get("href") or "")


_BLOCK_STYLE = re.compile(r"(?i)(?:^|[;\s])display\s*:\s*(?:block|flex|grid|list-item|table)(?![\w-])")
_FLOATING = re.compile(r"(?i)\bfloat\s*:\s*(?!none)\w")


_SPACING = re.compile(r"(?i)(?:^|[;\s])display\s*:\s*(?:inline-)?(?:flex|grid)\b")  # parts children
_DECLARING_TAGS = frozenset(("html", "base", "link", "meta", "time"))
_PAGE_TAGS = frozenset(("html", "body"))  # these may be hidden until a script shows them
_NAMES = ("title", "aria-label", "alt", "lang", "hreflang", "data-lang")
_EVENTS = ("onclick", "onmousedown", "onmouseup", "ondblclick")
_CLICKS = frozenset((*_EVENTS, *choosers.DATA_ADDRESSES))
_CLICKED_TAGS = frozenset(("button", "div", "img", "input", "li", "p", "span", "td", "tr"))
_LETTER = re.compile(r"[^\W_]")
_PHRASE_TAGS = frozenset(("a", "b", "button", "em", "i", "label", "small", "span", "strong", "time"))
_APART_TAGS = frozenset(("button", "label", "time"))  # beside another element they are never a part of its last word
_TYPE_ATTRIBUTES = frozenset(("lang", "style"))
_TYPE_CLASSES = re.compile(r"(?:[A-Za-z]{1,2}\d++\s*+)++")
_BLANK_LINE = re.compile(r"\n\s*\n")
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_CODE = "code, pre, kbd, samp, tt, textarea, xmp"  # elements of pages that may write about HTML

MAX_ANCHORS = 20_000  # links of a page that are read, repetitions included
MAX_NAMES = 1000  # characters of the class and id of an element that are read
MAX_IMAGES = 500  # images of a page whose addresses are read, repetitions included

# Flags for the end of an element.
_BLOCK, _FRAME, _CONTENT, _HIDDEN, _ANCHOR, _SWITCH, _FORM, _CLICKED = (1 << i for i in range(8))
_SPACED, _PREFORMATTED, _LAYOUT, _BUTTON, _HEADING = (1 << i for i in range(8, 13))
_PASSED_ON = _CONTENT | _HIDDEN | _PREFORMATTED | _BUTTON | _HEADING


class _Before(NamedTuple):
    """Numbers of lines, anchors and main elements before an element that may be frame."""

    lines: int
    anchors: int
    mains: int
    by_layout: bool = False  # whether only a class name about the layout makes it frame


class Walk:
    """Visits each node of a tree once; the public attributes hold the results."""

    def __init__(self) -> None:
        self.title = ""
        self.declarations = Declarations()
        self.lines: list[str] = []
        self.main: list[bool] = []  # whether each line is outside navigation
        self.languages: list[str | None] = []  # `lang` of `body` and of the main elements, as ISO 639-3
        self.images: list[str] = []  # addresses of images as they are written
        self.anchors: list[Anchor] = []
        self._line: list[str] = []
        self._is_broken = False  # whether a `<br>` has ended the last line, and nothing has come since
        self._breaks: list[int] = []  # indices of the lines that follow the line before after a single `<br>`
        self._mark: tuple[int, int] | None = None
        self._anchor: Anchor | None = None
        self._anchors_told = 0  # how many of the anchors have the text of their block
        # the open forms: the links of each, what came before it, and the number of regions before it
        self._forms: list[tuple[list[Anchor], _Before, int]] = []
        self._is_form_loose = False  # of the innermost form, as `choosers.is_loose`
        self._switches: list[tuple[int, int, int]] = []
        self._inside = 0  # the flags that open elements pass on to what is in them, `_PASSED_ON`
        self._frames: list[_Before] = []  # what came before each open element that is frame
        self._regions: list[frame.Region] = []
        self._anchors_of: list[tuple[int, int]] = []  # for each line the places of its first anchor and after its last
        self._kinds: list[int] = []  # for each line its bits, such as `frame.LINKED`
        # characters of the open line without blanks at the edges of texts: all, in links, in buttons and labels
        self._shown = self._linked = self._pressed = 0
        self._is_control = False  # whether the open link leads to a neighbour or tag
        self._mains = self._characters = self._anchor_start = self._after_anchor = self._forms_read = 0

    def run(self, root: LexborNode) -> None:
        """Visit all nodes under *root* without recursion."""
        # open elements, their flags, and what was passed on to them
        stack: list[tuple[LexborNode, int, int]] = []
        node: LexborNode | None = root
        while node is not None:
            tag = node.tag or "-"
            if stack and stack[-1][1] & _SPACED:
                self._space()
            if tag == "-text":
                text = node.text_content or ""
                if (
                    self._line
                    and text[:1].isalnum()
                    and not self._line[-1][-1:].isspace()
                    and not self._inside & (_HIDDEN | _PREFORMATTED)
                    and _is_apart(node, self._line, text)
                ):
                    self._space()
                self._text(text)
            elif tag == "title":
                self.title = self.title or composed(one_line(node.text()))[:MAX_TITLE].rstrip()
            elif tag not in SKIPPED_TAGS and tag[0] != "-":
                before = self._inside
                undo = self._start(tag, node, stack[-1][1] if stack else _BLOCK)
                child = node.first_child
                if child is not None and tag != "select":
                    stack.append((node, undo, before))
                    node = child
                    continue
                if undo:
                    self._end(undo, node, before)
            elif tag == "script":
                self.declarations.script(node.attributes, node.text())
            elif tag in {"iframe", "object", "embed"}:
                self._embed(tag, node.attributes)
            elif tag == "svg":
                # "svg a", once for all, would ask for the whole way up from each link
                self._add([anchor for link in node.css("a")[:MAX_ANCHORS] if (anchor := _drawn(link))])
            following = node.next
            while following is None and stack:
                node, undo, before = stack.pop()
                if undo:
                    self._end(undo, node, before)
                following = node.next
            node = following
        self._flush()
        self._clean(root)
        self._find_own_text()
        self._leave_out_breaks()

    def _find_own_text(self) -> None:
        """Tell which lines are own text, and set the positions of anchors."""
        self.main, regions = frame.own_lines(self.lines, self._kinds, self._regions)
        framed = frame.are_in((region.anchors for region in regions), len(self.anchors))
        for anchor in compress(self.anchors, framed):
            if anchor.position is LinkPosition.BODY:
                anchor.position = LinkPosition.NAVIGATION
        _find_switchers(self.anchors)
        for line, (start, stop) in enumerate(self._anchors_of):
            if start < stop and self.main[line] and self._kinds[line] & (frame.LINKED | frame.LABELLED):
                of_line = self.anchors[start:stop]
                self.main[line] = any(one.position is not LinkPosition.SWITCHER for one in of_line)
                if self._kinds[line] & (frame.LINKED | frame.HEADING) == frame.LINKED:
                    self.main[line] &= not all(frame.leads_to_frame(one.href) for one in of_line)

    @property
    def own_lines(self) -> list[str]:
        """The lines of own text; all lines of a page that has none."""
        return list(compress(self.lines, self.main)) or self.lines

    def _space(self) -> None:
        for text in (self._line, self._anchor.words if self._anchor is not None else []):
            if text:
                text.append(" ")

    def _close_up(self, mark: LexborNode) -> None:
        """Remove the blank before *mark*, which is left out, if no word follows it."""
        parent = mark.parent
        following = mark.next or (parent.next if parent is not None and parent.tag == "a" else None)
        text = following.text_content if following is not None and following.tag == "-text" else "a"
        if self._line and not (text or " ")[0].isalnum():
            self._line[-1] = self._line[-1].rstrip()

    def _text(self, text: str) -> None:
        if self._anchor is not None:
            self._anchor.words.append(text)
        if not self._inside & _HIDDEN:
            if self._inside & _PREFORMATTED:
                *paragraphs, text = _BLANK_LINE.split(text)
                for paragraph in paragraphs:
                    self._show(paragraph)
                    self._flush()
            self._show(text)

    def _show(self, text: str) -> None:
        if self._line or not text.isspace():
            self._line.append(text)
        self._characters += len(text)
        shown = len(text.strip())
        self._shown += shown
        if self._anchor is not None:
            self._linked += shown
        if (self._anchor is not None and self._is_control) or self._inside & (_BUTTON | _HEADING) == _BUTTON:
            self._pressed += shown

    def _flush(self) -> None:
        if self._anchor is not None:
            self._anchor.words.append(" ")
        if self._inside & _HIDDEN:
            return
        if self._line:
            if self._mark is not None:
                start, end = self._mark
                if not "".join(self._line[end:]).strip():
                    del self._line[start:]
                self._mark = None
            line = collapsed("".join(self._line))
            if line:
                if self._is_broken:
                    self._breaks.append(len(self.lines))
                self.lines.append(line)
                self._anchors_of.append((self._anchors_told, len(self.anchors)))
                self._kinds.append(
                    (frame.CONTENT if self._inside & _CONTENT else 0)
                    | (frame.LINKED if self._linked >= self._shown else 0)
                    | (frame.LABELLED if self._shown - self._linked <= frame.MAX_LABEL else 0)
                    | (frame.CONTROL if self._pressed >= self._shown else 0)
                    | (frame.HEADING if self._inside & _HEADING else 0)
                )
                for anchor in self.anchors[self._anchors_told :]:
                    anchor.around = anchor.around or line[:MAX_AROUND]
            self._line.clear()
            self._shown = self._linked = self._pressed = 0
            self._anchor_start = self._after_anchor = 0
        self._anchors_told = len(self.anchors) - (self._anchor is not None)
        self._is_broken = False

    def _leave_out_breaks(self) -> None:
        """Join the lines that a ``<br>`` breaks in mid-sentence, and leave out empty ones."""
        lines, main = self.lines, self.main
        breaks = [one for one in self._breaks if lines[one - 1] and lines[one] and main[one - 1] == main[one]]
        if breaks or not all(lines):
            joined, first = unbroken(lines, breaks)
            self.main = [main[index] for index in compress(first, joined)]
            self.lines = list(filter(None, joined))

    def _clean(self, root: LexborNode) -> None:
        """Leave invisible characters out of lines and labels, and write the others in their usual form."""
        # one check of the whole text is faster than one per line
        text = " ".join([*self.lines, *(anchor.text for anchor in self.anchors)])
        if (is_escaped_twice(text) or is_escaped_twice(self.title)) and root.css_first(_CODE) is None:
            self.title = composed(one_line(unescaped(self.title)))
            self.lines = list(map(unescaped, self.lines))
            for anchor in self.anchors:
                anchor.text = unescaped(anchor.text)
        elif text.isprintable() and composed(text) == text:
            return
        self.lines = [composed(one_line(line)) for line in self.lines]
        for anchor in self.anchors:
            anchor.text = composed(one_line(anchor.text))

    def _start(self, tag: str, node: LexborNode, around: int) -> int:
        """Begin an element in one with the flags *around*; returns its own."""
        undo = 0
        anchors = len(self.anchors)
        attributes = node.attributes
        hides = False
        if tag in _SPECIAL:
            if tag == "br":
                lines = len(self.lines)
                self._flush()
                self._is_broken = self._is_broken or (len(self.lines) > lines and not self._inside & _PREFORMATTED)
                return 0
            if tag != "sup":
                hides = _is_replaced(tag, node, attributes)
            elif _is_reference(node):
                hides = True
                self._close_up(node)
        if attributes:
            names = attributes.get("class")
            if not _HIDING_ATTRIBUTES.isdisjoint(attributes) and tag not in _PAGE_TAGS and _is_hidden(attributes):
                # MediaWiki hides the MathML of a formula behind its image
                hides = "mwe-math" not in (names or "")
            if names and (why := _hiding(tag, names[:MAX_NAMES])):
                hides = hides or why != _TWICE or _is_repeated(node, names)
                if why == _UNREAD:
                    self._space()
                elif why == _ADDED:
                    self._close_up(node)
        # elements with a prefix, as Word writes them (``<o:p>``), are unknown to browsers, which show them inline
        style = attributes.get("style")
        # what floats may be the first letter of a word
        is_block = style and _BLOCK_STYLE.search(style) and not _FLOATING.search(style)
        if (is_block and tag in _PHRASE_TAGS and not self._inside & _PREFORMATTED) or (
            tag not in INLINE_TAGS and ":" not in tag and not ("-" in tag and _is_among_words(node, around))
        ):
            # what is not shown parts words, but not lines
            (self._space if hides else self._flush)()
            undo = _BLOCK
        elif tag in _APART_TAGS and (before := node.prev) is not None and before.tag in _PHRASE_TAGS:
            self._space()
        if tag in frame.FRAME_TAGS or (tag in frame.EDGE_TAGS and not self._inside & _CONTENT):
            undo |= _FRAME
        elif tag in frame.CONTENT_TAGS:
            undo |= _CONTENT
        elif tag == "pre":
            undo |= _PREFORMATTED
        elif tag == "form":
            undo |= self._start_form(node)
        if hides:
            undo |= _HIDDEN
        if tag in {"body", "main"} or attributes.get("role") == "main":
            if tag != "body":
                self._mains += 1
                undo |= _CONTENT
            if "lang" in attributes:
                self.languages.append(from_bcp47(attributes["lang"] or ""))
        if attributes:
            if style and _SPACING.search(style):
                undo |= _SPACED
            if tag == "img" and len(self.images) < MAX_IMAGES and (source := attributes.get("src")):
                self.images.append(source)
            if tag in {"a", "area", "frame"}:
                undo |= self._open(tag, node, attributes)
                if attributes.get("role") in {"doc-noteref", "doc-backlink"}:
                    undo |= _HIDDEN
                    self._close_up(node)
            elif tag in _DECLARING_TAGS and (anchor := self.declarations.element(tag, attributes)) is not None:
                self._add([anchor])
            if tag not in UNTOLD_TAGS or tag in frame.CONTENT_TAGS:
                undo |= self._region(tag, attributes)
            if tag in _CLICKED_TAGS and not _CLICKS.isdisjoint(attributes):
                undo |= self._open_clicked(node, attributes)
            if self._anchor is not None:
                self._describe(self._anchor, tag, attributes)
        # what a form asks for is no text
        is_button = tag == "button" or (tag == "a" and frame.is_button(attributes)) or (tag == "label" and self._forms)
        if is_button or (undo & (_FRAME | _SWITCH) and not undo & _BLOCK):
            undo |= _BUTTON
        elif tag in _HEADINGS:
            undo |= _HEADING
        if undo & _FRAME:
            self._frames.append(_Before(len(self.lines), anchors, self._mains, bool(undo & _LAYOUT)))
        if tag == "select":
            self._add(choosers.option_anchors(node))
        self._inside |= undo & _PASSED_ON
        return undo

    def _end(self, undo: int, node: LexborNode, before: int) -> None:
        """End an element with the flags *undo*; *before*: what was passed on to it."""
        if undo & _BLOCK:
            self._flush()
            if self._is_form_loose and node.tag == "table":
                self._end_form()
        if undo == _BLOCK:
            return
        if undo & _FRAME:
            self._end_region(self._frames.pop())
        self._inside = before
        if undo & (_ANCHOR | _CLICKED) and self._anchor is not None:
            if undo & _ANCHOR:
                if "#" in self._anchor.href:
                    self._find_mark(node, self._anchor.href.partition("#")[2])
                self._after_anchor = len(self._line)
            self._anchor.close()
            self._anchor = None
        if undo & _FORM:
            self._end_form()
        if undo & _SWITCH:
            self._end_switch()

    def _add(self, anchors: list[Anchor]) -> None:
        self.anchors += anchors[: max(0, MAX_ANCHORS - len(self.anchors))]

    def _start_form(self, form: LexborNode) -> int:
        if self._is_form_loose:
            self._end_form()
        reads = choosers.is_get(form.attributes.get("method")) and self._forms_read < choosers.MAX_FORMS
        self._forms_read += reads
        anchors = choosers.form_anchors(form) if reads else []
        self._forms.append((anchors, _Before(len(self.lines), len(self.anchors), self._mains), len(self._regions)))
        self._is_form_loose = choosers.is_loose(form)
        return 0 if self._is_form_loose else _FORM

    def _end_form(self) -> None:
        anchors, before, regions = self._forms.pop()
        self._is_form_loose = False
        # some go around a whole page, with its menus
        is_page = any(one.anchors.start < one.anchors.stop for one in self._regions[regions:])
        if not is_page and frame.asks(self.lines[before.lines :], self._kinds[before.lines :]):
            self._end_region(before)
        self._add(anchors)

    def _end_region(self, before: _Before) -> None:
        """Note what has come since as frame, unless a main element is among it."""
        if before.mains == self._mains:
            places = slice(before.lines, len(self.lines)), slice(before.anchors, len(self.anchors))
            self._regions.append(frame.Region(*places, before.by_layout))

    def _find_mark(self, node: LexborNode, fragment: str) -> None:
        """Leave out the link that ends here if it only gives its place an address, like the ``¶`` of headings."""
        start, end = self._anchor_start, len(self._line)
        # last in its block, or first in a heading
        is_sign = not _LETTER.search("".join(self._line[start:]))
        if start == 0:
            if is_sign and _around(node, _HEADINGS, levels=4):
                self._line.clear()
        elif is_sign or ((heading := _around(node, _HEADINGS, levels=4)) and heading.id == unquote(fragment)):
            self._mark = (start, end)

    def _region(self, tag: str, attributes: dict[str, str | None]) -> int:
        names = attributes.get("class") or ""
        # the id of a section is made of its heading
        if tag != "section" and "section" not in names:
            names = f"{names} {attributes.get('id') or ''}"
        names = names[:MAX_NAMES]
        bits = 0
        if names.strip():
            bits = frame.names_of(names)
            self.declarations.names(names)
        undo = 0
        if bits & frame.WIDGET or attributes.get("role") in FRAME_ROLES:
            undo = _FRAME
        elif tag in frame.CONTENT_TAGS:
            return 0
        elif bits & frame.LAYOUT or (bits & frame.EDGE and not self._inside & _CONTENT):
            undo = _FRAME | _LAYOUT
        if bits & frame.SWITCHER:
            if tag != "a":
                self._switches.append((len(self.lines), len(self.anchors), self._characters))
                undo |= _SWITCH
            elif self._anchor is not None:
                self._anchor.position = LinkPosition.SWITCHER
        return undo

    def _describe(self, anchor: Anchor, tag: str, attributes: dict[str, str | None]) -> None:
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
        line, start, characters = self._switches.pop()
        links = len(self.anchors) - start
        if 0 < links <= MAX_SWITCH and self._characters - characters <= 100 + 60 * links:
            self._regions.append(frame.Region(slice(line, len(self.lines)), slice(start, start), False))
            for anchor in self.anchors[start:]:
                anchor.position = LinkPosition.SWITCHER

    def _open(self, tag: str, node: LexborNode, attributes: dict[str, str | None]) -> int:
        href = attributes.get("src" if tag == "frame" else "href")
        is_script = False
        if tag != "frame" and (not href or href[:11].lower().startswith(NO_ADDRESS)):
            if address := _clicked_address(node, attributes) or choosers.script_address(href):
                href, is_script = address, True
            elif self._anchor is not None and self._anchor.source is LinkSource.SCRIPT:
                # the text belongs to the element around it, which the script makes a link
                return 0
        if not href or len(self.anchors) >= MAX_ANCHORS:
            return 0
        anchor = Anchor(href, LinkSource.SCRIPT if is_script else LinkSource(tag), LinkPosition.BODY)
        self.anchors.append(anchor)
        anchor.hreflang = hreflang_of(attributes.get("hreflang"))
        self._is_control = False
        if relation := attributes.get("rel"):
            relations = relation.lower().split()
            anchor.nofollow = "nofollow" in relations
            anchor.alternate = "alternate" in relations
            self.declarations.anchor(relations, anchor)
            self._is_control = not frame.CONTROL_RELATIONS.isdisjoint(relations)
        anchor.title = attributes.get("title") or attributes.get("aria-label") or ""
        if tag == "a":
            if self._line and len(self._line) == self._after_anchor:
                self._line.append(" ")
            if self._anchor is not None:
                self._anchor.close()
            self._anchor = anchor
            self._anchor_start = len(self._line)
            return _ANCHOR
        anchor.text = " ".join((attributes.get("alt") or anchor.title).split())[:MAX_TEXT]
        return 0

    def _embed(self, tag: str, attributes: dict[str, str | None]) -> None:
        """Add the page that is shown inside this one; what is loaded when it is scrolled to has ``data-src``."""
        kind = (attributes.get("type") or "text/html").lower()
        href = attributes.get("data") if tag == "object" else attributes.get("data-src") or attributes.get("src")
        if href and ("html" in kind or "pdf" in kind):
            title = " ".join((attributes.get("title") or "").split())[:MAX_TEXT]
            self._add([Anchor(href, LinkSource.EMBED, LinkPosition.BODY, text=title)])

    def _open_clicked(self, node: LexborNode, attributes: dict[str, str | None]) -> int:
        address = _clicked_address(node, attributes)
        if address is None or len(self.anchors) >= MAX_ANCHORS:
            return 0
        anchor = Anchor(address, LinkSource.SCRIPT, LinkPosition.BODY)
        anchor.title = attributes.get("title") or attributes.get("aria-label") or attributes.get("value") or ""
        self.anchors.append(anchor)
        if self._anchor is not None:
            if self._anchor.source is not LinkSource.SCRIPT:
                return 0
            self._anchor.close()
        self._anchor = anchor
        return _CLICKED


def _clicked_address(node: LexborNode, attributes: dict[str, str | None]) -> str | None:
    """The address that a script opens when *node* is clicked, as far as its *attributes* show it.

    Only ``data-href`` is one wherever it stands; other data are addresses of languages.
    """
    if _CLICKS.isdisjoint(attributes):
        return None
    scripts = (choosers.script_address(attributes.get(name)) for name in _EVENTS)
    if opened := next(filter(None, scripts), None):
        return opened
    address = choosers.data_address(attributes)
    is_link = address and (address == (attributes.get("data-href") or "").strip() or _names_language(node, attributes))
    return address if is_link else None


def _names_language(node: LexborNode, attributes: dict[str, str | None]) -> bool:
    nodes = _few_below(node)
    texts = [_text_of_few(nodes).strip()]
    texts += [given.get(name) or "" for given in (attributes, *(one.attributes for one in nodes)) for name in _NAMES]
    return any(named_language(text) or coded_language(text) for text in texts if text and len(text) <= MAX_LABEL)


def _drawn(link: LexborNode) -> Anchor | None:
    """The *link* in a drawing (SVG)."""
    attributes = link.attributes
    href = attributes.get("href") or attributes.get("xlink:href")
    if not href:
        return None
    text = _text_of_few(_few_below(link)) or attributes.get("title") or attributes.get("aria-label") or ""
    return Anchor(href, LinkSource.A, LinkPosition.BODY, text=" ".join(text.split())[:MAX_TEXT])


def _is_among_words(node: LexborNode, around: int) -> bool:
    """Whether text is right beside *node*, or the outermost custom element around it; *around*: flags of the parent."""
    # many elements may have one parent, beside a long text
    is_inside = not around & _BLOCK and node.parent is not None and "-" in (node.parent.tag or "")
    return is_inside or (_is_text(node.prev) and _is_text(node.next))


def _is_text(node: LexborNode | None) -> bool:
    return node is not None and node.tag == "-text" and not (node.text_content or "").isspace()


def _is_apart(node: LexborNode, line: Sequence[str], text: str) -> bool:
    """Whether *text*, of *node*, is no part of the last word of *line*: ``<b>Face</b><i>Book</i>`` is one word."""
    before, elements = line[-1], _touching(node)
    if elements is None or (is_unspaced(before[-1:]) and is_unspaced(text[0])):
        return False
    last, following = elements
    end = before[-1:]
    if not end.isalnum() and not (end > "\u02ff" and unicodedata.category(end).startswith("M")):
        return end in _CLOSING and len(before.split(None, 1)) > 1 and not _is_typeset(last)
    if not (
        len(text.split(None, 1)) > 1
        or (text[-1:].isspace() and node.next is not None)
        or len(before.split(None, 1)) > 1
        or (
            len(line) > 1 and line[-2][-1:].isspace() and (one := last.first_child) is not None and one.next is not None
        )
    ):
        return False
    # the first letter of a word
    if before[-1].isalpha() and (len(before) == 1 or (before[-1].islower() and not before[-2].isalpha())):
        return False
    if text[0].isupper() and text[1:2].islower() and (before[-1].islower() or before[-1].isdigit()):
        return True
    is_letter = len(text) == 1 and text.isalpha()
    return not is_letter and not (_is_typeset(last) and _is_typeset(following))


_CLOSING = tuple(".!?;:,…)»”%€")


def _touching(node: LexborNode) -> tuple[LexborNode, LexborNode] | None:
    """The inline element that ends right before the text *node*, and the one that begins with it."""
    before = node.prev
    while before is None:
        parent = node.parent
        if parent is None or parent.tag not in _PHRASE_TAGS:
            return None
        node, before = parent, parent.prev
    return (before, node) if before.tag in _PHRASE_TAGS and node.tag in _PHRASE_TAGS else None


def _is_typeset(element: LexborNode) -> bool:
    """Whether *element* only says how its text looks, as word processors write it: it may hold a part of a word."""
    if element.tag in {"b", "em", "i", "strong"}:
        return True
    given = element.attributes
    return not _TYPE_ATTRIBUTES.isdisjoint(given) or _TYPE_CLASSES.fullmatch(given.get("class") or "") is not None
