"""Which fetched documents are pairs: by claims, URLs, proposals and the content of unpaired documents."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heapify, heappop, heappush, nlargest
from typing import TYPE_CHECKING, Literal

import numpy as np
from cachetools import LRUCache

from bilingual_crawler.items import Pair, Partners, Proposal, Unpaired
from bilingual_crawler.pages.formats import is_page
from bilingual_crawler.pairing.resemblance import (
    CONFIRMED_BY_OUTLINE,
    Resemblance,
    ResemblanceWeights,
    is_same,
    items_of,
)
from bilingual_crawler.pairing.urls import MAX_LENGTH_RATIO, UrlEvidence, agrees, last_hop, together
from bilingual_crawler.scoring.models import models_folder
from bilingual_crawler.urls.canonical import registered_domain
from bilingual_crawler.urls.marks import coded_language, marked_language, strip_language
from bilingual_crawler.urls.variants import bare

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pages.model import PageRecord
    from bilingual_crawler.pages.outline import Outline

MAX_DOCUMENTS = 20_000
"""Latest documents that are compared; each takes some 5 kB."""
MAX_SITES = 500
"""Sites with statistics of their contents, 130 kB each."""
MAX_INDEXED = 32
"""Indexed items of a document, the rarest on its site."""
MAX_SHARING = 8
"""Maximum postings per item."""
MAX_COMPARED = 4
"""Documents that share items with a new one and are compared with it."""


@dataclass(frozen=True, slots=True)
class _IndexedDocument:
    site: str
    side: int
    outline: Outline
    index: Sequence[int]
    """Indexed items."""


class Contents:
    """The outlines of unpaired documents."""

    def __init__(self) -> None:
        self._documents: OrderedDict[str, _IndexedDocument] = OrderedDict()
        self._sites: LRUCache[str, Resemblance] = LRUCache(MAX_SITES)
        self._having: defaultdict[tuple[str, int, int], list[str]] = defaultdict(list)
        """Site, side and item -> documents."""

    def see(self, site: str, side: int, outline: Outline) -> Resemblance:
        """Observe a document of *site* in the first (0) or second (1) language; return the statistics of the site."""
        resemblance = self._sites.get(site)
        if resemblance is None:
            resemblance = self._sites[site] = Resemblance(_weights())
        resemblance.see(outline, side)
        return resemblance

    def add(self, url: str, side: int, outline: Outline) -> None:
        """Compare the observed document at *url*, in the first (0) or second (1) language, with others."""
        site = registered_domain(url)
        resemblance = self._sites[site]
        items = items_of(outline)
        rarest = items[np.argsort(resemblance.frequency(items), kind="stable")[:MAX_INDEXED]].tolist()
        document = self._documents[url] = _IndexedDocument(site, side, outline, rarest)
        for item in document.index:
            having = self._having[site, side, item]
            if len(having) < MAX_SHARING:
                having.append(url)
        if len(self._documents) > MAX_DOCUMENTS:
            self.forget(next(iter(self._documents)))

    def usual(self, site: str) -> Resemblance | None:
        """The statistics of *site*; None if evicted."""
        return self._sites.get(site)

    def forget(self, url: str) -> None:
        """Stop comparing the document at *url*."""
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

    def translation(self, url: str) -> str | None:
        """The confirmed translation of the document at *url*, or None."""
        found = self._best(url)
        if found is None or found[1] < CONFIRMED_BY_OUTLINE:
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


class Originals:
    """Copies of documents at other addresses.

    A copy names its original as canonical and has its text, or is equal to it, or nearly equal and not announced as a
    translation.
    """

    def __init__(self) -> None:
        self._of: dict[str, str] = {}
        """Copy -> its original."""
        self._outlines: LRUCache[str, tuple[str, Outline]] = LRUCache(MAX_DOCUMENTS)
        """Document -> its canonical URL and its outline."""
        self._texts: LRUCache[Hashable, str] = LRUCache(2 * MAX_DOCUMENTS)
        """Common key of copies -> the first document."""
        self._naming: LRUCache[Hashable, tuple[str, ...]] = LRUCache(MAX_DOCUMENTS)
        """Language and URL -> documents that name it as canonical."""

    def __contains__(self, url: str) -> bool:
        return url in self._of

    def of(self, url: str) -> str:
        """Return the original of the document at *url*; *url* itself if not a copy."""
        while url in self._of:
            url = self._of[url]
        return url

    def have_same_text(self, url: str, other: str, usual: Resemblance) -> bool:
        """Whether two documents in different languages have the same text; false if one of them was evicted.

        If both have the same canonical URL, boilerplate counts, too.
        """
        if url not in self._outlines or other not in self._outlines:
            return False
        (one, a), (another, b) = self._outlines[url], self._outlines[other]
        same = usual.is_same_text(a, b) or usual.is_untranslated(a, b)
        return same or (one == another and is_same(a, b))

    def outline(self, url: str) -> Outline | None:
        """Return the outline of the document at *url*; None if unknown or evicted."""
        return self._outlines[url][1] if url in self._outlines else None

    def merge(self, copy: str, original: str) -> None:
        """Note that *copy* is a copy of *original*."""
        self._of[copy] = original

    def add(self, page: PageRecord, usual: Resemblance, *, is_claimed: bool) -> tuple[str | None, list[str]]:
        """Add the document *page*; return its original, or None, and the copies of *page*.

        *is_claimed*: whether pages claim it as a translation, or it claims other pages.
        """
        outline = page.outline
        if outline is None:
            return None, []
        own = _bare(page.url)
        named = _bare(page.canonical) if page.canonical else own
        copies = [url for url in self._naming.get((page.side, own), ()) if url not in self and self._is_same(url, page)]
        if named != own:
            original = self.of(self._texts.get((page.side, named), page.url))
            if original != page.url and self._is_same(original, page):
                # of two pages that name each other as canonical, the first is the original
                return original, [url for url in copies if url != original]
            naming = self._naming.get((page.side, named), ())
            self._naming[page.side, named] = (*naming, page.url)[-MAX_RELATED:]
        self._outlines[page.url] = named, outline
        self._texts[page.side, own] = page.url
        same = self._same_text(page, outline, usual, is_claimed=is_claimed)
        return (None if same in copies else same), copies

    def _same_text(self, page: PageRecord, outline: Outline, usual: Resemblance, *, is_claimed: bool) -> str | None:
        """The near-duplicate of *page*, unless a claim tells them apart.

        Tables and pages made by scripts may have nothing but boilerplate: they must be equal.
        """
        if is_claimed or not outline.length:
            return None
        site = registered_domain(page.url)
        exactly = site, page.side, page.length, outline
        least = site, page.side, min(usual.own_lines(outline), default=0), outline.numbers
        found = self._texts.setdefault(hash(exactly), page.url)
        if found == page.url:
            near = self._texts.setdefault(hash(least), page.url)
            if near in self._outlines and usual.is_same_text(outline, self._outlines[near][1]):
                found = near
        original = self.of(found)
        return original if original != page.url else None

    def _is_same(self, url: str, page: PageRecord) -> bool:
        return url in self._outlines and page.outline is not None and is_same(self._outlines[url][1], page.outline)


def _bare(url: str) -> str:
    """*url* without scheme, ``www.``, the name of an index page, and last slash."""
    return url.partition("://")[2].removeprefix("www.").removesuffix("/index.html").rstrip("/")


Unusual = Literal["unannounced", "mirrored", "renumbered"]
"""Why a pair is atypical for its site: no page announces the other, and their URLs differ in more than language marks;
their URLs differ in language marks only; the numbers in their URLs differ."""


MIN_USUAL_PAIRS = 3
"""Minimum pairs of a site for its conventions."""


class Conventions:
    """Counts of the properties of documents and pairs, by site."""

    def __init__(self) -> None:
        self._sites: LRUCache[str, Counter[str]] = LRUCache(MAX_SITES)

    def observe_mark(self, site: str, *, agrees: bool) -> None:
        """Count a document of *site* whose URL names a language; *agrees*: the language of its content."""
        self._of(site)["marked" if agrees else "mismarked"] += 1

    def observe_pair(self, site: str, properties: Collection[Unusual]) -> None:
        """Count a pair of *site*."""
        self._of(site).update(("pairs", *properties))

    def trusts_marks(self, site: str) -> bool:
        """Return whether most language marks in URLs of *site* agree with the content; true for a new site."""
        return self._of(site)["mismarked"] <= self._of(site)["marked"] + 1

    def probability(self, site: str, properties: Collection[Unusual]) -> float:
        """Return P(pair | its least usual property) at even prior odds, at most 1/2: conventions only refute.

        1/2 with fewer than :data:`MIN_USUAL_PAIRS` pairs.
        """
        counts = self._of(site)
        if counts["pairs"] < MIN_USUAL_PAIRS:
            return 0.5
        least = min((counts[one] for one in properties), default=counts["pairs"])
        return min(0.5, (least + 1) / (counts["pairs"] + 2))

    def _of(self, site: str) -> Counter[str]:
        return self._sites.setdefault(site, Counter())


@lru_cache(1)
def _weights() -> ResemblanceWeights:
    return ResemblanceWeights.load(models_folder(None))


_NUMBER = re.compile(r"\d+")

MOST_PROPOSED = 0.8
"""Maximum confidence in a pair by a proposal or by content alone."""

ENOUGH_AGAIN = 0.4
"""Minimum probability of a pair by URLs or content on review."""

MAX_RELATED = 50
"""Maximum twins of a URL, documents that announce it, and documents whose switchers lead to it."""

MAX_AWAITED = 100_000
"""Latest claimed URLs that are not documents yet, some 300 bytes each; also the maximum of redirects."""

Sources = dict[str, tuple[str, ...]]
"""URL -> documents that claim it as their translation, in the order of their downloads."""


@dataclass(frozen=True, slots=True)
class _Document:
    side: str
    length: int
    key: str
    agrees: bool
    """Whether the language mark of the URL, if any, agrees with the content."""
    mismarked: bool
    """Whether the URL has the code of another language: mostly an untranslated page."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    pair: Pair
    trust: float | None
    """Confidence by all evidence but the content; None if judged elsewhere."""


