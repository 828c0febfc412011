"""Metadata of a page: title, base, language, robots rules."""

from __future__ import annotations

import re

from bilingual_crawler.languages import from_bcp47
from bilingual_crawler.pages.links import Anchor, hreflang_of
from bilingual_crawler.pages.model import LinkPosition, LinkSource
from bilingual_crawler.pages.robots import directives_in

_REFRESH = re.compile(r"""(?is)^\s*[\d.]*\s*[;,\s]\s*(?:url\s*=)?\s*["']?\s*([^"']+)""")


class Head:
    """Title, base, language and robots rules of a page; the first value of each counts."""

    def __init__(self) -> None:
        self.title = ""
        self.base = ""
        self.language: str | None = None
        self.robots: set[str] = set()

    def read(self, tag: str, attributes: dict[str, str | None]) -> Anchor | None:
        """Read an ``html``, ``base``, ``link`` or ``meta`` element; returns its link if it has one."""
        if tag == "link":
            return self._link(attributes)
        if tag == "meta":
            return self._meta(attributes)
        if tag == "base":
            self.base = self.base or attributes.get("href") or ""
        elif tag == "html":
            self.language = from_bcp47(attributes.get("lang") or attributes.get("xml:lang") or "")
        return None

    def _link(self, attributes: dict[str, str | None]) -> Anchor | None:
        href = attributes.get("href") or ""
        relations = (attributes.get("rel") or "").lower().split()
        hreflang = hreflang_of(attributes.get("hreflang"))
        kind = attributes.get("type") or "html"
        if not href or hreflang is None or "alternate" not in relations or "html" not in kind:
            return None
        anchor = Anchor(href, LinkSource.ALTERNATE, LinkPosition.HEAD)
        anchor.hreflang = hreflang
        anchor.alternate = True
        return anchor

    def _meta(self, attributes: dict[str, str | None]) -> Anchor | None:
        content = attributes.get("content") or ""
        if (attributes.get("name") or "").lower() == "robots":
            self.robots |= directives_in(content)
        elif (attributes.get("http-equiv") or "").lower() == "refresh" and (match := _REFRESH.match(content)):
            return Anchor(match[1].strip(), LinkSource.REFRESH, LinkPosition.HEAD)
        return None
