"""``scrapy align INPUT…``: find the documents that are translations of each other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn
from scrapy.commands import ScrapyCommand
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from bilingual_crawler import noun
from bilingual_crawler.commands import FORMATS, PROGRESS, Tool, in_one_line, read_formats
from bilingual_crawler.encoders import EncoderError
from bilingual_crawler.languages.codes import LanguageError, LanguagePair, language_name
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.options import EDITIONS, Options, check_folder, each, plugin, read_value, usage_error, wrong
from bilingual_crawler.pages.detectors.base import keep_in
from bilingual_crawler.pages.language import Detection, LanguageDetectorError
from bilingual_crawler.pairing.model import Alignment, pairs_of_others, read_pairs, replace_pairs, replace_unpaired
from bilingual_crawler.plugins import ALIGNMENT_METHODS, SENTENCE_FILTERS
from bilingual_crawler.reporting.results import ResultsError, check_tables, detectors_of, pairs_of, read_summary
from bilingual_crawler.reporting.review import SheetError
from bilingual_crawler.scoring.models import ModelError
from bilingual_crawler.storage.records import PAIRS, SUMMARY, UNPAIRED, columns_of
from bilingual_crawler.storage.warc import ArchiveError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from scrapy.exceptions import UsageError

    from bilingual_crawler.alignment.driver import MainText
    from bilingual_crawler.items import Pair


class Command(Tool, ScrapyCommand):
    arguments = "INPUT… [--pair eng-mlt] [options]"
    purpose = "Find the documents that are translations of each other"
    description = (
        "INPUT is the output folder of a crawl, a WARC or WET file, a folder of them, a frozen site, or a"
        " .jsonl file of texts with the keys url and text. Writes the pairs, best first inside each registered"
        " domain, with the columns url_a, url_b, score (0 to 1), method (the strongest evidence) and pair (the"
        " languages). Pairs of other languages that are in the file stay there. With --bitext also aligns"
        " their sentences, and writes those that are good enough to train a translation model in the formats"
        " of other tools. If INPUT is a crawl that has aligned its documents at its end, its pairs are taken,"
        " unless --method, --editions, --labels or -s BILINGUAL_MIN_SCORE is given."
    )

    def add(self, option: Callable[..., object]) -> None:
        words = "the two languages, such as eng-mlt, or pairs of languages: eng-isl,eng-dan (those of the crawl)"
        option("--pair", "--pairs", help=words)
        option("--method", help=f"kind of evidence: {', '.join(ALIGNMENT_METHODS.built_in)} (auto)")
        words = "of several editions of a page, such as British and American English (best)"
        option("--editions", choices=EDITIONS, help=words)
        option("--out", type=Path, default=Path("pairs.tsv"), help="output file (%(default)s)")
        option("--bitext", type=Path, metavar="DIR", help="align sentences too, and write them into this folder")
        option("--review", type=Path, metavar="DIR", help="write a sample of the pairs there for a human check")
        words = "learn from the filled sheets of a review: pairs, scores and threshold of these sites"
        option("--labels", type=Path, metavar="DIR|SHEET", help=words)
        words = "put placeholders for e-mail addresses, telephone and account numbers (BILINGUAL_MASK_PERSONAL)"
        option("--mask-personal", action="store_true", help=words)
        option("--formats", help=FORMATS)
        option("--filters", help="with --bitext, classes of sentence filters (BILINGUAL_SENTENCE_FILTERS)")

    def work(self, inputs: list[str], opts: Namespace) -> None:
        errors = ArchiveError, LanguageError, LanguageDetectorError, ModelError, EncoderError, ResultsError, SheetError
        with in_one_line(*errors, out=opts.out):
            options = Options.of(self.settings)
            if opts.method is not None:
                read_value("--method", opts.method, plugin(ALIGNMENT_METHODS))
            if opts.filters and not (opts.bitext or opts.review):
                raise wrong("--filters", opts.filters, "give a folder for the sentences, too: --bitext DIR")
            if opts.filters is not None:
                filters = read_value("--filters", opts.filters, each(plugin(SENTENCE_FILTERS)))
                options = replace(options, sentence_filters=filters)
            options = replace(options, mask_personal=opts.mask_personal or options.mask_personal)
            paths = list(map(Path, inputs))
            if missing := next((path for path in paths if not path.exists()), None):
                raise wrong("INPUT", missing, "there is no such file or folder")
            pairs = LanguagePairs.parse(opts.pair, options.equivalent_languages) if opts.pair else _pairs_of(paths)
            _align(paths, pairs, self.settings, options, opts)


def _align(paths: list[Path], pairs: LanguagePairs, settings: BaseSettings, options: Options, opts: Namespace) -> None:
    """Align *paths*, or take the pairs that the only one, a crawl, has found at its end."""
    # every scrapy command imports this module
    from bilingual_crawler.alignment.driver import AlignedDocuments, open_bitext
    from bilingual_crawler.pairing.align import align, as_aligned, domains, read_corpus
    from bilingual_crawler.pairing.methods import encoder_of, method_of
    from bilingual_crawler.pairing.refit import RefittedMethod
    from bilingual_crawler.reporting.review import Review, read_labels

    crawls = _crawls(paths)
    used = {folder: detectors_of(read_summary(folder)) for folder in crawls}
    others = [folder for folder in crawls if used[folder] != options.detectors]
    # Scrapy's -s
    scored = settings.getpriority("BILINGUAL_MIN_SCORE") == SETTINGS_PRIORITIES["cmdline"]
    anew = opts.method or opts.editions or opts.labels or scored or others or paths != crawls[:1]
    keep_in(options.cache_dir)
    detection = Detection.for_pairs(options.detectors, pairs)
    aligned = None if anew or not _is_aligned(paths[0], pairs) else paths[0]
    try:
        labels = read_labels(opts.labels) if opts.labels else {}
    except FileNotFoundError as error:
        why = f"{error.strerror}; give the folder of scrapy align --review"
        raise wrong("--labels", opts.labels, why) from None
    formats = read_formats(opts.formats, opts.bitext)
    folders = _check_outputs(opts, pairs)
    kept = _kept(opts.out, pairs)
    in_crawl = not aligned and opts.out.name == PAIRS and any(map(opts.out.parent.samefile, crawls))
    if in_crawl:
        check_tables(opts.out.parent, pairs)
    method = method_of(opts.method or "auto", settings)
    sentences = opts.bitext or opts.review
    encoder = encoder_of(settings) if sentences else None
    console = Console(highlight=False)
    with Progress(*PROGRESS[:-1], TimeElapsedColumn(), console=console) as progress:
        reading = progress.add_task("reading", total=None)
        corpus = read_corpus(paths, pairs, lambda: progress.advance(reading), options.documents, detection)
        read = int(progress.tasks[reading].completed)
        if not len(corpus):
            raise _nothing(paths, pairs, read, corpus.unreadable)
        if labels:
            corpus.label(labels)
            threshold = options.min_score if scored else None
            method = RefittedMethod(method, domains(corpus, labelled=True), threshold)
        done, aligning = 0, progress.add_task("aligning", total=len(corpus) * len(pairs))
        reviews = {pair: Review(pair) for pair in pairs}
        samples = {pair: review.sentences for pair, review in reviews.items()} if opts.review else None
        asked = pairs if sentences else ()
        bitext = open_bitext(asked, detection, options, encoder, formats, opts.bitext, samples)

        def show(group: tuple[str, ...], share: float) -> None:
            progress.update(aligning, completed=done + share * corpus.size(group))

        def on_group(pair: LanguagePair, alignment: Alignment, main: MainText) -> None:
            nonlocal done
            reviews[pair].add(alignment, main)
            done += corpus.size(alignment.group)
            progress.update(aligning, completed=done)

        editions = opts.editions or "best"
        results = as_aligned(corpus, aligned) if aligned else align(corpus, method, show, editions)
        found = AlignedDocuments(results, options, bitext.get, on_group)
        counts = {pair: producer.close() for pair, producer in bitext.items()}
        replace_pairs(opts.out, found.pairs, pairs)
        if in_crawl:
            replace_unpaired(opts.out.with_name(UNPAIRED), found.unpaired, pairs)
    # before anything is printed, which ends the command if the reader of a pipe has gone
    for pair, folder in folders.items():
        reviews[pair].write(folder)
    if isinstance(method, RefittedMethod):
        learnt = f"learnt from {method.learnt} of {len(labels)} labelled pairs"
        console.print(f"{learnt}: a pair needs a score of {method.threshold:.2f}")
    if aligned:
        console.print(f"the crawl has aligned its documents; its pairs are taken: {aligned / PAIRS}")
    if opts.bitext and encoder is None:
        console.print("no encoder: sentences are compared by lengths, numbers and words")
    if corpus.unreadable:
        console.print(f"left out: {_listed(corpus.unreadable)}")
    for pair, review in reviews.items():
        documents = ", ".join(f"{corpus.languages[language]} {language}" for language in (pair.a, pair.b))
        number = review.methods.total()
        console.print(f"{number} {noun(number, 'pair')} of {documents} documents in {opts.out}")
        if missing := [name for name in (pair.a, pair.b) if not corpus.languages[name]]:
            there = corpus.languages + corpus.others
            listed = Counter({language_name(name) if name else "in others": count for name, count in there.items()})
            console.print(f"no page is in {' or '.join(map(language_name, missing))}; there are: {_listed(listed)}")
        for title, by_name in (("pairs by method", review.methods), ("unpaired documents", review.unpaired)):
            if by_name:
                console.print(f"{title}: {_listed(by_name)}")
        if opts.bitext:
            dropped = f" (dropped: {_listed(Counter(counts[pair].dropped))})" if counts[pair].dropped else ""
            console.print(f"{counts[pair].kept} of {counts[pair].aligned} sentence pairs in {opts.bitext}{dropped}")
    if kept:
        stay = noun(len(kept), "pair of other languages stays", "pairs of other languages stay")
        console.print(f"{len(kept)} {stay} in {opts.out}")
    for folder in others:
        said = f"{folder} was crawled with {Detection(used[folder])}; its pages were read again with {detection}"
        console.print(said, soft_wrap=True)


def _nothing(paths: list[Path], pairs: LanguagePairs, read: int, unreadable: Counter[str]) -> UsageError:
    """The error for inputs of *read* pages without a document."""
    left_out = f", left out: {_listed(unreadable)}" if unreadable else ""
    why = f"holds no page and no text{left_out}; give the folder of a crawl, WARC files or JSON Lines"
    if read:
        names = " or ".join(map(language_name, pairs.languages))
        why = f"none of {read} pages is in {names}{left_out}; give the --pair of its languages"
    return wrong("INPUT", " ".join(map(str, paths)), why)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.most_common())


def _kept(out: Path, pairs: LanguagePairs) -> list[Pair]:
    """The pairs that the file *out* has of other languages; UsageError if it is no table of pairs."""
    try:
        columns = set(columns_of(out))
        if columns and not columns >= {"url_a", "url_b", "score", "method"}:
            raise KeyError("its first line")
        return pairs_of_others(out, pairs)
    except (KeyError, ValueError):
        raise wrong("--out", out, "is there, and no table of pairs; give another name") from None


def _crawls(paths: list[Path]) -> list[Path]:
    return [path for path in paths if (path / SUMMARY).exists()]


def _pairs_of(paths: list[Path]) -> LanguagePairs:
    """The pairs of the crawls among *paths*; UsageError unless all have the same."""
    given = (pairs_of(read_summary(folder), folder) for folder in _crawls(paths))
    pairs = {frozenset(map(str, found)): found for found in given}
    if len(pairs) != 1:
        several = f"the crawls have the pairs {' and '.join(sorted(map(str, pairs.values())))}"
        why = several if pairs else "no INPUT is the folder of a crawl"
        raise usage_error(f"--pair is missing, and {why}: give the two languages, such as eng-mlt")
    return pairs.popitem()[1]


def _is_aligned(folder: Path, pairs: LanguagePairs) -> bool:
    """Whether the crawl in *folder* was for *pairs*, and maybe more, and has aligned its documents at its end.

    Documents in a language that counted as one of *pairs* then, and does not now, are not read.
    """
    summary = read_summary(folder)
    counted = {str(pair): pair.languages for pair in pairs_of(summary, folder)}
    asked = all(str(pair) in counted and counted[str(pair)] <= pair.languages for pair in pairs)
    if not (summary.get("aligned") and asked and (folder / PAIRS).exists()):
        return False
    try:
        list(read_pairs(folder / PAIRS, pairs))
    except (KeyError, ValueError) as error:
        why = f"{error}; correct it, or align anew with --method auto"
        raise ResultsError(f"{folder / PAIRS} cannot be read: {why}") from None
    return True


def _check_outputs(opts: Namespace, pairs: LanguagePairs) -> dict[LanguagePair, Path]:
    """The folder of each review; UsageError for outputs that could not be written, before hours of reading."""
    from bilingual_crawler.reporting.review import check_sheet

    if not opts.out.parent.is_dir():
        raise wrong("--out", opts.out, f"there is no folder {opts.out.parent}")
    if opts.out.is_dir():
        raise wrong("--out", opts.out, "is a folder; give the name of a file")
    check_folder("--out", opts.out.parent)
    for option, folder in (("--bitext", opts.bitext), ("--review", opts.review)):
        if folder is not None:
            check_folder(option, folder)
    folders = {pair: opts.review / str(pair) if len(pairs) > 1 else opts.review for pair in pairs if opts.review}
    for folder in folders.values():
        check_sheet(folder)
    return folders
