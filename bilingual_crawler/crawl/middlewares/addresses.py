"""Downloader middlewares: slow names hold up no other site, and connections go to public addresses only."""

import asyncio
import errno
import ipaddress
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from cachetools import LRUCache, TTLCache
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError
from scrapy.resolver import HostResolution
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.interfaces import IHostnameResolver
from twisted.python.threadpool import ThreadPool
from zope.interface import implementer  # type: ignore[import-untyped]

from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.middlewares.stop import again, end_crawl
from bilingual_crawler.crawl.signals import ENTRY, Refused, StillWanted, count_and_log
from bilingual_crawler.frontier.backoff import Rest
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
    def of(cls, networks: tuple[Network, ...], seeds: Iterable[str]) -> "AddressRule":
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
    return isIPAddress(host) or isIPv6Address(host) or f".{host}".endswith(".localhost")


def authority(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)


MAX_AGE = 3600.0  # seconds beyond DNS_TIMEOUT for which an answer is remembered
UNCACHED_AGE = 10.0  # the same without DNSCACHE_ENABLED: a request asks twice
MAX_THREADS = 200  # look-ups at a time
PATIENCE = 0.1  # seconds for which a request waits before others go on
REST, MAX_REST = 0.3, 10.0  # shortest and longest pause in seconds before a request asks again
SLOW = 3.0  # seconds of a look-up after which the other URLs of the site come first


@dataclass(slots=True)
class Lookup:
    """A look-up that waits for a thread, goes on, or is done."""

    addresses: Future[list[str]]  # empty if the name has none
    begun: float | None = None  # of the monotonic clock; None while it waits

    @property
    def seconds(self) -> float:
        return 0.0 if self.begun is None else time.monotonic() - self.begun


@implementer(IHostnameResolver)
class GuardedResolver:
    """Looks names up in threads of its own, so that slow name servers hold up nothing else, and remembers answers.

    A name has its IPv4 addresses, or those of IPv6 if it has no others. Connections get the addresses that a rule
    allows. Scrapy installs it for ``TWISTED_DNS_RESOLVER``. Twisted connects to exactly these addresses without a
    second look-up, so a name server that changes its answer gains nothing.
    """

    def __init__(self, reactor: Any, size: int, age: float, timeout: float) -> None:
        self._reactor = reactor
        self.timeout = timeout
        self.rules: dict[object, AddressRule] = {}  # of each crawl of this process; one has to allow an address
        # (host, port) with only forbidden addresses at the last look-up -> one of them
        self.refused: LRUCache[tuple[str, int], str] = LRUCache(_REMEMBERED)
        self._lookups: TTLCache[str, Lookup] = TTLCache(max(size, 2 * MAX_THREADS), age)
        self._threads = ThreadPool(0, MAX_THREADS, "names")
        # a process may end while a name server keeps a thread waiting
        self._threads.threadFactory = partial(threading.Thread, daemon=True)  # type: ignore[assignment]
        self._threads.start()

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: Any) -> Self:
        settings = crawler.settings
        timeout = settings.getfloat("DNS_TIMEOUT")
        age = timeout + (MAX_AGE if settings.getbool("DNSCACHE_ENABLED") else UNCACHED_AGE)
        return cls(reactor, settings.getint("DNSCACHE_SIZE"), age, timeout)

    @classmethod
    def installed(cls) -> Self | None:
        """The resolver of the reactor; None if it is of another class."""
        from twisted.internet import reactor  # an earlier import would choose the reactor

        return reactor.nameResolver if isinstance(reactor.nameResolver, cls) else None

    def install_on_reactor(self) -> None:
        self._reactor.installNameResolver(self)

    def look_up(self, name: str) -> Lookup:
        """The look-up of *name*, which begins unless it is known; raises OSError if no thread can be started."""
        lookup = self._lookups.get(name)
        if lookup is None:
            lookup = Lookup(Future())
            if isIPAddress(name) or isIPv6Address(name):
                lookup.addresses.set_result([name])
            else:
                try:
                    self._threads.callInThread(self._work, name, lookup)
                except RuntimeError as error:
                    self._threads.threads.pop()  # kept before it is started
                    raise OSError(errno.EAGAIN, str(error)) from error
            self._lookups[name] = lookup
        return lookup

    def forget(self, name: str) -> None:
        self._lookups.pop(name, None)

    def _work(self, name: str, lookup: Lookup) -> None:
        lookup.begun = time.monotonic()
        try:
            found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except (OSError, ValueError):
            found = []
        by_family = defaultdict[int, list[str]](list)
        for family, _, _, _, address in found:
            by_family[family].append(str(address[0]))
        lookup.addresses.set_result(by_family[socket.AF_INET] or by_family[socket.AF_INET6])

    def resolveHostName(
        self, resolutionReceiver: Any, hostName: str, portNumber: int = 0, *more: Any, **named: Any
    ) -> Any:
        resolutionReceiver.resolutionBegan(HostResolution(hostName))
        host = hostName.lower()
        lookup = self.look_up(host).addresses

        def pass_on() -> None:
            found = lookup.result() if lookup.done() else []
            rules = self.rules.values()
            admitted = [one for one in found if not rules or any(rule.admits(host, portNumber, one) for rule in rules)]
            for address in admitted:
                kind = IPv6Address if isIPv6Address(address) else IPv4Address
                resolutionReceiver.addressResolved(kind("TCP", address, portNumber))
            self.refused.pop((host, portNumber), None)
            if found and not admitted:
                self.refused[host, portNumber] = found[-1]
            if lookup.done() and not found:
                self.forget(host)
            resolutionReceiver.resolutionComplete()

        def end() -> None:
            # in the thread of the reactor; if the time is up, nobody waits any more
            if timer.active():
                timer.cancel()
                pass_on()

        if lookup.done():
            pass_on()
        else:
            timer = self._reactor.callLater(self.timeout, pass_on)
            lookup.add_done_callback(lambda _: self._reactor.callFromThread(end))
        return resolutionReceiver


