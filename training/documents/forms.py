"""Frozen sites in disguise: the same documents, as sites that say less of their translations would show them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha1
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.alignment.documents.corpus import Domain
from bilingual_crawler.alignment.documents.reading import link_key
from bilingual_crawler.pages.outline import hash_text
from bilingual_crawler.urls.canonical import registered_domain
from bilingual_crawler.urls.marks import marked_language, strip_language

if TYPE_CHECKING:
    from collections.abc import Callable

    from bilingual_crawler.alignment.documents.corpus import Corpus
    from bilingual_crawler.alignment.documents.model import DocumentText, Profile

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


FORMS = {
    "whole": Form(),
    "hashed": Form(urls=False),
    "unannounced": Form(announced=False),
    "silent": Form(urls=False, announced=False),
    "text": Form(urls=False, announced=False, html=False),
}


class DisguisedCorpus:
    """A corpus in one of the forms."""

    def __init__(self, corpus: Corpus, form: Form) -> None:
        self._corpus, self._form = corpus, form
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
        return Domain.from_profiles(group, self, self.pairs.pairs[0], profiles)  # type: ignore[arg-type]

    def document(self, url: str) -> DocumentText:
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
        if not self._form.html:
            profile = replace(profile, declared=None, canonical=None, size=0, tags="")
            profile = replace(profile, files=_NOTHING, external=_NOTHING, internal=_NOTHING)
        return profile
