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

from bilingual_crawler.alignment.documents.resemblance import (
    CONFIRMED_BY_OUTLINE,
    Resemblance,
    ResemblanceWeights,
    is_same,
    items_of,
)
from bilingual_crawler.alignment.documents.urls import MAX_LENGTH_RATIO, UrlEvidence, agrees, last_hop, together
from bilingual_crawler.items import Pair, Partners, Proposal, Unpaired
from bilingual_crawler.pages.formats import is_page
from bilingual_crawler.scoring.models import models_folder
from bilingual_crawler.urls.canonical import registered_domain
from bilingual_crawler.urls.marks import coded_language, marked_language, strip_language
from bilingual_crawler.urls.variants import bare

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from bilingual_crawler.items import FetchedPage
    from bilingual_crawler.languages.codes import LanguagePair
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
class _IndexedDocument:
    site: str
    side: int
    outline: Outline
    index: Sequence[int]
    """Items by which it is found."""


class Contents:
    """The outlines of documents that have no partner yet."""

    def __init__(self) -> None:
        self._documents: OrderedDict[str, _IndexedDocument] = OrderedDict()
        self._sites: LRUCache[str, Resemblance] = LRUCache(MAX_SITES)
        self._having: defaultdict[tuple[str, int, int], list[str]] = defaultdict(list)
        """Site, side and item -> documents."""

    def see(self, site: str, side: int, outline: Outline) -> Resemblance:
        """Observe a document of *site* in the first (0) or second (1) language; return what is usual on the site."""
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
        """What is usual on *site*; None if none of its documents was seen of late."""
        return self._sites.get(site)

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

    def translation(self, url: str) -> str | None:
        """The document that is surely the translation of the one at *url*."""
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
    """Which documents are another one under another address.

    A copy gives that one as canonical and has its text, or is the same to the last character, or is the same but for
    little and nothing announces it.
    """

    def __init__(self) -> None:
        self._of: dict[str, str] = {}
        """Copy -> the document that it is a copy of."""
        self._outlines: LRUCache[str, tuple[str, Outline]] = LRUCache(MAX_DOCUMENTS)
        """Document -> its canonical address and its outline."""
        self._texts: LRUCache[Hashable, str] = LRUCache(2 * MAX_DOCUMENTS)
        """What copies have in common -> the first document."""
        self._naming: LRUCache[Hashable, tuple[str, ...]] = LRUCache(MAX_DOCUMENTS)
        """Language and address -> documents that give it as canonical."""

    def __contains__(self, url: str) -> bool:
        return url in self._of

    def of(self, url: str) -> str:
        """Return the document that the one at *url* is a copy of; *url* if it is none."""
        while url in self._of:
            url = self._of[url]
        return url

    def have_same_text(self, url: str, other: str, usual: Resemblance) -> bool:
        """Whether two documents in different languages are the same text; false if one of them is long past.

        Where the site gives both the same canonical address, text that the site repeats counts, too.
        """
        if url not in self._outlines or other not in self._outlines:
            return False
        (one, a), (another, b) = self._outlines[url], self._outlines[other]
        same = usual.is_same_text(a, b) or usual.is_untranslated(a, b)
        return same or (one == another and is_same(a, b))

    def outline(self, url: str) -> Outline | None:
        """Return the outline of the document at *url*; None if it has none, or is long past."""
        return self._outlines[url][1] if url in self._outlines else None

    def merge(self, copy: str, original: str) -> None:
        """Note that *copy* is *original* under another address."""
        self._of[copy] = original

    def add(self, page: FetchedPage, usual: Resemblance, *, is_claimed: bool) -> tuple[str | None, list[str]]:
        """Add the document *page*; return the document that it is a copy of, or None, and the copies of *page*.

        *is_claimed* says whether pages claim it as a translation, or it claims others.
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
                # two pages that give each other as canonical are one document, the first
                return original, [url for url in copies if url != original]
            naming = self._naming.get((page.side, named), ())
            self._naming[page.side, named] = (*naming, page.url)[-MAX_RELATED:]
        self._outlines[page.url] = named, outline
        self._texts[page.side, own] = page.url
        same = self._same_text(page, outline, usual, is_claimed=is_claimed)
        return (None if same in copies else same), copies

    def _same_text(self, page: FetchedPage, outline: Outline, usual: Resemblance, *, is_claimed: bool) -> str | None:
        """The document that is *page* but for little, if no claim tells them apart.

        Pages of tables, or made by scripts, have no more text than what the site repeats: they are the same only to the
        last character.
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

    def _is_same(self, url: str, page: FetchedPage) -> bool:
        return url in self._outlines and page.outline is not None and is_same(self._outlines[url][1], page.outline)


def _bare(url: str) -> str:
    """*url* without scheme, ``www.``, the name of an index page, and last slash."""
    return url.partition("://")[2].removeprefix("www.").removesuffix("/index.html").rstrip("/")


