"""``scrapy review DIR``: fill in the sheet of a review in a browser, and the precision that it shows."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from bilingual_crawler.commands import Tool, in_one_line, refuse_unknown
from bilingual_crawler.options import usage_error, wrong
from bilingual_crawler.reporting.review import Sheet, SheetError, count_judged, read_judged, sheet_folders
from bilingual_crawler.storage.files import FolderLock, LockedError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


class Command(Tool, ScrapyCommand):
    """Print the precision that ``review.tsv`` in the folder of ``scrapy align --review`` shows, with an interval.

    With ``--browse``, serve its pairs to a browser instead, whose buttons write the sheet.
    """

    def syntax(self) -> str:
        return "DIR [--browse]"

    def short_desc(self) -> str:
        return "Judge the pairs of a review, and print the precision by the filled sheet"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--browse", action="store_true", help="judge the pairs one by one in a browser")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        refuse_unknown(args)
        if len(args) != 1:
            raise UsageError
        folders = sheet_folders(Path(args[0]))
        with in_one_line(SheetError, out=Path(args[0])):
            try:
                if opts.browse:
                    self._browse(folders)
                else:
                    _print_precision(folders)
            except FileNotFoundError as error:
                why = f"{error.strerror}; give the folder of scrapy align --review"
                raise usage_error(f"{error.filename}: {why}") from None

    def _browse(self, folders: Sequence[Path]) -> None:
        from bilingual_crawler.reporting.review_pages import serve

        with ExitStack() as stack:
            for folder in folders:
                Sheet(folder)
                try:
                    stack.enter_context(FolderLock(folder))
                except LockedError as error:
                    raise wrong("DIR", folder, f"{error}; end the other review first") from None
            serve(folders, lambda url: print(f"Judge the pairs at {url} (Ctrl-C ends)", flush=True))


def _print_precision(folders: Sequence[Path]) -> None:
    sheets = {folder: count_judged(Sheet(folder).rows) for folder in folders}
    if not any(sheets.values()):
        read_judged(folders[0])  # raises SheetError
    for folder, judged in sheets.items():
        languages = f"{folder.name} " if len(sheets) > 1 else ""
        for one in judged or ("pairs: nothing is judged",):
            print(f"{languages}{one}")
