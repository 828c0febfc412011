"""``scrapy align INPUT…``: find the documents that are translations of each other."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import astuple, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from bilingual_crawler.archive import ArchiveError
from bilingual_crawler.commands import PROJECT_SETTINGS
from bilingual_crawler.languages import LanguageError, LanguagePair
from bilingual_crawler.options import ALIGN_METHODS, Options, check_folder, wrong
from bilingual_crawler.pairing.documents import Pair
from bilingual_crawler.pairing.errors import EncoderError
from bilingual_crawler.records import tsv_line
from bilingual_crawler.scoring.models import ModelError

if TYPE_CHECKING:
    import argparse

FORMATS = ("bitextor", "tmx", "moses", "jsonl", "parquet")


class Command(ScrapyCommand):
    """Pair documents one-to-one inside each registered domain and write ``pairs.tsv``."""

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = PROJECT_SETTINGS | {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "INPUT… --pair eng-mlt [options]"

    def short_desc(self) -> str:
        return "Find the documents that are translations of each other"

    def long_desc(self) -> str:
        return (
            "INPUT is the output folder of a crawl, a WARC file, a folder of WARC files, or a frozen site. Writes the"
            " pairs, best first inside each registered domain, with the columns url_a, url_b, score (0 to 1) and"
            " method (the strongest evidence). With --bitext also aligns their sentences, and writes those that are"
            " good enough to train a translation model in the formats of other tools."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--pair", required=True, help="the two languages, such as eng-mlt")
        add("--method", choices=ALIGN_METHODS, default="auto", help="kind of evidence (%(default)s)")
        add(
            "--matching",
            choices=("greedy", "optimal"),
            default="greedy",
            help="best first, or the best sum (%(default)s)",
        )
        add("--out", type=Path, default=Path("pairs.tsv"), help="output file (%(default)s)")
        add("--bitext", type=Path, metavar="DIR", help="align sentences too, and write them into this folder")
        add("--review", type=Path, metavar="DIR", help="write a sample of the pairs there for a human check")
        add("--formats", default="bitextor,tmx,moses,jsonl", help=f"any of {', '.join(FORMATS)} (%(default)s)")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args:
            raise UsageError
        assert self.settings
        try:
            pair = LanguagePair.parse(opts.pair, Options.of(self.settings).equivalent_languages)
            self._align(list(map(Path, args)), pair, opts)
        except (ArchiveError, LanguageError, ModelError, EncoderError) as error:
            raise UsageError(str(error), print_help=False) from None
        except OSError as error:
            # errors that no check at the start can find: a full disk, a folder that was removed
            raise UsageError(f"{error.filename or opts.out}: {error.strerror}", print_help=False) from None

    def _align(self, paths: list[Path], pair: LanguagePair, opts: argparse.Namespace) -> None:
        # every scrapy command imports this module
        from bilingual_crawler.bitext.exports import EXPORTS
        from bilingual_crawler.bitext.produce import BitextProducer
        from bilingual_crawler.pairing.align import align, read_corpus
        from bilingual_crawler.pairing.matching import MATCHINGS
        from bilingual_crawler.pairing.methods import encoder_of, method_of
        from bilingual_crawler.reporting.review import Review

        formats = opts.formats.split(",")
        if unknown := sorted(set(formats) - set(FORMATS)):
            raise UsageError(f"--formats {','.join(unknown)}: choose from {', '.join(FORMATS)}", print_help=False)
        if opts.bitext and "parquet" in formats and not find_spec("pyarrow"):
            raise UsageError("--formats parquet needs pyarrow: pip install pyarrow", print_help=False)
        _check_outputs(opts)
        assert self.settings
        method = method_of(opts.method, self.settings)
        encoder = encoder_of(self.settings) if opts.bitext else None
        console = Console()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        count = 0
        with ExitStack() as stack:
            progress = stack.enter_context(Progress(*columns, console=console))
            reading = progress.add_task("reading", total=None)
            corpus = read_corpus(paths, pair, lambda: progress.advance(reading))
            aligning = progress.add_task("aligning", total=len(corpus))
            exports = [EXPORTS[name](opts.bitext, pair) for name in formats] if opts.bitext else []
            bitext = BitextProducer(pair, exports, encoder)
            review = Review(pair)
            file = stack.enter_context(opts.out.open("w", encoding="utf-8", errors="surrogatepass"))
            file.write(tsv_line([field.name for field in fields(Pair)]))
            done = 0

            def on_progress(domain: str, share: float) -> None:
                progress.update(aligning, completed=done + share * corpus.size(domain))

            for domain, alignment in align(corpus, method, MATCHINGS[opts.matching], on_progress):
                file.writelines(tsv_line(astuple(found)) for found in alignment.pairs)
                count += len(alignment.pairs)
                review.add(alignment, domain.main_text)
                if opts.bitext:
                    bitext.add(alignment, domain.main_text)
                done += corpus.size(alignment.domain)
                progress.update(aligning, completed=done)
                del domain  # otherwise two domains would be in memory at once
            bitext.close()
        documents = ", ".join(f"{corpus.languages[language]} {language}" for language in (pair.a, pair.b))
        console.print(f"{count} pairs of {documents} documents in {opts.out}", highlight=False)
        for title, counts in (("pairs by method", review.methods), ("documents without a partner", review.unpaired)):
            if counts:
                listed = ", ".join(f"{number} {name}" for name, number in counts.most_common())
                console.print(f"{title}: {listed}", highlight=False)
        if opts.review:
            review.write(opts.review)
        if opts.bitext:
            dropped = ", ".join(f"{number} {reason}" for reason, number in bitext.dropped.most_common())
            if encoder is None:
                console.print("no encoder: sentences are compared by lengths, numbers and words", highlight=False)
            console.print(
                f"{bitext.counts['kept']} of {bitext.counts['aligned']} sentence pairs in {opts.bitext}"
                + (f" (dropped: {dropped})" if dropped else ""),
                highlight=False,
            )


def _check_outputs(opts: argparse.Namespace) -> None:
    """Raise UsageError for outputs that could not be written, before hours of reading."""
    if not opts.out.parent.is_dir():
        raise wrong("--out", opts.out, f"there is no folder {opts.out.parent}")
    if opts.out.is_dir():
        raise wrong("--out", opts.out, "is a folder; give the name of a file")
    check_folder("--out", opts.out.parent)
    for option, folder in (("--bitext", opts.bitext), ("--review", opts.review)):
        if folder is not None:
            check_folder(option, folder)
