"""Item pipeline: documents and pairs to the output folder."""

import logging
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping
from functools import partial
from itertools import chain
from typing import Any

from scrapy.exceptions import DropItem, UsageError

from bilingual_crawler.alignment import at_end
from bilingual_crawler.alignment.at_end import AlignedCrawl, AlignmentError, align_crawl, outputs_without_alignment
from bilingual_crawler.crawl import signals
from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.signals import FAILED_OUTPUTS, MISSING_OUTPUTS, add_counts
from bilingual_crawler.items import Document, Pair, Unpaired
from bilingual_crawler.pairing import model
from bilingual_crawler.pairing.model import Outcome, read_pairs, read_unpaired, replace_pairs, unpaired_of_others
from bilingual_crawler.pairing.reading import kept_for
from bilingual_crawler.storage import records

logger = logging.getLogger(__name__)

_ASIDE = f".{records.UNPAIRED}"  # the rows of other languages in a crawl; one with an unpaired.tsv has ended


def _row(pair: Pair) -> int:
    """The same number for two rows of a pair; it takes less memory than its addresses."""
    return hash((pair.pair, pair.url_a, pair.url_b))


class OutputPipeline(CrawlComponent):
    """Writes ``documents.jsonl.gz`` and streams ``pairs.tsv``: the pairs of the ledgers with both documents here.

    When the crawl ends by itself, all documents are aligned, and their pairs take its place. A page that is fetched
    twice is written once, also after a resume. Stats: ``bilingual/pairs/found``, ``bilingual/pairs/documents`` (that
    are in a pair), ``bilingual/pairs/outcomes``: an :class:`Outcome` for each pair of languages.
    """

    _in_a_hurry = _is_open = False

    def open_spider(self) -> None:
        self._folder = self._context.output_dir
        self._pairs_file, self._unpaired_file = (self._folder / name for name in (records.PAIRS, records.UNPAIRED))
        learner = self._visits.learner
        self._ledgers = {str(pair): ledger for pair, ledger in learner.ledgers.items()}
        self._written = set()
        self._characters = 0  # of the documents
        last: dict[str, int] = {}  # archive -> greatest offset of a record of a document
        for record in records.read_json_lines(self._folder / records.DOCUMENTS):
            self._written.add(record["url"])
            self._characters += len(record.get("text", ""))
            if name := record.get("warc_file"):
                last[name] = max(last.get(name, 0), record.get("warc_offset") or 0)
        for archive in (self._folder / name for name in last):
            if archive.exists() and archive.stat().st_size <= last[archive.name]:
                logger.warning(f"{archive} is cut off: it lacks pages of documents that earlier runs have written")
        self._pairs_of: Counter[str] = Counter()  # languages -> pairs of written documents
        self._in_pairs: Counter[str] = Counter()  # written documents in pairs -> languages in which they have a partner
        for name, ledger in self._ledgers.items():
            for url, partner in ledger.book.pairs():
                self._count_pair(name, url, partner, 1)
            ledger.book.listeners.append(partial(self._count_pair, name))
        self._documents = records.GzipJsonLines(self._folder / records.DOCUMENTS)
        self._profiles = records.GzipJsonLines(self._folder / records.PROFILES) if self._options.align else None
        self._kept_for = kept_for(self._context.pairs, self._context.detection)
        self._pairs = records.TsvLog(self._pairs_file, Pair)
        try:
            written = list(read_pairs(self._pairs_file, self._context.pairs))
            # also those that a killed run has put aside
            files = self._unpaired_file, self._folder / _ASIDE
            rows, aside = (unpaired_of_others(file, self._context.pairs) for file in files)
            newer = {one.pair for one in rows}
            self._unpaired_of_others = rows + [one for one in aside if one.pair not in newer]
        except (KeyError, ValueError) as error:
            tables = f"{self._pairs_file} or {self._unpaired_file.name}"
            raise UsageError(f"{tables} cannot be read: {error}; correct it", print_help=False) from error
        self._rows = {_row(pair) for pair in written}
        for pair in written:
            learner.adopt(pair)
        for ledger in self._ledgers.values():
            for pair in ledger.pairs():
                self._write_pair(pair)
        if self._unpaired_of_others:
            records.replace_tsv(self._folder / _ASIDE, Unpaired, self._unpaired_of_others)
        self._unpaired_file.unlink(missing_ok=True)
        self._count_found()
        # not by its name: a resume sends it earlier
        self._crawler.signals.connect(self._pair_found, signal=signals.pair_found)
        self._is_open = True

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Document) and (error := self.document_read(item)):
            raise DropItem(f"cannot be written: {error}", log_level="ERROR") from error
        return item

    def profile_read(self, url: str, profile: bytes) -> None:
        if not self._profiles or not profile or url in self._written:
            return
        try:
            row = {"url": url, "made_for": self._kept_for, "profile": b64encode(profile).decode("ascii")}
            self._profiles.write(row)
        except OSError as error:
            self._crawler.signals.send_catch_log(signals.output_failed, error=error)

    def document_read(self, document: Document) -> OSError | None:
        """Write *document*; returns the error if that is not possible."""
        try:
            self._write(document)
        except OSError as error:
            self._crawler.signals.send_catch_log(signals.output_failed, error=error)
            return error
        self._count_found()
        return None

    async def close_spider(self) -> None:
        if not self._is_open:
            return
        self._documents.close()
        if self._profiles:
            self._profiles.close()
        self._pairs.close()
        try:
            # a folder that was moved is not made again: a resume would go on in an empty one
            self._folder.stat()
            aligned = await self._align() or self._as_found()
            if self._unpaired_of_others:
                own = list(read_unpaired(self._unpaired_file))
                records.replace_tsv(self._unpaired_file, Unpaired, chain(own, self._unpaired_of_others))
                (self._folder / _ASIDE).unlink()
        except OSError as error:
            self._stats.inc_value(FAILED_OUTPUTS)
            self._stats.set_value(MISSING_OUTPUTS, outputs_without_alignment(self._folder, self._options))
            logger.error(f"{self._pairs_file.name} stays in the order of discovery: {error}")
            return
        self._count(aligned.outcomes, aligned.paired)
        add_counts(self._crawler, "bilingual/bitext/", aligned.bitext)
        add_counts(self._crawler, "bilingual/bitext_dropped/", aligned.dropped)
        add_counts(self._crawler, "bilingual/unreadable/", aligned.unreadable)

    async def _align(self) -> AlignedCrawl | None:
        """Align everything, unless the user has asked to stop; None if the pairs stay those found on the way."""
        if not self._options.align or not self._written:
            return None
        aligned, why = None, "not all documents were aligned, since the crawl was stopped"
        if not self._interrupted():
            is_small = len(self._written) <= at_end.MAX_DOCUMENTS and self._characters <= at_end.MAX_CHARACTERS
            crawl = self._folder, self._context.pairs, self._context.detection, self._crawler.settings
            try:
                aligned = await align_crawl(*crawl, self._interrupted, self._tell, small=is_small)
            except AlignmentError as error:
                why = str(error)
                self._stats.inc_value(FAILED_OUTPUTS)
        if aligned is None:
            missing = outputs_without_alignment(self._folder, self._options)
            self._stats.set_value(MISSING_OUTPUTS, missing)
            again = missing[records.PAIRS]
            logger.warning(f"{records.PAIRS} has the pairs that were found on the way: {why}. For all: {again}")
        else:
            self._stats.set_value("bilingual/pairs/aligned", self._options.align)
        return aligned

    def _as_found(self) -> AlignedCrawl:
        for ledger in self._ledgers.values():
            ledger.review()
        best = {name: ledger.pairs() for name, ledger in self._ledgers.items()}
        pairs = sorted(filter(self._has, chain.from_iterable(best.values())), key=lambda pair: -pair.score)
        left = chain.from_iterable(ledger.unpaired() for ledger in self._ledgers.values())
        unpaired = [one for one in left if one.url in self._written]
        replace_pairs(self._pairs_file, pairs, self._context.pairs)
        records.replace_tsv(self._unpaired_file, Unpaired, unpaired)
        refused = {name: ledger.refused(len(best[name])) for name, ledger in self._ledgers.items()}
        paired = {url for pair in pairs for url in (pair.url_a, pair.url_b)}
        reasons = ((one.pair, one.reason) for one in unpaired)
        found = model.outcomes(self._ledgers, (pair.pair for pair in pairs), reasons, refused)
        return AlignedCrawl(found, len(paired), {}, {}, {})

    def _interrupted(self) -> bool:
        """Ctrl-C, a signal to end, or Scrapyd's cancel; a crawl that ends by itself is still crawling now."""
        return self._in_a_hurry or not self._crawler.crawling

    def _tell(self, phase: str) -> None:
        self._crawler.signals.send_catch_log(signals.phase_changed, phase=phase)

    def _write(self, document: Document) -> None:
        is_new = document.url not in self._written
        if is_new:
            self._documents.write(document)
            self._written.add(document.url)
            self._characters += len(document.text)
        # also of a document fetched again, for the crawl may have died before it wrote the pair
        for name, ledger in self._ledgers.items():
            if pair := ledger.pair_of(document.url):
                if is_new:
                    self._count_pair(name, pair.url_a, pair.url_b, 1)
                self._write_pair(pair)

    def _write_pair(self, pair: Pair) -> None:
        if self._has(pair) and _row(pair) not in self._rows:
            self._pairs.write_record(pair)
            self._rows.add(_row(pair))

    def _count_pair(self, name: str, url: str, partner: str, number: int) -> None:
        if url in self._written and partner in self._written:
            self._pairs_of[name] += number
            for one in (url, partner):
                self._in_pairs[one] += number
                if not self._in_pairs[one]:
                    del self._in_pairs[one]

    def _has(self, pair: Pair) -> bool:
        return pair.url_a in self._written and pair.url_b in self._written

    def _count_found(self) -> None:
        refused = {name: ledger.refused(len(ledger)) for name, ledger in self._ledgers.items()}
        self._count({name: Outcome(self._pairs_of[name], why) for name, why in refused.items()}, len(self._in_pairs))

    def _count(self, outcomes: Mapping[str, Outcome], paired: int) -> None:
        self._stats.set_value("bilingual/pairs/outcomes", outcomes)
        self._stats.set_value("bilingual/pairs/found", sum(outcome.pairs for outcome in outcomes.values()))
        self._stats.set_value("bilingual/pairs/documents", paired)

    def stop_now(self) -> None:
        self._in_a_hurry = True

    def _pair_found(self, pair: Pair) -> None:
        """The document of the page that completes *pair* is mostly still to come, and brings the pair."""
        try:
            self._write_pair(pair)
        except OSError as error:
            self._crawler.signals.send_catch_log(signals.output_failed, error=error)
        self._count_found()
