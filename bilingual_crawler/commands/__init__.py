"""Commands of ``scrapy``: in the project, and by the entry points in ``pyproject.toml`` in every other folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from bilingual_crawler import settings

if TYPE_CHECKING:
    from argparse import ArgumentParser

PROJECT_SETTINGS = {name: value for name, value in vars(settings).items() if name.isupper()}
"""Settings of the commands if Scrapy knows no project, or another one."""
(SPIDERS,) = settings.SPIDER_MODULES
"""The module of our spiders: settings that name it are those of our project."""
TOOL = "bilingual-crawler"
"""The console script."""
PROGRESS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
"""Columns of a progress bar whose end is known."""


def name_program(parser: ArgumentParser) -> None:
    """Have the usage of *parser*, in which Scrapy names itself, name the console script if that runs."""
    if parser.prog == TOOL and parser.usage:
        parser.usage = parser.usage.replace("scrapy", TOOL, 1)
