"""``scrapy align INPUT…``: find the documents that are translations of each other."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import astuple, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from bilingual_crawler.alignment.documents.model import EncoderError, Pair, Unpaired, pairs_of_others, replace_unpaired
from bilingual_crawler.commands import PROJECT_SETTINGS, adapt, refuse_unknown
from bilingual_crawler.languages.codes import LanguageError
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.options import (
    ALIGN_METHODS,
    BITEXT_FORMATS,
    EDITIONS,
    USUAL_FORMATS,
    Options,
    bitext_format,
    check_folder,
    each,
    wrong,
)
from bilingual_crawler.pages.language import Detection, LanguageDetectorError
from bilingual_crawler.reporting.results import ResultsError, detectors_of, pairs_of, read_summary
from bilingual_crawler.scoring.models import ModelError
from bilingual_crawler.storage.files import replacing
from bilingual_crawler.storage.records import PAIRS, SUMMARY, UNPAIRED, tsv_line
from bilingual_crawler.storage.warc import ArchiveError

if TYPE_CHECKING:
    import argparse


class Command(ScrapyCommand):
    """Pair documents one-to-one inside each registered domain and write ``pairs.tsv``."""

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = PROJECT_SETTINGS | {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "INPUT… [--pair eng-mlt] [options]"

    def short_desc(self) -> str:
        return "Find the documents that are translations of each other"

    def long_desc(self) -> str:
        return (
            "INPUT is the output folder of a crawl, a WARC or WET file, a folder of them, a frozen site, or a"
            " .jsonl file of texts with the keys url and text. Writes the pairs, best first inside each registered"
            " domain, with the columns url_a, url_b, score (0 to 1), method (the strongest evidence) and pair (the"
            " languages). Pairs of other languages that are in the file stay there. With --bitext also aligns"
            " their sentences, and writes those that are good enough to train a translation model in the formats"
            " of other tools. If INPUT is a crawl that has aligned its documents at its end, its pairs are taken,"
            " unless --method, --matching or --editions is given."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        adapt(parser)
        add = parser.add_argument
        add(
            "--pair",
            "--pairs",
            help="the two languages, such as eng-mlt, or pairs of languages: eng-isl,eng-dan (those of the crawl)",
        )
        add("--method", choices=ALIGN_METHODS, help="kind of evidence (auto)")
        add("--matching", choices=("greedy", "optimal"), help="best first, or the best sum (greedy)")
        add(
            "--editions",
            choices=EDITIONS,
            help="of several editions of a page, such as British and American English (best)",
        )
        add("--out", type=Path, default=Path("pairs.tsv"), help="output file (%(default)s)")
        add("--bitext", type=Path, metavar="DIR", help="align sentences too, and write them into this folder")
        add("--review", type=Path, metavar="DIR", help="write a sample of the pairs there for a human check")
        add("--formats", default=",".join(USUAL_FORMATS), help=f"any of {', '.join(BITEXT_FORMATS)} (%(default)s)")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        refuse_unknown(args)
        if not args:
            raise UsageError
        assert self.settings
        try:
            options = Options.of(self.settings)
            paths = list(map(Path, args))
            if missing := next((path for path in paths if not path.exists()), None):
                raise wrong("INPUT", missing, "there is no such file or folder")
            crawls = [path for path in paths if (path / SUMMARY).exists()]
            pairs = LanguagePairs.parse(opts.pair, options.equivalent_languages) if opts.pair else _pairs_of(crawls)
            used = {folder: detectors_of(read_summary(folder)) for folder in crawls}
            others = [folder for folder in crawls if used[folder] != options.detectors]
            anew = opts.method or opts.matching or opts.editions or others or paths != crawls[:1]
            detection = Detection.of(options.detectors, pairs)
            self._align(paths, pairs, detection, opts, None if anew or not _is_aligned(paths[0], pairs) else paths[0])
            for folder in others:
                before = Detection(used[folder])
                said = f"{folder} was crawled with {before}; its pages were read again with {detection}"
                Console().print(said, highlight=False, soft_wrap=True)
        except (ArchiveError, LanguageError, LanguageDetectorError, ModelError, EncoderError, ResultsError) as error:
            raise UsageError(str(error), print_help=False) from None
        except OSError as error:
            # errors that no check at the start can find: a full disk, a folder that was removed
            raise UsageError(f"{error.filename or opts.out}: {error.strerror}", print_help=False) from None

    def _align(
        self,
        paths: list[Path],
        pairs: LanguagePairs,
        detection: Detection,
        opts: argparse.Namespace,
        aligned: Path | None,
    ) -> None:
        """Align *paths*, or take the pairs of the crawl in the folder *aligned*."""
        # every scrapy command imports this module
        from bilingual_crawler.alignment.documents.align import align, as_aligned, read_corpus
        from bilingual_crawler.alignment.documents.matching import MATCHINGS
        from bilingual_crawler.alignment.documents.methods import encoder_of, method_of
        from bilingual_crawler.alignment.sentences.exports import open_exports
        from bilingual_crawler.alignment.sentences.produce import BitextProducer
        from bilingual_crawler.reporting.review import Review, check_sheet

        try:
            formats = each(bitext_format)(opts.formats)
        except ValueError as error:
            raise wrong("--formats", opts.formats, str(error)) from None
        _check_outputs(opts)
        reviewed = {pair: opts.review / str(pair) if len(pairs) > 1 else opts.review for pair in pairs if opts.review}
        for folder in reviewed.values():
            check_sheet(folder)
        assert self.settings
        kept = _kept(opts.out, pairs)
        method = method_of(opts.method or "auto", self.settings)
        encoder = encoder_of(self.settings) if opts.bitext or opts.review else None
        console = Console()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with ExitStack() as stack:
            progress = stack.enter_context(Progress(*columns, console=console))
            reading = progress.add_task("reading", total=None)
            formats_read = Options.of(self.settings).documents
            corpus = read_corpus(paths, pairs, lambda: progress.advance(reading), formats_read, detection)
            aligning = progress.add_task("aligning", total=len(corpus) * len(pairs))
            reviews = {pair: Review(pair) for pair in pairs}
            bitexts = {
                pair: BitextProducer(
                    pair,
                    detection,
                    [
                        *(open_exports(formats, opts.bitext, pair) if opts.bitext else []),
                        *([reviews[pair].sentences] if opts.review else []),
                    ],
                    encoder,
                )
                for pair in pairs
            }
            # the old file may be an input
            new = stack.enter_context(replacing(opts.out))
            file = stack.enter_context(new.open("w", encoding="utf-8", errors="surrogatepass"))
            file.write(tsv_line([field.name for field in fields(Pair)]))
            done = 0
            unpaired: list[Unpaired] = []

            def on_progress(group: tuple[str, ...], share: float) -> None:
                progress.update(aligning, completed=done + share * corpus.size(group))

            matching, editions = MATCHINGS[opts.matching or "greedy"], opts.editions or "best"
            results = as_aligned(corpus, aligned) if aligned else align(corpus, method, matching, on_progress, editions)
            for domain, alignment in results:
                file.writelines(tsv_line(astuple(found)) for found in alignment.pairs)
                reviews[domain.pair].add(alignment, domain.main_text)
                unpaired += alignment.rows_of_unpaired(str(domain.pair))
                if opts.bitext or opts.review:
                    bitexts[domain.pair].add(alignment, domain.main_text)
                done += corpus.size(alignment.group)
                progress.update(aligning, completed=done)
                del domain  # otherwise two domains would be in memory at once
            for bitext in bitexts.values():
                bitext.close()
            file.writelines(tsv_line(astuple(found)) for found in kept)
        crawls = (path for path in paths if (path / SUMMARY).exists())
        if not aligned and opts.out.name == PAIRS and any(map(opts.out.parent.samefile, crawls)):
            replace_unpaired(opts.out.with_name(UNPAIRED), unpaired, pairs)
        # before anything is printed, which ends the command if the reader of a pipe has gone
        for pair, folder in reviewed.items():
            reviews[pair].write(folder)
        if aligned:
            console.print(
                f"the crawl has aligned its documents; its pairs are taken: {aligned / PAIRS}", highlight=False
            )
        if opts.bitext and encoder is None:
            console.print("no encoder: sentences are compared by lengths, numbers and words", highlight=False)
        if corpus.unreadable:
            listed = ", ".join(f"{number} {name}" for name, number in corpus.unreadable.most_common())
            console.print(f"left out: {listed}", highlight=False)
        for pair, review in reviews.items():
            documents = ", ".join(f"{corpus.languages[language]} {language}" for language in (pair.a, pair.b))
            console.print(f"{review.methods.total()} pairs of {documents} documents in {opts.out}", highlight=False)
            for title, counts in (
                ("pairs by method", review.methods),
                ("documents without a partner", review.unpaired),
            ):
                if counts:
                    listed = ", ".join(f"{number} {name}" for name, number in counts.most_common())
                    console.print(f"{title}: {listed}", highlight=False)
            if opts.bitext:
                bitext = bitexts[pair]
                dropped = ", ".join(f"{number} {reason}" for reason, number in bitext.dropped.most_common())
                console.print(
                    f"{bitext.counts['kept']} of {bitext.counts['aligned']} sentence pairs in {opts.bitext}"
                    + (f" (dropped: {dropped})" if dropped else ""),
                    highlight=False,
                )
        if kept:
            console.print(f"{len(kept)} pairs of other languages stay in {opts.out}", highlight=False)


def _kept(out: Path, pairs: LanguagePairs) -> list[Pair]:
    """The pairs that the file *out* has of other languages; UsageError if it is no table of pairs."""
    try:
        return pairs_of_others(out, pairs)
    except (KeyError, ValueError):
        raise wrong("--out", out, "is there, and no table of pairs; give another name") from None


def _pairs_of(crawls: list[Path]) -> LanguagePairs:
    """The pairs of the crawls in these folders; UsageError unless all have the same."""
    given = [pairs_of(read_summary(folder), folder) for folder in crawls]
    pairs = {frozenset(map(str, found)): found for found in given}
    if len(pairs) != 1:
        several = f"the crawls have the pairs {' and '.join(sorted(map(str, pairs.values())))}"
        why = several if pairs else "no INPUT is the folder of a crawl"
        raise UsageError(f"--pair is missing, and {why}: give the two languages, such as eng-mlt", print_help=False)
    return pairs.popitem()[1]


def _is_aligned(folder: Path, pairs: LanguagePairs) -> bool:
    """Whether the crawl in *folder* was for *pairs*, and maybe more, and has aligned its documents at its end."""
    summary = read_summary(folder)
    asked = set(map(str, pairs)) <= set(map(str, pairs_of(summary, folder)))
    return bool(summary.get("aligned")) and asked and (folder / PAIRS).exists()


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
