"""Pages to documents, on all cores where there are many pages."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, islice
from multiprocessing import get_context
from typing import TYPE_CHECKING

from bilingual_crawler.pairing.reading import read_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from bilingual_crawler.languages import LanguagePair
    from bilingual_crawler.pairing.documents import Document, Profile
    from bilingual_crawler.pairing.reading import RawPage

    Read = tuple[Document, Profile] | None

FEW = 1000
"""Pages up to which it is not worth while to start other processes."""
CHUNK = 50
"""Pages that a process takes at a time."""


def read_pages(pages: Iterable[RawPage], pair: LanguagePair) -> Iterator[Read]:
    """What :func:`~bilingual_crawler.pairing.reading.read_page` makes of each page, in order."""
    pages = iter(pages)
    first = list(islice(pages, FEW))
    cores = os.cpu_count() or 1
    if len(first) < FEW or cores == 1:
        yield from map(partial(read_page, pair=pair), first)
        return
    # spawned, as a process that has threads, as a crawl has, must not fork
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        waiting: deque[Future[list[Read]]] = deque()
        remaining = chain(first, pages)
        while chunk := list(islice(remaining, CHUNK)):
            waiting.append(pool.submit(_read_chunk, chunk, pair))
            if len(waiting) > 2 * cores:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def _read_chunk(pages: Sequence[RawPage], pair: LanguagePair) -> list[Read]:
    return [read_page(page, pair) for page in pages]
