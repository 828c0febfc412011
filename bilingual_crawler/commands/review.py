"""``scrapy review DIR``: fill in the sheet of a review in a browser, and what filled sheets show."""

from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from bilingual_crawler.commands import Tool, in_one_line
from bilingual_crawler.options import usage_error, wrong
from bilingual_crawler.reporting.review import FILL_IN, Sheet, SheetError, agreements, count_judged, sheet_folders
from bilingual_crawler.storage.files import FolderLock, LockedError


class Command(Tool, ScrapyCommand):
    """Print the precision that filled sheets of ``scrapy align --review`` show, with an interval, and how far several
    agree; or serve the pairs to a browser, whose buttons write the sheet.
    """

    arguments = "DIR|SHEET… [--browse]"
    purpose = "Judge the pairs of a review, and print the precision by the filled sheet"

    def add(self, option: Callable[..., object]) -> None:
        option("--browse", action="store_true", help="judge the pairs one by one in a browser")

    def work(self, inputs: list[str], opts: Namespace) -> None:
        if opts.browse and len(inputs) > 1:
            raise UsageError
        people = [sheet_folders(Path(name)) for name in inputs]
        with in_one_line(SheetError, out=Path(inputs[0])):
            try:
                if opts.browse:
                    self._browse(people[0])
                else:
                    _print(people)
            except FileNotFoundError as error:
                why = f"{error.strerror}; give the folder of scrapy align --review"
                raise usage_error(f"{error.filename}: {why}") from None

    def _browse(self, folders: Sequence[Path]) -> None:
        from bilingual_crawler.reporting.review_pages import serve

        with ExitStack() as stack:
            for folder in folders:
                if folder.is_file():
                    raise wrong("SHEET", folder, "--browse shows the texts, too: give the folder of the sheet")
                Sheet(folder)
                try:
                    stack.enter_context(FolderLock(folder))
                except LockedError as error:
                    raise wrong("DIR", folder, f"{error}; end the other review first") from None
            serve(folders, lambda url: print(f"Judge the pairs at {url} (Ctrl-C ends)", flush=True))


def _print(people: Sequence[Sequence[Path]]) -> None:
    """Print the precision by each sheet, and the agreement of the *people* who have filled in their sheets."""
    sheets = {place: Sheet(place).rows for places in people for place in places}
    if not any(map(count_judged, sheets.values())):
        raise SheetError(f"{people[0][0]}: nothing is judged; {FILL_IN}")
    for place, rows in sheets.items():
        name = f"{place} " if len(people) > 1 else f"{place.name} " if len(sheets) > 1 else ""
        for one in count_judged(rows) or ("pairs: nothing is judged",):
            print(f"{name}{one}")
    if len(people) > 1:
        of_languages = defaultdict(list)
        for places in people:
            for place in places:
                of_languages[place.name if len(places) > 1 else ""].append(sheets[place])
        for languages, several in of_languages.items():
            for agreement in agreements(several):
                print(f"{languages} {agreement}".lstrip())
