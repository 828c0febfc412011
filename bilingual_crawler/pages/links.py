"""Merge the anchors of a page into one link for each URL."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from msgspec.structs import replace

from bilingual_crawler.languages.codes import COUNTRY_CODES, tag_language
from bilingual_crawler.pages.characters import collapsed
from bilingual_crawler.pages.formats import ending_of, may_hold
from bilingual_crawler.pages.labels import MAX_LABEL, flagged_language, named_language
from bilingual_crawler.pages.model import Link, LinkPosition, LinkSource
from bilingual_crawler.pages.tables import DOCUMENT_ENDINGS
from bilingual_crawler.urls.canonical import linked
from bilingual_crawler.urls.hosts import registered_domain

MAX_TEXT = 200  # characters of an anchor text that are kept
MAX_FLAG = 1000  # characters of the texts and names of the images in a link that are read
MAX_AROUND = 400  # characters of the text around a link that are kept
MAX_LINKS = 5000  # links of a page that are kept; those that name languages go first
MAX_CHARACTERS = 500_000  # characters of the URLs of all links of a page that are kept: 100 for each of 5,000 links
MAX_TAGS = 200  # characters of a list of languages in one `hreflang`
MAX_ANNOUNCED = 50  # links of a page that announce its translation into one language; sites have several for regions

NO_ADDRESS = ("#", "javascript:", "mailto:", "tel:", "data:")  # beginnings, at most 11 characters
LEADING_RELATIONS = frozenset(("next", "prev", "previous", "first", "last", "start", "contents", "toc", "up", "home"))
_REFRESH = re.compile(r"""(?is)^\s*[\d.]*\s*[;,\s]\s*(?:url\s*=)?\s*["']?\s*([^"']+)""")
_HEADER_LINK = re.compile(r"""<([^<>]*)>((?:\s*;\s*[^\s=;,"]+(?:\s*=\s*(?:"[^"]*"|[^\s;,"]*))?)*)""")
_HEADER_PARAMETER = re.compile(r"""(?<![^\s=;,"])([^\s=;,"]++)\s*+=\s*+(?:"([^"]*+)"|([^\s;,"]*+))""")
# `kr` is Kanuri, but on websites it is Korean, and `am-AM` is the language of Armenia, not Amharic.
_COUNTRIES = {**COUNTRY_CODES, "kr": "kor", "ge": "kat", "ir": "fas", "hk": "zho", "am-am": "hye"}
_REGION = re.compile("(?s)[-_].*")
_BETWEEN_TAGS = re.compile(r"[\s,;|]+")
_TAG = re.compile(r"\s*+[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*+\s*+")
_BEST = {LinkPosition.SWITCHER: 0, LinkPosition.BODY: 1, LinkPosition.NAVIGATION: 1, LinkPosition.HEAD: 2}
_SOURCES = "a area option form script frame alternate header embed refresh link sitemap"  # most direct first
_RANKS = {LinkSource(source): rank for rank, source in enumerate(_SOURCES.split())}


@dataclass(slots=True, eq=False)
class Anchor:
    """One occurrence of a link in a page, with its unresolved URL."""

    href: str
    source: LinkSource
    position: LinkPosition
    hreflang: str | None = None
    alternate: bool = False
    text: str = ""
    label: str | None = None
    lang: str | None = None
    nofollow: bool = False
    title: str = ""
    around: str = ""
    words: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)

    def close(self) -> None:
        """Make the text from the collected words, at the end of the element."""
        self.text = collapsed("".join(self.words))[:MAX_TEXT]
        self.words = []
        if not self.text and not self.images:
            self.text = " ".join(self.title.split())[:MAX_TEXT]

    @property
    def name(self) -> str | None:
        """The language that the text, title or flag names."""
        for text in (self.text, self.title):
            if text and len(text) <= MAX_LABEL and (lang := named_language(text)):
                return lang
        if self.images and len(self.text) <= 3:
            return flagged_language("\n".join(self.images)[:MAX_FLAG], self.position is LinkPosition.SWITCHER)
        return None


def hreflang_of(value: str | None) -> str | None:
    """A ``hreflang``, or the code of a country for one, as ISO 639-3 (with its script), or ``x-default``; or None."""
    if not value:
        return None
    code = value.strip().lower()
    if code == "x-default":
        return code
    if len(code) <= MAX_TAGS and len(tags := _BETWEEN_TAGS.split(code)) > 1:
        # "es-ES, es-MX": the first that is known, and rather a language than everybody's version
        return min(filter(None, map(hreflang_of, tags)), key="x-default".__eq__, default=None)
    return _COUNTRIES.get(code.replace("_", "-")) or _COUNTRIES.get(_REGION.sub("", code)) or tag_language(value)


