"""``bilingual-crawler corpus PAIR``: from seeds to a corpus, in one folder and by one command, which also resumes."""

import argparse
from pathlib import Path

from bilingual_crawler.commands import TOOL, crawl, refuse_unknown
from bilingual_crawler.crawl.context import job_in
from bilingual_crawler.options import USUAL_FORMATS, usage_error

SPIDER = "bilingual"


class Command(crawl.Command):
    """A crawl that writes bitext and monolingual files at its end, and whose job folder is in its outputs."""

    requires_project = False
    described = (SPIDER,)

    def short_desc(self) -> str:
        return "From seeds to a corpus: crawl, pair documents, align their sentences"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        called = f"{parser.prog if parser.prog == TOOL else 'scrapy'} corpus eng-mlt"
        parser.usage = f"{called} --seeds SEEDS --out DIR --contact ADDRESS [options]"
        parser.description = (
            "Crawl, pair the documents, align and clean their sentences. DIR gets pairs.tsv,\n"
            "report.html and bitext/, with the sentence pairs, the text of each language and\n"
            "a dataset card. The same command resumes after a stop."
        )
        example = "--seeds seeds.txt --out corpus --contact https://your.page/about-this-crawl"
        parser.epilog = f"example:\n  {called} {example}"

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        refuse_unknown(args)
        if len(args) > 1:
            raise usage_error(f"unexpected argument {args[1]}: give pairs separated by commas, addresses as --seeds")
        opts.spargs += [f"pair={pair}" for pair in args]
        given = dict(setting.split("=", 1) for setting in opts.set if "=" in setting)
        if not (out := given.get("BILINGUAL_OUTPUT_DIR")):
            raise usage_error("where to write? Give --out DIR; the same command resumes there")
        self.settings.set("JOBDIR", str(job_in(Path(out).expanduser())), "project")
        self.settings.set("BILINGUAL_BITEXT", [*USUAL_FORMATS, "monolingual"], "project")
        super().process_options([SPIDER], opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        super().run([SPIDER], opts)

    def _command(self, spider: str, given: list[str], *, tool: bool) -> list[str]:
        return [TOOL if tool else "scrapy", "corpus", *given]
