"""Whether two pages that a detector has seen are translations, by their outlines and their mutual links."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import msgspec

from bilingual_crawler.discovery.detector.links import LINK_FEATURES, language_mark
from bilingual_crawler.pages.model import LinkPosition
from bilingual_crawler.pairing.resemblance import OUTLINE_FEATURES, SHORTEST, common_shares, have_same_text
from bilingual_crawler.scoring.linear import LinearModel, read_weights
from bilingual_crawler.urls.marks import strip_language

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pages.model import PageRecord
    from bilingual_crawler.pairing.resemblance import Resemblance

MAX_RATIO = 3.0
"""Maximum ratio of the lengths of two translations, in characters."""

UNTRANSLATED_PAGE_SHARE = 0.7
"""Share of the shorter text that two untranslated pages have in common at least: home pages share names."""

PAGE_PAIR_FEATURES = (
    *OUTLINE_FEATURES,
    "announced",
    "announced_both",
    "switched",
    "switched_both",
    "linked",
    "linked_both",
    "same_key",
    "same_key_marked",
    "link_ratio",
    "link_keys",
    "depth",
)
"""Features of two outlines; whether one page, or both, announce the other, name its language in a link, link to it;
how alike their addresses are; how alike the numbers and addresses of their links are."""


def features_of(a: PageRecord, b: PageRecord, pair: LanguagePair, resemblance: Resemblance) -> dict[str, float]:
    """The values of :data:`PAGE_PAIR_FEATURES` for *a* and *b*, in the order of the languages of *pair*."""
    announcements, switchers, linking = zip(_said(a, b, pair.b, pair), _said(b, a, pair.a, pair), strict=True)
    same_key = strip_language(a.url) == strip_language(b.url)
    marked = same_key and (language_mark(a.url) is not None or language_mark(b.url) is not None)
    keys = [{strip_language(link.url) for link in page.links} for page in (a, b)]
    shared = len(keys[0] & keys[1]) / max(1, len(keys[0] | keys[1]))
    claims = {
        "announced": any(announcements),
        "announced_both": all(announcements),
        "switched": any(switchers),
        "switched_both": all(switchers),
        "linked": any(linking),
        "linked_both": all(linking),
        "same_key": same_key,
        "same_key_marked": marked,
        "link_ratio": -abs(log((len(a.links) + 2) / (len(b.links) + 2))),
        "link_keys": shared,
        "depth": -abs(_depth(a.url) - _depth(b.url)),
    }
    assert a.outline is not None
    assert b.outline is not None
    return resemblance.features(a.outline, b.outline) | claims


def comparable(a: PageRecord, b: PageRecord, pair: LanguagePair) -> bool:
    """Whether both are documents of their own, with texts of lengths that translations can have.

    A page whose address names another language than its text is untranslated.
    """
    if _is_untranslated(a, pair) or _is_untranslated(b, pair):
        return False
    common = max(common_shares(_lines(a), _lines(b)))
    shorter, longer = sorted((len(a.text), len(b.text)))
    own = shorter * (1 - common)
    return own >= SHORTEST and common < UNTRANSLATED_PAGE_SHARE and longer <= MAX_RATIO * shorter


def _lines(page: PageRecord) -> dict[str, float]:
    """The lines of *page* with their characters."""
    return {line: len(line) for line in page.text.split("\n")}


def _is_untranslated(page: PageRecord, pair: LanguagePair) -> bool:
    mark = language_mark(page.url)
    return mark is not None and not mark[1] and pair.side(mark[0]) != pair.side(page.language)


def is_same(a: PageRecord, b: PageRecord) -> bool:
    """Whether they are one page at two addresses."""
    return a.url == b.url or have_same_text(_lines(a), _lines(b))


def mirrored(a: PageRecord, b: PageRecord) -> dict[str, str]:
    """The links of both pages to other pages, each with its counterpart: they differ by their language marks only."""
    urls = [{link.url for link in page.links} for page in (a, b)]
    # common links, such as switchers, have no counterpart
    keys = [{strip_language(url): url for url in one - other} for one, other in (urls, urls[::-1])]
    both = keys[0].keys() & keys[1].keys() - {strip_language(page.url) for page in (a, b)}
    return {one[key]: other[key] for one, other in (keys, keys[::-1]) for key in both}


def _said(page: PageRecord, other: PageRecord, language: str, pair: LanguagePair) -> tuple[bool, bool, bool]:
    """Whether *page* announces *other*, names its language in a link to it, links to it."""
    links = [link for link in page.links if link.url == other.url]
    return (
        any(link.announces and pair.side(link.hreflang or "") == language for link in links),
        any(link.position is LinkPosition.SWITCHER and pair.side(link.label or "") == language for link in links),
        bool(links),
    )


def _depth(url: str) -> int:
    return strip_language(url).count("/")


FOLDER = "discovery"
"""Folder of the weights under the models folder."""
EVIDENCE = "evidence.json"


class EvidenceWeights(msgspec.Struct, frozen=True):
    """The weights of the evidence detector (``evidence.json``)."""

    language: LinearModel
    """Log-odds that a link leads to a page in a sought language."""
    translation: LinearModel
    """Log-odds that a link leads to the translation of its page."""
    parallel: LinearModel
    """Log-odds that two pages are translations."""

    @classmethod
    def load(cls, models: Traversable) -> EvidenceWeights:
        """Read the weights; ModelError names the file that is missing or unreadable."""
        path = models / FOLDER / EVIDENCE
        weights = read_weights(path, cls)
        weights.language.check(LINK_FEATURES, path)
        weights.translation.check(LINK_FEATURES, path)
        weights.parallel.check(PAGE_PAIR_FEATURES, path)
        return weights
