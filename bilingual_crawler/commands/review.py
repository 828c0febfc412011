"""``scrapy review DIR``: the precision of an alignment, by the sheet that a human has filled in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from bilingual_crawler.commands import PROJECT_SETTINGS, adapt, refuse_unknown
from bilingual_crawler.reporting.review import SheetError, read_judged, sheet_folders

if TYPE_CHECKING:
    import argparse


class Command(ScrapyCommand):
    """Print the precision that ``review.tsv`` in the folder of ``scrapy align --review`` shows, with an interval."""

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = PROJECT_SETTINGS | {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "DIR"

    def short_desc(self) -> str:
        return "Read the filled sheet of a review and print the precision"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        adapt(parser)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        refuse_unknown(args)
        if len(args) != 1:
            raise UsageError
        try:
            sheets = {sheet: read_judged(sheet) for sheet in sheet_folders(Path(args[0]))}
        except SheetError as error:
            raise UsageError(str(error), print_help=False) from None
        except OSError as error:
            raise UsageError(
                f"{error.filename}: {error.strerror}; give the folder of scrapy align --review", print_help=False
            ) from None
        for folder, judged in sheets.items():
            languages = f"{folder.name} " if len(sheets) > 1 else ""
            for one in judged:
                low, high = one.interval
                print(
                    f"{languages}{one.kind} pairs: {one.right} of {one.judged} judged are translations, "
                    f"precision {one.precision:.3f}"
                    f" (95 % interval {low:.3f} to {high:.3f}); {one.drawn - one.judged} of the sheet are not judged"
                )
