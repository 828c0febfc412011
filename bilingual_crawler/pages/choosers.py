"""Links that are no anchors: option lists, forms that choose a language, and addresses in scripts."""

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple
from urllib.parse import unquote, urlencode

from selectolax.lexbor import LexborNode

from bilingual_crawler.pages.labels import coded_language, named_language
from bilingual_crawler.pages.links import MAX_TEXT, NO_ADDRESS, Anchor
from bilingual_crawler.pages.model import LinkPosition, LinkSource
from bilingual_crawler.urls.canonical import MAX_LENGTH
from bilingual_crawler.urls.tokens import LANGUAGE_KEYS

MAX_FORMS = 20  # forms of a page that are read
MAX_CHOICES = 50  # links of a form
MAX_FIELDS = 100  # controls of a form that chooses a language
MAX_OPTIONS = 1000  # options of a list that are read
DATA_ADDRESSES = ("data-href", "data-url", "data-link", "data-location")
MAX_SCRIPT = 2000  # characters of a script in an attribute that is read

_URL_VALUE = re.compile(r"(?i)(?=\S++\Z)(?:\?|[^/]*+/|.+?\.(?:html?|php|aspx?)(?:\?|\Z))")
_SEARCH_NAMES = frozenset(["q", "s", "query", "search", "searchword", "keyword", "keywords", "term", "terms"])


class _Option(NamedTuple):
    value: str
    text: str
    attributes: dict[str, str | None]


def _options(select: LexborNode) -> list[_Option]:
    options = []
    for one in select.css("option")[:MAX_OPTIONS]:
        given, text = one.attributes, " ".join(one.text().split())
        value = given.get("value")
        options.append(_Option(text if value is None else value, text, given))
    return options


def option_anchors(select: LexborNode) -> list[Anchor]:
    """The options of a ``<select>`` that open addresses by a script, or by a value if half of these name languages."""
    options = _options(select)
    clicked = [
        Anchor(address, LinkSource.SCRIPT, LinkPosition.BODY, text=one.text[:MAX_TEXT])
        for one in options
        if (address := script_address(one.attributes.get("onclick")))
    ]
    values = ((one, one.value.strip() if one.attributes.get("value") else "") for one in options)
    opened = ((one, value if _URL_VALUE.match(value) else data_address(one.attributes)) for one, value in values)
    links = [(one, address) for one, address in opened if address]
    named = sum((named_language(one.text) or coded_language(one.text)) is not None for one, _ in links)
    if 2 * named < len(links):
        return clicked
    switch = LinkSource.OPTION, LinkPosition.SWITCHER
    return [*clicked, *(Anchor(address, *switch, text=one.text[:MAX_TEXT]) for one, address in links)]


def data_address(attributes: dict[str, str | None]) -> str | None:
    """The address that an element has for a script, in ``data-href`` or the like; None without one."""
    values = ((attributes.get(name) or "").strip() for name in DATA_ADDRESSES if name in attributes)
    return next(filter(_URL_VALUE.match, values), None)


def is_loose(form: LexborNode) -> bool:
    """Whether *form* is an empty element in a table, where the parser puts its controls beside it."""
    parent = form.parent
    return form.first_child is None and parent is not None and parent.tag in {"table", "tbody", "thead", "tfoot", "tr"}


def is_get(method: str | None) -> bool:
    """Whether a form, or its button, with this *method* sends its values in the address."""
    return (method or "").strip().lower() not in ("post", "dialog")


def form_anchors(form: LexborNode) -> list[Anchor]:
    """What a browser would ask for by GET for each choice of a language in a form; empty if it asks for more."""
    own = form.attributes
    sent: list[tuple[str, str | None]] = []
    choices: dict[int, list[tuple[_Option, str | None]]] = {}
    buttons: list[_Option] = []
    for control in _controls(form):
        given = control.attributes
        name, value = given.get("name") or "", given.get("value") or ""
        kind = (given.get("type") or "").strip().lower() or ("submit" if control.tag == "button" else "text")
        if control.tag == "select":
            if name and "disabled" not in given:
                options = [one for one in _options(control) if "disabled" not in one.attributes]
                choices[len(sent)] = _languages(name, options)
                # what is sent if nothing is chosen
                first = [] if "multiple" in given else options[:1]
                selected = [one for one in options if "selected" in one.attributes] or first
                sent.append((name, selected[-1].value if selected else None))
        elif control.tag == "textarea":
            return []
        elif "disabled" in given or given.get("form", own.get("id")) != own.get("id"):
            continue
        elif kind in {"password", "file"}:
            return []
        elif kind == "submit":
            if is_get(given.get("formmethod")):
                images = (image.attributes.get("alt") or "" for image in control.css("img"))
                text = " ".join(" ".join((control.text(), *images)).split())
                buttons.append(_Option(value, text or value, given))
        elif kind not in {"button", "reset", "image", "checkbox", "radio"} or (kind == "radio" and "checked" in given):
            if kind == "hidden" or value.strip():
                sent.append((name, value))
            elif "required" in given or kind == "search" or name.lower() in _SEARCH_NAMES:
                return []
    chosen, pressed = [place for place, found in choices.items() if found], _pressed(buttons)
    if len(chosen) + bool(pressed) != 1 or len(sent) > MAX_FIELDS:
        return []
    place = chosen[0] if chosen else len(sent)
    anchors = []
    for one, language in choices[place] if chosen else pressed:
        name = sent[place][0] if chosen else one.attributes.get("name") or ""
        values = [*sent[:place], (name, one.value), *sent[place + 1 :]]
        if href := _address(one.attributes.get("formaction") or own.get("action") or "", values):
            text = (one.text or one.value)[:MAX_TEXT]
            anchors.append(Anchor(href, LinkSource.FORM, LinkPosition.SWITCHER, text=text, label=language))
    return anchors


