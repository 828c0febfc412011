"""What a page declares about itself: base, canonical address, language, rules for robots, and where it comes from."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import cached_property, lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any
from urllib.parse import urlsplit

from bilingual_crawler.languages.codes import from_bcp47
from bilingual_crawler.pages.characters import one_line
from bilingual_crawler.pages.links import LEADING_RELATIONS, Anchor, hreflang_of, is_for_language, refreshed
from bilingual_crawler.pages.model import LinkPosition, LinkSource
from bilingual_crawler.pages.origin import BETWEEN, LICENCE, MAX_FACT, TDM_POLICY, TDM_RESERVATION, Origin
from bilingual_crawler.pages.robots import directives_in
from bilingual_crawler.pages.tables import DECLARED_BY, TRANSLATION_PLUGINS
from bilingual_crawler.urls.canonical import canonicalise

MAX_NAME = 200  # characters of the name of an author or translator that are kept
MAX_LICENCES = 5  # pieces of evidence for a licence that are kept, the most direct ones

# Links to a translated page, in lower case; others may lead to a text about translation.
_SERVICE_LINK = re.compile(
    r"//(?:(?P<google_translate>translate\.google\.[a-z.]+/translate\?|[\w-]+\.translate\.goog/)"
    r"|(?P<microsoft_translator>(?:www\.)?microsofttranslator\.com/bv)"
    r"|(?P<yandex_translate>translate\.yandex\.[a-z.]+/translate\?))"
)
_GOOGLE_CLASS = re.compile(r"(?:^|\s)translated-(?:ltr|rtl)(?:\s|$)")
_GOOGLE_LANG = re.compile(r"(?i)-x-mtfrom-")

_NAMED: dict[str, list[str]] = {fact: names.split() for fact, names in DECLARED_BY.items()}
_WANTED = frozenset((*chain(*_NAMED.values()), TDM_RESERVATION, TDM_POLICY))

_TAG = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|\d{3}))?(?=[-_]|$)")
_DAY = re.compile(r"\s*(\d{4})(?:-(\d\d)-(\d\d)|/(\d\d?)/(\d\d?)|(\d\d)(\d\d))(?!\d)")
_LICENCE_ADDRESS = re.compile(
    r"(?i)//(?:[\w-]+\.)*(?:creativecommons\.org/(?:licen[sc]es|publicdomain)/|gnu\.org/(?:licenses|copyleft)/fdl"
    r"|opendatacommons\.org/licenses/)"
)
_LICENCE_HOSTS = ("creativecommons.org", "gnu.org", "opendatacommons.org")
_LICENCE_WORDS = ("CC", "reative", "REATIVE", "GNU")  # one of them is in each text that `LICENCE` finds
_IS_ADDRESS = re.compile(r"(?i)\s*(?:https?:)?/")
_IS_LINK = re.compile(r"(?i)https?:|/|www\.")
MAX_NOTICE = 400  # characters of a line that may be the notice of a licence; a longer one is a text that mentions one
_LAST_LINES = 5  # lines at the end of a page that count as its footer, whatever element holds them

FIRST_YEAR = 1990  # no page is older: dates before are the zero of a clock
_OF_AN_ITEM = ("datepublished", "datemodified")
_TIME_CLASSES = {"published": "published", "entry-date": "published", "updated": "modified", "modified": "modified"}

MAX_NAMES = 1000  # characters of a class, id or address of a style sheet that are searched for marks
MAX_SCRIPT = 100_000  # characters of a script that are searched for marks; of linked data (JSON-LD) that are parsed
MAX_OBJECTS = 200  # objects of linked data that are looked at
MAX_ALTERNATES = 200  # alternates that are compared with the page's own address
# A text, which stays, or what search engines skip: comments, marks of CDATA, commas before brackets.
_NO_JSON = re.compile(
    r"""("(?:[^"\\]|\\.)*+"?)|(?:(?://|/\*)\s*)?(?:<!\[CDATA\[|\]\]>|<!--|-->)(?:\s*\*/)?|/\*(?:.*?\*/|.*)|//[^\n]*"""
    r"|,(?=\s*[}\]])|\ufeff",
    re.DOTALL,
)
_PAGE_TYPE = re.compile(
    r"(?:Article|Posting|Page|CreativeWork|Report|Book|Chapter|HowTo|Recipe|Course|Dataset|Resource)$"
)


