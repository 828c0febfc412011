"""The evidence of the detector, and its weights: links and guessed URLs, and two pages beside each other."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from math import log
from urllib.parse import urlsplit

import langcodes
import msgspec

from bilingual_crawler.languages.codes import UNKNOWN, LanguagePair, base_of, language_name, own_name, to_bcp47
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.pairing.resemblance import OUTLINE_FEATURES, SHORTEST, Resemblance, common_shares, have_same_text
from bilingual_crawler.policies.evidence.language import STEPS, AnchorReader
from bilingual_crawler.scoring.linear import LinearModel, read_weights
from bilingual_crawler.scoring.models import LanguageModel
from bilingual_crawler.urls.canonical import canonicalise
from bilingual_crawler.urls.hosts import domain_label, host_of
from bilingual_crawler.urls.marks import Component, Marker, find_markers, strip_language

_INDEX = re.compile(r"(?<=/)index\.\w+$")
_REGIONAL = frozenset(("zho", "por"))
"""Languages of which sites often name the region."""


def rewritten(url: str, language: str) -> Iterator[str]:
    """*url* with its language mark replaced by one of *language* (ISO 639-3), likeliest spelling first."""
    mark = language_mark(url)
    if mark is None or mark.language is None:
        return
    for token in _spellings(mark.token, mark.language, language):
        guess = canonicalise(url[: mark.start] + token + url[mark.end :])
        if guess is not None and guess != url:
            yield guess


def without_folder(url: str) -> str | None:
    """*url* without the folder that names its language, as on a site whose first language has no folder; or None."""
    mark = language_mark(url)
    if mark is None or mark.component is not Component.DIRECTORY:
        return None
    return canonicalise(url[: mark.start] + url[mark.end :].removeprefix("/"))


def language_mark(url: str) -> Marker | None:
    """The strongest mark of *url* that names a language."""
    start = url.find("://") + len("://")
    marks = (marker for marker in find_markers(url) if marker.language and not marker.is_country)
    # a label inside the host is rarely replaced: 2017.es.example.org
    return next((one for one in marks if one.component is not Component.SUBDOMAIN or one.start == start), None)


def folder_of(url: str, language: str) -> str:
    """The folder of *language* beside *url*, as ``https://example.com/fr/``."""
    parts = urlsplit(url)
    folder = parts.path[: parts.path.rfind("/") + 1] or "/"
    return f"{parts.scheme}://{parts.netloc}{folder}{to_bcp47(language)}/"


def _spellings(token: str, old: str, new: str) -> Iterator[str]:
    """Spellings of the language *new* on a site that writes *token* for the language *old*."""
    territory = langcodes.Language.get(to_bcp47(new)).maximize().territory or ""
    new = base_of(new)
    code, lower = to_bcp47(new), token.lower()
    if separator := next((sign for sign in "-_" if sign in token), None):
        region = token.partition(separator)[2]
        yield f"{code}{separator}{territory if region.isupper() else territory.lower()}"
        yield code
        return
    names = {language_name(old).lower(): language_name(new), own_name(old).lower(): own_name(new)}
    spelt = [code if lower == to_bcp47(old) else new if len(token) == 3 else names.get(lower, code)]
    if lower == to_bcp47(old) and new in _REGIONAL:
        spelt.append(f"{code}-{territory}")
    yield from (one.upper() if token.isupper() else one.title() if token.istitle() else one.lower() for one in spelt)


MAX_LINKS = 500  # links of a page that are read: those that name a language, then the first ones
STUB_LINKS = 4
STUB_CHARACTERS = 150  # maximum links, or characters, of a page that only leads to others
MAX_LOGIT = 4.0
NAMED = ("hreflang", "label", "mark", "weak_mark", "lang")
"""Ways in which a link names a language; each may name one that is sought, or another."""
STRONG = ("hreflang", "label", "mark")
LINK_FEATURES = (
    *(f"{name}_{which}" for name in NAMED for which in ("sought", "other")),
    *("named_sought", "named_other", "alternate", "switcher", "unnamed_switch", "same_key", "same_key_sought"),
    *("unmarked", "wording", "url_model", "chooser", "stub", "declared_other", "other_host"),
    *("rewritten", "folder", "dropped", "names_others", "page_in_neither"),
)
"""0 or 1, but `wording`, `url_model`: -1 to 1. `names_others` of a guess: the page names only other languages."""
NAMES = {"hreflang_sought": "hreflang", "label_sought": "switcher", "mark_sought": "mark", "lang_sought": "lang"}
"""Feature -> its name in the counts of a verdict."""
GUESSES = ("rewritten", "folder", "dropped")
KIND = ("hreflang_sought", "label_sought", "mark_sought", "weak_mark_sought", "same_key", "other_host", *GUESSES)
"""Features that form the kind of a link; a miss counts for its kind."""


