"""Every ``BILINGUAL_`` setting, as text or value, read in one place into typed values. Imports nothing heavy."""

from __future__ import annotations

import ipaddress
import logging
import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints
from urllib.parse import urlsplit

from scrapy.exceptions import UsageError
from scrapy.utils.misc import load_object

from bilingual_crawler import __version__, plugins, to_install
from bilingual_crawler.languages.codes import parse_equivalents
from bilingual_crawler.pages.formats import FORMATS, HTML, PDF
from bilingual_crawler.pages.model import LinkSource

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

PREFIX = "BILINGUAL_"
POLITENESS = ("domain", "host", "address")  # which URLs share one delay and one limit of requests in flight
SITE_BUDGETS = ("bandit", "even", "sequential", "best")  # which site's best URL comes next
RENDER_MODES = ("auto", "never", "always")
TDM_MODES = ("record", "respect")  # what a reservation of text and data mining does to a document
USUAL_FORMATS = ("bitextor", "tmx", "moses", "jsonl")  # those that need no extra and hold what was kept


class Part(StrEnum):
    """What the add-on brings to another project, beside archive and replay."""

    FRONTIER = "frontier"
    LANGUAGE = "language"
    TRAPS = "traps"
    PAIRS = "pairs"


EDITIONS = ("best", "all")  # which editions of a page are paired with its translation

T = TypeVar("T")
N = TypeVar("N", int, float)
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Reader = Callable[[Any], T]  # converts the value of a setting; raises ValueError with the valid values

_CONTACT = re.compile(r"https?://[^\s/]\S*|mailto:[^\s@]+@[^\s@]+")
_SCRAPY_NEEDED = re.compile(r"scrapy(?![\w.-])", re.IGNORECASE)
_USER = re.compile(r"(?<=://)[^/?#\s]*@")
_PASSWORD_PARAMETER = re.compile(r"([?&][^=&?#\s]*passw(?:or)?d[^=&?#\s]*=)[^&#\s]+", re.IGNORECASE)
_SHOWN = 200


def usage_error(message: object) -> UsageError:
    """The error that ends a command with *message*, without its help."""
    return UsageError(str(message), print_help=False)


@contextmanager
def usage_errors(*kinds: type[Exception], before: str = "", after: str = "") -> Iterator[None]:
    """Raise UsageError for errors of *kinds*, with their message between *before* and *after*."""
    try:
        yield
    except kinds as error:
        raise usage_error(f"{before}{error}{after}") from error


def wrong(name: str, value: object, right: str) -> UsageError:
    """The error for an invalid *value* of *name*, in one line and without a password."""
    before, slashes, after = str(value).partition("//")
    if "@" in after:
        after = "…@" + after.rpartition("@")[2]
    text = " ".join(_PASSWORD_PARAMETER.sub(r"\1…", before + slashes + after).split())
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return usage_error(f"{name}={shown}: {right}")


def without_password(text: str) -> str:
    """*text* without the user names and passwords of the URLs in it."""
    return _PASSWORD_PARAMETER.sub(r"\1…", _USER.sub("", text))


def check_folder(name: str, given: Path) -> None:
    """Raise UsageError unless files can be written into the folder *given*, which need not exist yet."""
    there = next(parent for parent in (given.absolute(), *given.absolute().parents) if os.path.lexists(parent))
    if not there.is_dir():
        raise wrong(name, given, f"{there} is no folder; give one that can be written")
    if not os.access(there, os.W_OK | os.X_OK):
        raise wrong(name, given, f"nothing can be written into {there}; give a folder that can be written")


def text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def checked(read: Reader[T], fits: Callable[[T], object], right: str) -> Reader[T]:
    """Return a reader that raises ValueError(*right*) unless *fits* accepts what *read* returns."""

    def read_checked(value: Any) -> T:
        if fits(found := read(value)):
            return found
        raise ValueError(right)

    return read_checked


line = checked(text, lambda given: given and given.isprintable(), "give one line of text")


def switch(value: Any) -> bool:
    try:
        return {"1": True, "true": True, "0": False, "false": False}[text(value).lower()]
    except KeyError:
        raise ValueError("give True or False") from None


