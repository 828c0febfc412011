"""Frozen sites in disguise: the same documents, as sites would show them that say less of translations, or lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha1
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from bilingual_crawler.pages.outline import hash_text
from bilingual_crawler.pairing.corpus import Domain
from bilingual_crawler.pairing.reading import link_key
from bilingual_crawler.urls.hosts import registered_domain
from bilingual_crawler.urls.marks import marked_language, strip_language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from bilingual_crawler.items import Document
    from bilingual_crawler.pairing.corpus import Corpus
    from bilingual_crawler.pairing.model import Profile

_NOTHING = np.zeros(0, dtype=np.uint32)


@dataclass(frozen=True, slots=True)
class Form:
    """What a disguised site still shows."""

    urls: bool = True
    """Its own URLs; else the registered domain and a hash."""
    announced: bool = True
    """``hreflang`` and language switchers."""
    html: bool = True
    """Tags, files and links."""
    lying: bool = False
    """Some pages have lost their translation, and are said to be translations of each other."""


FORMS = {
    "whole": Form(),
    "hashed": Form(urls=False),
    "unannounced": Form(announced=False),
    "silent": Form(urls=False, announced=False),
    "text": Form(urls=False, announced=False, html=False),
    "lying": Form(lying=True),
}
LIES = {"address": 3, "one": 1, "mutual": 1, "switcher": 1}
"""How a site may say of two pages that they are translations, and how many sites in six do it so: equal addresses, an
announcement of one page or of both, both switchers."""
SHARES = (0.3, 1.0)  # shares of the pairs of a site that are taken apart, drawn for each site

Lies: TypeAlias = Mapping[str, tuple[str, str]]
"""URL of a page to how the site lies of it, a key of :data:`LIES`, and the address that it gives or announces."""


class DisguisedCorpus:
    """A corpus in one of the forms."""

    def __init__(self, corpus: Corpus, form: Form, lies: Lies | None = None) -> None:
        self._corpus, self._form, self._lies = corpus, form, lies or {}
        self.pairs = corpus.pairs
        self._urls: dict[str, str] = {}
        self.redirects = corpus.redirects if form.urls else {}

    def profiles(self, group: tuple[str, ...]) -> list[Profile]:
        """Profiles of a group of domains; links to their documents are hashed as their URLs are."""
        profiles = self._corpus.profiles(group)
        keys = {hash_text(link_key(p.url)): hash_text(link_key(self.url(p.url))) for p in profiles}
        keys |= {hash_text(key): keys.get(hash_text(to), hash_text(to)) for key, to in self._corpus.redirects.items()}
        return [self._disguised(profile, keys) for profile in profiles]

    def domain(self, group: tuple[str, ...], keep: Callable[[str], bool] = lambda url: True) -> Domain:
        """The documents of a group of domains, those whose own URLs *keep* says."""
        profiles = (one for one in self.profiles(group) if keep(self._urls[one.url]))
        return Domain(group, self, self.pairs.pairs[0], profiles)  # type: ignore[arg-type]

    def labels(self, group: tuple[str, ...]) -> dict[tuple[str, str], bool]:
        """No labels: judges learn without."""
        return {}

    def document(self, url: str) -> Document:
        """The document behind a disguised URL."""
        return self._corpus.document(self._urls[url])

    def resolve(self, key: str) -> str:
        """Announced links are resolved before they are hashed."""
        return self._corpus.resolve(key) if self._form.urls else key

    def url(self, url: str) -> str:
        """*url* as this form shows it."""
        return (
            url if self._form.urls else f"https://{registered_domain(url)}/{sha1(link_key(url).encode()).hexdigest()}"
        )

    def _disguised(self, profile: Profile, keys: dict[int, int]) -> Profile:
        url = self.url(profile.url)
        self._urls[url] = profile.url
        if not self._form.urls:
            languages, resolve = self.pairs.equivalents, self._corpus.resolve
            profile = replace(
                profile,
                url=url,
                key=strip_language(url, languages),
                marked=marked_language(url, languages),
                claims=tuple(self.url("https://" + resolve(link_key(claim))) for claim in profile.claims),
                switches=tuple(self.url("https://" + resolve(link_key(switch))) for switch in profile.switches),
                canonical=profile.canonical and self.url("https://" + resolve(link_key(profile.canonical))),
                internal=np.unique(
                    np.array([keys.get(key, key) for key in profile.internal.tolist()], dtype=np.uint32)
                ),
            )
        if not self._form.announced:
            profile = replace(profile, claims=(), switches=())
        if self._form.lying and self._urls[url] in self._lies:
            profile = _lying(profile, *self._lies[self._urls[url]])
        if not self._form.html:
            profile = replace(profile, declared=None, canonical=None, size=0, tags="")
            profile = replace(profile, files=_NOTHING, external=_NOTHING, internal=_NOTHING)
        return profile


def _lying(profile: Profile, kind: str, address: str) -> Profile:
    """*profile* of a page that the site says is a translation, by a key of :data:`LIES`."""
    if kind == "address":
        return replace(profile, key=address, marked=None)
    if kind == "switcher":
        return replace(profile, switches=(*profile.switches, address))
    return replace(profile, claims=(*profile.claims, address))


def taken_apart(pairs: Iterable[tuple[str, str]], random: Random) -> tuple[Lies, set[str]]:
    """What a site may say of halves of its *pairs*, and the other halves, which it has lost; URLs.

    Of two pairs that are neighbours by their addresses one half each is left, and said to be a translation of the
    other: they are in one section and have its template, as lists of posts or galleries at equal addresses have.
    """
    (kind,), share = random.choices([*LIES], [*LIES.values()]), random.choice(SHARES)
    chosen = [pair for pair in sorted(pairs) if random.random() < share]
    lies: dict[str, tuple[str, str]] = {}
    lost: set[str] = set()
    for (a, lost_b), (lost_a, b) in zip(chosen[::2], chosen[1::2], strict=False):
        lost |= {lost_a, lost_b}
        lies[a] = kind, a if kind == "address" else b
        if kind != "one":
            lies[b] = kind, a
    return lies, lost
