"""Rules of sites for crawlers: robots.txt, ``<meta name=robots>`` and ``X-Robots-Tag``, in linear time for any text."""

import re
from collections.abc import Callable, Iterable

from w3lib.encoding import read_bom

from bilingual_crawler.urls.canonical import linked

_AGENT = re.compile(r"(?i)user[- ]?agent(?:\s*:|\s)\s*(.*)")
_SITEMAP = re.compile(r"(?i)(?:sitemaps?|site-map)\s*:\s*(\S+)")
_SITE_WIDE = re.compile(r"(?i)(?:sitemaps?|site-map|host)(?:\s*:|\s|$)")
_RULE = re.compile(
    r"(?i)[^:]*:|(?:dis+al+ow|diasllow|disallaw|allow|crawl[- ]delay|request[- ]rate|visit[- ]time)(?:\s|$)"
)
"""A line that ends the names of a group; other text does not, so that its rules hold for more names, not for fewer."""
_TOKEN = re.compile(r"\*(?=\s|$)|[a-z_-]+")  # of a name: neither a version nor what follows (RFC 9309, 2.2.1)
MAX_LINE = 8 * 2083 - 1  # characters of a line that are read, as by Google's parser
_WORD_START = re.compile(r"(?<![\w-])[\w-]")
_NAME = re.compile(r"\s*([^\s:]+)\s*:")
_WITH_VALUE = frozenset(("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"))
"""Directives that a colon follows, as it follows the name of a crawler."""


def page_rules(directives: set[str]) -> tuple[bool, bool]:
    """Whether *directives*, in lower case, forbid to index the page, and to follow its links."""
    return not directives.isdisjoint(("noindex", "none")), not directives.isdisjoint(("nofollow", "none"))


def directives_in(content: str) -> set[str]:
    """The directives in the content of ``<meta name=robots>``, in lower case."""
    return set(re.split(r"[\s,]+", content.lower()))


def header_directives(values: Iterable[str], agent: str) -> set[str]:
    """The directives in ``X-Robots-Tag`` headers for *agent* (``googlebot: noindex, nofollow``) or all, lower case."""
    named = _matcher(agent)
    found: set[str] = set()
    for value in values:
        concerned = True
        for part in value.lower().split(","):
            match = _NAME.match(part)
            if match and match[1] not in _WITH_VALUE:
                concerned = named(match[1])
                part = part[match.end() :]
            if concerned:
                found |= directives_in(part)
    return found


def rules_for(text: str, agent: str) -> str:
    """The groups of a robots.txt that concern *agent* (RFC 9309, section 2.2.1), as a robots.txt."""
    stands_for = _matcher(agent)
    own = re.compile(rf"(?<![\w-]){re.escape(agent.lower())}(?![\w-])")
    kept: list[str] = []
    names: set[str] = set()
    naming = False
    for line in _lines(text):
        if match := _AGENT.match(line):
            if not naming:
                names.clear()
            naming = True
            value = match[1].lower()
            # names may be parted by commas, and the crawler's own stand anywhere: `Mozilla/5.0 (compatible; …)`
            first = (_TOKEN.match(part.strip()) for part in value.split(","))
            for name in [one[0] for one in first if one and stands_for(one[0])] or own.findall(value)[:1]:
                if name not in names:
                    names.add(name)
                    kept.append(f"User-agent: {name}")
        elif not _SITE_WIDE.match(line):
            naming = naming and not _RULE.match(line)
            if names:
                kept.append(line)
    return "\n".join(kept)


def sitemaps_in(text: str, url: str) -> list[str]:
    """Canonical URLs of the ``Sitemap:`` lines of the robots.txt at *url*, each once; many are relative to it."""
    named = (linked(match[1], url) for line in _lines(text) if (match := _SITEMAP.match(line)))
    return list(dict.fromkeys(url for url in named if url is not None))


def text_of(body: bytes) -> str:
    """The text of a robots.txt: UTF-8, or UTF-16 by its byte order mark or its first character, which is ASCII."""
    encoding, _ = read_bom(body)
    if encoding is None and 0 in body[:2]:
        encoding = "utf-16-be" if body[0] == 0 else "utf-16-le"
    return body.decode(encoding or "utf-8", "replace")


def _matcher(agent: str) -> Callable[[str], bool]:
    """Whether a name, in lower case, stands for the crawler *agent*, of which it may be any word, or for all."""
    agent = agent.lower()
    starts = [match.start() for match in _WORD_START.finditer(agent)]
    return lambda name: name == "*" or any(name and agent.startswith(name.strip("*"), start) for start in starts)


def _lines(text: str) -> list[str]:
    lines = (line[:MAX_LINE].partition("#")[0].strip("\ufeff \t\r\f\v") for line in re.split("[\r\n]+", text))
    return [line for line in lines if line]
