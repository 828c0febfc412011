"""Item pipeline: documents and pairs to the output folder."""

from __future__ import annotations

import logging
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Any, cast

from scrapy.exceptions import DropItem
from scrapy.utils.asyncio import run_in_thread

from bilingual_crawler.items import Document
from bilingual_crawler.options import Options
from bilingual_crawler.pairing.tracker import Pair, PairTracker
from bilingual_crawler.reporting.records import (
    CRAWL,
    DOCUMENTS,
    PAIRS,
    GzipJsonLines,
    TsvLog,
    read_json_lines,
    read_tsv,
    tsv_line,
)
from bilingual_crawler.signals import Fetch, output_failed, pair_found, url_fetched

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence
    from typing import Self

    from scrapy.crawler import Crawler

    from bilingual_crawler.spiders.bilingual import BilingualSpider


logger = logging.getLogger(__name__)


class OutputPipeline:
    """Writes ``documents.jsonl.gz`` and streams ``pairs.tsv``.

    When the crawl ends, all documents are aligned by the method in ``BILINGUAL_ALIGN`` (the pairs stay as they are
    if it is empty), and ``pairs.tsv`` is put in order of score.

    A resumed crawl first reads back the documents it has, so that a page fetched twice is written once.
    Stats: ``bilingual/pairs/found|candidates``, ``bilingual/unpaired/<reason>``, ``bilingual/refused/<reason>``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def open_spider(self) -> None:
        spider = cast("BilingualSpider", self._crawler.spider)
        self._folder = spider.output_dir
        self._tracker = PairTracker(spider.pair)
        self._written: set[str] = set()
        for row in read_tsv(self._folder / CRAWL):
            if row.get("location"):
                self._tracker.alias(row["url"], row["location"])
        for record in read_json_lines(self._folder / DOCUMENTS):
            self._take(Document(**record))
        self._documents = GzipJsonLines(self._folder / DOCUMENTS)
        self._pairs = TsvLog.of(self._folder / PAIRS, Pair)
        self._crawler.signals.connect(self._note_redirect, signal=url_fetched)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Document) and item.url not in self._written:
            try:
                self._write(item)
            except OSError as error:
                self._crawler.signals.send_catch_log(output_failed, error=error)
                raise DropItem(f"cannot be written: {error}", log_level="ERROR") from error
            self._stats.set_value("bilingual/pairs/found", len(self._tracker))
        return item

    async def close_spider(self) -> None:
        self._documents.close()
        self._pairs.close()
        pairs, unpaired = await self._align()
        try:
            self._replace_pairs(pairs)
        except OSError as error:
            logger.error(f"{PAIRS} stays in the order of discovery: {error}")
        self._stats.set_value("bilingual/pairs/found", len(pairs))
        self._stats.set_value("bilingual/pairs/candidates", self._tracker.candidates)
        for reason, count in unpaired.items():
            self._stats.set_value(f"bilingual/unpaired/{reason}", count)
        for reason, count in self._tracker.rejected.items():
            self._stats.set_value(f"bilingual/refused/{reason}", count)

    async def _align(self) -> tuple[list[Pair], Counter[str]]:
        pairs, unpaired = self._tracker.pairs(), self._tracker.unpaired()
        settings = self._crawler.settings
        if not Options.of(settings).align or not self._written:
            return pairs, unpaired
        # scipy takes its time
        from bilingual_crawler.pairing.at_end import align_crawl

        spider = cast("BilingualSpider", self._crawler.spider)
        try:
            return await run_in_thread(align_crawl, self._folder, spider.pair, pairs, settings)
        except Exception:
            logger.exception(f"the pairs are those found during the crawl; try: scrapy align {self._folder}")
            return pairs, unpaired

    def _write(self, document: Document) -> None:
        self._documents.write(document)
        for pair in self._take(document):
            self._pairs.write_record(pair)
            self._crawler.signals.send_catch_log(pair_found, pair=pair)

    def _replace_pairs(self, pairs: Sequence[Pair]) -> None:
        complete = self._folder / f"{PAIRS}.new"
        with complete.open("w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(tsv_line([field.name for field in fields(Pair)]))
            file.writelines(tsv_line(astuple(pair)) for pair in pairs)
        complete.replace(self._folder / PAIRS)

    def _take(self, document: Document) -> list[Pair]:
        self._written.add(document.url)
        return self._tracker.add(document)

    def _note_redirect(self, fetch: Fetch) -> None:
        if fetch.location:
            self._tracker.alias(fetch.url, fetch.location)

    @property
    def _stats(self) -> Any:
        return self._crawler.stats