Unusual = Literal["unannounced", "mirrored", "renumbered"]
"""What speaks against a pair if pairs of its site are otherwise: no page announces the other, nor do their URLs differ
only in language marks; their URLs do; the numbers in their URLs differ."""


MIN_USUAL_PAIRS = 3
"""Pairs of a site that show what is usual."""


class Conventions:
    """How documents and pairs of each site are, as counted so far."""

    def __init__(self) -> None:
        self._sites: LRUCache[str, Counter[str]] = LRUCache(MAX_SITES)

    def observe_mark(self, site: str, *, agrees: bool) -> None:
        """Count a document of *site* whose URL names a language, that of the content or another one."""
        self._of(site)["marked" if agrees else "mismarked"] += 1

    def observe_pair(self, site: str, properties: Collection[Unusual]) -> None:
        """Count a pair of *site*."""
        self._of(site).update(("pairs", *properties))

    def trusts_marks(self, site: str) -> bool:
        """Return whether most URLs of *site* that name a language name that of the content; true for a new site."""
        return self._of(site)["mismarked"] <= self._of(site)["marked"] + 1

    def probability(self, site: str, properties: Collection[Unusual]) -> float:
        """Return P(pair | its least usual property) at even prior odds.

        It is at most 1/2, for what is usual proves nothing, and 1/2 where too few pairs show what is usual.
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
"""A pair for which there is nothing but a proposal or its content has at most this confidence."""

ENOUGH_AGAIN = 0.4
"""The probability from which a pair by URLs or content stays one when it is judged again."""

MAX_RELATED = 50
"""Documents that are kept as equal to a URL but for language marks, as announcing it, and as switching to it."""

MAX_AWAITED = 100_000
"""URLs that documents claim and that are no documents, some 300 bytes each: the last ones. As many redirects."""

Sources = dict[str, tuple[str, ...]]
"""URL -> documents that say of it that it is their translation, in the order of their downloads."""


@dataclass(frozen=True, slots=True)
class _Document:
    side: str
    length: int
    key: str
    agrees: bool
    """The language mark of the URL, if there is one, is that of the content."""
    mismarked: bool
    """The URL has the code of another language: a page that nobody has translated, mostly."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    pair: Pair
    trust: float | None
    """Confidence in what speaks for it, but for what both documents hold; None if it was judged elsewhere."""


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
        """Key -> documents whose URLs are equal to it but for language marks."""
        self._all_keys: dict[str, set[str]] = {}
        """Document with copies -> its key and theirs."""
        self._announced_by: Sources = {}
        self._switched_by: Sources = {}
        self._awaited: deque[str] = deque()
        """URLs that were claimed when they were no documents."""
        self._aliases: LRUCache[str, str] = LRUCache(MAX_AWAITED)
        self._candidates: dict[tuple[str, str], _Candidate] = {}
        self._candidates_of: defaultdict[str, list[str]] = defaultdict(list)
        self._partners = Partners()
        self._contents = Contents()
        self._originals = Originals()
        self._conventions = Conventions()
        self._same_text: LRUCache[str, str] = LRUCache(MAX_AWAITED)
        """Document -> one in the other language that has the same text."""
        self._rejected: Counter[str] = Counter()
        self._pairs_on: Counter[str] = Counter()

    def __len__(self) -> int:
        """Pairs found so far."""
        return len(self._partners)

    def pairs_on(self, site: str) -> int:
        """Return the number of pairs with a document of *site*, a registered domain."""
        return self._pairs_on[site]

    def add_page(self, page: FetchedPage, proposals: Iterable[Proposal] = ()) -> Pair | None:
        """Add *page* if it is a new document; return the pair that it completes, or None.

        *proposals* are documents that the policy takes for its translation. They count where the ledger has no
        evidence of its own.
        """
        if page.side is None or page.noindex or page.url in self._held:
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
        """The other documents whose URLs are equal to *url* but for language marks, which is noted as one of them."""
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
        """Move the claims about *url* to *target*, to which it redirects; return the new pair, or None."""
        self._aliases[url] = target
        target = self._originals.of(self._last_hop(target))
        related = self._move_claims(url, target)
        return self._settle(target, related, {}) if target in self._held else None

    def announced_language(self, url: str) -> str | None:
        """Return the language in which documents announce *url* as their translation; None if no document does."""
        source = next(iter(self._announced_by.get(url, ())), None)
        return self.pair.other(self._held[source].side) if source else None

    def adopt(self, pair: Pair) -> bool:
        """Add a pair from elsewhere, such as the alignment of all documents; return whether it is new."""
        if pair.url_a in self._originals or pair.url_b in self._originals:
            return False
        held = self._candidates.get((pair.url_a, pair.url_b))
        self._note_candidate(pair, held.trust if held and held.pair.method == pair.method else None)
        return self._accept(pair)

    def review(self) -> None:
        """Judge all candidates again, by what is known of their sites at the end of a crawl.

        Of the first pages of a site nobody knows which lines are menus, or whether pairs are announced.
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

    def _note_claims(self, page: FetchedPage) -> list[str]:
        """Keep what *page* says of other URLs; returns those."""
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
        """*source* says of *url* that it is its translation; returns *url*."""
        known = sources.get(url, ())
        if source in known:
            return url
        if len(known) == MAX_RELATED:
            # another site that claims the URL many times must not keep out what its own site says
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
        """What documents say of *url* they say of *target*; returns those documents."""
        related: list[str] = []
        for sources in (self._announced_by, self._switched_by):
            for source in sources.pop(url, ()):
                self._note(sources, target, source)
                related.append(source)
        return related

    def _merge(self, copy: str, original: str) -> list[str]:
        """*copy* is no rival of *original*, and gets no partner; returns the documents that it was related to."""
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
        """The best new pair of the document at *url* with one of those that it is related to."""
        others = [one for one in dict.fromkeys(map(self._originals.of, (*related, *proposals))) if one in self._held]
        found = [pair for other in others if (pair := self._judge(url, other, proposals.get(other)))]
        return next((pair for pair in sorted(found, key=lambda pair: -pair.score) if self._accept(pair)), None)

    def _settle_by_content(self, url: str) -> Pair | None:
        """The pair of the document at *url* with the one that is surely its translation by what both hold."""
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
        """Return the score of two documents, by what their site shows so far; 0 if they are no pair, and count why.

        *trust* is the confidence in *evidence*, or in the proposal where that says nothing; *enough* is the probability
        from which they are a pair.
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
        # the variants of one address are no chance
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
        """P(translation | content) at even prior odds, also of documents in pairs; None if unknown."""
        a, b, site = self._originals.outline(url_a), self._originals.outline(url_b), registered_domain(url_a)
        usual = self._contents.usual(site)
        if a is None or b is None or usual is None or site != registered_domain(url_b):
            return None
        return usual.score(a, b)

    def _is_known(self, a: str, b: str) -> bool:
        """Whether the candidate can be judged again: it was judged here, and both outlines are still kept."""
        known = self._candidates[a, b].trust is not None
        return known and None not in (self._originals.outline(a), self._originals.outline(b))

    def _judge_again(self, a: str, b: str) -> bool:
        """Give the candidate its score of today; return whether it still is one."""
        candidate, evidence = self._candidates[a, b], self._evidence(a, b)
        assert candidate.trust is not None
        # pages of little content, as lists of tags, are ever less alike: their links to each other stay
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
        """The URL of the document, and those of its copies, without language marks."""
        return self._all_keys.get(url) or {self._held[url].key}

    def _is_mismarked(self, one: _Document, two: _Document, site: str) -> bool:
        return (one.mismarked or two.mismarked) and self._conventions.trusts_marks(site)

    def _unusual(self, url: str, other: str, evidence: UrlEvidence) -> list[Unusual]:
        # what is no page announces nothing, and has a name of its own
        if not (is_page(url) and is_page(other)):
            return []
        if evidence.score:
            return ["mirrored"] if evidence.key else []
        one, two = (_NUMBER.findall(self._held[each].key) for each in (url, other))
        return ["unannounced"] if one == two else ["unannounced", "renumbered"]

    def _accept(self, pair: Pair) -> bool:
        """Whether *pair* is a new one, and better than those that its documents were in."""
        rivals = [rival for url in (pair.url_a, pair.url_b) if (rival := self.pair_of(url))]
        if pair in rivals or any(rival.score >= pair.score for rival in rivals):
            return False
        for parted in self._partners.join(pair.url_a, pair.url_b):
            self._count(*parted, -1)
        self._count(pair.url_a, pair.url_b, 1)
        if pair.url_a in self._held and pair.url_b in self._held:
            evidence, alike = self._evidence(pair.url_a, pair.url_b), self._alike(pair.url_a, pair.url_b)
            # a pair that is not sure shows nothing: false ones would make others of their kind usual
            if evidence.hreflang or evidence.switcher == 2 or alike is None or alike >= CONFIRMED_BY_OUTLINE:
                unusual = self._unusual(pair.url_a, pair.url_b, evidence)
                self._conventions.observe_pair(registered_domain(pair.url_a), unusual)
        for url in (pair.url_a, pair.url_b):
            self._contents.forget(url)
        return True

    def _count(self, url: str, partner: str, pairs: int) -> None:
        """So many more *pairs* of these two documents."""
        for site in {registered_domain(url), registered_domain(partner)}:
            self._pairs_on[site] += pairs


def _is_foreign(url: str, other: str) -> bool:
    return registered_domain(url) != registered_domain(other)
