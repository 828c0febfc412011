"""Language variants of addresses: how they are asked for, and which links of a page lead to them (docs/variants.md)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from cachetools import LRUCache
from msgspec.structs import replace

from bilingual_crawler.languages.codes import base_of, may_be, to_bcp47
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.model import Link, LinkSource, PageRecord
from bilingual_crawler.urls.canonical import asked_language, bare, variant
from bilingual_crawler.urls.hosts import host_of, registered_domain
from bilingual_crawler.urls.marks import marked_language, strip_language

MAX_SITES = 10_000  # sites and languages whose cookies are kept; the least recently used are forgotten
MAX_COOKIES, MAX_COOKIE = 20, 4096  # cookies of a site in one language, and characters of one
MAX_REFUSED = 3  # wrong-language answers before variants of a host are abandoned, unless one of its site was right

_NAMING = ("lang", "locale", "i18n")  # parts of names of cookies whose value is a language

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(tuple[str, dict[str, str], str]).decode


class Switch(NamedTuple):
    """Cookies that choose a language."""

    language: str  # ISO 639-3
    cookies: Mapping[str, str]


class Variants:
    """What is known of the sites (registered domains) that choose the language by request header or cookie.

    The header ``Accept-Language`` asks for the languages of the crawl, of a variant for its own language. Cookies are
    sent with variants only: those that the site has set when a link that names the language led back to a page.
    """

    def __init__(self, pairs: LanguagePairs) -> None:
        self._pairs = pairs
        # English is what most sites answer in if they know none of the languages asked for
        self._order = sorted(pairs.languages, key=lambda language: language == "eng")
        self._cookies: LRUCache[tuple[str, str], dict[str, str]] = LRUCache(MAX_SITES)
        # host -> how often it was not answered as asked; a site that was right once has -1
        self._refused: LRUCache[str, int] = LRUCache(MAX_SITES)
        # site -> what it shows without cookies: the language of its first page whose address names none
        self._usual: LRUCache[str, str] = LRUCache(MAX_SITES)
        # site whose forms choose a language by a parameter -> what it shows without; None if that are several languages
        self._plain: LRUCache[str, str | None] = LRUCache(MAX_SITES)
        self.first = self._order[0]  # language for ordinary URLs

    def accept_language(self, url: str) -> str:
        """Return the value of ``Accept-Language`` for *url*: the language that it asks for first, then the others."""
        first, *others = dict.fromkeys((asked_language(url) or self.first, *self._order))
        shares = (f"{to_bcp47(one)};q={max(0.9 - 0.1 * at, 0.1):.1f}" for at, one in enumerate(others))
        return ", ".join((to_bcp47(first), *shares))

    def cookies(self, url: str) -> str:
        """Return the value of ``Cookie`` for *url*; empty if it is no variant, or its site has set none."""
        cookies = self._cookies.get((registered_domain(url), asked_language(url) or ""), {})
        return "; ".join(f"{name}={value}" for name, value in cookies.items())

    def note_page(self, page: PageRecord) -> None:
        """Note the language of *page*, which may have a form that would show it as it is."""
        if marked_language(page.url):
            return
        site, language = registered_domain(page.url), page.language
        if page.side:
            self._usual.setdefault(site, page.side)
        own = {_without_language(link.url) for link in page.links if self._chooses(link, language)}
        if bare(page.url) in own:
            self._plain[site] = language if self._plain.get(site, language) == language else None

    def plain(self, link: Link) -> str | None:
        """The address of the same page without the parameter that chooses its language, if *link* is that choice."""
        language = self._plain.get(registered_domain(link.url))
        return _without_language(link.url) if language and self._chooses(link, language) else None

    def _chooses(self, link: Link, language: str) -> bool:
        if link.source is not LinkSource.FORM or link.label is None:
            return False
        # languages outside the crawl never match
        side = self._pairs.side(language)
        return link.label == language or (side is not None and self._pairs.side(link.label) == side)

    def note_switch(self, url: str, switch: Switch) -> bytes:
        """Keep the cookies with which the site of *url* has switched its language; return them as a fact."""
        cookies = {**self._cookies.get((registered_domain(url), switch.language), {}), **switch.cookies}
        short = [(name, value) for name, value in cookies.items() if len(name) + len(value) <= MAX_COOKIE]
        kept = dict(short[-MAX_COOKIES:])
        self._cookies[registered_domain(url), switch.language] = kept
        return _pack((switch.language, kept, self._usual.get(registered_domain(url), "")))

    def recall(self, url: str, fact: bytes) -> None:
        """Keep the cookies of a *fact* of an earlier run or another worker."""
        language, cookies, usual = _unpack(fact)
        self._usual[registered_domain(url)] = usual
        self.note_switch(url, Switch(language, cookies))

    def note_answer(self, url: str, *, right: bool) -> None:
        """The variant *url* was answered in the language asked for, or in another one."""
        site, host = registered_domain(url), host_of(url)
        # a site that was right once is not given up
        if right or self._refused.get(site, 0) < 0:
            self._refused[site] = -1
        else:
            self._refused[host] = self._refused.get(host, 0) + 1

    def are_wanted(self, url: str) -> bool:
        """Whether the host of *url* may be asked for variants."""
        is_right = self._refused.get(registered_domain(url), 0) < 0
        return is_right or self._refused.get(host_of(url), 0) < MAX_REFUSED

    def is_switched(self, url: str, switch: Switch) -> bool:
        """Whether *switch* may show the page at *url*, which it leads back to, in another language."""
        return not marked_language(url) and switch.language != self._usual.get(registered_domain(url))

    def target(self, url: str, location: str, switch: Switch | None) -> str:
        """Where a redirect from *url* to *location* leads: a variant stays one, unless that names a language."""
        language = switch.language if switch else asked_language(url)
        location = bare(location)
        if language is None or marked_language(location) or not self.are_wanted(url):
            return location
        return self._in(language, location)

    def switch(self, url: str, set_cookies: Iterable[str]) -> Switch | None:
        """The language of the crawl that *set_cookies*, in the answer to *url*, or else *url* itself, may choose."""
        cookies: dict[str, str] = {}
        for header in set_cookies:
            name, equals, value = header.partition(";")[0].strip().partition("=")
            if equals and name and f"{name}{value}".isprintable():
                cookies[name.strip()] = value.strip()
        languages = list(map(base_of, self._pairs.languages))
        keys = {name: "lang" if any(part in name.lower() for part in _NAMING) else name for name in cookies}
        named = (marked_language(f"https://cookie/?{keys[name]}={value}", languages) for name, value in cookies.items())
        language = next(filter(None, named), None) or marked_language(url, languages)
        side = self._pairs.side(language) if language else None
        return Switch(side, cookies) if cookies and side else None

    def of_page(self, page: PageRecord) -> PageRecord:
        """Return *page* with links that lead to the variants that a browser would see, with its header and cookies.

        Where cookies choose, a switcher that leads back to the page leads to its variant.
        """
        url = page.url
        asked, site = asked_language(url), registered_domain(url)
        languages = self._pairs.languages if self.are_wanted(url) else ()
        by_cookie = {language for language in languages if (site, language) in self._cookies}
        if asked is None and not by_cookie:
            return page
        links = tuple(self._link(link, url, asked, site, by_cookie) for link in page.links)
        canonical = page.canonical
        if asked and canonical and registered_domain(canonical) == site and not marked_language(canonical):
            canonical = variant(canonical, asked)
        return replace(page, links=links, canonical=canonical)

    def _link(self, link: Link, url: str, asked: str | None, site: str, by_cookie: set[str]) -> Link:
        if registered_domain(link.url) != site:
            return link
        marked = marked_language(link.url)
        if marked:
            # an address that names a language keeps it, whatever cookies there are
            by_cookie = set() if marked_language(bare(url)) else by_cookie
            leads_back = bool(by_cookie) and strip_language(link.url) == strip_language(bare(url))
            shown = (*by_cookie, self._usual.get(site))
            language = next((one for one in shown if one and may_be(one, marked)), None)
            return replace(link, url=self._in(language, url)) if leads_back and language else link
        named = [self._pairs.side(name) for name in (link.hreflang, link.label) if name]
        if asked is None or (named and asked not in named):
            return link
        return replace(link, url=variant(link.url, asked))

    def _in(self, language: str, url: str) -> str:
        return bare(url) if language == self._usual.get(registered_domain(url)) else variant(url, language)


def _without_language(url: str) -> str | None:
    """*url* without the parameters that name a language; None if it has none, or its path names a language."""
    path, _, query = url.partition("?")
    parts = query.split("&")
    kept = [part for part in parts if not marked_language(f"{path}?{part}")]
    if marked_language(path) or len(kept) == len(parts):
        return None
    return f"{path}?{'&'.join(kept)}" if kept else path


def not_linked(page: PageRecord, languages: Sequence[str]) -> list[str]:
    """Return those of *languages* that no link of *page* names."""
    linked = {name for link in page.links for name in (link.hreflang, link.label, marked_language(link.url)) if name}
    return [language for language in languages if not any(may_be(language, name) for name in linked)]
