"""The frontier: all known URLs of a crawl, each fetched once, the best one next.

- ``entry``: the entry of a URL: priority, politeness slot, state.
- ``frontier``: the protocols of a frontier and of its stores; their limits and errors.
- ``local``: the frontier of one process.
- ``shared``: the frontier of one worker among several.
- ``memory_store``, ``lmdb_store``, ``redis_store``: the stores; ``checkpoint`` lets LMDB survive a power cut.
- ``budget``: which site comes next; the memory for the queued URLs of one site.
- ``backoff``: pauses of a failing host.
- ``scope``: which links belong to the crawl.
- ``job``: the arguments that all runs on one frontier share.

A frontier in memory (an :class:`LmdbStore` of a folder instead survives the process)::

    frontier = LocalFrontier(MemoryStore(), Limits(), time.monotonic)
    frontier.push([Entry("https://example.com/", "example.com", priority=1.0)])
    entry = frontier.pop()
    frontier.finish(entry)

The room may import ``scoring``, ``storage``, ``options``, ``pages``, ``urls`` and ``languages``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler import lazy_exports

if TYPE_CHECKING:
    from bilingual_crawler.frontier.entry import Entry, Push, State
    from bilingual_crawler.frontier.frontier import Frontier, FrontierStore, Limits, StoreError
    from bilingual_crawler.frontier.lmdb_store import LmdbStore
    from bilingual_crawler.frontier.local import LocalFrontier
    from bilingual_crawler.frontier.memory_store import MemoryStore
    from bilingual_crawler.frontier.redis_store import RedisLink, RedisStore
    from bilingual_crawler.frontier.scope import Scope, ScopeError
    from bilingual_crawler.frontier.shared import SharedFrontier
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            **dict.fromkeys(("Entry", "Push", "State"), "entry"),
            **dict.fromkeys(("Frontier", "FrontierStore", "Limits", "StoreError"), "frontier"),
            "LmdbStore": "lmdb_store",
            "LocalFrontier": "local",
            "MemoryStore": "memory_store",
            **dict.fromkeys(("RedisLink", "RedisStore"), "redis_store"),
            **dict.fromkeys(("Scope", "ScopeError"), "scope"),
            "SharedFrontier": "shared",
        },
    )

__all__ = [
    "Entry",
    "Frontier",
    "FrontierStore",
    "Limits",
    "LmdbStore",
    "LocalFrontier",
    "MemoryStore",
    "Push",
    "RedisLink",
    "RedisStore",
    "Scope",
    "ScopeError",
    "SharedFrontier",
    "State",
    "StoreError",
]
