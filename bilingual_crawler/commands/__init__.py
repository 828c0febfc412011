"""Commands of ``scrapy``: in the project, and by the entry points in ``pyproject.toml`` in every other folder.

Each module holds the command of its name; ``worker.py`` is the process of one of several workers.
"""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from scrapy.utils.project import get_project_settings

from bilingual_crawler import collect_rarely, options, settings
from bilingual_crawler.plugins import EXPORTS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from scrapy.commands import ScrapyCommand as Base
else:
    Base = object

PROJECT_SETTINGS = {name: value for name, value in vars(settings).items() if name.isupper()}
"""Settings of the commands outside of a Scrapy project, or in another one."""
(SPIDERS,) = settings.SPIDER_MODULES
"""The module of the project's spiders, which identifies its settings."""
TOOL = "bilingual-crawler"
PROGRESS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


def _open_closed_streams() -> None:
    """Open the null device for closed standard streams (``2>&-``): the next file would get what is printed."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            if nowhere != number and not os.path.lexists(f"/proc/self/fd/{number}"):
                nowhere = os.dup2(nowhere, number)
            setattr(sys, name, open(nowhere, "w", encoding="utf-8"))  # noqa: SIM115  it stays open


_open_closed_streams()
# already while the modules of the commands are loaded
collect_rarely()


def project_settings() -> Settings:
    """Return the settings of the project around the current folder if it has our spiders, else the defaults."""
    found = get_project_settings()
    if SPIDERS in found.getlist("SPIDER_MODULES"):
        return found
    ours = Settings()
    ours.setmodule(settings)
    return ours


def adapt(parser: ArgumentParser) -> None:
    """Name the console script, if it runs, in the usage of *parser*, and print errors as one line."""
    if parser.prog == TOOL and parser.usage:
        parser.usage = parser.usage.replace("scrapy", TOOL, 1)
    program = TOOL if parser.prog == TOOL else "scrapy"
    # Scrapy makes the parser itself
    parser.error = lambda message: parser.exit(2, f"{program}: error: {' '.join(message.split())}\n")  # type: ignore[method-assign]


class Tool(Base):
    """What commands other than crawls share. Scrapy would list a subclass of its own class as a command."""

    settings: Settings
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = PROJECT_SETTINGS | {"LOG_ENABLED": False}
    arguments: ClassVar[str] = ""
    purpose: ClassVar[str]
    description: ClassVar[str] = ""
    inputs: ClassVar[range] = range(1, sys.maxsize)  # how many inputs it takes

    def syntax(self) -> str:
        return self.arguments

    def short_desc(self) -> str:
        return self.purpose

    def long_desc(self) -> str:
        return self.description or self.purpose

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        adapt(parser)
        self.add(parser.add_argument)

    def add(self, option: Callable[..., object]) -> None:
        """Add the options of the command, each by a call of *option*."""

    def process_options(self, args: list[str], opts: Namespace) -> None:
        check_settings(opts.set, list(self.settings))
        super().process_options(args, opts)

    def run(self, args: list[str], opts: Namespace) -> None:
        refuse_unknown(args)
        if len(args) not in self.inputs:
            raise UsageError
        self.work(args, opts)

    @abstractmethod
    def work(self, inputs: list[str], opts: Namespace) -> None:
        """Do what the command is for."""


FORMATS = f"with --bitext, any of {', '.join(EXPORTS.built_in)} ({','.join(options.USUAL_FORMATS)})"
"""The help of ``--formats``, which :func:`read_formats` reads."""


def read_formats(text: str | None, folder: Path | None) -> tuple[str, ...]:
    """The formats of bitext in the option ``--formats``, for *folder*; raises UsageError."""
    if text is None:
        return options.USUAL_FORMATS
    formats = options.read_value("--formats", text, options.each(options.plugin(EXPORTS)))
    if folder is None:
        raise options.wrong("--formats", text, "give a folder for the sentences, too: --bitext DIR")
    return formats


def check_settings(given: Iterable[str], known: Collection[str]) -> None:
    """Raise UsageError if a setting that is *given* as ``NAME=VALUE`` is neither *known* nor of an extension."""
    for name in (setting.partition("=")[0] for setting in given):
        if unknown := options.unknown_setting(name, known):
            raise options.usage_error(f"{name}: {unknown}")


def refuse_unknown(args: Sequence[str], arguments: Collection[str] = ()) -> None:
    """Raise UsageError for an option among *args*, which Scrapy passes on; *arguments*: names that ``-a`` takes."""
    if unknown := next((arg for arg in args if arg.startswith("-") and arg != "-"), None):
        name = unknown.lstrip("-").partition("=")[0].replace("-", "_")
        hint = f"give -a {name}=..." if name in arguments else "--help lists the options"
        raise options.usage_error(f"unknown option {unknown}; {hint}")


@contextmanager
def in_one_line(*kinds: type[Exception], out: Path) -> Iterator[None]:
    """Raise UsageError for errors of *kinds*, and for those of files, which name *out* unless they name another.

    No check at the start finds a full disk, or a folder that is removed.
    """
    try:
        with options.usage_errors(*kinds):
            yield
    except OSError as error:
        raise options.usage_error(f"{error.filename or out}: {error.strerror}") from error
