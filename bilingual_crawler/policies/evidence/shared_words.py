"""Evidence: names, numbers and cognates that a link shares with the title of a document in the other language."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import unquote, urlsplit

from bilingual_crawler.policies.evidence.base import PartnerEvidence
from bilingual_crawler.urls.canonical import registered_domain

_WORD = re.compile(r"[^\W_]+")
STEM = 5
MAX = 12
COMMON = 30

@lru_cache(1 << 15)
def words(text):
    text = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    return frozenset(w if w.isdigit() else w[:STEM] for w in _WORD.findall(text) if w.isdigit() or len(w) > 2)

def of_url(url):
    parts = urlsplit(url)
    return words(unquote(parts.path.rpartition(".")[0] if "." in parts.path.rpartition("/")[2] else parts.path))


@dataclass
class SharedWords(PartnerEvidence):
    name: ClassVar[str] = "shared_words"
    right: float = 1.0
    wrong: float = 1.5
    slope: float = 2.0
    base: float = 0.2
    least: float = 0.3

    def __post_init__(self):
        self._texts = {}          # queued url -> set of words
        self._docs = {}           # held, lacking -> set
        self._by_word = defaultdict(set)   # word -> held docs
        self._queued_by_word = defaultdict(set)
        self._df = Counter()
        self._n = 0
        self._best = {}
        self._by_site = {}

    def _key(self, url):
        return registered_domain(url)

    def note(self, page, link):
        if link.url not in self._texts:
            found = words(link.text) | of_url(link.url)
            self._texts[link.url] = found
            self._n += 1
            self._df.update(found)
            for w in found:
                self._queued_by_word[w].add(link.url)
            return False
        new = words(link.text) - self._texts[link.url]
        if not new or len(self._texts[link.url]) > 30:
            return False
        self._texts[link.url] |= new
        self._df.update(new)
        for w in new:
            self._queued_by_word[w].add(link.url)
        return True

    def _idf(self, w):
        return math.log((self._n + 2) / (self._df[w] + 1))

    def _match(self, url):
        """Best held document lacking a partner: (score, doc, index of side it lacks)."""
        mine = self._texts.get(url)
        if not mine:
            return None
        scores = [Counter(), Counter()]
        total = 0
        for w in mine:
            i = self._idf(w)
            total += i
            docs = self._by_word.get(w, ())
            if len(docs) > COMMON:
                continue
            for d in docs:
                scores[self.known.index(self.known.side(d))][d] += i
        best = None
        for c in scores:
            for d, s in c.most_common(2):
                theirs = sum(map(self._idf, self._docs[d]))
                s = s / max(1e-9, (total * theirs) ** .5)
                if best is None or s > best[0]:
                    best = (s, d)
        return best

    def learn(self, page, links):
        best = self._best.pop(page.url, None)
        if best is not None:
            counts = self._by_site.setdefault((self._key(page.url), best[1]), [self.right, self.wrong])
            if page.side is None or page.side == self.known.side(best[0]):
                counts[1] += 1
            elif self.known.is_paired(page.url):
                counts[best[0] != self.partners.get(page.url)] += 1
        changed = ()
        if page.side is not None:
            found = self._texts.get(page.url) or of_url(page.url)
            found = frozenset(found | words(page.title))
            self._docs[page.url] = found
            changed = set()
            for w in found:
                self._by_word[w].add(page.url)
                queued = self._queued_by_word.get(w, set())
                if len(queued) <= COMMON:
                    changed |= queued
        return changed

    partners = {}

    def learn_pair(self, url, partner):
        self.partners[url], self.partners[partner] = partner, url
        changed = set()
        for one in (url, partner):
            for w in self._docs.pop(one, ()):
                self._by_word[w].discard(one)
        return changed

    def chance(self, url, belief):
        best = self._match(url)
        if best is None or best[0] < self.least:
            return 0.0
        score, doc = best
        step = int(score * 4.99)
        other = 1 - self.known.index(self.known.side(doc))
        self._best[url] = (doc, step)
        right, wrong = self._by_site.get((self._key(url), step), (self.right, self.wrong))
        return score * right / (right + wrong) * min(1.0, self.slope * belief[other] + self.base)

    def redirected(self, url, target):
        if url in self._texts:
            self._texts.setdefault(target, self._texts[url])
            for w in self._texts[target]:
                self._queued_by_word[w].add(target)

    def forget(self, url):
        for w in self._texts.pop(url, ()):
            self._queued_by_word[w].discard(url)
        self._best.pop(url, None)