@dataclass(frozen=True, slots=True)
class LinkProspect:
    """A link, or a guessed URL, with its evidence."""

    url: str
    language: str
    """The language that is sought there."""
    features: Mapping[str, float]
    """The non-zero values of :data:`LINK_FEATURES`."""

    @property
    def is_bridge(self) -> bool:
        """Whether its page only leads to others, and it names no language that is not sought."""
        return self.says("stub", "chooser") and not self.says("hreflang_other", "label_other")

    @property
    def is_guess(self) -> bool:
        return self.says(*GUESSES)

    @property
    def kind(self) -> tuple[bool, ...]:
        """Links of one kind are right or wrong together on a site."""
        return tuple(map(self.says, KIND))

    def says(self, *names: str) -> bool:
        """Whether one of the features *names* speaks for it."""
        return any(self.features.get(name, 0.0) > 0 for name in names)


class LinkReader:
    """Reads the links of pages for a pair of languages."""

    def __init__(self, pair: LanguagePair, model: LanguageModel) -> None:
        self._pair = pair
        self._wording = AnchorReader(pair)
        self._by_url = model.reader(LanguagePairs((pair,)))

    def read(self, page: PageRecord, language: str) -> list[LinkProspect]:
        """The links of *page* inside its site, and guesses, as ways to pages in *language*, one of the pair."""
        site = domain_label(page.url)
        inside = [link for link in page.links if domain_label(link.url) == site]
        # a sort is stable: links that name no language keep the order of the page
        links = sorted(inside, key=lambda link: not link.claimed)[:MAX_LINKS]
        shares = self._by_url([link.url for link in links])[:, int(language == self._pair.b)] if links else ()
        found = []
        for link, share in zip(links, map(float, shares), strict=True):
            logit = log((share + 1e-6) / (1 - share + 1e-6))
            row = self._features(page, link, language)
            row["url_model"] = max(-1.0, min(1.0, logit / MAX_LOGIT))
            found.append(_prospect(link.url, language, row))
        urls = {_without_index(link.url) for link in links}
        return found + [guess for guess in self.guess(page, language) if _without_index(guess.url) not in urls]

    def guess(self, page: PageRecord, language: str) -> Iterator[LinkProspect]:
        """Addresses beside *page* at which a page in *language* may be."""
        named = {self._pair.side(link.claimed or "") for link in page.links if link.claims}
        neither = side_of(page, self._pair) is None
        row = {"names_others": bool(named) and language not in named, "page_in_neither": neither}
        marked = [(url, "rewritten") for url in rewritten(page.url, language)]
        guesses = marked or [(folder_of(page.url, language), "folder")]
        for url, kind in (*guesses, (without_folder(page.url), "dropped")):
            if url is not None and url != page.url:
                yield _prospect(url, language, {**row, kind: 1.0})

    def _features(self, page: PageRecord, link: Link, sought: str) -> dict[str, float]:
        row: dict[str, float] = {}

        def name(kind: str, language: str | None) -> None:
            if language is not None:
                row[f"{kind}_{'sought' if self._pair.side(language) == sought else 'other'}"] = 1.0

        name("hreflang", link.hreflang if link.hreflang != "x-default" else None)
        name("label", link.label)
        name("lang", link.lang)
        mark = language_mark(link.url)
        if mark is not None:
            name("weak_mark" if mark.weak else "mark", mark.language)
        for which in ("sought", "other"):
            row[f"named_{which}"] = max(row.get(f"{kind}_{which}", 0.0) for kind in STRONG)
        same_key = _without_index(strip_language(link.url)) == _without_index(strip_language(page.url))
        switcher = link.is_switch
        row |= {
            "alternate": link.announces,
            "switcher": switcher,
            "unnamed_switch": switcher and link.claimed is None,
            "same_key": same_key,
            "same_key_sought": same_key and row.get("mark_sought", 0.0),
            "unmarked": mark is None and language_mark(page.url) is not None,
            "chooser": len(page.links) <= STUB_LINKS,
            "stub": is_stub(page),
            "declared_other": page.first_declared is not None and self._pair.side(page.first_declared) == sought,
            "page_in_neither": side_of(page, self._pair) is None,
            "other_host": host_of(link.url) != host_of(page.url),
        }
        if (step := self._wording.read(link.text)) is not None:
            row["wording"] = (2 * step / len(STEPS) - 1) * (1 if sought == self._pair.b else -1)
        return row


