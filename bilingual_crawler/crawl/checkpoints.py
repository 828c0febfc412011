"""Brings what a crawl has done to the disk while it runs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import create_looping_call, run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future

from bilingual_crawler.files import to_disk
from bilingual_crawler.frontier.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.defer import Deferred

    from bilingual_crawler.frontier.store import FrontierStore

CHECKPOINT_SECONDS = 5.0
"""What a power cut can make the crawl forget."""


class Checkpoints:
    """Brings the files in *folder* and then the *store* to the disk, every five seconds and at the end.

    Pages are done for good only when what they gave is on the disk, so the outputs come first. *failed* hears the
    error when that cannot be done.
    """

    def __init__(self, store: FrontierStore, folder: Path, failed: Callable[[Exception], None]) -> None:
        self._store = store
        self._folder = folder
        self._failed = failed
        self._under_way: Deferred[None] | None = None
        self._on_disk: dict[Path, tuple[int, int]] = {}
        self._making = create_looping_call(self._begin)

    def start(self) -> None:
        self._making.start(CHECKPOINT_SECONDS)

    def stop(self) -> None:
        """Begin no more of them."""
        if self._making.running:
            self._making.stop()

    async def finish(self) -> None:
        """Make the last one."""
        self.stop()
        if self._under_way:
            await maybe_deferred_to_future(self._under_way)
        await self._make()

    def _begin(self) -> None:
        if self._under_way is None:
            self._under_way = deferred_from_coro(self._make())

    async def _make(self) -> None:
        try:
            await run_in_thread(self._store.checkpoint(self._outputs_to_disk))
        except (StoreError, OSError) as error:
            self._failed(error)
        finally:
            self._under_way = None

    def _outputs_to_disk(self) -> None:
        for path in (*filter(Path.is_file, self._folder.iterdir()), self._folder):
            # files may be moved away, and pairs.tsv is replaced at the end
            with suppress(FileNotFoundError):
                state = path.stat()
                version = (state.st_mtime_ns, state.st_size)
                if self._on_disk.get(path) != version:
                    to_disk(path)
                    self._on_disk[path] = version