def number(kind: Callable[[str], N], minimum: float, maximum: float, right: str) -> Reader[N]:
    """Return the reader of numbers from *minimum* to *maximum*; *right* says so."""

    def read(value: Any) -> N:
        with suppress(ValueError):
            if minimum <= (number := kind(text(value))) <= maximum:
                return number
        raise ValueError(right)

    return read


def whole(minimum: int = 0) -> Reader[int]:
    """Return the reader of whole numbers of at least *minimum*."""
    return number(int, minimum, math.inf, f"give a whole number of {minimum} or more")


seconds = number(float, 0, sys.float_info.max, "give a number of seconds")
share = number(float, 0, 1, "give a number from 0 to 1")
_SHARE = "give a share of the pairs of a site, above 0 and up to 1, such as 0.98"
share_of_pairs = number(float, math.ulp(0.0), 1, _SHARE)


def one_of(*names: str) -> Reader[str]:
    """Return the reader of one of *names*; an empty name makes the value optional."""
    right = f"choose one of {', '.join(filter(None, names))}" + ", or nothing" * ("" in names)
    return checked(text, names.__contains__, right)


def plugin(kind: plugins.Plugins, *, optional: bool = False) -> Reader[str]:
    """Return the reader of the name of a class of *kind*; an empty name is read if it is *optional*."""

    def read(value: Any) -> str:
        read = text(value)
        if read or not optional:
            kind.check(read)
        return read

    return read


def listed(value: Any) -> list[Any]:
    """The parts of a list, as Scrapy reads one; a path or number is a list of one."""
    if value is None:
        return []
    if isinstance(value, str):
        return [part for item in value.split(",") if (part := item.strip())]
    return list(value) if isinstance(value, Iterable) else [value]


def each(read: Reader[T]) -> Reader[tuple[T, ...]]:
    """Return the reader of a list whose parts *read* reads."""
    return lambda value: tuple(map(read, listed(value)))


def path(value: Any) -> Path:
    try:
        return Path(line(value)).expanduser()
    except RuntimeError as error:
        raise ValueError(f"{error}; give the path of a folder") from None


def path_or_none(value: Any) -> Path | None:
    return path(value) if text(value) else None


models_folder = checked(
    path_or_none,
    lambda folder: not folder or folder.is_dir(),
    "there is no such folder; it holds url-language/ and url-parallelness/",
)
contact_address = checked(
    text,
    lambda given: not given or (_CONTACT.fullmatch(given) and given.isprintable()),
    "give a page or an address where webmasters can reach you: https://… or mailto:you@…",
)
log_file = checked(
    path_or_none,
    lambda file: not file or (not file.is_dir() and os.access(file.absolute().parent, os.W_OK | os.X_OK)),
    "nothing can be written there; give a file in a folder that is there",
)


def network(value: Any) -> Network:
    try:
        return ipaddress.ip_network(text(value))
    except ValueError as error:
        raise ValueError(f"{error}; give networks as in 10.0.0.0/8,192.168.1.5/32") from None


def frontier(value: Any) -> str:
    """Read the URL of a store, whose scheme is a name of :data:`~bilingual_crawler.plugins.FRONTIER_STORES`."""
    url = text(value)
    scheme, slashes, _ = url.partition("://")
    if slashes and scheme not in plugins.FRONTIER_STORES.built_in:
        plugins.FRONTIER_STORES.check(scheme)
        return url
    with suppress(ValueError):
        parts = urlsplit(url)
        place = parts.path if parts.scheme == "unix" else parts.scheme in ("redis", "rediss") and parts.hostname
        if not url or (place and parts.port != 0):
            return url
    redis = "redis://[user:password@]host[:port][/db][#name of the crawl]"
    raise ValueError(f"give {redis}, rediss:// for TLS, or unix:///path of a socket")


def workers(value: Any) -> int:
    """Read how many processes crawl. Several need a Redis server and its client."""
    count = whole(1)(value)
    if count > 1 and find_spec("redis") is None:
        raise ValueError(f"several workers need the client of Redis: {to_install('redis')}")
    if count > 1 and shutil.which("redis-server") is None:
        raise ValueError("several workers need redis-server, which is not on the PATH: apt-get install redis-server")
    return count


