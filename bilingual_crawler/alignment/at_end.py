"""The alignment of all documents of a crawl at its end, which can be stopped; of many in a process of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shlex
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING

import msgspec
from scrapy.settings import BaseSettings, Settings

from bilingual_crawler import collect_rarely
from bilingual_crawler.bitext.exports import Export
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.options import Options
from bilingual_crawler.pages.language import Detection
from bilingual_crawler.pages.sandbox import pool as sandbox
from bilingual_crawler.pages.sandbox.pool import command, environment
from bilingual_crawler.pairing.model import Outcome, outcomes, replace_pairs, replace_unpaired
from bilingual_crawler.storage.records import BITEXT, PAIRS, UNPAIRED

if TYPE_CHECKING:
    from collections.abc import Callable

    from bilingual_crawler.encoders.base import Encoder
    from bilingual_crawler.pairing.corpus import Corpus

logger = logging.getLogger(__name__)

STOP_CHECK_SECONDS = 0.2
MOMENT = 5.0  # seconds of aligning before the remaining time is estimated
MAX_DOCUMENTS, MAX_CHARACTERS = 1_000, 8_000_000
"""Of the largest crawl that is small: its alignment is a matter of seconds and 100 MB, and takes no process of its own,
which would start for .6 s and 100 MB."""


@dataclass(frozen=True, slots=True)
class AlignedCrawl:
    """Counts of the alignment of a crawl."""

    outcomes: dict[str, Outcome]
    """By language pair, such as ``eng-mlt``."""
    paired: int
    unreadable: dict[str, int]
    """Damaged records and pages that break a limit, by kind."""
    bitext: dict[str, int]
    """With bitext: ``documents`` (document pairs), ``aligned`` and ``kept`` (sentence pairs)."""
    dropped: dict[str, int]
    """Sentence pairs that are not in the bitext, by reason."""


class AlignmentError(Exception):
    """The alignment has failed; the process that aligns says why on its standard error."""


def outputs_without_alignment(folder: Path, options: Options) -> dict[str, str]:
    """The outputs that the crawl in *folder* lacks until it is aligned, each with the command that makes it."""
    parts = ["scrapy", "align", folder, "--out", folder / PAIRS]
    if options.align != "auto":
        parts += ["--method", options.align]
    if options.bitext:
        parts += ["--bitext", folder / BITEXT, "--formats", ",".join(options.bitext)]
    return dict.fromkeys([PAIRS, *([f"{BITEXT}/"] if options.bitext else [])], shlex.join(map(str, parts)))


class _Stopped(Exception):
    """The crawl stops while this process aligns."""


class _NeedsProcess(Exception):
    """The alignment needs an encoder, which takes memory and time."""


async def align_crawl(
    folder: Path,
    pairs: LanguagePairs,
    detection: Detection,
    settings: BaseSettings,
    stopped: Callable[[], bool],
    on_progress: Callable[[str], None],
    *,
    small: bool = False,
) -> AlignedCrawl | None:
    """Align all documents of the crawl in *folder*, and replace its ``pairs.tsv`` and ``unpaired.tsv``.

    Returns None, with all files as before, once *stopped* returns true. The method is ``BILINGUAL_ALIGN``. The folder
    ``bitext`` gets the sentence pairs in the formats of ``BILINGUAL_BITEXT``. *on_progress* takes one line of progress.
    *detection* reads the pages of which the crawl has kept no profile, for which helper processes start. A *small*
    crawl is aligned in this process, unless that takes an encoder, others in one of their own. Raises AlignmentError.
    """
    # the alignment has helper processes of its own, and room for those of both there may not be
    await asyncio.to_thread(sandbox.close)
    loop = asyncio.get_running_loop()

    def send(phase: str) -> None:
        if stopped():
            raise _Stopped
        loop.call_soon_threadsafe(on_progress, phase)

    def load(encoder: str, _: Path) -> Encoder:
        raise _NeedsProcess(encoder)

    if small and not Options.of(settings).bitext:
        try:
            return await asyncio.to_thread(_align, folder, pairs, detection, settings, send, load)
        except _NeedsProcess:
            pass
        except _Stopped:
            return None
        except Exception as error:
            logger.exception("The alignment has failed", exc_info=error)
            raise AlignmentError(f"the alignment failed: {error}") from error
    request = {
        "folder": str(folder),
        "pair": str(pairs),
        "detection": msgspec.to_builtins(detection),
        "settings": {name: settings.get(name) for name in settings if name.startswith("BILINGUAL_")},
    }
    process = await asyncio.create_subprocess_exec(
        *command(__name__), stdin=PIPE, stdout=PIPE, env=environment(), start_new_session=True
    )
    assert process.stdin
    # a settings module may hold a path
    process.stdin.write(json.dumps(request, default=str).encode() + b"\n")
    listening = asyncio.ensure_future(_read_messages(process, on_progress))
    while not listening.done():
        await asyncio.wait((listening,), timeout=STOP_CHECK_SECONDS)
        if stopped() and process.returncode is None:
            process.kill()
    status = await process.wait()
    aligned = listening.result()
    if aligned is None:
        Export.remove_parts(folder / BITEXT)
    if aligned is None and not stopped():
        killed = f"was killed by signal {-status}, perhaps for lack of memory"
        raise AlignmentError(f"the alignment {killed if status < 0 else f'ended with exit status {status}'}")
    return aligned


async def _read_messages(
    process: asyncio.subprocess.Process, on_progress: Callable[[str], None]
) -> AlignedCrawl | None:
    """Return the last message of *process*; None if it ends without it."""
    assert process.stdout
    async for line in process.stdout:
        message = msgspec.json.decode(line, type=AlignedCrawl | str)
        if isinstance(message, AlignedCrawl):
            return message
        on_progress(message)
    return None


def _send(message: AlignedCrawl | str) -> None:
    print(msgspec.json.encode(message).decode(), flush=True)


def _align(
    folder: Path,
    pairs: LanguagePairs,
    detection: Detection,
    settings: BaseSettings,
    send: Callable[[str], None],
    load: Callable[[str, Path], Encoder],
) -> AlignedCrawl:
    """Align; *send* takes one line of progress and may raise an exception, *load* loads the encoder."""
    # they take their time, and a crawl imports this module even if it aligns nothing
    from bilingual_crawler.alignment.driver import AlignedDocuments, open_bitext
    from bilingual_crawler.pairing.align import align, read_corpus
    from bilingual_crawler.pairing.methods import encoder_of, method_of

    options = Options.of(settings)
    progress = _Progress(send)
    corpus = read_corpus([folder], pairs, progress.on_page, detection=detection)
    encoder = encoder_of(settings) if options.bitext else None
    asked = pairs if options.bitext else ()
    bitext = open_bitext(asked, detection, options, encoder, options.bitext, folder / BITEXT)
    progress.begin(corpus)
    results = align(corpus, method_of(options.align, settings, load), on_progress=progress.on_share)
    found = AlignedDocuments(results, options, bitext.get, lambda pair, done, main: progress.on_group(done.group))
    counts = [producer.close() for producer in bitext.values()]
    replace_pairs(folder / PAIRS, sorted(found.pairs, key=lambda one: -one.score), pairs)
    replace_unpaired(folder / UNPAIRED, found.unpaired, pairs)
    reasons = ((one.pair, one.reason) for one in found.unpaired)
    return AlignedCrawl(
        outcomes(map(str, pairs), (one.pair for one in found.pairs), reasons, found.refused),
        len({url for one in found.pairs for url in (one.url_a, one.url_b)}),
        dict(corpus.unreadable),
        dict(sum((Counter(documents=c.documents, aligned=c.aligned, kept=c.kept) for c in counts), Counter[str]())),
        dict(sum((Counter(c.dropped) for c in counts), Counter[str]()).most_common()),
    )


class _Progress:
    """Sends the number of documents read, then of documents aligned with the remaining time."""

    def __init__(self, send: Callable[[str], None]) -> None:
        self._send = send
        self._read = self._done = self._groups_done = 0

    def on_page(self) -> None:
        self._read += 1
        if self._read % 100 == 0:
            self._send(f"reading document {self._read}")

    def begin(self, corpus: Corpus) -> None:
        """All documents are read: begin to align *corpus*."""
        self._corpus = corpus
        self._documents = len(corpus) * len(corpus.pairs)
        self._groups = len(corpus.groups()) * len(corpus.pairs)
        self._began = time.monotonic()

    def on_share(self, group: tuple[str, ...], share: float) -> None:
        """The *share* (0 to 1) of the work on *group* is done."""
        done = self._done + share * self._corpus.size(group)
        left = time_left(time.monotonic() - self._began, done / self._documents)
        site = f"site {self._groups_done + 1} of {self._groups}"
        self._send(f"aligning {site}, {round(done)} of {self._documents} documents{left}")

    def on_group(self, group: tuple[str, ...]) -> None:
        self._done += self._corpus.size(group)
        self._groups_done += 1


def time_left(seconds: float, share: float) -> str:
    """Estimate the remaining time, as text: *share* (0 to 1) took *seconds*. Empty before there is enough to go by."""
    if seconds < MOMENT or not share:
        return ""
    left = seconds * (1 - share) / share
    return f", about {left / 60:.0f} min left" if left >= 90 else f", about {left:.0f} s left"


def _end_with_parent() -> None:
    """End this process when standard input closes, which happens when the crawl's process ends."""
    sys.stdin.read()
    os._exit(1)


def main() -> None:
    """Align the crawl named by the first line of standard input."""
    collect_rarely()
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    settings = Settings(request["settings"])
    pairs = LanguagePairs.parse(request["pair"], Options.of(settings).equivalent_languages)
    # an encoder takes its time
    from bilingual_crawler.encoders.base import load_encoder

    detection = msgspec.convert(request["detection"], Detection)
    _send(_align(Path(request["folder"]), pairs, detection, settings, _send, load_encoder))


if __name__ == "__main__":
    main()
