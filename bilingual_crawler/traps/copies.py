"""Pages with the same text as others of their host: copies, and answers for URLs that do not exist."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING

from cachetools import LRUCache

from bilingual_crawler.traps.shapes import folders
from bilingual_crawler.traps.text import sequences

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

MAX_COPIES = 20
"""Pages of one host with the same text whose links are followed. There are honest ones: an untranslated page is shown
under the URLs of several languages."""
PROBE_AFTER = 10
"""Pages of a host after which a page that cannot exist is requested."""
FOLDER_PROBE_AFTER = 3
"""Documents of a language in a folder of its own after which a page of the folder that cannot exist is requested."""
MAX_FOLDERS_PROBED = 4
"""Folders of a host that are probed beside the host."""
MAX_PROBES = 4
"""Probes of a host or folder as long as none was answered, each after twice as many pages as the one before."""
_OWN_SHARE = 0.8
"""Share of a language in the documents of its own folder; some of its pages are not translated."""
_PAGES = 200_000
_MIN_SEQUENCES = 10
_HOSTS = 10_000
_FOLDERS = 100_000
_SEQUENCES = 1_000_000


class Copies:
    """Counts pages with the same text on the same host; pages without text are not compared."""

    def __init__(self) -> None:
        self._counts: LRUCache[bytes, int] = LRUCache(_PAGES)

    def learn(self, host: str, text: str) -> bool:
        """Add a page; true if it is one copy too many."""
        if not text:
            return False
        key = blake2b(f"{host}\n{text}".encode("utf-8", "replace"), digest_size=16).digest()
        count = self._counts[key] = self._counts.get(key, 0) + 1
        return count > MAX_COPIES


class MissingPages:
    """The texts that a host, and the folders of its languages, show for missing URLs if they do not answer 404.

    A place is a host or a folder of it, such as ``a.is/`` or ``a.is/es/``.
    """

    def __init__(self) -> None:
        self._pages: LRUCache[str, int] = LRUCache(_HOSTS)
        self._languages: LRUCache[str, Counter[str]] = LRUCache(_FOLDERS)
        self._probes: LRUCache[str, int] = LRUCache(_FOLDERS)
        self._answered: LRUCache[str, bool] = LRUCache(_FOLDERS)
        self._probed: LRUCache[str, set[str]] = LRUCache(_HOSTS)
        """The folders of a host that were probed."""
        self._shown: LRUCache[str, AbstractSet[int]] = LRUCache(_SEQUENCES, getsizeof=len)

    def places_to_probe(self, url: str, language: str | None) -> list[str]:
        """The places of the page *url* of which a page that cannot exist is to be requested. Called once per page.

        *language*: of the document that the page is; None if it is no document.
        """
        host, *inner = folders(url)
        pages = self._pages[host] = self._pages.get(host, 0) + 1
        wanted = [host] if self._is_due(host, pages, PROBE_AFTER) else []
        if language is None:
            return wanted
        for place in (host, *inner):
            self._languages.setdefault(place, Counter())[language] += 1
        own = next((place for place in (host, *inner) if self._is_own(place, language)), host)
        probed = self._probed.setdefault(host, set())
        if own != host and (own in probed or len(probed) < MAX_FOLDERS_PROBED):
            documents = self._languages[own][language]
            if self._is_due(own, documents, FOLDER_PROBE_AFTER):
                probed.add(own)
                wanted.append(own)
        return wanted

    def answered(self, place: str) -> None:
        """*place* answered a probe, so it is not asked again."""
        self._answered[place] = True

    def learn(self, place: str, text: str, url: str) -> None:
        """*place* shows *text* for the missing page *url*. Texts of a few words are not compared."""
        shown = sequences(text, url)
        if len(shown) >= _MIN_SEQUENCES:
            self._shown[place] = shown

    def is_missing(self, url: str, text: str) -> bool:
        """Whether *text* is what one of the places of *url* shows for missing URLs, so that *url* does not exist."""
        known = [shown for place in folders(url) if (shown := self._shown.get(place)) is not None]
        if not known:
            return False
        said = sequences(text, url)
        most = max(3, 0.02 * len(said))
        return any(max(len(said - shown), len(shown - said)) <= most for shown in known)

    def _is_own(self, place: str, language: str) -> bool:
        found = self._languages.get(place, Counter())
        return FOLDER_PROBE_AFTER <= found[language] >= _OWN_SHARE * found.total()

    def _is_due(self, place: str, pages: int, first: int) -> bool:
        """Whether *place*, of which *pages* have come, is to be probed now, first after *first* of them."""
        probes = self._probes.get(place, 0)
        if place in self._answered or probes >= MAX_PROBES or pages < first << probes:
            return False
        self._probes[place] = probes + 1
        return True
