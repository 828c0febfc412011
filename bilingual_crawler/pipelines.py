"""Item pipeline: documents and pairs to the output folder."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DropItem
from scrapy.utils.asyncio import run_in_thread

from bilingual_crawler import sandbox
from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.crawl.signals import Fetch, output_failed, pair_found, phase_changed, stop_now, url_fetched
from bilingual_crawler.items import Document
from bilingual_crawler.options import Options
from bilingual_crawler.pairing.at_end import AlignedCrawl, AlignmentError, align_crawl
from bilingual_crawler.pairing.documents import Pair, Unpaired
from bilingual_crawler.pairing.tracker import PairTracker
from bilingual_crawler.records import (
    CRAWL,
    DOCUMENTS,
    PAIRS,
    UNPAIRED,
    GzipJsonLines,
    TsvLog,
    read_json_lines,
    read_tsv,
    replace_tsv,
)

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


logger = logging.getLogger(__name__)


class OutputPipeline:
    """Writes ``documents.jsonl.gz`` and streams ``pairs.tsv``.

    When the crawl ends by itself, all documents are aligned by the method in ``BILINGUAL_ALIGN`` (the pairs stay as
    they are if it is empty), and ``pairs.tsv`` is put in order of score. Until that is complete it has the pairs found
    on the way, and so it stays if the crawl is stopped.

    A resumed crawl first reads back the documents and pairs it has, so that a page fetched twice is written once.
    Stats: ``bilingual/pairs/found``, and by reason ``bilingual/pairs/refused`` (candidates) and
    ``bilingual/pairs/unpaired`` (documents, when the crawl has ended).
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._context = CrawlContext.of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def open_spider(self) -> None:
        self._folder = self._context.output_dir
        self._tracker = PairTracker(self._context.pair)
        self._written: set[str] = set()
        for row in read_tsv(self._folder / CRAWL):
            if row.get("location"):
                self._tracker.alias(row["url"], row["location"])
        for record in read_json_lines(self._folder / DOCUMENTS):
            self._take(Document(**record))
        self._documents = GzipJsonLines(self._folder / DOCUMENTS)
        self._pairs = TsvLog.of(self._folder / PAIRS, Pair)
        for row in read_tsv(self._folder / PAIRS):
            self._tracker.adopt(Pair(row["url_a"], row["url_b"], float(row["score"]), row["method"]))
        (self._folder / UNPAIRED).unlink(missing_ok=True)
        self._count_found()
        self._in_a_hurry = False
        self._crawler.signals.connect(self._hurry, signal=stop_now)
        self._crawler.signals.connect(self._note_redirect, signal=url_fetched)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Document) and item.url not in self._written:
            try:
                self._write(item)
            except OSError as error:
                self._crawler.signals.send_catch_log(output_failed, error=error)
                raise DropItem(f"cannot be written: {error}", log_level="ERROR") from error
            self._count_found()
        return item

    async def close_spider(self) -> None:
        self._documents.close()
        self._pairs.close()
        try:
            aligned = await self._align() or self._as_found()
        except OSError as error:
            logger.error(f"{PAIRS} stays in the order of discovery: {error}")
            return
        self._stats.set_value("bilingual/pairs/found", aligned.pairs)
        self._stats.set_value("bilingual/pairs/refused", aligned.refused)
        self._stats.set_value("bilingual/pairs/unpaired", aligned.unpaired)
        for kind, count in aligned.unreadable.items():
            self._stats.inc_value(f"bilingual/unreadable/{kind}", count)

    async def _align(self) -> AlignedCrawl | None:
        """Align everything, unless the user has asked to stop; None if the pairs stay those found on the way."""
        settings = self._crawler.settings
        if not Options.of(settings).align or not self._written:
            return None
        pair = self._context.pair
        aligned, why = None, "not all documents were aligned, since the crawl was stopped"
        if not self._interrupted():
            # the alignment has helper processes of its own, and room for those of both there may not be
            await run_in_thread(sandbox.close)
            try:
                aligned = await align_crawl(self._folder, pair, settings, self._interrupted, self._tell)
            except AlignmentError as error:
                why = str(error)
        if aligned is None:
            logger.warning(
                f"{PAIRS} has the pairs that were found on the way: {why}. For all: "
                f"scrapy align {self._folder} --pair {pair} --out {self._folder / PAIRS}"
            )
        return aligned

    def _as_found(self) -> AlignedCrawl:
        pairs, unpaired = self._tracker.pairs(), self._tracker.unpaired()
        replace_tsv(self._folder / PAIRS, Pair, pairs)
        replace_tsv(self._folder / UNPAIRED, Unpaired, unpaired)
        reasons = Counter(one.reason for one in unpaired)
        return AlignedCrawl(len(pairs), reasons, self._tracker.refused(len(pairs)), {})

    def _interrupted(self) -> bool:
        """Ctrl-C, a signal to end, or Scrapyd's cancel; a crawl that ends by itself is still crawling now."""
        return self._in_a_hurry or not self._crawler.crawling

    def _tell(self, phase: str) -> None:
        self._crawler.signals.send_catch_log(phase_changed, phase=phase)

    def _write(self, document: Document) -> None:
        self._documents.write(document)
        for pair in self._take(document):
            self._pairs.write_record(pair)
            self._crawler.signals.send_catch_log(pair_found, pair=pair)

    def _take(self, document: Document) -> list[Pair]:
        self._written.add(document.url)
        return self._tracker.add(document)

    def _count_found(self) -> None:
        found = len(self._tracker)
        self._stats.set_value("bilingual/pairs/found", found)
        self._stats.set_value("bilingual/pairs/refused", self._tracker.refused(found))

    def _hurry(self) -> None:
        self._in_a_hurry = True

    def _note_redirect(self, fetch: Fetch) -> None:
        if fetch.location:
            self._tracker.alias(fetch.url, fetch.location)

    @property
    def _stats(self) -> Any:
        return self._crawler.stats
