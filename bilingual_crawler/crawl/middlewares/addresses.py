"""Downloader middleware: connects to public network addresses only."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit
from urllib.request import getproxies

from cachetools import LRUCache
from scrapy.exceptions import CannotResolveHostError
from scrapy.resolver import CachingThreadedResolver, HostResolution
from twisted.internet.abstract import isIPv6Address
from twisted.internet.address import IPv6Address
from twisted.internet.interfaces import IHostnameResolver, IResolutionReceiver
from zope.interface import implementer  # type: ignore[import-untyped]

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.middlewares.stop import end_crawl
from bilingual_crawler.crawl.signals import Refused, StillWanted, count_and_log

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from bilingual_crawler.options import Network

_SPECIAL = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24
192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
"""
_NOT_PUBLIC = tuple(map(ipaddress.IPv4Network, _SPECIAL.split()))
"""IANA's special-purpose IPv4 networks without public servers. The table of ``ipaddress`` differs by Python version."""
_PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")  # IANA's global unicast addresses, special purposes included
_NOT_PUBLIC_IPV6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
"""Special purposes, and the tunnels Teredo and 6to4, whose addresses embed IPv4 addresses."""
_ISATAP = (0x00005EFE, 0x02005EFE)  # the bits before the IPv4 address of this tunnel, which may have any network
_PORTS = {"http": 80, "https": 443}
_REMEMBERED = 10_000


def is_public(address: str) -> bool:
    """Whether *address* is public. An IPv6 address that embeds an IPv4 address is not: packets may go to that one."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in network for network in _NOT_PUBLIC)
    embeds = int(ip) >> 32 & 0xFFFFFFFF in _ISATAP
    return ip in _PUBLIC_IPV6 and not embeds and not any(ip in network for network in _NOT_PUBLIC_IPV6)


@dataclass(frozen=True, slots=True)
class AddressRule:
    """Allows public addresses, those in *networks*, and all addresses of the *exempt* (host, port)."""

    networks: tuple[Network, ...] = ()
    exempt: frozenset[tuple[str, int]] = frozenset()

    @classmethod
    def of(cls, networks: tuple[Network, ...], seeds: Iterable[str]) -> AddressRule:
        """Proxies, and seeds that name an address or ``localhost``, are exempt, because the user asked for them."""
        asked = {authority(url) for url in seeds if is_literal(urlsplit(url).hostname or "")}
        asked |= {(host, other) for host, port in asked if port in _PORTS.values() for other in _PORTS.values()}
        servers = [url for scheme, url in getproxies().items() if scheme != "no"]
        proxies = {authority(url if "://" in url else f"http://{url}") for url in servers}
        return cls(networks, frozenset(asked | proxies))

    def admits(self, host: str, port: int, address: str) -> bool:
        if (host, port) in self.exempt or is_public(address):
            return True
        ip = ipaddress.ip_address(address)
        return any(ip in network for network in self.networks)


def is_literal(host: str) -> bool:
    """Whether *host* is an address itself, or ``localhost``, so that no name server is asked."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return True


def authority(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)


@implementer(IHostnameResolver)
class GuardedResolver:
    """Passes only addresses to connections that a rule allows. Scrapy installs it for ``TWISTED_DNS_RESOLVER``.

    Twisted connects to exactly these addresses without a second look-up, so a name server that changes its answer gains
    nothing.
    """

    def __init__(self, resolver: Any) -> None:
        self._resolver = resolver
        self.rules: dict[object, AddressRule] = {}  # of each crawl of this process; one has to allow an address
        # (host, port) with only forbidden addresses at the last look-up -> one of them
        self.refused: LRUCache[tuple[str, int], str] = LRUCache(_REMEMBERED)

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: Any) -> Self:
        """A resolver in front of Scrapy's default resolver, which caches answers."""
        CachingThreadedResolver.from_crawler(crawler, reactor).install_on_reactor()
        return cls(reactor.nameResolver)

    @classmethod
    def installed(cls) -> Self | None:
        """The resolver of the reactor; None if it is of another class."""
        from twisted.internet import reactor  # an earlier import would choose the reactor

        return reactor.nameResolver if isinstance(reactor.nameResolver, cls) else None

    def install_on_reactor(self) -> None:
        from twisted.internet import reactor

        reactor.installNameResolver(self)

    def resolveHostName(
        self, resolutionReceiver: Any, hostName: str, portNumber: int = 0, *more: Any, **named: Any
    ) -> Any:
        receiver = _Sieve(resolutionReceiver, self, (hostName.lower(), portNumber))
        if isIPv6Address(hostName):
            # Scrapy's default resolver knows IPv4 only
            receiver.resolutionBegan(HostResolution(hostName))
            receiver.addressResolved(IPv6Address("TCP", hostName, portNumber))
            receiver.resolutionComplete()
            return receiver
        return self._resolver.resolveHostName(receiver, hostName, portNumber, *more, **named)

    def admits(self, host: str, port: int, address: str) -> bool:
        return not self.rules or any(rule.admits(host, port, address) for rule in self.rules.values())


@implementer(IResolutionReceiver)
class _Sieve:
    def __init__(self, receiver: Any, guard: GuardedResolver, target: tuple[str, int]) -> None:
        self._receiver = receiver
        self._guard = guard
        self._target = target
        self._refused = ""
        self._passed = False

    def resolutionBegan(self, resolutionInProgress: Any) -> None:
        self._receiver.resolutionBegan(resolutionInProgress)

    def addressResolved(self, address: Any) -> None:
        if self._guard.admits(*self._target, address.host):
            self._passed = True
            self._receiver.addressResolved(address)
        else:
            self._refused = address.host

    def resolutionComplete(self) -> None:
        self._guard.refused.pop(self._target, None)
        if self._refused and not self._passed:
            self._guard.refused[self._target] = self._refused
        self._receiver.resolutionComplete()


class AddressGuardMiddleware(CrawlComponent):
    """Connects to public addresses only, to those in ``BILINGUAL_ALLOWED_NETWORKS``, and to seeds given as an address.

    A crawl ends if the reactor has another resolver. Stats: ``bilingual/security/forbidden_address``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._rule = AddressRule.of(self._options.allowed_networks, [seed.url for seed in self._context.seeds])

    def _is_wanted(self) -> bool:
        return not self._options.replay

    def spider_closed(self) -> None:
        if resolver := GuardedResolver.installed():
            resolver.rules.pop(self, None)

    def process_request(self, request: Request) -> None:
        # Not only at the start: the script that runs the reactor may install another resolver later.
        resolver = GuardedResolver.installed()
        if resolver is None:
            why = "nothing would keep it from private addresses: the resolver of the reactor is no GuardedResolver"
            fix = "Do not change TWISTED_DNS_RESOLVER; a script that runs the reactor itself installs one"
            end_crawl(self._crawler, "unguarded", f"The crawl ends, because {why}. {fix}")
            raise StillWanted("nothing keeps the crawl from private addresses")
        resolver.rules[self] = self._rule

    def process_exception(self, request: Request, exception: Exception) -> None:
        if not isinstance(exception, CannotResolveHostError):
            return
        host, port = authority(request.url)
        resolver = GuardedResolver.installed()
        address = resolver and resolver.refused.get((host, port))
        if address is None:
            return
        why = f"has the address {address}, which is not public, and is not fetched"
        message = f"{host}:{port} {why}. If it is yours: -s BILINGUAL_ALLOWED_NETWORKS={address}"
        count_and_log(self._crawler, "bilingual/security/forbidden_address", message)
        raise Refused("forbidden-address", f"{host} has the address {address}") from exception