class AddressesMiddleware(CrawlComponent):
    """Connects to public addresses only, to those in ``BILINGUAL_ALLOWED_NETWORKS``, and to seeds given as an address.

    Gives requests back to the frontier while the names of their hosts are looked up, so that other sites go on. A name
    that is not found within ``DNS_TIMEOUT`` fails as a connection does. A crawl ends if the reactor has another
    resolver. Stats: ``bilingual/security/forbidden_address``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._proxies = getproxies()
        self._rule = AddressRule.of(self._options.allowed_networks, [seed.url for seed in self._context.seeds])

    def _is_wanted(self) -> bool:
        return not self._options.replay

    def spider_closed(self) -> None:
        if resolver := GuardedResolver.installed():
            resolver.rules.pop(self, None)

    async def process_request(self, request: Request) -> Request | None:
        # Not only at the start: the script that runs the reactor may install another resolver later.
        resolver = GuardedResolver.installed()
        if resolver is None:
            why = "nothing would keep it from private addresses: the resolver of the reactor is no GuardedResolver"
            fix = "Do not change TWISTED_DNS_RESOLVER; a script that runs the reactor itself installs one"
            end_crawl(self._crawler, "unguarded", f"The crawl ends, because {why}. {fix}")
            raise StillWanted("nothing keeps the crawl from private addresses")
        resolver.rules[self] = self._rule
        parts = urlsplit(request.url)
        name = parts.hostname or ""
        # a proxy looks names up itself
        is_proxied = "proxy" in request.meta or (parts.scheme in self._proxies and not proxy_bypass(name))
        if ENTRY not in request.meta or is_proxied:
            return None
        lookup = resolver.look_up(name)
        if not lookup.addresses.done():
            await asyncio.wait([asyncio.wrap_future(lookup.addresses)], timeout=PATIENCE)
        if not lookup.addresses.done() and lookup.seconds < resolver.timeout:
            rest = min(MAX_REST, REST + lookup.seconds / 2)
            return again(request, Rest(rest, failed=False, after_others=lookup.seconds > SLOW))
        if not lookup.addresses.done() or not lookup.addresses.result():
            resolver.forget(name)
            resolver.refused.pop(authority(request.url), None)
            raise CannotResolveHostError(f"no address of {name} was found")
        return None

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
