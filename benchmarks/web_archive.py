"""The archive of a made-up web: frozen sites under other names, with the links of a graph."""

from __future__ import annotations

import html
import random
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bilingual_crawler.archive import alias_hosts, open_archive
from bilingual_crawler.archive.writer import Exchange, WarcWriter
from bilingual_crawler.harvest.archived import html_of
from bilingual_crawler.harvest.sites import read_site, read_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.graph_web import Node
    from bilingual_crawler.harvest.sites import Site
    from bilingual_crawler.languages import LanguagePair

MAX_PAGES = 25
"""Pages of a frozen site that are served: its home page and the first that this links to."""
MAX_SIZE = 200_000
"""Characters of a page that is served."""


class _Pattern:
    """The pages of a frozen site, of which a node serves those in its languages."""

    def __init__(self, folder: Path, seed: str) -> None:
        site: Site = read_site(folder)
        archive = open_archive([folder])
        urls = [seed, *(url for url in site.links.get(seed, ()) if url in site.languages)]
        self.hosts = {urlsplit(seed).netloc, *alias_hosts([folder])}
        self.seed = seed
        self.pages: dict[str, tuple[str, str]] = {}
        """Path -> language and HTML."""
        for url in list(dict.fromkeys(urls))[:MAX_PAGES]:
            text = html_of(archive, url)
            if text is not None and urlsplit(url).netloc == urlsplit(seed).netloc:
                parts = urlsplit(url)
                path = parts.path + (f"?{parts.query}" if parts.query else "")
                self.pages[path] = (site.languages[url], text[:MAX_SIZE])

    def language(self) -> str:
        """That of the home page."""
        return next(iter(self.pages.values()))[0]


def write_web(folder: Path, nodes: Sequence[Node], sites: Path, pair: LanguagePair, seed: int) -> None:
    """Write the pages of *nodes* as WARC files into *folder*.

    A bilingual node is one of the frozen *sites* that have gold pairs in the two languages. Another is cut to the
    pages in the language of its home page, and its links to others are dead. A language that no site has is English.
    """
    rng = random.Random(seed)
    bilingual: list[_Pattern] = []
    others: defaultdict[str, list[_Pattern]] = defaultdict(list)
    for task in read_tasks(sites):
        pattern = _Pattern(sites / task.site, task.seeds[0])
        if not pattern.pages:
            continue
        languages = {pair.side(language) for language, _ in pattern.pages.values()} - {None}
        if {pair.side(task.lang_a), pair.side(task.lang_b)} == {pair.a, pair.b} and len(languages) == 2:
            bilingual.append(pattern)
        others[pattern.language()].append(pattern)
    writer = WarcWriter(folder, "web")
    for node in nodes:
        own = others.get(node.language) or others["eng"]
        pattern = rng.choice(bilingual if node.bilingual else own)
        for path, text in _pages(node, pattern).items():
            writer.write_exchange(_exchange(f"http://{node.host}{path}", text))
    writer.close()


def _pages(node: Node, pattern: _Pattern) -> dict[str, str]:
    """Path -> HTML."""
    listed = "".join(f'<li><a href="{target.home}">{html.escape(target.name)}</a></li>' for target in node.links)
    if node.hub:
        more = '<p><a href="/links.html">Links</a></p>'
        pages = {"/links.html": f"<html><head><title>Links</title></head><body><h1>Links</h1><ul>{listed}</ul></body>"}
    else:
        more, pages = f"<ul>{listed}</ul>", {}
    home = urlsplit(pattern.seed).path
    for path, (language, text) in pattern.pages.items():
        if node.bilingual or language == pattern.language():
            for host in pattern.hosts:
                text = text.replace(f"https://{host}", f"http://{node.host}").replace(f"//{host}", f"//{node.host}")
            text = text.replace("</body>", f"<p>{html.escape(node.name)}</p></body>")
            pages[path] = text
    body = pages.get(home, "").replace("</body>", f"{more}</body>")
    pages[home] = body
    # the root of the host is where discovery begins
    if home != "/":
        pages["/"] = body.replace("<head>", f'<head><base href="{home}">', 1)
    return pages


def _exchange(url: str, text: str) -> Exchange:
    headers = [(b"Content-Type", b"text/html; charset=utf-8")]
    return Exchange(url, "GET", [], 200, headers, text.encode("utf-8", "replace"), datetime.now(UTC))