def _prospect(url: str, language: str, row: Mapping[str, float]) -> LinkProspect:
    return LinkProspect(url, language, {name: float(value) for name, value in row.items() if value})


def _without_index(url: str) -> str:
    return _INDEX.sub("", url)


def one_form(url: str) -> str:
    """*url* without index file and final slash: both forms are one page on nearly every site."""
    return _without_index(url).rstrip("/")


def side_of(page: PageRecord, pair: LanguagePair) -> str | None:
    """The language of *pair* that *page* is in; None if it has too little text to be in any."""
    if is_stub(page):
        return None
    if page.language == UNKNOWN and page.first_declared is not None:
        return pair.side(page.first_declared)
    return pair.side(page.language)


def is_stub(page: PageRecord) -> bool:
    """Whether *page* holds nothing and only leads to others."""
    return len(page.text) < STUB_CHARACTERS


MAX_RATIO = 3.0  # maximum ratio of the lengths of two translations, in characters
UNTRANSLATED_PAGE_SHARE = 0.7
"""Share of the shorter text that two untranslated pages have in common at least: home pages share names."""
PAGE_PAIR_FEATURES = (
    *OUTLINE_FEATURES,
    *("announced", "announced_both", "switched", "switched_both", "linked", "linked_both", "same_key"),
    *("same_key_marked", "link_ratio", "link_keys", "depth"),
)
"""Features of two outlines; whether one page, or both, announce the other, name its language in a link, link to it;
how alike their addresses are; how alike the numbers and addresses of their links are."""


def features_of(a: PageRecord, b: PageRecord, pair: LanguagePair, resemblance: Resemblance) -> dict[str, float]:
    """The values of :data:`PAGE_PAIR_FEATURES` for *a* and *b*, in the order of the languages of *pair*."""
    assert a.outline is not None
    assert b.outline is not None
    key_a, key_b = strip_language(a.url), strip_language(b.url)
    keys, others = ({strip_language(link.url) for link in page.links} for page in (a, b))
    features = resemblance.features(a.outline, b.outline) | {
        "same_key": key_a == key_b,
        "same_key_marked": key_a == key_b and any(language_mark(page.url) for page in (a, b)),
        "link_ratio": -abs(log((len(a.links) + 2) / (len(b.links) + 2))),
        "link_keys": len(keys & others) / max(1, len(keys | others)),
        "depth": -abs(key_a.count("/") - key_b.count("/")),
    }
    said = zip(("announced", "switched", "linked"), _said(a, b, pair.b, pair), _said(b, a, pair.a, pair), strict=True)
    for name, *both in said:
        features |= {name: any(both), f"{name}_both": all(both)}
    return features


def comparable(a: PageRecord, b: PageRecord, pair: LanguagePair) -> bool:
    """Whether both are documents in the language of their address, with texts as long as translations can be."""
    for page in (a, b):
        mark = language_mark(page.url)
        if mark is not None and not mark.weak and pair.side(mark.language or "") != pair.side(page.language):
            return False
    common = max(common_shares(_lines(a), _lines(b)))
    shorter, longer = sorted((len(a.text), len(b.text)))
    own = shorter * (1 - common)
    return own >= SHORTEST and common < UNTRANSLATED_PAGE_SHARE and longer <= MAX_RATIO * shorter


def is_same(a: PageRecord, b: PageRecord) -> bool:
    """Whether they are one page at two addresses."""
    return a.url == b.url or have_same_text(_lines(a), _lines(b))


def _lines(page: PageRecord) -> dict[str, float]:
    return {line: len(line) for line in page.text.split("\n")}


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
        any(link.is_switch and pair.side(link.label or "") == language for link in links),
        bool(links),
    )


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
    def load(cls, models: Traversable) -> "EvidenceWeights":
        """Read the weights; ModelError names the file that is missing or unreadable."""
        path = models / FOLDER / EVIDENCE
        weights = read_weights(path, cls)
        for model in (weights.language, weights.translation):
            model.check(LINK_FEATURES, path)
        weights.parallel.check(PAGE_PAIR_FEATURES, path)
        return weights
