"""All documents that are aligned together, on disk; their domains, and groups of domains that announce each other."""

import tempfile
import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import compress, product

import numpy as np

from bilingual_crawler.items import Document
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.origin import Origin
from bilingual_crawler.pairing import copies
from bilingual_crawler.pairing.model import Profile
from bilingual_crawler.pairing.reading import PackedDocument, link_key, unpack
from bilingual_crawler.pairing.urls import last_hop
from bilingual_crawler.urls.hosts import registered_domain

MAX_DOMAINS = 20  # maximum domains of a group; bounds the damage of a page that announces everybody
MAX_DOCUMENTS = 50_000  # maximum documents of a group of several domains, which are in memory together


def join(sizes: Mapping[str, int], announced: Mapping[tuple[str, str], int]) -> list[tuple[str, ...]]:
    """Group the domains in *sizes* (documents by domain), all in alphabetical order.

    *announced* counts the announcements from a first to a second domain. Those that announce each other are joined
    first, most announcements first, within the limits of a group.
    """
    groups: dict[str, tuple[str, ...]] = {domain: (domain,) for domain in sizes}

    def strength(edge: tuple[str, str]) -> tuple[int, int]:
        there, back = announced.get(edge, 0), announced.get(edge[::-1], 0)
        return min(there, back), there + back

    edges = {(min(edge), max(edge)) for edge in announced if sizes.keys() >= set(edge)}
    for one, other in sorted(edges, key=lambda edge: (strength(edge), edge), reverse=True):
        if groups[one] is groups[other]:
            continue
        joined = (*groups[one], *groups[other])
        if len(joined) <= MAX_DOMAINS and sum(sizes[domain] for domain in joined) <= MAX_DOCUMENTS:
            groups.update(dict.fromkeys(joined, joined))
    return sorted({tuple(sorted(group)) for group in groups.values()})


