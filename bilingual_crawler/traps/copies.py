"""Pages with the same text as others of their host: copies, and answers for URLs that do not exist."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from cachetools import LRUCache

from bilingual_crawler.traps.text import sequences

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

MAX_COPIES = 20
"""Pages of one host with the same text whose links are followed. There are honest ones: an untranslated page is shown
under the URLs of several languages."""
PROBE_AFTER = 10
"""Pages of a host after which a page that cannot exist is requested."""
_PROBES_AFTER = frozenset(PROBE_AFTER << doubled for doubled in range(4))
"""The first probe and, as long as none was answered, the next ones."""
_PAGES = 200_000
_MIN_SEQUENCES = 10
_HOSTS = 10_000
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
    """The text that a host shows for missing URLs if it does not answer 404."""

    def __init__(self) -> None:
        self._pages: LRUCache[str, int] = LRUCache(_HOSTS)
        self._answered: LRUCache[str, bool] = LRUCache(_HOSTS)
        self._shown: LRUCache[str, AbstractSet[int]] = LRUCache(_SEQUENCES, getsizeof=len)

    def wants_probe(self, host: str) -> bool:
        """Whether to request a page of *host* that cannot exist. Called once per page."""
        pages = self._pages[host] = self._pages.get(host, 0) + 1
        return pages in _PROBES_AFTER and host not in self._answered

    def answered(self, host: str) -> None:
        """*host* answered a probe, so it is not asked again."""
        self._answered[host] = True

    def learn(self, host: str, text: str, url: str) -> None:
        """*host* shows *text* for the missing page *url*. Texts of a few words are not compared."""
        shown = sequences(text, url)
        if len(shown) >= _MIN_SEQUENCES:
            self._shown[host] = shown

    def is_missing(self, host: str, text: str, url: str) -> bool:
        """Whether *text* is the host's text for missing URLs, so that *url* does not exist."""
        shown = self._shown.get(host)
        if shown is None:
            return False
        said = sequences(text, url)
        return max(len(said - shown), len(shown - said)) <= max(3, 0.02 * len(said))
