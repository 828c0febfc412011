"""The alignment of everything that a crawl has fetched, when it ends: in a process of its own, which can be stopped."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING

import msgspec
from scrapy.settings import Settings

from bilingual_crawler.alignment.documents.model import Outcome, outcomes, replace_pairs
from bilingual_crawler.alignment.sentences.exports import Export
from bilingual_crawler.items import Pair, Unpaired
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.options import Options
from bilingual_crawler.pages.sandbox.pool import command, environment
from bilingual_crawler.storage.records import BITEXT, PAIRS, UNPAIRED, replace_tsv

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

CHECK_SECONDS = 0.2
"""Between two questions whether to stop."""
MOMENT = 5.0
"""Seconds of aligning after which the time that is left may be estimated."""


@dataclass(frozen=True, slots=True)
class AlignedCrawl:
    """What came of aligning a crawl."""

    outcomes: dict[str, Outcome]
    """By pair of languages."""
    paired: int
    """Documents that are in a pair."""
    unreadable: dict[str, int]
    """What was left out of the crawl's files because it is damaged or breaks a limit, by kind."""
    bitext: dict[str, int]
    """If bitext was asked for: ``documents`` (pairs of them), ``aligned`` and ``kept`` sentence pairs."""


class AlignmentError(Exception):
    """The process that aligns has failed; its standard error says why."""


async def align_crawl(
    folder: Path,
    pairs: LanguagePairs,
    settings: BaseSettings,
    stopped: Callable[[], bool],
    on_progress: Callable[[str], None],
) -> AlignedCrawl | None:
    """Replace ``pairs.tsv`` and ``unpaired.tsv`` of the crawl in *folder* by what aligning all its documents gives.

    None if *stopped* has become true meanwhile; all files are as before then. The method is ``BILINGUAL_ALIGN``. The
    folder ``bitext`` gets the sentences in the formats of ``BILINGUAL_BITEXT``. *on_progress* hears what is being done.
    Raises AlignmentError.
    """
    request = {
        "folder": str(folder),
        "pair": str(pairs),
        "settings": {name: settings.get(name) for name in settings if name.startswith("BILINGUAL_")},
    }
    process = await asyncio.create_subprocess_exec(
        *command(__name__), stdin=PIPE, stdout=PIPE, env=environment(), start_new_session=True
    )
    assert process.stdin
    # a settings module may hold a path
    process.stdin.write(json.dumps(request, default=str).encode() + b"\n")
    listening = asyncio.ensure_future(_listen(process, on_progress))
    while not listening.done():
        await asyncio.wait((listening,), timeout=CHECK_SECONDS)
        if stopped() and process.returncode is None:
            process.kill()
    status = await process.wait()
    aligned = listening.result()
    if aligned is None:
        Export.remove_parts(folder / BITEXT)
    if aligned is None and not stopped():
        raise AlignmentError(f"the alignment ended with exit status {status}")
    return aligned


async def _listen(process: asyncio.subprocess.Process, on_progress: Callable[[str], None]) -> AlignedCrawl | None:
    """The last thing that *process* says, unless it ends before."""
    assert process.stdout
    async for line in process.stdout:
        message = _hear(line)
        if isinstance(message, AlignedCrawl):
            return message
        on_progress(message)
    return None


_hear = msgspec.json.Decoder(AlignedCrawl | str).decode


def _say(message: AlignedCrawl | str) -> None:
    print(msgspec.json.encode(message).decode(), flush=True)


def _align(folder: Path, pairs: LanguagePairs, settings: Settings) -> AlignedCrawl:
    # scipy takes its time, and the crawl imports this module only to start the process
    from bilingual_crawler.alignment.documents.align import align, read_corpus
    from bilingual_crawler.alignment.documents.methods import encoder_of, method_of
    from bilingual_crawler.alignment.sentences.exports import open_exports
    from bilingual_crawler.alignment.sentences.produce import BitextProducer
    from bilingual_crawler.pages.language import Detection

    options = Options.of(settings)
    read = 0

    def on_page() -> None:
        nonlocal read
        read += 1
        if read % 100 == 0:
            _say(f"reading document {read}")

    detection = Detection.for_pairs(options.detectors, pairs)
    corpus = read_corpus([folder], pairs, on_page, detection=detection)
    encoder = encoder_of(settings) if options.bitext else None
    bitext = {
        str(pair): BitextProducer(pair, detection, open_exports(options.bitext, folder / BITEXT, pair), encoder)
        for pair in pairs
    }
    found: list[Pair] = []
    unpaired: list[Unpaired] = []
    refused: defaultdict[str, Counter[str]] = defaultdict(Counter)
    done = groups_done = 0
    documents, groups = len(corpus) * len(pairs), len(corpus.groups()) * len(pairs)
    began = time.monotonic()

    def on_progress(group: tuple[str, ...], share: float) -> None:
        now = done + share * corpus.size(group)
        left = time_left(time.monotonic() - began, now / documents)
        _say(f"aligning site {groups_done + 1} of {groups}, {round(now)} of {documents} documents{left}")

    for domain, alignment in align(corpus, method_of(options.align, settings), on_progress=on_progress):
        name = str(domain.pair)
        found += alignment.pairs
        if options.bitext:
            bitext[name].add(alignment, domain.main_text)
        unpaired += alignment.rows_of_unpaired(name)
        refused[name].update(alignment.refused)
        done += corpus.size(alignment.group)
        groups_done += 1
        del domain  # or two would be in memory at once
    found.sort(key=lambda one: -one.score)
    replace_pairs(folder / PAIRS, found, pairs)
    replace_tsv(folder / UNPAIRED, Unpaired, unpaired)
    for producer in bitext.values():
        producer.close()
    reasons = ((one.pair, one.reason) for one in unpaired)
    return AlignedCrawl(
        outcomes(map(str, pairs), (one.pair for one in found), reasons, refused),
        len({url for one in found for url in (one.url_a, one.url_b)}),
        dict(corpus.unreadable),
        dict(sum((producer.counts for producer in bitext.values()), Counter[str]())),
    )


def time_left(seconds: float, share: float) -> str:
    """About how long the rest takes if the *share* that is done took so many *seconds*; nothing after a moment."""
    if seconds < MOMENT or not share:
        return ""
    left = seconds * (1 - share) / share
    return f", about {left / 60:.0f} min left" if left >= 90 else f", about {left:.0f} s left"


def _end_with_parent() -> None:
    """Standard input is closed when the crawl's process is gone."""
    sys.stdin.read()
    os._exit(1)


def main() -> None:
    """Align the crawl that the first line of standard input names."""
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    settings = Settings(request["settings"])
    pairs = LanguagePairs.parse(request["pair"], Options.of(settings).equivalent_languages)
    _say(_align(Path(request["folder"]), pairs, settings))


if __name__ == "__main__":
    main()
