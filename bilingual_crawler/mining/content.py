"""The content stage, bucket by bucket: pages read, documents and sentences aligned, bitext spooled and exported.

The bitext waits in spools until all buckets are done, because duplicates are found across buckets.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from scrapy.settings import Settings

from bilingual_crawler.alignment.driver import AlignedDocuments
from bilingual_crawler.bitext import produce
from bilingual_crawler.bitext.monolingual import MonolingualDocument, open_monolingual
from bilingual_crawler.bitext.produce import Aligned, BitextProducer, Spool, Spooled, open_exports
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.mining.records import PlanRow, Ranges, open_ranges, read_records
from bilingual_crawler.mining.stored import BucketResult, MiningRequest, result_file, store
from bilingual_crawler.options import Options
from bilingual_crawler.pages.detectors.base import keep_in
from bilingual_crawler.pages.language import Detection
from bilingual_crawler.pages.sandbox import pool as sandbox
from bilingual_crawler.pairing.align import align
from bilingual_crawler.pairing.corpus import Corpus
from bilingual_crawler.pairing.inputs import PagesOfRecords
from bilingual_crawler.pairing.methods import Method, encoder_of, method_of
from bilingual_crawler.pairing.reading import PackedDocument, RawPage, read_pages
from bilingual_crawler.storage.files import replacing
from bilingual_crawler.storage.warc import NoRecord
from bilingual_crawler.urls.canonical import bare, canonicalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from bilingual_crawler.encoders.base import Encoder
    from bilingual_crawler.items import Pair
    from bilingual_crawler.languages.codes import LanguagePair

_SENTENCES, _DOCUMENTS = "sentences", "documents"


def export(out: Path, pairs: Iterable[LanguagePair], formats: Iterable[str], folder: Path) -> dict[str, int]:
    """Export the spools of all buckets below *out* into *folder*; returns sentence pairs by language pair."""
    written: dict[str, int] = {}
    names = list(formats)
    for pair in pairs:
        folders = (out / kind / f"pair={pair}" for kind in (_SENTENCES, _DOCUMENTS))
        sentences, documents = (sorted(spools.glob("[0-9]*.jsonl.gz")) for spools in folders)
        if not sentences:
            continue
        with ExitStack() as stack:
            spools = [Spool(stack.enter_context(file.open("rb")), Aligned) for file in sentences]
            written[str(pair)] = produce.export(spools, open_exports(names, folder, pair)).kept
        sinks = open_monolingual(names, folder, pair)
        for file in documents if sinks else ():
            with file.open("rb") as spooled:
                for document in Spool(spooled, MonolingualDocument):
                    for sink in sinks:
                        sink.add(document)
        for sink in sinks:
            sink.close()
    return written


_PLACE = {"file": pa.string(), "offset": pa.int64(), "length": pa.int64(), "digest": pa.string()}
_SCHEMA = pa.schema(
    [
        *(("url_a", pa.string()), ("url_b", pa.string()), ("method", pa.string()), ("score", pa.float64())),
        *((f"{name}_{side}", kind) for side in "ab" for name, kind in _PLACE.items()),
    ]
)


@dataclass(frozen=True)
class BucketJob:
    """Mines a bucket by its number; each process runs it for several buckets in turn."""

    request: MiningRequest
    """With the rate of this process alone."""
    pairs: tuple[LanguagePair, ...]
    monolingual: bool
    """Whether the documents of both languages are spooled, too."""

    def __call__(self, number: int) -> None:
        """Mine the bucket; raises Unavailable, without a result, if the archive does not answer."""
        logging.getLogger("bilingual_crawler").setLevel(logging.ERROR)  # what is left out is counted here
        sandbox.use(1)
        request, out = self.request, self.request.out
        method, options, encoder = _models(json.dumps(request.settings, default=str), bool(request.formats))
        keep_in(options.cache_dir)
        ranges = open_ranges(request.base, request.rate, request.user_agent) if request.base else None
        rows = [PlanRow(**row) for row in pq.read_table(out / "plan" / f"bucket={number}").to_pylist()]
        result = BucketResult(len(rows))
        found: dict[str, list[dict[str, Any]]] = {}
        pages = PagesOfRecords()
        rows.sort(key=lambda row: (row.domain, row.unit))
        with ExitStack() as spools:
            # a pair without documents has no spools
            bitext_of = cache(partial(self._producer, number, options, encoder, spools))
            for _, unit in groupby(rows, key=lambda row: (row.domain, row.unit)):
                of_unit: dict[str, PlanRow] = {}
                for row in unit:
                    if of_unit.setdefault(_url(row), row) is not row:
                        result.leave_out("same address", str(row))
                languages = {row.language for row in of_unit.values()}
                pairs = LanguagePairs(tuple(pair for pair in self.pairs if {pair.a, pair.b} <= languages))
                detection = Detection.for_pairs(options.detectors, pairs)
                corpus = Corpus(pairs)
                for document in read_pages(_pages(of_unit, ranges, pages, result), pairs, detection, corpus.unreadable):
                    if isinstance(document, PackedDocument):
                        corpus.add(document)
                result.read += len(corpus)
                result.left_out = dict(Counter(result.left_out) + corpus.unreadable)
                for pair in AlignedDocuments(align(corpus, method), options, bitext_of).pairs:
                    found.setdefault(pair.pair, []).append(_row(pair, of_unit))
        for name, pairs_found in found.items():
            with replacing(out / "pairs" / f"pair={name}" / f"bucket-{number}.parquet") as part:
                pq.write_table(pa.Table.from_pylist(pairs_found, schema=_SCHEMA), part)
            result.pairs[name] = dict(Counter(row["method"] for row in pairs_found))
        store(result_file(out, number), result)

    def _producer(
        self, bucket: int, options: Options, encoder: Encoder | None, spools: ExitStack, pair: LanguagePair
    ) -> BitextProducer | None:
        """What aligns the sentences of *pair* into *spools*; None without bitext."""
        if not self.request.formats:
            return None
        detection = Detection.for_pairs(options.detectors, LanguagePairs((pair,)))
        sentences = spools.enter_context(self._spool(_SENTENCES, pair, bucket, Aligned))
        documents = self._spool(_DOCUMENTS, pair, bucket, MonolingualDocument)
        monolingual = [spools.enter_context(documents)] if self.monolingual else []
        return BitextProducer(pair, detection, (), encoder, monolingual, options.sentence_filters, sentences)

    @contextmanager
    def _spool(self, folder: str, pair: LanguagePair, bucket: int, kind: type[Spooled]) -> Iterator[Spool[Spooled]]:
        """The spool of a bucket and language pair; its file is there once it is complete."""
        with (
            replacing(self.request.out / folder / f"pair={pair}" / f"{bucket:06}.jsonl.gz") as part,
            part.open("wb") as file,
        ):
            spool = Spool(file, kind)
            yield spool
            spool.close()


@cache
def _models(settings: str, bitext: bool) -> tuple[Method, Options, Encoder | None]:
    """What all buckets of a process need: the method, the settings and, for bitext, the encoder."""
    of_scrapy = Settings(json.loads(settings))
    encoder = encoder_of(of_scrapy) if bitext else None
    return method_of("auto", of_scrapy), Options.of(of_scrapy), encoder


def _pages(
    rows: dict[str, PlanRow], ranges: Ranges | None, pages: PagesOfRecords, result: BucketResult
) -> Iterator[RawPage]:
    """The pages of *rows* (by canonical URL); those that cannot be read are counted."""
    for row, record in read_records(rows.values(), ranges):
        if isinstance(record, NoRecord):
            result.leave_out(str(record), str(row))
            continue
        before = pages.refused.copy()
        page = pages.page(record)
        if page is None:
            result.leave_out(next(iter(pages.refused - before), "redirect"), str(row))
        elif page.url != _url(row):
            result.leave_out("another record", str(row))
        else:
            yield page


def _url(row: PlanRow) -> str:
    return canonicalise(row.url) or row.url


def _row(pair: Pair, rows: dict[str, PlanRow]) -> dict[str, Any]:
    values: dict[str, Any] = {"url_a": pair.url_a, "url_b": pair.url_b, "method": pair.method, "score": pair.score}
    for side, url in (("a", pair.url_a), ("b", pair.url_b)):
        row = rows.get(url) or rows[bare(url)]
        values |= {f"{name}_{side}": getattr(row, name) for name in _PLACE}
    return values