class Declarations:
    """What the elements of a page declare, in the order of the page; the first value of each counts."""

    def __init__(self) -> None:
        self.base = self.canonical = ""
        self.language: str | None = None  # `lang` of the root element as ISO 639-3
        self.robots: set[str] = set()  # directives in `<meta name=robots>`, in lower case
        self.values: dict[str, str] = {}  # by the name of a `meta` element or `itemprop`, in lower case
        # days of `time` elements and `itemprop`; empty if several differ, as in a list of articles
        self._days: dict[str, str] = {}
        self._tag = self._machine = self._plugin = self._translation_of = ""
        self._alternates: list[tuple[str, str]] = []
        self._licences: list[str] = []  # addresses of links with this relation
        self._author: Anchor | None = None
        self._linked: list[str] = []
        self._room = MAX_SCRIPT

    def element(self, tag: str, attributes: dict[str, str | None]) -> Anchor | None:
        """Read an ``html``, ``base``, ``link``, ``meta`` or ``time`` element; returns its link if it has one."""
        if tag == "meta":
            return self._meta(attributes)
        if tag == "link":
            return self._link(attributes)
        if tag == "time":
            self._time(attributes)
        elif tag == "base":
            self.base = self.base or attributes.get("href") or ""
        else:
            self._tag = attributes.get("lang") or attributes.get("xml:lang") or ""
            self.language = from_bcp47(self._tag)
            if _GOOGLE_CLASS.search(attributes.get("class") or "") or _GOOGLE_LANG.search(self._tag[:100]):
                self._machine = "google-translate"
        return None

    def names(self, names: str) -> None:
        """Read the class and id of an element."""
        self._plugin = self._plugin or _plugin_named(names[:MAX_NAMES])

    def script(self, attributes: dict[str, str | None], text: str) -> None:
        """Read a ``script`` element: its linked data or the marks of a plugin."""
        kind = (attributes.get("type") or "").partition(";")[0].strip().lower()
        if kind == "application/ld+json":
            if len(text) <= self._room:
                self._room -= len(text)
                self._linked.append(text)
        elif not self._plugin:
            self._plugin = _plugin_in(attributes.get("src") or "") or _plugin_in(text[:MAX_SCRIPT])

    def anchor(self, relations: Sequence[str], anchor: Anchor) -> None:
        """Read a link with ``rel``."""
        if "license" in relations:
            self._add_licence(anchor.href)
        if "author" in relations:
            self._author = self._author or anchor

    def _meta(self, attributes: dict[str, str | None]) -> Anchor | None:
        content = attributes.get("content") or ""
        if (attributes.get("name") or "").lower() == "robots":
            self.robots |= directives_in(content)
        elif (attributes.get("http-equiv") or "").lower() == "refresh" and (href := refreshed(content)):
            return Anchor(href, LinkSource.REFRESH, LinkPosition.HEAD)
        key = next((key for key in ("property", "name", "itemprop", "http-equiv") if attributes.get(key)), "")
        name = (attributes.get(key) or "").lower()
        if name in _OF_AN_ITEM and attributes[key] == attributes.get("itemprop"):
            self._day_of_an_item(name, content)
        elif content and name in _WANTED:
            self.values.setdefault(name, content[: 4 * MAX_FACT])
        return None

    def _link(self, attributes: dict[str, str | None]) -> Anchor | None:
        href, relations = attributes.get("href") or "", (attributes.get("rel") or "").lower().split()
        if not href:
            return None
        if "canonical" in relations:
            self.canonical = self.canonical or href
        if "license" in relations:
            self._add_licence(href)
        tag = attributes.get("hreflang")
        # some leave out the relation, or take the attribute for the language of an element
        is_alternate = "alternate" in relations or (bool(tag) and not relations)
        tag = tag or attributes.get("lang")
        if "machine-translated-from" in relations:
            self._machine, self._translation_of = self._machine or "google-translate", self._translation_of or href
        elif is_alternate and tag and len(self._alternates) < MAX_ALTERNATES:
            self._alternates.append((tag.strip(), href))
        if "stylesheet" in relations:
            self.names(href)
        if is_alternate and "html" in (attributes.get("type") or "html") and is_for_language(tag):
            return Anchor(href, LinkSource.ALTERNATE, LinkPosition.HEAD, hreflang_of(tag), alternate=True)
        if not LEADING_RELATIONS.isdisjoint(relations):
            return Anchor(href, LinkSource.LINK, LinkPosition.HEAD, hreflang_of(tag))
        return None

    def _time(self, attributes: dict[str, str | None]) -> None:
        name = (attributes.get("itemprop") or "").lower()
        if name not in _OF_AN_ITEM:
            classes = (attributes.get("class") or "")[:MAX_FACT].lower().split()
            meaning = next((_TIME_CLASSES[one] for one in classes if one in _TIME_CLASSES), "")
            name = f"date{'published' if 'pubdate' in attributes else meaning}"
        self._day_of_an_item(name, attributes.get("datetime") or "")

    def _day_of_an_item(self, name: str, value: str) -> None:
        if name in _OF_AN_ITEM and (day := _day_of(value)):
            self._days[name] = day if self._days.get(name, day) == day else ""

    def _add_licence(self, href: str) -> None:
        if len(self._licences) < 4 * MAX_LICENCES:
            self._licences.append(href)

    def origin(
        self, anchors: Sequence[Anchor], lines: Sequence[str], main: Sequence[bool], url: str, base: str
    ) -> Origin:
        """The facts of the page at *url*, whose links are relative to *base*; *main*: as that of a ``Walk``."""
        last = len(lines) - _LAST_LINES
        outside = [line for number, line in enumerate(lines) if number >= last or not main[number]]
        works = chain.from_iterable(_texts(one.get("translationOfWork"), ("url", "@id")) for one in self._works)
        default = next((href for tag, href in self._alternates if tag.lower() == "x-default"), "")
        hrefs = "\n".join(anchor.href for anchor in anchors).lower()
        service = _SERVICE_LINK.search(hrefs) if "translat" in hrefs else None
        return Origin(
            author=self._name("author") or _name(self._author.text if self._author else ""),
            published=self._day("published", "datePublished"),
            modified=self._day("modified", "dateModified"),
            licence=self._licence(anchors, hrefs, outside, base),
            locale=_locale_of(self._tag) or _locale_of(self._own_alternate(url, base)),
            machine_translated=self._tool(url),
            offers_translation=self._plugin or ((service and service.lastgroup) or "").replace("_", "-"),
            translator=self._name("translator"),
            translation_of=_address(self._translation_of or next(works, ""), base),
            x_default=_address(default, base),
        )

    def languages(self) -> Iterator[str]:
        """Yield the language by each declaration in the head, as ISO 639-3."""
        linked = (one.get("inLanguage") for one in self._works)
        said = [*self._said("language"), *[text for text in linked if isinstance(text, str)][:1]]
        yield from filter(None, map(from_bcp47, said))

    @cached_property
    def _works(self) -> list[dict[str, Any]]:
        return _linked_data(self._linked)

    def _said(self, fact: str) -> list[str]:
        return [self.values[name] for name in _NAMED[fact] if name in self.values]

    def _name(self, fact: str) -> str:
        """The person that the head or linked data name; several of the latter with commas."""
        by_data = (", ".join(filter(None, map(_name, _texts(one.get(fact))))) for one in self._works)
        return _name(next(iter(self._said(fact)), "")) or next(filter(None, by_data), "")[:MAX_FACT]

    def _day(self, fact: str, key: str) -> str:
        said = [self.values.get(name) or self._days.get(name) or "" for name in _NAMED[fact]]
        said += [value for one in self._works if isinstance(value := one.get(key), str)]
        return next(filter(None, map(_day_of, [*said, *self._said(f"{fact}_later")])), "")

    def _own_alternate(self, url: str, base: str) -> str:
        """The ``hreflang`` by which the page announces itself."""
        own = canonicalise(url)
        regional = (pair for pair in self._alternates if _locale_of(pair[0]))
        return next((tag for tag, href in regional if canonicalise(href, base) == own), "")

    def _tool(self, url: str) -> str:
        named, kind = (self.values.get(name, "") for name in _NAMED["tool"])
        if named := one_line(named[:MAX_NAME]).lower():
            return "google-translate" if named == "google" else named
        if kind.strip().upper() == "MT":
            return "microsoft-translator"
        is_google = (urlsplit(url).hostname or "").endswith(".translate.goog")
        return self._machine or ("google-translate" if is_google else "")

    def _licence(self, anchors: Sequence[Anchor], hrefs: str, outside: list[str], base: str) -> str:
        found = [("rel=license", href) for href in self._licences]
        found += [("json-ld", value) for one in self._works for value in _texts(one.get("license"))]
        found += [("meta", value) for value in self._said("licence")]
        # most pages have none, and one search in everything is faster than many
        may_be = anchors if any(host in hrefs for host in _LICENCE_HOSTS) else ()
        marked = [anchor for anchor in may_be if _LICENCE_ADDRESS.search(anchor.href[:MAX_FACT])]
        places = ("link" if anchor.position is LinkPosition.BODY else "footer" for anchor in marked)
        found += sorted(zip(places, (anchor.href for anchor in marked), strict=True), key=itemgetter(0))
        text = "\n".join(outside)
        if any(word in text for word in _LICENCE_WORDS):
            found += [("footer", text) for line in outside if (text := _licence_text(line))][:MAX_LICENCES]
        evidence: dict[str, str] = {}
        for where, what in found:
            # one value must not look like two
            address = _address(what, base) if where == "rel=license" or _IS_ADDRESS.match(what) else ""
            said = one_line((address or what)[:MAX_FACT]).replace("|", "/")
            if said and len(evidence) < MAX_LICENCES:
                evidence.setdefault(said, where)
        whole = [f"{where} {said}" for said, where in evidence.items()]
        while len(BETWEEN.join(whole)) > MAX_FACT and len(whole) > 1:
            whole.pop()
        return BETWEEN.join(whole)[:MAX_FACT]


