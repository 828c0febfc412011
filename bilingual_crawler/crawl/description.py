"""A crawl described in a TOML file: what ``--config`` reads, and what each crawl writes beside its outputs.

``spider`` names the spider. The table ``arguments`` holds its arguments, the table ``settings`` settings of this
project and of Scrapy. Paths are relative to the folder in which the command runs, as on the command line.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import tomli_w
from scrapy.exceptions import UsageError
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings
from scrapy.utils.python import global_object_name

import bilingual_crawler
from bilingual_crawler import settings as defaults
from bilingual_crawler.crawl.context import CrawlContext
from bilingual_crawler.discovery.sites import is_table
from bilingual_crawler.options import listed, unknown_setting, usage_error, without_password, wrong
from bilingual_crawler.pages.characters import one_line
from bilingual_crawler.storage.files import write_durably
from bilingual_crawler.storage.records import DESCRIPTION

Argument: TypeAlias = str | list[str]  # only seeds are a list

_KEYS = ("spider", "arguments", "settings")
_PLACES = frozenset(("BILINGUAL_OUTPUT_DIR", "BILINGUAL_FRONTIER", "JOBDIR", "FEEDS", "LOG_FILE", "EDITOR"))
"""Settings that a crawl does not share with its repetition: where its outputs and its state are."""
_SECRET_NAME = re.compile(r"PASS(WORD)?$|SECRET|TOKEN|ACCESS_KEY")
_SECRET_TEXT = re.compile(r"password|secret|token|credential|authorization|cookie", re.IGNORECASE)
_DEFAULT, _BY_SPIDER, _BY_COMMAND = (SETTINGS_PRIORITIES[by] for by in ("default", "spider", "cmdline"))


class Description(NamedTuple):
    arguments: Mapping[str, Argument]
    settings: Mapping[str, Any]


def read_description(path: Path, spider: str, settings: BaseSettings) -> Description:
    """The description of a crawl by *spider* in *path*, which may change *settings*; UsageError names file and key."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise wrong("--config", path, f"{error.strerror}; give a TOML file, such as {DESCRIPTION} of a crawl") from None
    except (ValueError, RecursionError) as error:
        raise wrong("--config", path, f"is no TOML: {error}") from None
    for key, value in told.items():
        if key not in _KEYS:
            raise _error(path, key, f"there is no such key; there are {', '.join(_KEYS)}")
        if key != "spider" and not isinstance(value, dict):
            raise _error(path, key, f"give a table: [{key}]")
    if told.get("spider", spider) != spider:
        raise _error(path, "spider", f"the file describes a crawl by {told['spider']}, and the command is for {spider}")
    arguments = {name: _argument(path, name, value) for name, value in told.get("arguments", {}).items()}
    for name, value in told.get("settings", {}).items():
        _check_setting(path, name, value, settings)
    return Description(arguments, told.get("settings", {}))


def _argument(path: Path, name: str, value: object) -> Argument:
    is_number = isinstance(value, int | float if name == "until" else int) and not isinstance(value, bool)
    is_list = isinstance(value, list) and all(isinstance(part, str) for part in value)
    if is_number or is_list or isinstance(value, str):
        return as_argument(name, value)
    raise _error(path, f"arguments.{name}", "give text, a whole number or a list of texts")


def as_argument(name: str, value: Any) -> Argument:
    """The *value* of the argument *name* as it would be on the command line, lists of seeds as lists of text."""
    if isinstance(value, str | Path):
        return str(value)
    parts = list(map(str, listed(value)))
    # a comma may be part of an address
    return parts if name == "seeds" else ",".join(parts)


