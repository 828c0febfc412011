"""Candidate pairs of a domain by what URLs and announced links say."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.pages.outline import hash_text
from bilingual_crawler.pairing.candidates import nearest
from bilingual_crawler.pairing.channels import channel_of
from bilingual_crawler.pairing.url_evidence import UrlEvidence, agrees
from bilingual_crawler.urls.canonical import registered_domain
from bilingual_crawler.urls.markers import marked_language

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pairing.documents import Profile
    from bilingual_crawler.pairing.domain import Domain

_WORD = re.compile(r"[^\W_]+")
ALIKE = 5
"""Similar URLs that are looked for from each document without other evidence."""
MAX_SAME_KEY = 20
"""Documents of one side with the same key up to which all of them are candidates."""


def url_evidence(domain: Domain) -> dict[tuple[int, int], UrlEvidence]:
    """Evidence for every pair (place in a, place in b) that has any."""
    found: defaultdict[tuple[int, int], UrlEvidence] = defaultdict(UrlEvidence)
    for i, profile in enumerate(domain.a):
        for j in domain.targets(profile.claims, domain.places_b):
            found[i, j].hreflang += 1
        for j in domain.targets(profile.switches, domain.places_b):
            found[i, j].switcher += 1
    for j, profile in enumerate(domain.b):
        for i in domain.targets(profile.claims, domain.places_a):
            found[i, j].hreflang += 1
        for i in domain.targets(profile.switches, domain.places_a):
            found[i, j].switcher += 1
    pair = domain.pair
    by_key: defaultdict[str, list[int]] = defaultdict(list)
    for j, profile in enumerate(domain.b):
        by_key[profile.key].append(j)
    for i, profile in enumerate(domain.a):
        for j in by_key.get(profile.key, ())[:MAX_SAME_KEY]:
            agree = all(agrees(one.marked, one.language, pair) for one in (profile, domain.b[j]))
            found[i, j].key, found[i, j].refused = agree, not agree
    if len(domain.group) > 1:
        domains_a, domains_b = ([registered_domain(profile.url) for profile in side] for side in (domain.a, domain.b))
        for (i, j), evidence in found.items():
            if domains_a[i] != domains_b[j]:
                evidence.need_both_sides()
    return dict(found)


def alike_urls(domain: Domain, known: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs of documents with similar URLs, among those that are in no *known* pair and name no other language."""
    pair = domain.pair
    taken_a, taken_b = {i for i, _ in known}, {j for _, j in known}
    left = [i for i, profile in enumerate(domain.a) if i not in taken_a and _names_itself(profile, pair)]
    right = [j for j, profile in enumerate(domain.b) if j not in taken_b and _names_itself(profile, pair)]
    if not left or not right:
        return []
    words = ([_words(domain.a[i].url) for i in left], [_words(domain.b[j].url) for j in right])
    rows, columns = nearest([channel_of(*words)], ALIKE).nonzero()
    return [(left[i], right[j]) for i, j in zip(rows, columns, strict=True)]


def _words(url: str) -> NDArray[np.uint32]:
    return np.unique(np.array([hash_text(word) for word in _WORD.findall(url.lower())], dtype=np.uint32))


def _names_itself(profile: Profile, pair: LanguagePair) -> bool:
    """The URL names no language but the content's."""
    marked = marked_language(profile.url)
    return marked is None or pair.side(marked) == profile.language
