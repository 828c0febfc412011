"""Where a crawl writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from bilingual_crawler.files import to_disk
from bilingual_crawler.options import Options, check_folder
from bilingual_crawler.records import CRAWL

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def choose_output_dir(settings: BaseSettings, name: str) -> Path:
    """``BILINGUAL_OUTPUT_DIR``, or ``crawls/<name>``; a resumed crawl goes on in the folder it began in.

    Raises UsageError if the folder holds another crawl, or cannot be written.
    """
    memo = _memo(settings)
    if memo and memo.exists():
        folder = Path(memo.read_text(encoding="utf-8"))
        check_folder("BILINGUAL_OUTPUT_DIR", folder)
        return folder
    folder = (Options.of(settings).output_dir or Path("crawls", name)).absolute()
    check_folder("BILINGUAL_OUTPUT_DIR", folder)
    if (folder / CRAWL).exists():
        raise UsageError(
            f"BILINGUAL_OUTPUT_DIR={folder}: holds another crawl; choose a new folder (a crawl that is to be resumed "
            "needs -s JOBDIR=... from the start)",
            print_help=False,
        )
    return folder


def make_output_dir(settings: BaseSettings, folder: Path) -> None:
    """Make *folder*, and remember it beside the frontier for a resume; raises UsageError."""
    memo = _memo(settings)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if memo and not memo.exists():
            memo.parent.mkdir(parents=True, exist_ok=True)
            memo.write_text(str(folder), encoding="utf-8")
            to_disk(memo)
    except OSError as error:
        raise UsageError(
            f"BILINGUAL_OUTPUT_DIR={folder}: {error.strerror}; give a folder that can be written", print_help=False
        ) from error


def _memo(settings: BaseSettings) -> Path | None:
    jobdir = settings["JOBDIR"]
    return Path(jobdir, "output_dir") if jobdir else None
