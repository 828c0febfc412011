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
"""
