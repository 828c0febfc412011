"""Schemes and host names: their normal form, their registered domain; and the cache of functions of URLs."""

from __future__ import annotations

import functools
import ipaddress
import re
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

import idna

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from tldextract import TLDExtract

Others = TypeVarTuple("Others")
Result = TypeVar("Result")

CACHED_LENGTH = 256
"""Characters of the longest URL whose results are cached. Tens of thousands of URLs of 2,000 characters, with their
results, would take hundreds of megabytes."""


def url_cache(size: int) -> Callable[[Callable[[str, *Others], Result]], Callable[[str, *Others], Result]]:
    """Cache the last *size* results of a function whose first argument is a URL or host, except those of long URLs."""

    def decorate(function: Callable[[str, *Others], Result]) -> Callable[[str, *Others], Result]:
        cached = functools.lru_cache(size)(function)

        @functools.wraps(function)
        def call(url: str, /, *others: *Others) -> Result:
            return (cached if len(url) <= CACHED_LENGTH else function)(url, *others)

        return call

    return decorate


def with_http(url: str) -> str:
    """The address of *url*, which has https, without encryption."""
    return "http" + url.removeprefix("https")


def with_https(url: str) -> str:
    """*url* if it has https, else its address with encryption."""
    return "https" + url.removeprefix("https").removeprefix("http")


class _Later(ModuleType):
    """A module that is imported when one of its names is first used, other than to define something."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            return _Name(self, name)
        return getattr(import_module(self.__name__), name)


class _Name:
    """A name of such a module, which may be called and stand in an annotation."""

    def __init__(self, module: ModuleType, name: str) -> None:
        self._module, self._name = module, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._module, self._name)(*args, **kwargs)

    def __or__(self, other: object) -> Self:
        return self


def _extractor() -> TLDExtract:
    # what tldextract imports to fetch and store lists takes .1 s of each process, and none is fetched here
    later = {name: _Later(name) for name in ("requests", "requests_file", "filelock") if name not in sys.modules}
    sys.modules.update(later)
    try:
        from tldextract import TLDExtract
    finally:
        for name in later:
            del sys.modules[name]
    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


_NO_SESSION: Any = object()
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
split_domain = _extractor()
"""Finds the registered domain of a host by the list of public suffixes in the package; asks nothing of the network."""


@url_cache(65536)
def normal_host(host: str) -> str | None:
    """*host* in lower case and IDNA form, without a final dot; None if it is no valid host name."""
    if host.startswith("["):
        return _ipv6(host)
    host = host.lower().rstrip(".")
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode("ascii").rstrip(".")
        except (idna.IDNAError, UnicodeError):
            return None
    if not host or len(host) > 253:
        return None
    labels = host.split(".")
    if not all(map(_LABEL.fullmatch, labels)):
        return None
    return host if not labels[-1].isdigit() or _is_ipv4(host) else None


def _ipv6(host: str) -> str | None:
    try:
        return f"[{ipaddress.IPv6Address(host[1:-1]).compressed}]" if host.endswith("]") else None
    except ValueError:
        return None


def _is_ipv4(host: str) -> bool:
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True


def host_of(url_or_host: str) -> str:
    """Lower-case host of a URL (with or without scheme) or of a bare host; no port, no user."""
    rest = url_or_host.partition("://")[2] or url_or_host
    for end in "/?#":
        rest = rest.partition(end)[0]
    host = rest.rpartition("@")[2].lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return f"[{host}]" if host.count(":") > 1 else host.partition(":")[0]


def is_loopback(url: str) -> bool:
    """Whether the host of *url* is this machine, by its name."""
    host = host_of(url).strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


@url_cache(65536)
def _split(host: str) -> tuple[str, str, str]:
    """Subdomain, label and public suffix; an address or a local name is one label."""
    if host.startswith("["):
        return "", host, ""
    found = split_domain(host, session=_NO_SESSION)
    if not found.suffix:
        return "", host, ""
    return found.subdomain, found.domain, found.suffix


def split_host(url_or_host: str) -> tuple[str, str, str]:
    """Subdomain, domain label and public suffix (bundled list, private domains such as github.io included)."""
    return _split(host_of(url_or_host))


def registered_domain(url_or_host: str) -> str:
    """Registered domain: ``www.bbc.co.uk`` gives ``bbc.co.uk``; an address or local name stays as it is."""
    _, label, suffix = split_host(url_or_host)
    return f"{label}.{suffix}" if label and suffix else label or suffix


def domain_label(url_or_host: str) -> str:
    """Registered domain without its suffix (``example`` for example.com and example.fr); a suffix alone stays."""
    _, label, suffix = split_host(url_or_host)
    return label or suffix
