"""Which links belong to the crawl."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from bilingual_crawler.urls.hosts import registered_domain
from bilingual_crawler.urls.traps import grown

SCOPES = ("site", "host", "web")


class Scope:
    """Decides by host, and by path against URLs that grow by themselves.

    *name* is ``site`` (registered domains of the seeds), ``host`` (their hosts) or ``web`` (all hosts). *aliases* are
    other names of those hosts. *prefixes*, if given, decide instead: a URL must start with one of them, apart from
    scheme and ``www.``.
    """

    def __init__(
        self, name: str, seeds: Iterable[str], *, aliases: Iterable[str] = (), prefixes: Iterable[str] = ()
    ) -> None:
        self._name = name
        self._aliases = frozenset(aliases)
        self._prefixes = tuple(map(_bare, prefixes))
        self._allowed = {self._area(urlsplit(seed).hostname or "") for seed in seeds}

    def _area(self, host: str) -> str:
        return registered_domain(host) if self._name == "site" else host

    def admits(self, url: str) -> bool:
        if self._prefixes:
            return _bare(url).startswith(self._prefixes) and grown(url) is None
        return self._holds(urlsplit(url).hostname or "") and grown(url) is None

    def join(self, url: str) -> bool:
        """Admit the registered domain or host of *url* from now on; false if it is admitted, or if prefixes decide."""
        host = urlsplit(url).hostname or ""
        if self._prefixes or self._holds(host):
            return False
        self._allowed.add(self._area(host))
        return True

    def _holds(self, host: str) -> bool:
        return self._name == "web" or self._area(host) in self._allowed or host in self._aliases


def _bare(url: str) -> str:
    return url.split("://", 1)[-1].removeprefix("www.")
