"""The console script ``bilingual-crawler``: the commands of the project in any folder."""

from __future__ import annotations

import argparse
import sys

from scrapy.cmdline import execute

from bilingual_crawler import __version__
from bilingual_crawler.commands import TOOL, adapt, project_settings

COMMANDS = {
    "corpus": (("corpus",), "from seeds to a corpus: crawl, pair documents, align their sentences"),
    "crawl": (("crawl", "bilingual"), "crawl sites for documents in two languages, or in several"),
    "discover": (("crawl", "discovery"), "find bilingual sites"),
    "align": (("align",), "pair the documents of crawls and archives, align their sentences"),
    "report": (("report",), "count the outputs of a crawl, and write its report"),
    "freeze": (("freeze",), "make frozen sites, which harvest reads, of finished crawls with an archive"),
    "review": (("review",), "judge a sample of pairs in a browser, or compute the precision from the sheet"),
    "mine": (("mine",), "find parallel documents in Common Crawl, or in many crawls"),
    "doctor": (("doctor",), "list the optional parts: installed or not, and what each brings"),
    "harvest": (("harvest",), "measure how early policies find the pairs of archived sites"),
}


def main() -> None:
    """Hand the command to Scrapy's command line, with its options."""
    described = "\n".join(f"  {name:<10}{does}" for name, (_, does) in COMMANDS.items())
    parser = argparse.ArgumentParser(TOOL, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.description = "Find parallel documents: the same page in two languages."
    parser.epilog = f"commands:\n{described}\n\n{TOOL} COMMAND --help shows its arguments and options."
    adapt(parser)
    parser.add_argument("--version", action="version", version=f"{TOOL} {__version__}")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of the commands below")
    parser.add_argument("options", nargs=argparse.REMAINDER, metavar="OPTIONS", help="its arguments and options")
    given = parser.parse_args(sys.argv[1:] or ["--help"])
    command, _ = COMMANDS[given.command]
    # Scrapy names the program in its messages by this
    sys.argv = [TOOL, *command, *given.options]
    settings = project_settings()
    settings.set("LOG_LEVEL", "WARNING", "project")
    execute(sys.argv, settings)


if __name__ == "__main__":
    main()