class PairLedger:
    """Decides by one rule, with a score and a reason, whether two documents are a pair, when the second one arrives.

    Methods: ``hreflang`` (one page names the other as its translation; of pages of two registered domains, both name
    each other), ``switcher`` (their language switchers lead to each other), ``url`` (equal but for language marks, and
    those agree with the content), and those of proposals. All are checked by the language of the content and by the
    lengths of the texts. A page is in at most one pair: the better score wins, then the earlier.
    """

    def __init__(self, pair: LanguagePair) -> None:
        self.pair = pair
        self._held: dict[str, _Document] = {}
        self._twins: defaultdict[str, list[str]] = defaultdict(list)
        """Key -> documents whose URLs equal it without language marks."""
        self._all_keys: dict[str, set[str]] = {}
        """Document with copies -> all their keys."""
        self._announced_by: Sources = {}
        self._switched_by: Sources = {}
        self._awaited: deque[str] = deque()
        """Claimed URLs that were not documents at the time."""
        self._aliases: LRUCache[str, str] = LRUCache(MAX_AWAITED)
        self._candidates: dict[tuple[str, str], _Candidate] = {}
        self._candidates_of: defaultdict[str, list[str]] = defaultdict(list)
        self._partners = Partners()
        self._contents = Contents()
        self._originals = Originals()
        self._conventions = Conventions()
        self._same_text: LRUCache[str, str] = LRUCache(MAX_AWAITED)
        """Document -> a document in the other language with the same text."""
        self._rejected: Counter[str] = Counter()
        self._pairs_on: Counter[str] = Counter()

    def __len__(self) -> int:
        """Pairs found so far."""
        return len(self._partners)

    def pairs_on(self, site: str) -> int:
        """Return the number of pairs with a document of *site*, a registered domain."""
        return self._pairs_on[site]

    def add_page(self, page: PageRecord, proposals: Iterable[Proposal] = ()) -> Pair | None:
        """Add *page* if it is a new document; return the pair that it completes, or None.

        *proposals* of the policy count where the ledger has no evidence of its own.
        """
        if page.side is None or page.objection or page.url in self._held:
            return None
        key = strip_language(page.url, self.pair.languages)
        marked = marked_language(page.url, self.pair.languages)
        named = coded_language(page.url)
        mismarked = named is not None and self.pair.side(named) != page.side
        if named is not None:
            self._conventions.observe_mark(registered_domain(page.url), agrees=not mismarked)
        self._held[page.url] = _Document(page.side, page.length, key, agrees(marked, page.side, self.pair), mismarked)
        related = self._note_claims(page)
        proposed = {self._originals.of(proposal.url): proposal for proposal in proposals}
        claiming = *self._announced_by.get(page.url, ()), *self._switched_by.get(page.url, ())
        if page.outline is not None:
            side = int(page.side == self.pair.b)
            usual = self._contents.see(registered_domain(page.url), side, page.outline)
            original, copies = self._originals.add(page, usual, is_claimed=bool(related or claiming))
            for copy in copies:
                related += self._merge(copy, page.url)
            if original:
                usual.forget(page.outline)
                related += (*self._merge(page.url, original), *self._twins_of(page.url))
                return self._settle(original, related, proposed)
            self._contents.add(page.url, side, page.outline)
        related += (*claiming, *self._twins_of(page.url))
        return self._settle(page.url, related, proposed) or self._settle_by_content(page.url)

    def _twins_of(self, url: str) -> list[str]:
        """Add *url* to its twins, the documents whose URLs differ from it in language marks only; return the others."""
        twins = self._twins[self._held[url].key]
        others = list(twins)
        if len(twins) < MAX_RELATED:
            twins.append(url)
        return others

    def propose(self, url: str, proposal: Proposal) -> Pair | None:
        """Judge the *proposal* of a partner for the document at *url*; return the new pair, or None."""
        url, other = self._originals.of(url), self._originals.of(proposal.url)
        return self._settle(url, (), {other: proposal}) if url in self._held else None

    def alias(self, url: str, target: str) -> Pair | None:
        """Move the claims about *url* to its redirect *target*; return the new pair, or None."""
        self._aliases[url] = target
        target = self._originals.of(self._last_hop(target))
        related = self._move_claims(url, target)
        return self._settle(target, related, {}) if target in self._held else None

    def announced_language(self, url: str) -> str | None:
        """Return the language of *url* by the announcements of documents, or None."""
        source = next(iter(self._announced_by.get(url, ())), None)
        return self.pair.other(self._held[source].side) if source else None

    def adopt(self, pair: Pair) -> bool:
        """Add a pair of another source, such as the final alignment; return whether it is new."""
        if pair.url_a in self._originals or pair.url_b in self._originals:
            return False
        held = self._candidates.get((pair.url_a, pair.url_b))
        self._note_candidate(pair, held.trust if held and held.pair.method == pair.method else None)
        return self._accept(pair)

    def review(self) -> None:
        """Judge all candidates again by the statistics of their sites at the end of a crawl.

        For the first pages of a site, boilerplate and conventions were still unknown.
        """
        order = {one: place for place, one in enumerate(self._candidates)}
        best = [(-candidate.pair.score, order[one], one, False) for one, candidate in self._candidates.items()]
        heapify(best)
        taken: set[str] = set()
        while best:
            _, place, (a, b), done = heappop(best)
            if a in taken or b in taken:
                continue
            if done or not self._is_known(a, b):
                taken |= {a, b}
            elif self._judge_again(a, b):
                heappush(best, (-self._candidates[a, b].pair.score, place, (a, b), True))

    def pair_of(self, url: str) -> Pair | None:
        """Return the pair of the document at *url*; None if it is unpaired."""
        partner = self._partners.partner_of(url)
        if partner is None:
            return None
        return (self._candidates.get((url, partner)) or self._candidates[partner, url]).pair

    def pairs(self) -> list[Pair]:
        """Return the best one-to-one choice among all candidates so far, best first."""
        taken: set[str] = set()
        chosen = []
        for pair in sorted(self._pairs(), key=lambda pair: -pair.score):
            if taken.isdisjoint((pair.url_a, pair.url_b)):
                taken |= {pair.url_a, pair.url_b}
                chosen.append(pair)
        return chosen

    def unpaired(self) -> list[Unpaired]:
        """Return the unpaired documents; their reason is ``no_candidate``, ``taken``, ``copy`` or ``same_text``."""
        paired = {url for pair in self.pairs() for url in (pair.url_a, pair.url_b)}
        nearest: dict[str, tuple[str, float]] = {}
        for pair in sorted(self._pairs(), key=lambda pair: pair.score):
            nearest[pair.url_a] = pair.url_b, pair.score
            nearest[pair.url_b] = pair.url_a, pair.score

        def reason(url: str) -> str:
            if url in self._originals:
                return "copy"
            if url in nearest:
                return "taken"
            return "same_text" if url in self._same_text else "no_candidate"

        same = {url: (other, 0.0) for url, other in self._same_text.items()}
        return [
            Unpaired(url, reason(url), *nearest.get(url, same.get(url, ("", 0.0))), str(self.pair))
            for url in self._held
            if url not in paired
        ]

    def refused(self, pairs: int) -> Counter[str]:
        """Return the rejected candidates by reason.

        It is ``length``, ``marker_disagrees``, ``content``, ``same_text`` or ``taken``. *pairs* is the number of
        candidates that are pairs.
        """
        taken = len(self._candidates) - pairs
        return self._rejected + Counter(taken=taken)

    def _note_claims(self, page: PageRecord) -> list[str]:
        """Store the claims of *page*; return the claimed URLs."""
        claimed = []
        for claim in page.claims_for(self.pair):
            url = self._originals.of(self._last_hop(self._aliases.get(claim.url, claim.url)))
            if claim.announced:
                claimed.append(self._note(self._announced_by, url, page.url))
            if claim.switcher:
                claimed.append(self._note(self._switched_by, url, page.url))
        return claimed

    def _last_hop(self, url: str) -> str:
        return last_hop(self._aliases, url, self._held.__contains__)

    def _note(self, sources: Sources, url: str, source: str) -> str:
        """Store that *source* claims *url* as its translation; return *url*."""
        known = sources.get(url, ())
        if source in known:
            return url
        if len(known) == MAX_RELATED:
            # claims by another site must not displace those of the URL's own site
            foreign = next((one for one in known if _is_foreign(one, url)), None)
            if foreign is None or _is_foreign(source, url):
                return url
            known = tuple(one for one in known if one != foreign)
        sources[url] = (*known, source)
        if not known and url not in self._held:
            self._awaited.append(url)
            if len(self._awaited) > MAX_AWAITED:
                oldest = self._awaited.popleft()
                if oldest not in self._held:
                    self._announced_by.pop(oldest, None)
                    self._switched_by.pop(oldest, None)
        return url

    def _move_claims(self, url: str, target: str) -> list[str]:
        """Move the claims about *url* to *target*; return the claiming documents."""
        related: list[str] = []
        for sources in (self._announced_by, self._switched_by):
            for source in sources.pop(url, ()):
                self._note(sources, target, source)
                related.append(source)
        return related

    def _merge(self, copy: str, original: str) -> list[str]:
        """Remove *copy* of *original* from all candidates; return its related documents."""
        self._originals.merge(copy, original)
        keys = self._keys(original) | self._keys(copy)
        self._all_keys.pop(copy, None)
        if len(keys) <= MAX_RELATED:
            self._all_keys[original] = keys
        self._contents.forget(copy)
        former = self._partners.part(copy)
        if former is not None:
            self._count(copy, former, -1)
        others = self._candidates_of.pop(copy, [])
        for other in others:
            for pair in ((copy, other), (other, copy)):
                self._candidates.pop(pair, None)
        return [*self._move_claims(copy, original), *others]

    def _settle(self, url: str, related: Iterable[str], proposals: Mapping[str, Proposal]) -> Pair | None:
        """The best new pair of the document at *url* with one of *related*, or None."""
        others = [one for one in dict.fromkeys(map(self._originals.of, (*related, *proposals))) if one in self._held]
        found = [pair for other in others if (pair := self._judge(url, other, proposals.get(other)))]
        return next((pair for pair in sorted(found, key=lambda pair: -pair.score) if self._accept(pair)), None)

    def _settle_by_content(self, url: str) -> Pair | None:
        """The pair of the document at *url* with its confirmed translation by content, or None."""
        other = self._contents.translation(url)
        return self._settle(url, (), {other: Proposal(other, "content", 0.5)}) if other else None

    def _judge(self, url: str, other: str, proposed: Proposal | None) -> Pair | None:
        one, two = self._held[url], self._held[other]
        if one.side == two.side:
            return None
        a, b = (url, other) if one.side == self.pair.a else (other, url)
        evidence = self._evidence(a, b)
        if evidence.score:
            trust, method = evidence.score, evidence.method
        elif proposed and not self._is_mismarked(one, two, registered_domain(url)):
            trust, method = proposed.probability, proposed.method
        else:
            self._rejected["marker_disagrees"] += evidence.refused or proposed is not None
            return None
        score = self._score(a, b, evidence, trust)
        if not score:
            return None
        return self._note_candidate(Pair(a, b, score, method, str(self.pair)), trust)

    def _score(self, a: str, b: str, evidence: UrlEvidence, trust: float, enough: float = 0.5) -> float:
        """Return the score of two documents by the statistics of their site so far; 0, counted by reason, for no pair.

        *trust*: confidence in *evidence*, or else in the proposal; *enough*: minimum probability of a pair.
        """
        if self._have_same_text(a, b):
            self._same_text[a], self._same_text[b] = b, a
            self._rejected["same_text"] += 1
            return 0.0
        shorter, longer = sorted(self._held[one].length for one in (a, b))
        if longer > MAX_LENGTH_RATIO * max(shorter, 1):
            self._rejected["length"] += 1
            return 0.0
        alike = self._alike(a, b)
        likely = trust if alike is None else together(trust, alike)
        # variants of one address are no coincidence
        if not evidence.score or (evidence.method == "url" and alike is not None and bare(a) != bare(b)):
            usual = self._conventions.probability(registered_domain(a), self._unusual(a, b, evidence))
            likely = together(likely, usual)
        if likely < enough:
            self._rejected["content"] += 1
            return 0.0
        return max(0.5, min(likely, trust if evidence.score else MOST_PROPOSED))

    def _pairs(self) -> Iterable[Pair]:
        return (candidate.pair for candidate in self._candidates.values())

    def _note_candidate(self, pair: Pair, trust: float | None) -> Pair:
        if (pair.url_a, pair.url_b) not in self._candidates:
            self._candidates_of[pair.url_a].append(pair.url_b)
            self._candidates_of[pair.url_b].append(pair.url_a)
        self._candidates[pair.url_a, pair.url_b] = _Candidate(pair, trust)
        return pair

    def _alike(self, url_a: str, url_b: str) -> float | None:
        """P(translation | content) at even prior odds, also for paired documents; None if unknown."""
        a, b, site = self._originals.outline(url_a), self._originals.outline(url_b), registered_domain(url_a)
        usual = self._contents.usual(site)
        if a is None or b is None or usual is None or site != registered_domain(url_b):
            return None
        return usual.score(a, b)

    def _is_known(self, a: str, b: str) -> bool:
        """Whether the candidate was judged here, and both outlines are still kept."""
        known = self._candidates[a, b].trust is not None
        return known and None not in (self._originals.outline(a), self._originals.outline(b))

    def _judge_again(self, a: str, b: str) -> bool:
        """Update the score of the candidate; return whether it still is one."""
        candidate, evidence = self._candidates[a, b], self._evidence(a, b)
        assert candidate.trust is not None
        # pages of little content, such as lists of tags, lose likeness as a site grows: hreflang and switchers suffice
        enough = 0.0 if evidence.score and evidence.method != "url" else ENOUGH_AGAIN
        score = self._score(a, b, evidence, evidence.score or candidate.trust, enough)
        if score:
            self._note_candidate(replace(candidate.pair, score=score), candidate.trust)
            return True
        del self._candidates[a, b]
        if self._partners.partner_of(a) == b:
            self._partners.part(a)
            self._count(a, b, -1)
        return False

    def _have_same_text(self, url: str, other: str) -> bool:
        usual = self._contents.usual(registered_domain(url))
        return usual is not None and self._originals.have_same_text(url, other, usual)

    def _evidence(self, url: str, other: str) -> UrlEvidence:
        original = self._originals.of

        def said(sources: Sources) -> int:
            return sum(one in map(original, sources.get(another, ())) for one, another in ((url, other), (other, url)))

        one, two = self._held[url], self._held[other]
        same, agree = not self._keys(url).isdisjoint(self._keys(other)), one.agrees and two.agrees
        evidence = UrlEvidence(said(self._announced_by), said(self._switched_by), same and agree, same and not agree)
        if _is_foreign(url, other):
            evidence.need_both_sides()
        return evidence

    def _keys(self, url: str) -> set[str]:
        """The keys of the document and its copies: URLs without language marks."""
        return self._all_keys.get(url) or {self._held[url].key}

    def _is_mismarked(self, one: _Document, two: _Document, site: str) -> bool:
        return (one.mismarked or two.mismarked) and self._conventions.trusts_marks(site)

    def _unusual(self, url: str, other: str, evidence: UrlEvidence) -> list[Unusual]:
        # a file announces nothing, and has a name of its own
        if not (is_page(url) and is_page(other)):
            return []
        if evidence.score:
            return ["mirrored"] if evidence.key else []
        one, two = (_NUMBER.findall(self._held[each].key) for each in (url, other))
        return ["unannounced"] if one == two else ["unannounced", "renumbered"]

    def _accept(self, pair: Pair) -> bool:
        """Add *pair* if it is new and better than the pairs of its documents; return whether it was added."""
        rivals = [rival for url in (pair.url_a, pair.url_b) if (rival := self.pair_of(url))]
        if pair in rivals or any(rival.score >= pair.score for rival in rivals):
            return False
        for parted in self._partners.join(pair.url_a, pair.url_b):
            self._count(*parted, -1)
        self._count(pair.url_a, pair.url_b, 1)
        if pair.url_a in self._held and pair.url_b in self._held:
            evidence, alike = self._evidence(pair.url_a, pair.url_b), self._alike(pair.url_a, pair.url_b)
            # only sure pairs count: false ones would make their kind usual
            if evidence.hreflang or evidence.switcher == 2 or alike is None or alike >= CONFIRMED_BY_OUTLINE:
                unusual = self._unusual(pair.url_a, pair.url_b, evidence)
                self._conventions.observe_pair(registered_domain(pair.url_a), unusual)
        for url in (pair.url_a, pair.url_b):
            self._contents.forget(url)
        return True

    def _count(self, url: str, partner: str, pairs: int) -> None:
        """Add *pairs* (1 or -1) to the counts of the sites of both documents."""
        for site in {registered_domain(url), registered_domain(partner)}:
            self._pairs_on[site] += pairs


def _is_foreign(url: str, other: str) -> bool:
    return registered_domain(url) != registered_domain(other)