def _pressed(buttons: Sequence[_Option]) -> list[tuple[_Option, str | None]]:
    """The submit *buttons* that name languages, if at least half of them do; codes as in lists."""
    found: list[tuple[_Option, str | None]] = []
    for one in buttons[: MAX_CHOICES + 1]:
        language = named_language(one.text)
        if _key(one.attributes.get("name") or "") in LANGUAGE_KEYS:
            language = language or coded_language(one.text) or coded_language(one.value)
        if language:
            found.append((one, language))
    return found[:MAX_CHOICES] if 2 * len(found) >= len(buttons[: MAX_CHOICES + 1]) else []


def _key(name: str) -> str:
    return re.sub(r"[-_]|\[\]", "", name.lower())


def _controls(form: LexborNode) -> Iterable[LexborNode]:
    """The controls of *form*, up to the next form."""
    scope = form
    while is_loose(form) and scope.tag != "table" and scope.parent is not None:
        scope = scope.parent
    found = scope.css("form, input, select, textarea, button")
    after = next(place for place, control in enumerate(found, 1) if control.mem_id == form.mem_id)
    return takewhile(lambda control: control.tag != "form", found[after:])


def _languages(name: str, options: Sequence[_Option]) -> list[tuple[_Option, str | None]]:
    """The *options* with their languages if two are named, by half of the options, and not by address; else empty."""
    names_language = _key(name) in LANGUAGE_KEYS
    found: list[tuple[_Option, str | None]] = []
    named = 0
    if any(_URL_VALUE.match(one.value.strip()) for one in options):
        return []
    for place, one in enumerate(options[: MAX_CHOICES + 1]):
        text = one.text or one.value
        by_name = named_language(text)
        language = by_name or coded_language(text) or coded_language(one.value)
        # the first option without a language invites to choose ("Language")
        if language or (place and one.value):
            found.append((one, language))
            named += bool(language if names_language else by_name)
    several = len({language for _, language in found if language}) > 1
    return found[:MAX_CHOICES] if several and 2 * named >= len(found) else []


def _address(action: str, values: Iterable[tuple[str, str | None]]) -> str | None:
    """The address to which a form with this *action* sends *values*; None if it is too long or no address."""
    action = action.strip()
    path = action.partition("#")[0].partition("?")[0]
    sent = [(name, value) for name, value in values if name and value is not None]
    is_long = len(path) + sum(len(name) + len(value) for name, value in sent) > MAX_LENGTH
    if is_long or (path and action[:11].lower().startswith(NO_ADDRESS)):
        return None
    return f"{path}?{urlencode(sent, errors='replace')}" if sent or not path else path


_LITERAL = r"""(?:'((?:[^'\\\n]|\\/)++)'|"((?:[^"\\\n]|\\/)++)"|`([^`\\$\n]++)`)"""
_WINDOW = r"(?:(?:window|self|top|parent|document|this)\s*+\.\s*+)"
_ASSIGNED = re.compile(
    rf"(?<![\w$.]){_WINDOW}{{0,3}}+location\s*+(?:\.\s*+href\s*+)?+=\s*+{_LITERAL}(?!\s*+[+.\[?&|=(])"
)
_CALLED = re.compile(
    rf"(?<![\w$.])(?:(?:{_WINDOW}{{0,3}}+location\s*+\.\s*+(?:assign|replace)|{_WINDOW}open|MM_openBrWindow)\s*+\("
    rf"|MM_goToURL\s*+\(\s*+['\"]\w++['\"]\s*+,)\s*+{_LITERAL}\s*+[,)]"
)


def script_address(script: str | None) -> str | None:
    """The address that *script* opens ("location.href='/es/'"), if it is one string; the script is not evaluated."""
    if not script or len(script) > MAX_SCRIPT or not any(word in script for word in ("location", "open", "MM_goToURL")):
        return None
    if script[:11].lower() == "javascript:":
        script = unquote(script[11:])
    match = _ASSIGNED.search(script) or _CALLED.search(script)
    return (match[1] or match[2] or match[3]).replace("\\/", "/") if match else None