class Corpus:
    """All documents to align; texts and profiles lie in an unnamed temporary file.

    Of pages whose URLs differ in scheme or ``www.`` only, the longest is kept (CCAligned 2020, section 3.2.1).
    """

    def __init__(self, pairs: LanguagePairs) -> None:
        self.pairs = pairs
        self.languages: Counter[str] = Counter()
        """Documents of each language."""
        self.others: Counter[str] = Counter()
        """Pages in languages of no pair, by language; empty if it is not known."""
        self.redirects: dict[str, str] = {}
        """Link key -> link key after all redirects."""
        self.unreadable: Counter[str] = Counter()
        """Damaged records and pages over a limit, by kind."""
        self.announced: Counter[tuple[str, str]] = Counter()
        """(domain, domain) -> number of known document pairs between them."""
        self._labels: defaultdict[str, dict[tuple[str, str], bool]] = defaultdict(dict)
        """Registered domain of the first URL -> URLs of pairs that a person has labelled -> whether they are right."""
        self._bases: dict[str, str] = {}
        self._file = tempfile.TemporaryFile(prefix="bilingual-align-")  # noqa: SIM115
        self._places: dict[str, int] = {}
        self._longest: dict[str, tuple[int, str]] = {}
        """Language and link key -> characters and URL of the document."""
        self._left_out: defaultdict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
        """Registered domain -> URL -> language and reason of excluded documents."""
        self._domains: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
        self._announcing = array("q")
        """Places of the profiles of documents that announce pages of other domains."""

    def __len__(self) -> int:
        return self.languages.total()

    def add(self, document: PackedDocument) -> None:
        """Add a document: the longest of an address; one in another language at the same address is a variant."""
        others = (f"{name} {link_key(document.url)}" for name in self.pairs.languages if name != document.language)
        if document.url in self._places and document.url in (self._longest.get(key, (0, ""))[1] for key in others):
            document = document.as_variant()
        key = _key(document)
        if key in self._longest:
            characters, url = self._longest[key]
            # of equal ones the address decides, not the order
            longer = (document.characters, url) > (characters, document.url)
            self.leave_out(url if longer else document.url, document.language, "same_url")
            if not longer:
                return
        else:
            self.languages[document.language] += 1
        self._longest[key] = document.characters, document.url
        self._places[document.url] = self._write(document.document)
        place = self._write(document.profile)
        self._domains[registered_domain(document.url)].append(place)
        if document.announces:
            self._announcing.append(place)

    def leave_out(self, url: str, language: str, reason: str) -> None:
        """Exclude the document at *url*, in *language*, for a *reason* of ``REASONS``."""
        self._left_out[registered_domain(url)][url] = language, reason

    def left_out(self, group: tuple[str, ...], pair: LanguagePair) -> dict[str, str]:
        """Return URL and reason of the excluded documents of *group* in the languages of *pair*."""
        found = (row for domain in group for row in self._left_out.get(domain, {}).items())
        return {url: reason for url, (language, reason) in found if language in (pair.a, pair.b)}

    def label(self, labels: Mapping[tuple[str, str], bool]) -> None:
        """Add pairs of URLs, in any order, that a person has labelled as translations or not."""
        for (one, other), right in labels.items():
            domain = registered_domain(one)
            self._labels[domain][one, other] = right
            if right:  # as a pair that a crawl has found
                self.announced[domain, registered_domain(other)] += 1

    def labels(self, group: tuple[str, ...]) -> dict[tuple[str, str], bool]:
        """Return the labelled pairs of URLs of *group*, and whether they are translations."""
        return {urls: right for domain in group for urls, right in self._labels.get(domain, {}).items()}

    def redirect(self, redirects: Mapping[str, str], alias_bases: Mapping[str, str]) -> None:
        """Add redirects (URL to target) and aliases (start of a URL to its replacement), after all documents."""
        hops = ((link_key(url), link_key(target)) for url, target in redirects.items())
        # ignore http→https redirects
        keys = {key: target for key, target in hops if key != target}
        for key, target in keys.items():
            self.redirects[key] = last_hop(keys, target, lambda held: self._has(held, self.pairs.languages))
        self._bases.update((link_key(alias), link_key(base)) for alias, base in alias_bases.items())

    def resolve(self, key: str) -> str:
        """Return the link key that *key* redirects to, or *key* (see :func:`.reading.link_key`)."""
        for alias, base in self._bases.items():
            if key.startswith(alias) and key[len(alias) :][:1] in ("", "/"):
                key = base + key[len(alias) :]
                break
        return self.redirects.get(key, key)

    def groups(self) -> list[tuple[str, ...]]:
        """Return the groups of registered domains. Add all documents first."""
        announced = self.announced.copy()
        for place in self._announcing:
            profile = self._profile(place)
            domain, others = registered_domain(profile.url), self.pairs.others(profile.language)
            keys = {self.resolve(link_key(url)) for url in (*profile.claims, *profile.switches)}
            held = {registered_domain(f"https://{key}") for key in keys if self._has(key, others)}
            announced.update((domain, target) for target in held - {domain})
        domains = (*self._domains, *(domain for domain in self._left_out if domain not in self._domains))
        return join({domain: self.size((domain,)) for domain in domains}, announced)

    def size(self, group: tuple[str, ...]) -> int:
        """Count the documents of *group*, replaced ones included."""
        return sum(len(self._domains.get(domain, ())) for domain in group)

    def profiles(self, group: tuple[str, ...]) -> list[Profile]:
        """Return the profiles of *group* in the order of their URLs, whatever the order of the documents."""
        found = (self._profile(place) for domain in group for place in self._domains.get(domain, ()))
        latest = {_key(profile): profile for profile in found}
        return sorted(latest.values(), key=lambda profile: profile.url)

    def document(self, url: str) -> Document:
        """Return the document at *url*; raises KeyError."""
        return unpack(Document, self._read(self._places[url]))

    def _has(self, key: str, languages: Iterable[str]) -> bool:
        return any(f"{language} {key}" in self._longest for language in languages)

    def _profile(self, place: int) -> Profile:
        return unpack(Profile, self._read(place))

    def _write(self, packed: bytes) -> int:
        place = self._file.seek(0, 2)
        data = zlib.compress(packed, 1)
        self._file.write(len(data).to_bytes(4, "big") + data)
        return place

    def _read(self, place: int) -> bytes:
        self._file.seek(place)
        return zlib.decompress(self._file.read(int.from_bytes(self._file.read(4), "big")))