def address(value: Any) -> tuple[str, int] | None:
    """Read ``host:port`` or a port, with the loopback address as default; None for an empty value."""
    host, _, port = text(value).rpartition(":")
    if not port:
        return None
    try:
        return str(ipaddress.ip_address(host.strip("[]") or "127.0.0.1")), range(1 << 16).index(int(port))
    except ValueError:
        raise ValueError("give an address of this machine and a port, as in 127.0.0.1:8010, or a port") from None


def formats(value: Any) -> tuple[str, ...]:
    read = each(one_of(*FORMATS))(value)
    if HTML not in read:
        raise ValueError("give html too: links to documents are on pages")
    if PDF in read and find_spec("pypdfium2") is None:
        raise ValueError(f"the package pypdfium2 is missing: {to_install('pdf')}")
    return read


def encoder(value: Any) -> str:
    """Read the name of a sentence encoder; a slash makes it a model of sentence-transformers."""
    read = text(value)
    if "/" in read and find_spec("sentence_transformers") is None:
        raise ValueError("the package sentence-transformers is missing: pip install sentence-transformers")
    # without the packages of the default, sentences are compared without an encoder
    if read and "/" not in read and read not in plugins.ENCODERS.built_in:
        plugins.ENCODERS.check(read)
    return read


def detectors(value: Any) -> tuple[str, ...]:
    given = each(text)(value)
    for name, files in map(plugins.LANGUAGE_DETECTORS.split, given):
        plugins.LANGUAGE_DETECTORS.check(name)
        if (name == "fasttext" or files) and not any(Path(file).is_file() for file in files):
            raise ValueError("there is no such file; give the path of a fastText model: fasttext:FILE")
    if not given:
        raise ValueError(f"choose one of {', '.join(plugins.LANGUAGE_DETECTORS.names)}, or several")
    return given


def log_level(value: Any) -> str:
    levels = [name for name in logging.getLevelNamesMapping() if name != "NOTSET"]
    return text(value) if text(value).isdigit() else one_of(*levels)(value)


def importable(value: Any) -> str:
    """Read the path of a class, which is imported unless it is ours."""
    read = text(value)
    if read and not read.startswith("bilingual_crawler."):
        try:
            load_object(read)
        except (ImportError, NameError, ValueError) as error:
            raise ValueError(f"{error}; give the path of a class, as in package.module.Class") from None
    return read