def _licence_text(line: str) -> str:
    """Up to 200 characters of *line* around the name of a licence; empty unless it is a notice of one."""
    match = LICENCE.search(line) if len(line) <= MAX_NOTICE else None
    if match is None:
        return ""
    start = line.rfind(" ", 0, max(0, match.start() - MAX_NAME // 2)) + 1
    return line[start : start + MAX_NAME].rstrip()


def _plugin_in(text: str) -> str:
    """The translation plugin of which *text* (address, class, id or script) has a mark; empty without one."""
    lower = text.lower()
    return next((tool for tool, marks in TRANSLATION_PLUGINS.items() if any(mark in lower for mark in marks)), "")


_plugin_named = lru_cache(maxsize=16384)(_plugin_in)


def _locale_of(tag: str) -> str:
    """Language, script and region of *tag* (``en-gb`` gives ``en-GB``); empty without script and region."""
    match = _TAG.match(tag.strip()) if len(tag) <= MAX_NAME else None
    if match is None or not (match[2] or match[3]):
        return ""
    return "-".join(filter(None, (match[1].lower(), (match[2] or "").title(), (match[3] or "").upper())))


def _day_of(text: str) -> str:
    """The day in a date that begins with the year, as ``2026-11-25``; empty for other dates."""
    match = _DAY.match(text[:MAX_NAME])
    if match and int(match[1]) >= FIRST_YEAR:
        with suppress(ValueError):
            return date(int(match[1]), *(int(part) for part in match.groups()[1:] if part)).isoformat()
    return ""


def _linked_data(texts: Iterable[str]) -> list[dict[str, Any]]:
    """The objects in *texts* (JSON-LD) that describe a page or work; none for invalid JSON."""
    objects: list[dict[str, Any]] = []
    for text in texts:
        with suppress(ValueError, RecursionError):
            objects += _objects(_parsed(text))
    named = {one["@id"]: one for one in objects if isinstance(one.get("@id"), str)}
    about = [one for one in objects if any(_PAGE_TYPE.search(kind) for kind in _texts(one.get("@type")))]
    # an author may stand beside the page, and be referred to
    return [
        {**one, **{key: _resolved(one[key], named) for key in ("author", "translator") if key in one}} for one in about
    ]


def _parsed(text: str) -> Any:
    """Parse JSON as search engines do: with line breaks in texts, comments, and needless commas and semicolons."""
    try:
        return json.loads(text, strict=False)
    except ValueError:
        return json.loads(_NO_JSON.sub(r"\1", text).rstrip("\t\r\n ,;"), strict=False)


def _objects(parsed: Any) -> Iterator[dict[str, Any]]:
    for one in (parsed if isinstance(parsed, list) else [parsed])[:MAX_OBJECTS]:
        if isinstance(one, dict):
            yield one
            graph = one.get("@graph")
            if isinstance(graph, list):
                yield from (node for node in graph[:MAX_OBJECTS] if isinstance(node, dict))
            if isinstance(one.get("mainEntity"), dict):
                yield one["mainEntity"]


def _resolved(value: Any, named: Mapping[str, dict[str, Any]]) -> Any:
    if isinstance(value, list):
        return [_resolved(one, named) for one in value[:MAX_LICENCES] if not isinstance(one, list)]
    if isinstance(value, dict) and "name" not in value and isinstance(value.get("@id"), str):
        return named.get(value["@id"], value)
    return value


def _texts(value: Any, keys: Sequence[str] = ("name", "url", "@id")) -> list[str]:
    """The texts in a value of linked data: a text, an object with one of *keys*, the first of them, or several."""
    found = []
    for one in value[:MAX_LICENCES] if isinstance(value, list) else [value]:
        texts = [one.get(key) for key in keys] if isinstance(one, dict) else [one]
        found.append(next((text for text in texts if isinstance(text, str) and text.strip()), ""))
    return list(filter(None, found))


def _name(text: str) -> str:
    """*text* as a name; empty if it is an address."""
    name = one_line(text[:MAX_FACT])[:MAX_NAME].rstrip()
    return "" if _IS_LINK.match(name) else name


def _address(href: str, base: str) -> str:
    """*href* as a canonical address; empty if it is none, or if it is too long to be kept."""
    if not href or any(character.isspace() for character in href.strip()):
        return ""
    url = canonicalise(href, base) or ""
    return url if len(url) <= MAX_FACT else ""
