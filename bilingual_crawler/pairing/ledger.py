"""Which fetched documents are pairs: by claims, URLs, proposals and the content of unpaired documents."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import Literal

from cachetools import LRUCache

from bilingual_crawler.items import Pair, Proposal, Unpaired
from bilingual_crawler.pages.formats import may_hold
from bilingual_crawler.pages.model import PageRecord
from bilingual_crawler.pairing.book import MAX_AWAITED, Book
from bilingual_crawler.pairing.contents import MAX_SITES, Contents, Copies
from bilingual_crawler.pairing.matching import disjoint
from bilingual_crawler.pairing.resemblance import CONFIRMED_BY_OUTLINE
from bilingual_crawler.pairing.urls import MAX_LENGTH_RATIO, UrlEvidence, together
from bilingual_crawler.urls.canonical import bare
from bilingual_crawler.urls.hosts import registered_domain
from bilingual_crawler.urls.marks import strip_language

Unusual = Literal["unannounced", "mirrored", "renumbered"]
"""No page announces the other, and more than marks differs; URLs differ in marks only; their numbers differ."""
MIN_USUAL_PAIRS = 3  # minimum pairs of a site for its conventions


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
        """P(pair | its least usual property) at even prior odds, at most 1/2: conventions only refute; 1/2 if few."""
        counts = self._of(site)
        if counts["pairs"] < MIN_USUAL_PAIRS:
            return 0.5
        least = min((counts[one] for one in properties), default=counts["pairs"])
        return min(0.5, (least + 1) / (counts["pairs"] + 2))

    def _of(self, site: str) -> Counter[str]:
        return self._sites.setdefault(site, Counter())


_NUMBER = re.compile(r"\d+")

MOST_PROPOSED = 0.8  # maximum confidence in a pair by a proposal or by content alone
ENOUGH_AGAIN = 0.4  # minimum probability of a pair by URLs or content on review


@dataclass(frozen=True, slots=True)
class _Candidate:
    pair: Pair
    trust: float | None
    """Confidence by all evidence but the content; None if judged elsewhere."""


class PairLedger:
    """Decides by one rule, with a score and a reason, whether two documents are a pair, when the second one arrives.

    :class:`.urls.UrlEvidence` has the methods beside those of proposals. Language of the content and lengths of the
    texts can refute all. A page is in at most one pair: the better score wins, then the earlier.
    """

    def __init__(self, book: Book) -> None:
        self.book = book
        self._candidates: dict[tuple[str, str], _Candidate] = {}
        self._candidates_of: defaultdict[str, list[str]] = defaultdict(list)
        self._contents = Contents()
        self._copies = Copies(book)
        self._conventions = Conventions()
        self._same_text: LRUCache[str, str] = LRUCache(MAX_AWAITED)
        """Document -> a document in the other language with the same text."""
        self._rejected: Counter[str] = Counter()

    def __len__(self) -> int:
        """Pairs found so far."""
        return self.book.pair_count

    def add_page(self, page: PageRecord, proposals: Iterable[Proposal] = ()) -> Pair | None:
        """Add *page*, if new; return the pair that it completes. *proposals* count where own evidence lacks."""
        if not page.is_document or page.url in self.book:
            return None
        proposed: dict[str, Proposal] = {}
        for proposal in sorted(proposals, key=lambda proposal: -proposal.probability):
            proposed.setdefault(self.book.original(proposal.url), proposal)
        held = self.book.hold(page)
        if held.coded is not None:
            self._conventions.observe_mark(registered_domain(page.url), agrees=held.coded)
        related = self.book.note_claims(page)
        claiming = *self.book.announced_by(page.url), *self.book.switched_by(page.url)
        twins = self.book.twins(held.key)
        if page.outline is not None:
            side = int(page.side == self.book.pair.b)
            usual = self._contents.see(registered_domain(page.url), side, page.outline)
            original, copies = self._copies.add(page, usual, is_claimed=bool(related or claiming))
            for copy in copies:
                related += self._merge(copy, page.url)
            if original:
                usual.forget(page.outline)
                related += (*self._merge(page.url, original), *twins)
                return self._settle(original, related, proposed)
            self._contents.add(page.url, side, page.outline)
        related += (*claiming, *twins)
        pair = self._settle(page.url, related, proposed)
        if not pair and (other := self._contents.translation(page.url)):
            return self._settle(page.url, (), {other: Proposal(other, "content", 0.5)})
        return pair

    def propose(self, url: str, proposal: Proposal) -> Pair | None:
        """Judge the *proposal* of a partner for the document at *url*; return the new pair, or None."""
        url, other = self.book.original(url), self.book.original(proposal.url)
        return self._settle(url, (), {other: proposal}) if url in self.book else None

    def redirect(self, url: str, target: str) -> Pair | None:
        """Move the claims about *url* to its redirect *target*; return the new pair, or None."""
        end, related = self.book.redirect(url, target)
        return self._settle(end, related, {}) if end in self.book else None

    def adopt(self, pair: Pair) -> bool:
        """Add a pair of another source, such as the final alignment; return whether it is new."""
        if self.book.is_copy(pair.url_a) or self.book.is_copy(pair.url_b):
            return False
        held = self._candidates.get((pair.url_a, pair.url_b))
        self._note_candidate(pair, held.trust if held and held.pair.method == pair.method else None)
        return self._accept(pair)

    def review(self) -> None:
        """Judge all candidates again at the end of a crawl: for the first, boilerplate and conventions were unknown."""
        order = {one: place for place, one in enumerate(self._candidates)}
        best = [(-candidate.pair.score, order[one], one, False) for one, candidate in self._candidates.items()]
        heapify(best)
        taken: set[str] = set()
        while best:
            _, place, (a, b), done = heappop(best)
            if a in taken or b in taken:
                continue
            candidate, outlines = self._candidates[a, b], (self._copies.outline(a), self._copies.outline(b))
            if done or candidate.trust is None or None in outlines:
                taken |= {a, b}
            elif score := self._score_again(candidate.pair, candidate.trust):
                self._note_candidate(replace(candidate.pair, score=score), candidate.trust)
                heappush(best, (-score, place, (a, b), True))
            else:
                del self._candidates[a, b]
                if self.book.partner(a) == b:
                    self.book.part(a)

    def pair_of(self, url: str) -> Pair | None:
        """Return the pair of the document at *url*; None if it is unpaired."""
        partner = self.book.partner(url)
        if partner is None:
            return None
        return (self._candidates.get((url, partner)) or self._candidates[partner, url]).pair

    def pairs(self) -> list[Pair]:
        """Return the best one-to-one choice among all candidates so far, best first."""
        best = sorted((one.pair for one in self._candidates.values()), key=lambda pair: -pair.score)
        return disjoint(best, lambda pair: {pair.url_a, pair.url_b})

    def unpaired(self) -> list[Unpaired]:
        """Return the unpaired documents; their reason is ``no_candidate``, ``taken``, ``copy`` or ``same_text``."""
        paired = {url for pair in self.pairs() for url in (pair.url_a, pair.url_b)}
        nearest: dict[str, tuple[str, float]] = {}
        for pair in sorted((one.pair for one in self._candidates.values()), key=lambda pair: pair.score):
            nearest[pair.url_a] = pair.url_b, pair.score
            nearest[pair.url_b] = pair.url_a, pair.score
        reasons = dict.fromkeys(self._same_text, "same_text") | dict.fromkeys(nearest, "taken")
        nearest = {url: (other, 0.0) for url, other in self._same_text.items()} | nearest
        found = []
        for url in self.book:
            if url not in paired:
                reason = "copy" if self.book.is_copy(url) else reasons.get(url, "no_candidate")
                found.append(Unpaired(url, reason, *nearest.get(url, ("", 0.0)), str(self.book.pair)))
        return found

    def refused(self, pairs: int) -> Counter[str]:
        """Rejected candidates by reason: ``length``, ``marker_disagrees``, ``content``, ``same_text``, ``taken``."""
        return self._rejected + Counter(taken=len(self._candidates) - pairs)

    def _merge(self, copy: str, original: str) -> list[str]:
        """Remove *copy* of *original* from all candidates; return its related documents."""
        self._contents.forget(copy)
        others = self._candidates_of.pop(copy, [])
        for other in others:
            self._candidates.pop((copy, other), None)
            self._candidates.pop((other, copy), None)
        return [*self.book.merge(copy, original), *others]

    def _settle(self, url: str, related: Iterable[str], proposals: Mapping[str, Proposal]) -> Pair | None:
        """The best new pair of the document at *url* with one of *related*, or None."""
        others = [one for one in dict.fromkeys(map(self.book.original, (*related, *proposals))) if one in self.book]
        found = [pair for other in others if (pair := self._judge(url, other, proposals.get(other)))]
        return next((pair for pair in sorted(found, key=lambda pair: -pair.score) if self._accept(pair)), None)

    def _judge(self, url: str, other: str, proposed: Proposal | None) -> Pair | None:
        one, two = self.book[url], self.book[other]
        if one.side == two.side:
            return None
        a, b = (url, other) if one.side == self.book.pair.a else (other, url)
        evidence = self.book.evidence(a, b)
        untranslated = False in (one.coded, two.coded)
        if evidence.score:
            trust, method = evidence.score, evidence.method
        elif proposed and not (untranslated and self._conventions.trusts_marks(registered_domain(url))):
            trust, method = proposed.probability, proposed.method
        else:
            self._rejected["marker_disagrees"] += evidence.refused or proposed is not None
            return None
        score = self._score(a, b, evidence, trust)
        return self._note_candidate(Pair(a, b, score, method, str(self.book.pair)), trust) if score else None

    def _score(self, a: str, b: str, evidence: UrlEvidence, trust: float, enough: float = 0.5) -> float:
        """Score of a pair by the statistics of its site, with *trust* in its evidence; 0, counted by reason, for
        none.
        """
        usual = self._contents.usual(registered_domain(a))
        if usual and self._copies.have_same_text(a, b, usual):
            self._same_text[a], self._same_text[b] = b, a
            self._rejected["same_text"] += 1
            return 0.0
        shorter, longer = sorted(self.book[one].length for one in (a, b))
        if longer > MAX_LENGTH_RATIO * max(shorter, 1):
            self._rejected["length"] += 1
            return 0.0
        alike = self._alike(a, b)
        likely = trust if alike is None else together(trust, alike)
        # variants of one address are no coincidence
        if not evidence.score or (evidence.method == "url" and alike is not None and bare(a) != bare(b)):
            unusual = self._unusual(a, b, evidence)
            likely = together(likely, self._conventions.probability(registered_domain(a), unusual))
        if likely < enough:
            self._rejected["content"] += 1
            return 0.0
        return max(0.5, min(likely, trust if evidence.score else MOST_PROPOSED))

    def _note_candidate(self, pair: Pair, trust: float | None) -> Pair:
        if (pair.url_a, pair.url_b) not in self._candidates:
            self._candidates_of[pair.url_a].append(pair.url_b)
            self._candidates_of[pair.url_b].append(pair.url_a)
        self._candidates[pair.url_a, pair.url_b] = _Candidate(pair, trust)
        return pair

    def _alike(self, url_a: str, url_b: str) -> float | None:
        """P(translation | content) at even prior odds, also for paired documents; None if unknown."""
        a, b, site = self._copies.outline(url_a), self._copies.outline(url_b), registered_domain(url_a)
        usual = self._contents.usual(site)
        if a is None or b is None or usual is None or site != registered_domain(url_b):
            return None
        return usual.score(a, b)

    def _score_again(self, pair: Pair, trust: float) -> float:
        evidence = self.book.evidence(pair.url_a, pair.url_b)
        # pages of little content, such as lists of tags, lose likeness as a site grows: hreflang and switchers suffice
        enough = 0.0 if evidence.score and evidence.method != "url" else ENOUGH_AGAIN
        return self._score(pair.url_a, pair.url_b, evidence, evidence.score or trust, enough)

    def _unusual(self, url: str, other: str, evidence: UrlEvidence) -> list[Unusual]:
        # a file announces nothing, and has a name of its own
        if not (may_hold(url) and may_hold(other)):
            return []
        if evidence.score:
            return ["mirrored"] if evidence.key else []
        one, two = (_NUMBER.findall(strip_language(each, self.book.pair.languages)) for each in (url, other))
        return ["unannounced"] if one == two else ["unannounced", "renumbered"]

    def _accept(self, pair: Pair) -> bool:
        """Add *pair* if it is new and better than the pairs of its documents; return whether it was added."""
        rivals = [rival for url in (pair.url_a, pair.url_b) if (rival := self.pair_of(url))]
        if pair in rivals or any(rival.score >= pair.score for rival in rivals):
            return False
        a, b = pair.url_a, pair.url_b
        self.book.join(a, b)
        if a in self.book and b in self.book:
            evidence, alike = self.book.evidence(a, b), self._alike(a, b)
            # only sure pairs count: false ones would make their kind usual
            if evidence.hreflang or evidence.switcher == 2 or alike is None or alike >= CONFIRMED_BY_OUTLINE:
                self._conventions.observe_pair(registered_domain(a), self._unusual(a, b, evidence))
        self._contents.forget(a)
        self._contents.forget(b)
        return True