def _key(page: PackedDocument | Profile) -> str:
    return f"{page.language} {link_key(page.url)}"


class Domain:
    """The documents of a group of registered domains in one language pair; candidates are places in *a* and in *b*."""

    def __init__(self, group: tuple[str, ...], corpus: Corpus, pair: LanguagePair, profiles: Iterable[Profile]) -> None:
        self.group, self.corpus, self.pair = group, corpus, pair
        held = list(profiles)
        self.a, self.places_a, copies_a = copies.merge_copies([p for p in held if p.language == pair.a], corpus.resolve)
        """Documents in the first language of the pair, without copies; link key of a document -> its place in *a*."""
        self.b, self.places_b, copies_b = copies.merge_copies([p for p in held if p.language == pair.b], corpus.resolve)
        self.copies = copies_a | copies_b
        """URL of a copy -> URL of its original."""
        self.main = copies.main_lines(self.a) | copies.main_lines(self.b)
        """URL of a document -> a mask ``(lines,)`` of its main text."""
        self.alike_a, self.alike_b = (copies.near_duplicates(side, self.main) for side in (self.a, self.b))
        """For each document of a side, the number of its group of near-duplicates, ``(documents,)``."""
        self.labelled: dict[tuple[int, int], bool] = {}
        """Candidates that a person has labelled -> whether they are translations."""
        for urls, right in corpus.labels(group).items():
            for one, other in (urls, urls[::-1]):
                places = product(self.targets([one], self.places_a), self.targets([other], self.places_b))
                self.labelled.update(dict.fromkeys(places, right))
        self._objections: dict[tuple[int, int], str | None] = {}
        self.on_progress: Callable[[float], None] = lambda share: None
        """Called with the share of the work that is done, 0 to 1."""

    def objection(self, i: int, j: int) -> str | None:
        """Return the hard objection to the pair ``a[i]``, ``b[j]``, which overrules announcements, or None."""
        if (i, j) not in self._objections:
            self._objections[i, j] = copies.objection((self.a[i], self.b[j]), self.main)
        return self._objections[i, j]

    def main_text(self, url: str) -> list[str]:
        """Return the main text of a document, in lines."""
        return list(compress(self.corpus.document(url).lines, self.main[url]))

    def distinct(self, paired: Collection[str]) -> Iterator[tuple[str, str, bool, list[bool]]]:
        """Yield language and URL of the documents, whether they are in *paired* (URLs), and which lines are their own.

        Shorter documents come first; of near-duplicates one, preferably paired, then the longest. Own lines are main
        text without the boilerplate of the other language: an untranslated page has the menus of that language.
        """
        sides = (
            (self.pair.a, self.a, self.alike_a, copies.boilerplate(self.b, self.main)),
            (self.pair.b, self.b, self.alike_b, copies.boilerplate(self.a, self.main)),
        )
        for language, profiles, groups, foreign in sides:
            best: dict[int, tuple[tuple[bool, int], Profile]] = {}
            for profile, group in zip(profiles, groups.tolist(), strict=True):
                rank = profile.url in paired, copies.own_length(profile, self.main)
                if group not in best or rank > best[group][0]:
                    best[group] = rank, profile
            # an article comes before the lists that repeat it
            for (is_paired, _), profile in sorted(best.values(), key=lambda found: found[0][1]):
                own = ~np.isin(profile.lines[self.main[profile.url]], foreign)
                yield language, profile.url, is_paired, own.tolist()

    def origin(self, url: str) -> Origin:
        """Return the origin that the document at *url* declares."""
        return self.corpus.document(url).origin

    def targets(self, urls: Iterable[str], places: dict[str, int]) -> set[int]:
        """Return the places of the documents at *urls*, after redirects."""
        keys = (self.corpus.resolve(link_key(url)) for url in urls)
        return {places[key] for key in keys if key in places}
