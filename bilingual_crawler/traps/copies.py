"""Pages that say what other pages of their host have said: copies, and answers to URLs that do not exist."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from cachetools import LRUCache

from bilingual_crawler.traps.text import sequences

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

MAX_COPIES = 20
"""Pages of one host with the same text whose links are followed: what is not translated yet is shown in the same
language under the URLs of many."""
PROBE_AFTER = 10
"""Pages of a host after which it is asked for one that does not exist."""
_PAGES = 200_000
_MIN_SEQUENCES = 10
_HOSTS = 10_000
_SEQUENCES = 1_000_000


class Copies:
    """Counts pages with the same text on the same host; pages without text are not compared."""

    def __init__(self) -> None:
        self._counts: LRUCache[bytes, int] = LRUCache(_PAGES)

    def learn(self, host: str, text: str) -> bool:
        """Note a page; whether it is one copy too many."""
        if not text:
            return False
        key = blake2b(f"{host}\n{text}".encode("utf-8", "replace"), digest_size=16).digest()
        count = self._counts[key] = self._counts.get(key, 0) + 1
        return count > MAX_COPIES


class MissingPages:
    """What a host shows for a URL that does not exist, if it does not say 404."""

    def __init__(self) -> None:
        self._pages: LRUCache[str, int] = LRUCache(_HOSTS)
        self._shown: LRUCache[str, AbstractSet[int]] = LRUCache(_SEQUENCES, getsizeof=len)

    def wants_probe(self, host: str) -> bool:
        """Called once a page: whether it is time to ask *host* for a page that does not exist."""
        pages = self._pages[host] = self._pages.get(host, 0) + 1
        return pages == PROBE_AFTER

    def learn(self, host: str, text: str, url: str) -> None:
        """*host* shows *text* for the missing page *url*; a few words are nothing to compare."""
        shown = sequences(text, url)
        if len(shown) >= _MIN_SEQUENCES:
            self._shown[host] = shown

    def is_missing(self, host: str, text: str, url: str) -> bool:
        """Whether *text* says nothing else, so that *url* does not exist either."""
        shown = self._shown.get(host)
        if shown is None:
            return False
        said = sequences(text, url)
        return max(len(said - shown), len(shown - said)) <= max(3, 0.02 * len(said))
