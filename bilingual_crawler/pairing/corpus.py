"""Documents by registered domain, on disk, so that only one group's profiles are in memory at a time."""

from __future__ import annotations

import tempfile
import zlib
from array import array
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from bilingual_crawler.pairing.documents import DocumentText, Profile
from bilingual_crawler.pairing.groups import join
from bilingual_crawler.pairing.packing import unpack
from bilingual_crawler.pairing.reading import link_key
from bilingual_crawler.urls.canonical import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bilingual_crawler.language_pairs import LanguagePairs
    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pairing.read_pages import PackedDocument


class Corpus:
    """Everything that is to be aligned. Texts and profiles lie in an unnamed temporary file.

    Of pages under URLs that differ in scheme or ``www.`` only, the longest stays (CCAligned 2020, section 3.2.1).
    """

    def __init__(self, pairs: LanguagePairs) -> None:
        self.pairs = pairs
        self.languages: Counter[str] = Counter()
        """Documents of each language."""
        self.replaced = 0
        """Pages that were left out because a longer one has the same URL but for scheme and ``www.``."""
        self.redirects: dict[str, str] = {}
        """Link key to the link key of the page that answers for it."""
        self.unreadable: Counter[str] = Counter()
        """What was left out of the inputs because it is damaged or breaks a limit, by kind."""
        self.announced: Counter[tuple[str, str]] = Counter()
        """Registered domains that are known to have pairs with each other, and how many."""
        self._bases: dict[str, str] = {}
        self._file = tempfile.TemporaryFile(prefix="bilingual-align-")  # noqa: SIM115
        self._places: dict[str, int] = {}
        self._longest: dict[str, tuple[int, str]] = {}
        """Language and link key -> characters and URL of the document."""
        self._left_out: defaultdict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
        """Registered domain -> URL -> language and reason of documents that are not compared."""
        self._domains: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
        self._announcing = array("q")
        """Places of the profiles of documents that announce pages of other domains."""

    def __len__(self) -> int:
        return self.languages.total()

    def add(self, document: PackedDocument) -> None:
        """Take in a document."""
        key = _key(document)
        if key in self._longest:
            self.replaced += 1
            characters, url = self._longest[key]
            longer = document.characters > characters
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
        """Do not compare the document at *url*, in *language*, for a *reason* of ``REASONS``."""
        self._left_out[registered_domain(url)][url] = language, reason

    def left_out(self, group: tuple[str, ...], pair: LanguagePair) -> dict[str, str]:
        """URL and reason of the documents of *group* in the languages of *pair* that are not compared."""
        return {
            url: reason
            for domain in group
            for url, (language, reason) in self._left_out.get(domain, {}).items()
            if language in (pair.a, pair.b)
        }

    def redirect(self, redirects: Mapping[str, str], alias_bases: Mapping[str, str]) -> None:
        """Take note of URLs, and of starts of URLs, that stand for others."""
        self.redirects.update((link_key(url), link_key(target)) for url, target in redirects.items())
        self._bases.update((link_key(alias), link_key(base)) for alias, base in alias_bases.items())

    def resolve(self, key: str) -> str:
        """The link key of the page that answers for *key* (see :func:`~bilingual_crawler.pairing.reading.link_key`)."""
        for alias, base in self._bases.items():
            if key.startswith(alias) and key[len(alias) :][:1] in ("", "/"):
                key = base + key[len(alias) :]
                break
        return self.redirects.get(key, key)

    def groups(self) -> list[tuple[str, ...]]:
        """Registered domains, those together whose documents announce each other; complete once all is read."""
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
        """Documents of the domains of *group*, those included that longer ones replaced."""
        return sum(len(self._domains.get(domain, ())) for domain in group)

    def profiles(self, group: tuple[str, ...]) -> list[Profile]:
        """Profiles of the documents of the domains of *group*, domain by domain in order of arrival."""
        latest: dict[str, Profile] = {}
        for domain in group:
            for place in self._domains.get(domain, ()):
                profile = self._profile(place)
                latest[_key(profile)] = profile
        return list(latest.values())

    def document(self, url: str) -> DocumentText:
        """The document with *url*; KeyError if there is none."""
        return unpack(DocumentText, self._read(self._places[url]))

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
