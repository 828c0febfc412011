"""What documents without a partner hold: which two are alike, and which document is most like a new one."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from typing import TYPE_CHECKING

import numpy as np
from cachetools import LRUCache

from bilingual_crawler.pairing.resemblance import CONFIRMED, Resemblance, Weights, items_of
from bilingual_crawler.scoring.models import models_folder
from bilingual_crawler.urls.canonical import registered_domain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilingual_crawler.pages.outline import Outline

MAX_DOCUMENTS = 20_000
"""Documents that are compared, those that came last; each takes some 5 kB."""
MAX_SITES = 500
"""Sites whose usual contents are known, 130 kB each."""
MAX_INDEXED = 32
"""Items by which a document is found, the rarest of its site."""
MAX_SHARING = 8
"""Documents that are found by one item; what more of them have tells nothing."""
MAX_COMPARED = 4
"""Documents that are compared with a new one because they share items with it."""


@dataclass(frozen=True, slots=True)
class _Document:
    site: str
    side: int
    outline: Outline
    index: Sequence[int]
    """Items by which it is found."""


class Contents:
    """The outlines of documents that have no partner yet."""

    def __init__(self) -> None:
        self._documents: OrderedDict[str, _Document] = OrderedDict()
        self._sites: LRUCache[str, Resemblance] = LRUCache(MAX_SITES)
        self._having: defaultdict[tuple[str, int, int], list[str]] = defaultdict(list)
        """Site, side and item -> documents."""

    def add(self, url: str, side: int, outline: Outline) -> None:
        """The document at *url* was fetched, in the first (0) or second (1) language of the pair."""
        site = registered_domain(url)
        resemblance = self._sites.get(site)
        if resemblance is None:
            resemblance = self._sites[site] = Resemblance(_weights())
        resemblance.see(outline, side)
        items = items_of(outline)
        rarest = items[np.argsort(resemblance.frequency(items), kind="stable")[:MAX_INDEXED]].tolist()
        document = self._documents[url] = _Document(site, side, outline, rarest)
        for item in document.index:
            having = self._having[site, side, item]
            if len(having) < MAX_SHARING:
                having.append(url)
        if len(self._documents) > MAX_DOCUMENTS:
            self.forget(next(iter(self._documents)))

    def forget(self, url: str) -> None:
        """The document at *url* is compared no more."""
        document = self._documents.pop(url, None)
        if document is None:
            return
        for item in document.index:
            place = document.site, document.side, item
            having = self._having[place]
            if url in having:
                having.remove(url)
            if not having:
                del self._having[place]

    def probability(self, url: str, other: str) -> float | None:
        """That two documents are translations, if something else makes that as likely as not; None if unknown."""
        one, two = self._documents.get(url), self._documents.get(other)
        if one is None or two is None or one.side == two.side or one.site != two.site:
            return None
        a, b = (two, one) if one.side else (one, two)
        return self._sites[one.site].score(a.outline, b.outline) if one.site in self._sites else None

    def translation(self, url: str) -> str | None:
        """The document that is surely the translation of the one at *url*."""
        found = self._best(url)
        if found is None or found[1] < CONFIRMED:
            return None
        back = self._best(found[0])
        return found[0] if back is not None and back[0] == url else None

    def _best(self, url: str) -> tuple[str, float] | None:
        document = self._documents.get(url)
        if document is None or document.site not in self._sites:
            return None
        resemblance = self._sites[document.site]
        shared: defaultdict[str, float] = defaultdict(float)
        for item in items_of(document.outline).tolist():
            having = self._having.get((document.site, 1 - document.side, item), ())
            for other in having:
                shared[other] += 1 / len(having)
        candidates = nlargest(MAX_COMPARED, shared, key=shared.__getitem__)
        best = resemblance.best(document.outline, document.side, [self._documents[one].outline for one in candidates])
        return None if best is None else (candidates[best.place], best.probability)


@lru_cache(1)
def _weights() -> Weights:
    return Weights.load(models_folder(None))