def _check_setting(path: Path, name: str, value: object, settings: BaseSettings) -> None:
    key = f"settings.{name}"
    if not _is_known(name) and (unknown := unknown_setting(name, list(settings))):
        raise _error(path, key, unknown)
    default = settings[name]
    if isinstance(default, bool):
        fits, right = value in (True, False), "true or false"
    elif isinstance(default, int | float):
        fits, right = isinstance(value, int | float) and not isinstance(value, bool), "a number"
    elif isinstance(default, BaseSettings):
        fits, right = isinstance(value, dict), "a table"
    elif isinstance(default, list | tuple):
        fits, right = isinstance(value, list), "a list"
    elif isinstance(default, str):
        fits, right = False, "text"
    else:
        fits, right = isinstance(value, int | float | list | dict) and not isinstance(value, bool), "text"
    # what a command line can give is right, too
    if not (fits or isinstance(value, str)):
        raise _error(path, key, f"give {right}")


def _error(path: Path, key: str, right: str) -> UsageError:
    return usage_error(f"{path}: {key}: {right}")


def write_description(
    context: CrawlContext, spider: str, given: Mapping[str, Argument], settings: BaseSettings
) -> None:
    """Write what makes *spider* crawl again as with the arguments *given* and *settings*; raises UsageError.

    Seeds are written one by one, as a file may change; a ``sites.tsv`` says more, and stays. The settings are those
    that differ from the defaults. What may be secret, and what the defaults do not know, is named in a comment.
    """
    folder = context.output_dir
    # Scrapyd adds its own
    arguments = {name: value for name, value in given.items() if not name.startswith("_")}
    if context.seeds and (isinstance(given["seeds"], list) or not is_table(Path(given["seeds"]))):
        arguments["seeds"] = [seed.as_given for seed in context.seeds]
    changed = {name: _plain(settings[name]) for name in sorted(map(str, settings)) if _is_given(name, settings)}
    kept = {name: value for name, value in changed.items() if _is_known(name) and not _is_secret(name, value)}
    path = folder / DESCRIPTION
    again = f"cd {shlex.quote(str(Path.cwd()))} && {shlex.join(('scrapy', 'crawl', spider, '--config', str(path)))}"
    notes = [f"bilingual-crawler {bilingual_crawler.__version__}. To crawl this again: {again}"]
    if left_out := sorted(changed.keys() - kept.keys()):
        notes.append(f"Give these settings again, which may be secret or are of other packages: {', '.join(left_out)}")
    arguments = {name: _plain(value) for name, value in arguments.items()}
    text = "".join(f"# {one_line(note)}\n" for note in notes)
    text += tomli_w.dumps({"spider": spider, "arguments": arguments, "settings": kept})
    try:
        # a part of it is a valid file, too, and describes another crawl
        write_durably(path, text, "surrogateescape")
    except OSError as error:
        raise wrong("BILINGUAL_OUTPUT_DIR", folder, f"{error.strerror}; give a folder that can be written") from error


def _is_given(name: str, settings: BaseSettings) -> bool:
    if name in _PLACES or settings.getpriority(name) in (_DEFAULT, _BY_SPIDER):
        return False
    if not _is_known(name):
        # all others come with the project, or from Scrapy itself
        return settings.getpriority(name) == _BY_COMMAND
    return bool(_plain(settings[name]) != _plain(default_of(name)))


def _is_known(name: str) -> bool:
    # the settings of scrapy-playwright have no defaults
    return hasattr(defaults, name) or hasattr(default_settings, name) or name.startswith("PLAYWRIGHT_")


def default_of(name: str) -> Any:
    """The project's default of a setting, else Scrapy's; None if there is none."""
    return getattr(defaults, name, getattr(default_settings, name, None))


def _is_secret(name: str, value: object) -> bool:
    return bool(_SECRET_NAME.search(name) or (isinstance(value, str) and _SECRET_TEXT.search(value)))


def _plain(value: Any) -> Any:
    """*value* as TOML can hold it; tables as JSON, which Scrapy reads, too, since they may hold nulls."""
    if isinstance(value, BaseSettings | dict):
        return _text(json.dumps({_text(name): part for name, part in value.items()}, default=_text))
    if isinstance(value, list | tuple):
        return list(map(_text, value))
    return value if isinstance(value, bool | int | float) else _text(value)


def _text(value: Any) -> str:
    """*value* as on the command line, without passwords; Scrapy takes a class and its name alike."""
    if isinstance(value, type):
        return global_object_name(value)
    return "" if value is None else without_password(str(value))
