"""Which frontier a crawl has."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from scrapy.utils.job import job_dir

from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.files import to_disk
from bilingual_crawler.frontier.frontier import Limits
from bilingual_crawler.frontier.lmdb_store import LmdbStore
from bilingual_crawler.frontier.local import LocalFrontier
from bilingual_crawler.frontier.memory_store import MemoryStore
from bilingual_crawler.frontier.shared import SharedFrontier
from bilingual_crawler.options import Options

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from bilingual_crawler.frontier.frontier import Frontier
    from bilingual_crawler.frontier.shared import Worker
    from bilingual_crawler.frontier.store import FrontierStore


def open_frontier(crawler: Crawler, worker: Worker) -> tuple[FrontierStore, Frontier]:
    """That in Redis with ``BILINGUAL_FRONTIER``, else in ``JOBDIR``, else in memory, with its store.

    Raises StoreError.
    """
    settings, context = crawler.settings, CrawlContext.of(crawler)
    limits = Limits(
        per_slot=settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN"),
        in_flight=settings.getint("CONCURRENT_REQUESTS"),
        pages=context.max_pages,
        pages_per_slot=context.max_pages_per_site,
    )
    jobdir = job_dir(settings)
    if url := Options.of(settings).frontier:
        # the client of Redis comes with an extra
        from bilingual_crawler.frontier.redis_store import RedisStore

        shared = RedisStore(url, _worker_name(jobdir))
        return shared, SharedFrontier(shared, limits, time.monotonic, worker, context.budget)
    store = LmdbStore(Path(jobdir) / "frontier") if jobdir else MemoryStore()
    frontier = LocalFrontier(store, limits, time.monotonic, worker.reconsider, worker.stop, context.budget)
    for slot in store.slots():
        worker.gained(store.facts(slot), store.queued(slot))
    return store, frontier


def _worker_name(jobdir: str | None) -> str:
    """A name of this process among the workers of a crawl; the same one whenever it goes on with *jobdir*."""
    new = f"{socket.gethostname()}-{uuid4().hex[:12]}"
    if jobdir is None:
        return new
    memo = Path(jobdir) / "worker"
    if not memo.exists():
        memo.write_text(new, encoding="utf-8")
        to_disk(memo)
    return memo.read_text(encoding="utf-8")
