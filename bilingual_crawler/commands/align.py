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

from bilingual_crawler.archive import ArchiveError
from bilingual_crawler.languages import LanguageError, LanguagePair
from bilingual_crawler.pairing.tracker import Pair
from bilingual_crawler.reporting.records import tsv_line

if TYPE_CHECKING:
    import argparse

METHODS = ("auto", "url", "content", "structure")


class Command(ScrapyCommand):
    """Pair documents one-to-one inside each registered domain and write ``pairs.tsv``."""

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "INPUT… --pair eng-mlt [options]"

    def short_desc(self) -> str:
        return "Find the documents that are translations of each other"

    def long_desc(self) -> str:
        return (
            "INPUT is the output folder of a crawl, a WARC file, a folder of WARC files, or a frozen site. Writes the"
            " pairs, best first inside each registered domain, with the columns url_a, url_b, score (0 to 1) and"
            " method (the strongest evidence)."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--pair", required=True, help="the two languages, such as eng-mlt")
        add("--method", choices=METHODS, default="auto", help="what speaks for a pair (%(default)s)")
        add("--out", type=Path, default=Path("pairs.tsv"), help="output file (%(default)s)")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args:
            raise UsageError
        assert self.settings
        try:
            pair = LanguagePair.parse(opts.pair, self.settings.getlist("BILINGUAL_EQUIVALENT_LANGUAGES"))
            self._align(list(map(Path, args)), pair, opts.method, opts.out)
        except (ArchiveError, LanguageError) as error:
            raise UsageError(str(error), print_help=False) from None

    def _align(self, paths: list[Path], pair: LanguagePair, name: str, out: Path) -> None:
        # every scrapy command imports this module
        from bilingual_crawler.pairing.align import align, read_corpus
        from bilingual_crawler.pairing.methods import METHODS as SCORERS

        console = Console()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        count = 0
        with ExitStack() as stack:
            progress = stack.enter_context(Progress(*columns, console=console))
            reading = progress.add_task("reading", total=None)
            corpus = read_corpus(paths, pair, lambda: progress.advance(reading))
            aligning = progress.add_task("aligning", total=len(corpus))
            file = stack.enter_context(out.open("w", encoding="utf-8", errors="surrogatepass"))
            file.write(tsv_line([field.name for field in fields(Pair)]))
            for alignment in align(corpus, SCORERS[name]):
                file.writelines(tsv_line(astuple(found)) for found in alignment.pairs)
                count += len(alignment.pairs)
                progress.advance(aligning, 2 * len(alignment.pairs) + len(alignment.unpaired))
        documents = ", ".join(f"{corpus.languages[language]} {language}" for language in (pair.a, pair.b))
        console.print(f"{count} pairs of {documents} documents in {out}", highlight=False)
