"""The archive of a made-up web: frozen sites under other names, with the links of a graph."""

from __future__ import annotations

import html
import random
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bilingual_crawler.harvest.sites import html_of, read_site, read_tasks
from bilingual_crawler.storage.archive import open_archive
from bilingual_crawler.storage.sites import alias_hosts
from bilingual_crawler.storage.writer import Exchange, WarcWriter
from training.discovery.cuts import FrozenWeb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.graph_web import Node
    from bilingual_crawler.harvest.sites import Site
    from bilingual_crawler.languages.codes import LanguagePair

MAX_PAGES = 25  # pages of a frozen site that are served: its home page and the first that this links to
MAX_SIZE = 200_000  # characters of a page that is served


class _Pattern:
    """The pages of a frozen site, of which a node serves those in its languages."""

    def __init__(self, folder: Path, seed: str) -> None:
        site: Site = read_site(folder)
        archive = open_archive([folder])
        linked = (url for url in site.links.get(seed, ()) if url in site.languages)
        urls = list(dict.fromkeys((seed, *linked)))[:MAX_PAGES]
        self.hosts = {urlsplit(seed).netloc, *alias_hosts([folder])}
        self.seed = seed
        self.pages: dict[str, tuple[str, str]] = {}
        """Path -> language and HTML."""
        for url in urls:
            text = html_of(archive, url)
            if text is not None and urlsplit(url).netloc == urlsplit(seed).netloc:
                self.pages[_path(url)] = (site.languages[url], text[:MAX_SIZE])
        web = FrozenWeb(site)
        reads = filter(None, map(web.read, urls))
        forms = {link.url for read in reads for link in read.links if urlsplit(link.url).netloc in self.hosts}
        self.redirects = {_path(url): _path(web.target(url)) for url in sorted(forms) if web.target(url) != url}
        """Path, as it is linked -> path of the page that the server gives."""

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
    if not bilingual:
        raise SystemExit(f"--pair {pair}: {sites} has no site with pages in both languages; give another pair")
    writer = WarcWriter(folder, "web")
    for node in nodes:
        own = others.get(node.language) or others["eng"]
        pattern = rng.choice(bilingual if node.bilingual else own)
        pages = _pages(node, pattern)
        for path, text in pages.items():
            content_type = (b"Content-Type", b"text/html; charset=utf-8")
            writer.write_exchange(_exchange(f"http://{node.host}{path}", 200, content_type, text))
        for linked, path in pattern.redirects.items():
            if path in pages and linked not in pages:
                location = (b"Location", f"http://{node.host}{path}".encode())
                writer.write_exchange(_exchange(f"http://{node.host}{linked}", 301, location))
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


def _path(url: str) -> str:
    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def _exchange(url: str, status: int, header: tuple[bytes, bytes], text: str = "") -> Exchange:
    return Exchange(url, "GET", [], status, [header], text.encode("utf-8", "replace"), datetime.now(UTC))
