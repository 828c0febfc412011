"""The rules of a robots.txt for one crawler, and its sitemaps, in linear time for any file."""

from __future__ import annotations

import re

from bilingual_crawler.urls.canonical import canonicalise

_AGENT = re.compile(r"(?i)user[- ]?agent(?:\s*:|\s)\s*(.*)")
_SITEMAP = re.compile(r"(?i)(?:sitemaps?|site-map)\s*:\s*(\S+)")
_SITE_WIDE = re.compile(r"(?i)(?:sitemaps?|site-map|host)\s*:")
_WORD_START = re.compile(r"(?<![\w-])[\w-]")


def rules_for(text: str, agent: str) -> str:
    """The groups of a robots.txt that concern *agent* (RFC 9309, section 2.2.1), as a robots.txt.

    Parsers take time in the product of names and rules for a group with many of both.
    """
    agent = agent.lower()
    starts = [match.start() for match in _WORD_START.finditer(agent)]
    kept: list[str] = []
    names: set[str] = set()
    naming = False
    for line in _lines(text):
        if match := _AGENT.match(line):
            if not naming:
                names.clear()
            naming = True
            name = match[1].strip().lower()
            concerns = name == "*" or (name and any(agent.startswith(name.strip("*"), start) for start in starts))
            if concerns and name not in names:
                names.add(name)
                kept.append(f"User-agent: {name}")
        elif not _SITE_WIDE.match(line):
            naming = False
            if names:
                kept.append(line)
    return "\n".join(kept)


def sitemaps_in(text: str) -> list[str]:
    """Canonical URLs of the ``Sitemap:`` lines of a robots.txt, each once."""
    named = (canonicalise(match[1]) for line in _lines(text) if (match := _SITEMAP.match(line)))
    return list(dict.fromkeys(url for url in named if url is not None))


def _lines(text: str) -> list[str]:
    """The lines without comments, byte order mark and empty lines."""
    lines = (line.partition("#")[0].strip("\ufeff \t\r\f\v") for line in re.split("[\r\n]+", text))
    return [line for line in lines if line]
