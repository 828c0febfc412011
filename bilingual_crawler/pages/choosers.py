"""Links that are no anchors: option lists, forms that choose a language, and addresses in scripts."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from bilingual_crawler.pages.labels import coded_language, named_language
from bilingual_crawler.pages.links import MAX_TEXT, NO_ADDRESS, Anchor
from bilingual_crawler.pages.model import LinkPosition, LinkSource
from bilingual_crawler.urls.canonical import MAX_LENGTH
from bilingual_crawler.urls.tokens import LANGUAGE_KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping

    Attributes = Mapping[str, str | None]

MAX_FORMS = 20
"""Forms of a page that are read."""
MAX_CHOICES = 50
"""Links of a form."""
MAX_FIELDS = 100
"""Controls of a form that chooses a language."""
MAX_OPTIONS = 1000
"""Options of a list that are read."""
MAX_SCRIPT = 2000
"""Characters of a script in an attribute that is read."""
_MAX_PARTS = 20
"""Parts of the text of a control that are read."""

_URL_VALUE = re.compile(r"(?i)(?=\S++\Z)(?:\?|[^/]*+/|.+?\.(?:html?|php|aspx?)(?:\?|\Z))")


class OptionList:
    """The options of one ``<select>``."""

    def __init__(self, attributes: Attributes) -> None:
        self.name = attributes.get("name") or ""
        self.is_disabled = "disabled" in attributes
        self._is_multiple = "multiple" in attributes
        self._options: list[tuple[Attributes, list[str]]] = []
        self._words: list[str] | None = None

    def add(self, attributes: Attributes) -> None:
        """Begin an option."""
        if len(self._options) >= MAX_OPTIONS:
            self._words = None
            return
        self._words = []
        self._options.append((attributes, self._words))

    def text(self, text: str) -> None:
        """Add text to the current option."""
        if self._words is not None:
            self._words.append(text)

    def anchors(self) -> list[Anchor]:
        """The options whose values look like URLs as links, if at least half of them name languages."""
        options = [
            (value, _joined(words))
            for attributes, words in self._options
            if _URL_VALUE.match(value := (attributes.get("value") or "").strip())
        ]
        named = sum((named_language(text) or coded_language(text)) is not None for _, text in options)
        if 2 * named < len(options):
            return []
        return [
            Anchor(value, LinkSource.OPTION, LinkPosition.SWITCHER, text=text[:MAX_TEXT]) for value, text in options
        ]

    def field(self) -> _Field:
        """The list as a field of a form. Its options are choices unless their values look like URLs."""
        options = [
            (_joined(words) if attributes.get("value") is None else attributes["value"] or "", words, attributes)
            for attributes, words in self._options
            if "disabled" not in attributes
        ]
        field = _Field(self.name)
        selected = [value for value, _, attributes in options if "selected" in attributes]
        if selected or (options and not self._is_multiple):
            field.default = selected[-1] if selected else options[0][0]
        if not any(_URL_VALUE.match(value.strip()) for value, _, _ in options):
            field.choices = [_Choice(self.name, value, words) for value, words, _ in options[: MAX_CHOICES + 1]]
        return field


def _joined(words: list[str]) -> str:
    return " ".join("".join(words).split())


@dataclass(slots=True, eq=False)
class _Choice:
    """An option, radio button or submit button of a form."""

    name: str
    value: str
    words: list[str]
    action: str | None = None
    """``formaction``"""

    @property
    def text(self) -> str:
        return _joined(self.words) or self.value


@dataclass(slots=True, eq=False)
class _Field:
    """A control of a form, or a group of radio or submit buttons."""

    name: str
    default: str | None = None
    """The value that is sent if nothing is chosen; None if none is."""
    holds_buttons: bool = False
    choices: list[_Choice] = dataclasses.field(default_factory=list)

    def languages(self) -> list[tuple[_Choice, str | None]]:
        """The choices with their languages if this is a field for the language; else empty.

        It names two languages, or one by a button, and at least half of its choices do. Codes are enough only in a
        field whose name says that its value is a language: lists of countries and states have the same codes.
        """
        names_language = re.sub(r"[-_]|\[\]", "", self.name.lower()) in LANGUAGE_KEYS
        found: list[tuple[_Choice, str | None]] = []
        named = 0
        for place, choice in enumerate(self.choices):
            text = choice.text
            name = named_language(text)
            language = name or coded_language(text) or coded_language(choice.value)
            # the first option without a language invites to choose ("Language")
            if language or (place and choice.value and not self.holds_buttons):
                found.append((choice, language))
                named += bool(language if names_language else name)
        several = len({language for _, language in found if language}) > 1
        return found[:MAX_CHOICES] if named and (several or self.holds_buttons) and 2 * named >= len(found) else []


_SEARCH_NAMES = frozenset(["q", "s", "query", "search", "searchword", "keyword", "keywords", "term", "terms"])
_PRIVATE = frozenset(("password", "file"))
_NOT_SENT = frozenset(("button", "reset", "image", "checkbox"))


def is_get(method: str | None) -> bool:
    """Return whether a form, or a button, with this attribute *method* is sent by GET."""
    return (method or "").strip().lower() not in ("post", "dialog")


class Form:
    """A form that is sent by GET, to find its choices of a language."""

    def __init__(self, attributes: Attributes) -> None:
        self._id = attributes.get("id")
        self._action = attributes.get("action") or ""
        self._fields: list[_Field] = []
        self._radios: dict[str, _Field] = {}
        self._buttons: _Field | None = None
        self._labels: dict[str, list[str]] = {}
        self._is_refused = False
        self._words: list[str] | None = None
        self._is_label_open = False

    def refuse(self) -> None:
        """Give the form no links, as it asks for more than a language."""
        self._is_refused = True

    def text(self, text: str) -> None:
        """Add text to the current control."""
        if self._words is not None and len(self._words) < _MAX_PARTS:
            self._words.append(text[:MAX_TEXT])

    def begin(self, tag: str, attributes: Attributes) -> bool:
        """Begin an ``input``, ``button`` or ``label``; returns whether :meth:`end` must be called at its end."""
        if self._is_refused:
            return False
        if tag == "label":
            self._words = []
            self._is_label_open = True
            if (control := attributes.get("for")) and len(self._labels) < MAX_FIELDS:
                self._words = self._labels.setdefault(control, self._words)
            return True
        if "disabled" not in attributes and attributes.get("form", self._id) == self._id:
            kind = (attributes.get("type") or ("submit" if tag == "button" else "text")).strip().lower()
            if tag == "button" and kind not in ("button", "reset"):
                kind = "submit"
            self._read(tag, kind, attributes)
        return tag == "button"

    def end(self) -> None:
        """End the text of a ``button`` or ``label``."""
        self._words = None
        self._is_label_open = False

    def _read(self, tag: str, kind: str, attributes: Attributes) -> None:
        name, value = attributes.get("name") or "", attributes.get("value") or ""
        if kind == "submit":
            self._read_button(tag, name, value, attributes)
        elif kind == "radio":
            if name:
                self._read_radio(name, attributes)
        elif kind in _PRIVATE:
            self.refuse()
        elif kind not in _NOT_SENT:
            if kind != "hidden" and not value.strip():
                if "required" in attributes or kind == "search" or name.lower() in _SEARCH_NAMES:
                    self.refuse()
            elif name:
                self._add(_Field(name, value))

    def _add(self, field: _Field) -> None:
        self._fields.append(field)
        if len(self._fields) > MAX_FIELDS:
            self.refuse()

    def _read_button(self, tag: str, name: str, value: str, attributes: Attributes) -> None:
        self._words = [] if tag == "button" else None
        if not is_get(attributes.get("formmethod")):
            return
        if self._buttons is None:
            self._buttons = _Field(name, holds_buttons=True)
            self._add(self._buttons)
        if len(self._buttons.choices) <= MAX_CHOICES:
            words = [value] if self._words is None else self._words
            self._buttons.choices.append(_Choice(name, value, words, attributes.get("formaction")))

    def _read_radio(self, name: str, attributes: Attributes) -> None:
        field = self._radios.get(name)
        if field is None:
            field = self._radios[name] = _Field(name)
            self._add(field)
        if len(field.choices) > MAX_CHOICES:
            return
        words = self._labels.get(attributes.get("id") or "")
        if words is None:
            if self._words is None or not self._is_label_open:
                self._words = []
            words = self._words
            if (own := attributes.get("id")) and len(self._labels) < MAX_FIELDS:
                self._labels[own] = words
        value = attributes.get("value")
        field.choices.append(_Choice(name, "on" if value is None else value, words))

    def add_options(self, options: OptionList) -> None:
        """Add the field of a ``<select>`` that has ended."""
        if not self._is_refused and options.name and not options.is_disabled:
            self._add(options.field())

    def anchors(self) -> list[Anchor]:
        """A link for each choice of a language, to the address that a browser would ask for.

        Empty if the form asks for more than a language, or for two: dictionaries translate from one into another. A
        form without an address leads to the page itself; the address then begins with ``?``.
        """
        found = [] if self._is_refused else [(one, choices) for one in self._fields if (choices := one.languages())]
        if len(found) != 1:
            return []
        [(chosen, choices)] = found
        return [
            Anchor(href, LinkSource.FORM, LinkPosition.SWITCHER, text=choice.text[:MAX_TEXT], label=language)
            for choice, language in choices
            if (href := self._address(chosen, choice))
        ]

    def _address(self, chosen: _Field, choice: _Choice) -> str | None:
        """The address for *choice* of the field *chosen*; None if it is too long or no address."""
        action = (choice.action or self._action).strip()
        path = action.partition("#")[0].partition("?")[0]
        if action[:11].lower().startswith(NO_ADDRESS) and path:
            return None
        values = ((choice.name, choice.value) if one is chosen else (one.name, one.default) for one in self._fields)
        sent = [(name, value) for name, value in values if name and value is not None]
        if len(path) + sum(len(name) + len(value) for name, value in sent) > MAX_LENGTH:
            return None
        return f"{path}?{urlencode(sent, errors='replace')}"


_LITERAL = r"""(?:'((?:[^'\\\n]|\\/)++)'|"((?:[^"\\\n]|\\/)++)"|`([^`\\$\n]++)`)"""
_WINDOW = r"(?:(?:window|self|top|parent|document|this)\s*+\.\s*+)"
_ASSIGNED = re.compile(
    rf"(?<![\w$.]){_WINDOW}{{0,3}}+location\s*+(?:\.\s*+href\s*+)?+=\s*+{_LITERAL}(?!\s*+[+.\[?&|=(])"
)
_CALLED = re.compile(
    rf"(?<![\w$.])(?:{_WINDOW}{{0,3}}+location\s*+\.\s*+(?:assign|replace)|{_WINDOW}open)\s*+\(\s*+{_LITERAL}\s*+[,)]"
)


def script_address(script: str | None) -> str | None:
    """The address that *script* opens ("location.href='/es/'"), if it is one string; the script is not evaluated."""
    if not script or len(script) > MAX_SCRIPT or ("location" not in script and "open" not in script):
        return None
    match = _ASSIGNED.search(script) or _CALLED.search(script)
    return (match[1] or match[2] or match[3]).replace("\\/", "/") if match else None