def equivalents(value: Any) -> frozenset[frozenset[str]]:
    return parse_equivalents(one if isinstance(one, str) else list(map(str, listed(one))) for one in listed(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The values of all ``BILINGUAL_`` settings: type, reader and default; ``max_bytes`` is ``BILINGUAL_MAX_BYTES``."""

    # what is crawled
    policy: Annotated[str, plugin(plugins.POLICIES), "gain"]
    gain_evidence: Annotated[tuple[str, ...], each(plugin(plugins.GAIN_EVIDENCE)), []]
    site_budget: Annotated[str, one_of(*SITE_BUDGETS), "bandit"]
    bridge: Annotated[bool, switch, True]
    documents: Annotated[tuple[str, ...], formats, ["html"]]
    link_sources: Annotated[tuple[str, ...], each(one_of(*LinkSource)), [*map(str, LinkSource)]]
    detectors: Annotated[tuple[str, ...], detectors, ["cld2"]]
    scope_prefixes: Annotated[tuple[str, ...], each(text), []]
    equivalent_languages: Annotated[frozenset[frozenset[str]], equivalents, ["hrv bos srp cnr", "msa ind", "nor nno"]]
    models_dir: Annotated[Path | None, models_folder, os.environ.get("BILINGUAL_MODELS_DIR")]
    providers: Annotated[tuple[str, ...], each(text), []]
    replay: Annotated[tuple[str, ...], each(text), []]
    known: Annotated[tuple[str, ...], each(text), []]
    render: Annotated[str, one_of(*RENDER_MODES), "never"]
    render_max_pages: Annotated[int, whole(), 10_000]
    render_max_pages_per_site: Annotated[int, whole(), 1_000]
    render_concurrency: Annotated[int, whole(1), 2]
    render_timeout: Annotated[float, seconds, 60]
    frontier: Annotated[str, frontier, None]
    workers: Annotated[int, workers, 1]
    oracle_order: Annotated[Path | None, path_or_none, None]

    # the add-on
    pair: Annotated[str, text, None]
    parts: Annotated[tuple[str, ...], each(one_of(*Part)), ["frontier", "language", "traps", "pairs"]]

    # which documents are pairs
    align: Annotated[str, plugin(plugins.ALIGNMENT_METHODS, optional=True), "auto"]
    min_score: Annotated[float, share, 0.5]
    encoder: Annotated[str, encoder, "e5-small"]
    cache_dir: Annotated[Path, path, "~/.cache/bilingual-crawler"]
    bitext: Annotated[tuple[str, ...], each(plugin(plugins.EXPORTS)), []]
    sentence_filters: Annotated[tuple[str, ...], each(plugin(plugins.SENTENCE_FILTERS)), []]
    mask_personal: Annotated[bool, switch, False]

    # what is written
    output_dir: Annotated[Path | None, path_or_none, None]
    warc: Annotated[bool, switch, True]
    status: Annotated[tuple[str, int] | None, address, None]

    # politeness and safety
    contact: Annotated[str, contact_address, None]
    user_agent: Annotated[str, line, f"bilingual-crawler/{__version__}"]
    politeness: Annotated[str, one_of(*POLITENESS), "domain"]
    meta_robots_obey: Annotated[bool, switch, True]
    tdm: Annotated[str, one_of(*TDM_MODES), "respect"]
    backoff_start: Annotated[float, seconds, 2]
    backoff_max: Annotated[float, seconds, 600]
    retry_after_max: Annotated[float, seconds, 3600]
    host_failures: Annotated[int, whole(1), 10]
    stale_pages: Annotated[int, whole(), 500]
    max_bytes: Annotated[int, whole(), 0]
    max_bytes_per_site: Annotated[int, whole(), 0]
    allowed_networks: Annotated[tuple[Network, ...], each(network), []]

    def __post_init__(self) -> None:
        if self.bitext and not self.align:
            raise wrong(f"{PREFIX}BITEXT", ",".join(self.bitext), f"needs a method in {PREFIX}ALIGN, which is empty")
        for part in (Part.TRAPS, Part.PAIRS):
            if part in self.parts and not {Part.FRONTIER, Part.LANGUAGE} <= set(self.parts):
                raise wrong(f"{PREFIX}PARTS", ",".join(self.parts), f"{part} needs frontier and language")
        if self.known and self.replay:
            why = f"asks the sites what has changed; leave {PREFIX}REPLAY out"
            raise wrong(f"{PREFIX}KNOWN", ",".join(self.known), why)
        why = ""
        if self.frontier:
            why = f"share a Redis of their own; leave {PREFIX}FRONTIER out, or start each process yourself"
        elif self.politeness == "address":
            why = f"do not know each other's addresses; {PREFIX}POLITENESS may be domain or host"
        elif self.status:
            why = f"have no status page together; leave {PREFIX}STATUS out"
        if self.workers > 1 and why:
            raise wrong(f"{PREFIX}WORKERS", self.workers, f"the workers {why}")

    @property
    def full_user_agent(self) -> str:
        """The name of the crawler and, if there is one, the contact."""
        return f"{self.user_agent} (+{self.contact})" if self.contact else self.user_agent

    @classmethod
    def of(cls, settings: BaseSettings) -> Options:
        """The values in Scrapy's *settings*; raises UsageError for an unknown ``BILINGUAL_`` name or a wrong value."""
        if unknown := next((name for name in settings if name.startswith(PREFIX) and name not in _READERS), None):
            raise usage_error(f"{unknown}: {unknown_setting(unknown, _READERS)}")
        for name, read in _SCRAPY.items():
            read_value(name, settings[name], read)
        values = {name: read_value(name, settings.get(name, DEFAULTS[name]), read) for name, read in _READERS.items()}
        return cls(**{name.removeprefix(PREFIX).lower(): value for name, value in values.items()})


_HINTS = get_type_hints(Options, include_extras=True)
_TABLE = {f"{PREFIX}{name.upper()}": hint.__metadata__ for name, hint in _HINTS.items()}
_READERS: dict[str, Reader[Any]] = {name: read for name, (read, _) in _TABLE.items()}
DEFAULTS: dict[str, Any] = {name: default for name, (_, default) in _TABLE.items()}
_SCRAPY: dict[str, Reader[Any]] = {
    name: read
    for names, read in {
        "CONCURRENT_REQUESTS DEPTH_LIMIT DOWNLOAD_MAXSIZE DOWNLOAD_WARNSIZE RETRY_TIMES REDIRECT_MAX_TIMES": whole(),
        "CLOSESPIDER_PAGECOUNT CLOSESPIDER_ITEMCOUNT CLOSESPIDER_ERRORCOUNT": whole(),
        "DNSCACHE_SIZE REACTOR_THREADPOOL_MAXSIZE": whole(),
        "CONCURRENT_REQUESTS_PER_DOMAIN CONCURRENT_ITEMS": whole(1),
        "DOWNLOAD_DELAY DOWNLOAD_TIMEOUT CLOSESPIDER_TIMEOUT DNS_TIMEOUT LOGSTATS_INTERVAL": seconds,
        "AUTOTHROTTLE_START_DELAY AUTOTHROTTLE_MAX_DELAY AUTOTHROTTLE_TARGET_CONCURRENCY": seconds,
        "AUTOTHROTTLE_ENABLED ROBOTSTXT_OBEY RETRY_ENABLED LOG_ENABLED COOKIES_ENABLED DNSCACHE_ENABLED": switch,
        "DOWNLOAD_FAIL_ON_DATALOSS": switch,
        "RETRY_HTTP_CODES": each(number(int, 100, 599, "give HTTP statuses, as in 500,502,503")),
        "LOG_LEVEL": log_level,
        "LOG_FILE": log_file,
        "TWISTED_DNS_RESOLVER DNS_RESOLVER": importable,
    }.items()
    for name in names.split()
}
"""Settings of Scrapy whose invalid values would end in a traceback."""


_REACHED = "where webmasters can reach you, https://… or mailto:…; websites require it (none)"
# setting -> the option of the command line that stands for it, its metavar, and its help with the default in brackets
PLAIN: dict[str, tuple[str, str, str]] = {
    f"{PREFIX}WORKERS": ("--workers", "N", "processes that crawl, for many sites (1)"),
    f"{PREFIX}OUTPUT_DIR": ("--out", "DIR", "folder of the outputs (crawls/<pair>-<UTC time>/)"),
    f"{PREFIX}STATUS": ("--status", "PORT", "shows the crawl at http://127.0.0.1:PORT/ (off)"),
    f"{PREFIX}CONTACT": ("--contact", "ADDRESS", _REACHED),
    "JOBDIR": ("--job", "DIR", "folder of the frontier, for a resume (job/ in the folder of the outputs)"),
}


def unknown_setting(name: str, known: Collection[str]) -> str:
    """Say that neither *known* nor an installed extension of Scrapy has the setting *name*; empty if one has it."""
    if name in known or (not name.startswith(PREFIX) and name.startswith(_prefixes())):
        return ""
    return f"unknown setting; did you mean {get_close_matches(name, known, 1, 0.0)[0]}?"


@cache
def _prefixes() -> tuple[str, ...]:
    """Prefixes of settings without defaults: Scrapy's own, and of packages, as PLAYWRIGHT_ of scrapy-playwright."""
    needing = (package for package in distributions() if any(map(_SCRAPY_NEEDED.match, package.requires or ())))
    names = (package.name.lower().replace("-", "_").removeprefix("scrapy_") for package in needing)
    return ("FILES_", "IMAGES_", "MEDIA_", "META_COPY_", *(f"{name.upper()}_" for name in names))


def read_value(name: str, value: Any, read: Reader[T]) -> T:
    """Return what *read* reads; raises UsageError, which names the setting or argument *name*."""
    try:
        return read(value)
    except ValueError as error:
        shown = ",".join(map(str, value)) if isinstance(value, list | tuple) else value
        raise wrong(name, shown, str(error)) from None