def is_for_language(hreflang: str | None) -> bool:
    """Whether an alternate with this ``hreflang`` is a link: its language may be unknown."""
    return bool(hreflang) and (hreflang_of(hreflang) is not None or _TAG.fullmatch(hreflang or "") is not None)


def refreshed(content: str) -> str | None:
    """The address in a ``Refresh`` header or element, such as ``0; url=/es/``; None without one."""
    match = _REFRESH.match(content)
    return match[1].strip() if match else None


def merge(anchors: Iterable[Anchor], base: str, page: str | None) -> tuple[Link, ...]:
    """One link for each URL of a page or document but this, in order of occurrence, with the best evidence of all."""
    resolved: dict[str, str | None] = {}
    found: dict[str, Anchor] = {}
    for anchor in anchors:
        if anchor.href not in resolved:
            resolved[anchor.href] = _resolve(anchor.href, base, page)
        url = resolved[anchor.href]
        # what other sites show inside a page are videos, maps and advertisements
        if anchor.source is LinkSource.EMBED and url and registered_domain(url) != registered_domain(base):
            continue
        if url is not None and (first := found.setdefault(url, anchor)) is not anchor:
            _absorb(first, anchor)
    return tuple(_link(url, anchor, base) for url, anchor in found.items())


def in_formats(links: Iterable[Link], formats: frozenset[str]) -> tuple[list[Link], Counter[str]]:
    """The *links* that may lead to a document in *formats*; the number of all links to documents, by ending."""
    links = list(links)
    documents = Counter(ending for link in links if (ending := ending_of(link.url)) in DOCUMENT_ENDINGS)
    return [link for link in links if may_hold(link.url, formats)], documents


def limited(links: Sequence[Link]) -> tuple[Link, ...]:
    """*links* up to the limits that only hostile pages exceed; they keep their order if none is left out."""
    announced: Counter[str | None] = Counter()
    believed = []
    for link in links:
        if link.alternate or link.is_switch:
            announced[link.claimed] += 1
            if announced[link.claimed] > MAX_ANNOUNCED:
                link = replace(link, alternate=False, position=LinkPosition.BODY)
        believed.append(link)
    if len(believed) <= MAX_LINKS and sum(len(link.url) for link in believed) <= MAX_CHARACTERS:
        return tuple(believed)
    best = sorted(believed, key=lambda link: not (link.alternate or link.hreflang or link.is_switch))[:MAX_LINKS]
    room = bisect_right(list(accumulate(len(link.url) for link in best)), MAX_CHARACTERS)
    return tuple(best[:room])


def _resolve(href: str, base: str, page: str | None) -> str | None:
    href = href.strip()
    if not href or (href[:11].lower().startswith(NO_ADDRESS) and not href.startswith("#!")):
        return None
    url = linked(href, base)
    return url if url is not None and url != page and may_hold(url, DOCUMENT_ENDINGS) else None


def _absorb(first: Anchor, other: Anchor) -> None:
    """Merge the better evidence of *other* about the same URL into *first*."""
    if _BEST[other.position] < _BEST[first.position]:
        first.position = other.position
        first.text, other.text = other.text or first.text, first.text
        first.label = other.label or first.label
    first.text = first.text or other.text
    first.source = min(first.source, other.source, key=_RANKS.__getitem__)
    if first.hreflang in (None, "x-default") and other.hreflang is not None:
        first.hreflang = other.hreflang
    first.lang = first.lang or other.lang
    first.label = first.label or other.label
    first.alternate |= other.alternate
    first.nofollow &= other.nofollow


def _link(url: str, anchor: Anchor, base: str) -> Link:
    around = anchor.around if anchor.around and registered_domain(url) != registered_domain(base) else ""
    where = anchor.source, anchor.position, anchor.hreflang
    return Link(url, anchor.text, *where, anchor.lang, anchor.alternate, anchor.nofollow, anchor.label, around)


def header_anchors(link_headers: Iterable[str]) -> Iterator[Anchor]:
    """The alternates with ``hreflang`` in HTTP ``Link`` headers (RFC 8288), and the next page or that of a refresh."""
    for header in link_headers:
        for match in _HEADER_LINK.finditer(header):
            values = {k.lower(): quoted or bare for k, quoted, bare in _HEADER_PARAMETER.findall(match[2])}
            relations = values.get("rel", "").lower().split()
            if is_for_language(values.get("hreflang")) and "alternate" in relations:
                yield Anchor(match[1], LinkSource.HEADER, LinkPosition.HEAD, hreflang_of(values["hreflang"]), True)
            elif "refresh" in relations or not LEADING_RELATIONS.isdisjoint(relations):
                source = LinkSource.REFRESH if "refresh" in relations else LinkSource.LINK
                yield Anchor(match[1], source, LinkPosition.HEAD)
