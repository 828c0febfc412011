"""Hosts as Common Crawl and the sources name them."""

from __future__ import annotations

from bilingual_crawler.urls.hosts import host_of, normal_host


def bare_host(url_or_host: str) -> str | None:
    """The host without port and ``www.``, in IDNA form; None if it is no valid host name."""
    host = normal_host(host_of(url_or_host.strip()))
    if host is None:
        return None
    bare = host.removeprefix("www.")
    return bare if "." in bare else host


def reverse(host: str) -> str:
    """``www.example.mt`` gives ``mt.example.www``, and the other way round."""
    return ".".join(reversed(host.split(".")))
