"""What a running crawl knows of its documents in a pair of languages: twins, claims, copies, partners."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from cachetools import LRUCache

from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.model import LinkPosition, PageRecord
from bilingual_crawler.pairing.urls import UrlEvidence, agrees, last_hop
from bilingual_crawler.urls.hosts import registered_domain
from bilingual_crawler.urls.marks import coded_language, marked_language, strip_language

MAX_RELATED = 50  # maximum twins of a URL, and documents that claim it in one way
MAX_CROSS_LINKS = 4  # maximum links in the text of a document to other parts of its site: with more it is a list
MAX_LINKING = 3  # maximum documents with such a link to a URL: with more it belongs to the frame
MAX_AWAITED = 100_000
"""Latest URLs claimed in one way that are not documents yet, some 300 bytes each; also the maximum of redirects."""


class Sources(dict[str, tuple[str, ...]]):
    """URL -> documents that claim it as their translation in one way, in the order of their downloads."""

    def __init__(self) -> None:
        super().__init__()
        self.awaited: deque[str] = deque()  # those that were not documents at the time


@dataclass(frozen=True, slots=True)
class Held:
    """A document of the book."""

    side: str
    length: int
    """Characters of visible text."""
    key: int
    """The same number for twins: URLs that differ in language marks only."""
    agrees: bool
    """Whether the language mark of the URL, if any, agrees with the content."""
    coded: bool | None
    """Whether the code of a language in the URL agrees with the content; None without a code."""


class Book:
    """Keeps the documents of a pair of languages, without judgement: the ledger writes it, others read it."""

    def __init__(self, pair: LanguagePair) -> None:
        self.pair = pair
        self.listeners: list[Callable[[str, str, int], object]] = []
        """Called with both documents of a pair and 1 when they are joined, -1 when they are parted."""
        self._held: dict[str, Held] = {}
        self._twins: defaultdict[int, list[str]] = defaultdict(list)
        self._unpaired: dict[str, list[int]] = {}
        """Site -> unpaired documents in the first and in the second language."""
        self._partners: dict[str, str] = {}
        self._pairs_on: Counter[str] = Counter()
        self._originals: dict[str, str] = {}
        """Copy -> its original."""
        self._all_keys: dict[str, set[int]] = {}  # document with copies -> all their keys
        self._announced_by, self._switched_by, self._linked_by = Sources(), Sources(), Sources()
        self._redirects: LRUCache[str, str] = LRUCache(MAX_AWAITED)

    def __contains__(self, url: str) -> bool:
        return url in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __getitem__(self, url: str) -> Held:
        return self._held[url]

    def hold(self, page: PageRecord) -> Held:
        """Add *page*, which is in a language of the pair, with its claims."""
        assert page.side
        coded, marked = coded_language(page.url), marked_language(page.url, self.pair.languages)
        right = None if coded is None else self.pair.side(coded) == page.side
        agree = agrees(marked, page.side, self.pair)
        held = self._held[page.url] = Held(page.side, page.length, self.key(page.url), agree, right)
        twins = self._twins[held.key]
        if len(twins) < MAX_RELATED:
            twins.append(page.url)
        # pairs of an earlier run may be known before their documents
        if page.url not in self._partners:
            self._count_unpaired(page.url, 1)
        return held

    def key(self, url: str) -> int:
        """The same number for twins; it takes less memory than a text."""
        return hash(strip_language(url, self.pair.languages))

    def side(self, url: str) -> str | None:
        """The language of the pair that the document at *url* counts as, or None."""
        return self._held[url].side if url in self._held else None

    def twins(self, key: int) -> Sequence[str]:
        """The documents with this *key*."""
        return self._twins.get(key, ())

    def is_copy(self, url: str) -> bool:
        return url in self._originals

    def original(self, url: str) -> str:
        """The original of the document at *url*; *url* itself if not a copy."""
        while url in self._originals:
            url = self._originals[url]
        return url

    def merge(self, copy: str, original: str) -> list[str]:
        """Note that *copy* is a copy of *original*; return the documents whose claims about *copy* move."""
        self._originals[copy] = original
        keys = self._keys(original) | self._keys(copy)
        self._all_keys.pop(copy, None)
        if len(keys) <= MAX_RELATED:
            self._all_keys[original] = keys
        self.part(copy)
        return self._move_claims(copy, original)

    def _keys(self, url: str) -> set[int]:
        """The keys of the document and its copies."""
        return self._all_keys.get(url) or {self._held[url].key}

    def note_claims(self, page: PageRecord) -> list[str]:
        """Store the claims of *page*; return the claimed URLs."""
        claimed = []
        for claim in page.claims_for(self.pair):
            url = self.resolve(claim.url)
            if claim.announces:
                claimed.append(self._note(self._announced_by, url, page.url))
            if claim.is_switch:
                claimed.append(self._note(self._switched_by, url, page.url))
        for url in self.cross_links(page):
            self._note(self._linked_by, url, page.url)
        return claimed

    def cross_links(self, page: PageRecord) -> Sequence[str]:
        """What *page* links to in its text that may be in the other language; nothing if that is much."""
        here, found = _part(page.url), dict[str, None]()
        for link in page.links:
            if link.position is LinkPosition.BODY and not link.claims and _part(link.url) != here:
                url = self.resolve(link.url)
                may_be = _part(url) != here and self.side(url) != page.side and not is_foreign(url, page.url)
                if may_be and self._linking(url) <= MAX_LINKING:
                    found[url] = None
                if len(found) > MAX_CROSS_LINKS:
                    return ()
        return tuple(found)

    def _linking(self, url: str) -> int:
        """How many documents link to *url*; copies of one count once."""
        return len(set(map(self.original, self._linked_by.get(url, ()))))

    def redirect(self, url: str, target: str) -> tuple[str, list[str]]:
        """Note that *url* redirects to *target*; return where that leads, and the documents whose claims move there."""
        self._redirects[url] = target
        end = self.resolve(target)
        return end, self._move_claims(url, end)

    def resolve(self, url: str) -> str:
        """The document, or other URL, that *url* leads to: by redirects, and from a copy to its original."""
        return self.original(last_hop(self._redirects, url, self._held.__contains__))

    def announced_by(self, url: str) -> Sequence[str]:
        """The documents that announce *url* by ``hreflang``, in the order of their downloads."""
        return self._announced_by.get(url, ())

    def switched_by(self, url: str) -> Sequence[str]:
        """The documents whose language switchers lead to *url*, in the order of their downloads."""
        return self._switched_by.get(url, ())

    def linked_by(self, url: str) -> Sequence[str]:
        """The documents of other parts of the site that link to *url* in their text; none if these are many."""
        return self._linked_by.get(url, ()) if self._linking(url) <= MAX_LINKING else ()

    def announced_language(self, url: str) -> str | None:
        """The language of *url* by the announcements of documents, or None."""
        source = next(iter(self.announced_by(url)), None)
        return self.pair.other(self._held[source].side) if source else None

    def evidence(self, url: str, other: str) -> UrlEvidence:
        """The evidence of claims and URLs that two documents are a pair."""

        def said(sources: Sources) -> int:
            both = (url, other), (other, url)
            return sum(one in map(self.original, sources.get(another, ())) for one, another in both)

        one, two = self._held[url], self._held[other]
        same, agree = not self._keys(url).isdisjoint(self._keys(other)), one.agrees and two.agrees
        evidence = UrlEvidence(said(self._announced_by), said(self._switched_by), same and agree, same and not agree)
        if is_foreign(url, other):
            evidence.need_both_sides()
        return evidence

    def _note(self, sources: Sources, url: str, source: str) -> str:
        """Store that *source* claims *url* as its translation; return *url*."""
        known = sources.get(url, ())
        if source in known:
            return url
        if len(known) == MAX_RELATED:
            # claims by another site must not displace those of the URL's own site
            foreign = next((one for one in known if is_foreign(one, url)), None)
            if foreign is None or is_foreign(source, url):
                return url
            known = tuple(one for one in known if one != foreign)
        sources[url] = (*known, source)
        if not known and url not in self._held:
            sources.awaited.append(url)
            if len(sources.awaited) > MAX_AWAITED and (oldest := sources.awaited.popleft()) not in self._held:
                sources.pop(oldest, None)
        return url

    def _move_claims(self, url: str, target: str) -> list[str]:
        """Move the claims about *url* to *target*; return the claiming documents."""
        kinds = self._announced_by, self._switched_by, self._linked_by
        moved = [(kind, source) for kind in kinds for source in kind.pop(url, ())]
        for kind, source in moved:
            self._note(kind, target, source)
        return [source for _, source in moved]

    @property
    def pair_count(self) -> int:
        return len(self._partners) // 2

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Each pair once."""
        return ((url, partner) for url, partner in self._partners.items() if url < partner)

    def pairs_on(self, site: str) -> int:
        """The number of pairs with a document of *site*, a registered domain."""
        return self._pairs_on[site]

    def partner(self, url: str) -> str | None:
        """The partner of the document at *url*, or None."""
        return self._partners.get(url)

    def unpaired_on(self, site: str) -> Sequence[int]:
        """The number of unpaired documents of *site*, a registered domain, in the first and in the second language."""
        return self._unpaired.get(site, (0, 0))

    def lacking(self, urls: Iterable[str]) -> Iterator[tuple[str, int]]:
        """The unpaired documents among *urls*, each with the place in the pair, 0 or 1, of the missing language."""
        for url in urls:
            held = self._held.get(url)
            if held is not None and url not in self._partners:
                yield url, int(held.side == self.pair.a)

    def join(self, url: str, partner: str) -> None:
        """Make both documents partners, and part them from others."""
        self.part(url)
        self.part(partner)
        self._partners[url], self._partners[partner] = partner, url
        self._count_pair(url, partner, 1)

    def part(self, url: str) -> None:
        """Dissolve the pair of the document at *url*, if any."""
        partner = self._partners.pop(url, None)
        if partner is not None:
            del self._partners[partner]
            self._count_pair(url, partner, -1)

    def _count_pair(self, url: str, partner: str, number: int) -> None:
        for site in {registered_domain(url), registered_domain(partner)}:
            self._pairs_on[site] += number
        for one in (url, partner):
            self._count_unpaired(one, -number)
        for listener in self.listeners:
            listener(url, partner, number)

    def _count_unpaired(self, url: str, number: int) -> None:
        if side := self.side(url):
            self._unpaired.setdefault(registered_domain(url), [0, 0])[side == self.pair.b] += number


def is_foreign(url: str, other: str) -> bool:
    """Whether two URLs are of different registered domains."""
    return registered_domain(url) != registered_domain(other)


def _part(url: str) -> Sequence[str]:
    """Host and first folder of *url*."""
    parts = url.partition("?")[0].split("/", 4)
    return parts[2:4] if len(parts) > 4 else parts[2:3]
