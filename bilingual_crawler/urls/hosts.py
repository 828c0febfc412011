"""Schemes and host names: their normal form, their registered domain; and the cache of functions of URLs."""

from __future__ import annotations

import functools
import ipaddress
import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar, TypeVarTuple

import idna

if TYPE_CHECKING:
    from collections.abc import Callable

    from tldextract import TLDExtract

Others = TypeVarTuple("Others")
Result = TypeVar("Result")
CACHED_LENGTH = 256  # characters of the longest URL whose results are cached: longer ones would fill the memory


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


MAX_LABEL = 63
_LABEL = re.compile(rf"[a-z0-9_-]{{1,{MAX_LABEL}}}")


def _ascii_label(label: str) -> str:
    if label.isascii():
        return label
    if len(label) > MAX_LABEL:
        # punycode takes quadratic time
        raise ValueError("a label that is too long")
    return f"xn--{label.encode('punycode').decode('ascii')}"


@url_cache(65536)
def normal_host(host: str) -> str | None:
    """*host* in lower case and IDNA form, without a final dot; None if it is no valid host name."""
    try:
        if host.startswith("["):
            return f"[{ipaddress.IPv6Address(host[1:-1]).compressed}]" if host.endswith("]") else None
        host = host.lower().rstrip(".")
        if not host.isascii():
            # as browsers do: signs that IDNA 2008 does not allow (☃) are encoded, too
            host = ".".join(map(_ascii_label, idna.uts46_remap(host, std3_rules=False).rstrip(".").split(".")))
        labels = host.split(".")
        if len(host) > 253 or not all(map(_LABEL.fullmatch, labels)):
            return None
        if labels[-1].isdigit():
            ipaddress.IPv4Address(host)
    except ValueError:
        return None
    return host


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


class Domain(NamedTuple):
    """A host in three parts; those of an address or a local name are empty but for *domain*."""

    subdomain: str
    domain: str  # the label before the public suffix; empty if there is none
    suffix: str


@functools.cache
def _extractor() -> TLDExtract:
    """Finds public suffixes in the list of the package, private ones such as github.io too; fetches none."""
    # its import takes .1 s, and some processes never need it
    from tldextract import TLDExtract

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


@url_cache(65536)
def _split(host: str) -> Domain:
    found = None if host.startswith("[") else _extractor()(host)
    return Domain(found.subdomain, found.domain, found.suffix) if found and found.suffix else Domain("", host, "")


def split_host(url_or_host: str) -> Domain:
    """The parts of the host of a URL, or of a bare host."""
    return _split(host_of(url_or_host))


def registered_domain(url_or_host: str) -> str:
    """Registered domain: ``www.bbc.co.uk`` gives ``bbc.co.uk``; an address or local name stays as it is."""
    _, label, suffix = split_host(url_or_host)
    return f"{label}.{suffix}" if label and suffix else label or suffix


def domain_label(url_or_host: str) -> str:
    """Registered domain without its suffix (``example`` for example.com and example.fr); a suffix alone stays."""
    _, label, suffix = split_host(url_or_host)
    return label or suffix
