"""Compare the links that the page parser finds with the link graphs of frozen sites.

    python -m benchmarks.link_extraction SITES_DIR [SITE ...]

Prints for each site: pages, milliseconds a page (decode and parse), edges of the graph, the share of them found, and
edges found that the graph lacks (between pages of the graph; redirects and alias forms applied).
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from warcio.archiveiterator import ArchiveIterator

from bilingual_crawler.pages.decode import decode_body
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.pages.model import LinkSource
from bilingual_crawler.urls.canonical import canonicalise

if TYPE_CHECKING:
    from collections.abc import Iterator

_INDEX = re.compile(r"/index\.\w+$")
IN_GRAPH = (LinkSource.A, LinkSource.AREA, LinkSource.REFRESH)


def read_pages(site: Path) -> Iterator[tuple[str, str | None, bytes]]:
    """URL, content type and body of each response."""
    with lzma.open(site / "pages.warc.xz") as stream:
        for record in ArchiveIterator(stream):
            if record.rec_type == "response":
                content_type = record.http_headers.get_header("Content-Type")
                yield record.rec_headers.get_header("WARC-Target-URI"), content_type, record.content_stream().read()


class Names:
    """The pages of a graph under all forms in which pages link to them."""

    def __init__(self, site: Path, pages: list[str]) -> None:
        meta = json.loads((site / "site.json").read_text())
        self._bases = [_bare(base).rstrip("/") for base in meta["alias_bases"]]
        self._base = _bare(meta["base"]).rstrip("/")
        self._pages = {_bare(page): page for page in pages}
        redirects = site / "redirects.tsv"
        lines = redirects.read_text().splitlines() if redirects.exists() else []
        self._redirects = {_bare(a): _bare(b) for a, b in (line.split("\t")[:2] for line in lines)}

    def find(self, url: str) -> str | None:
        """The page that *url* leads to, as the graph names it."""
        bare = _bare(url)
        for base in self._bases:
            if bare.startswith(base):
                bare = self._base + bare[len(base) :]
        for _ in range(5):
            for form in (bare, bare + ".html", bare + "/", _INDEX.sub("/", bare)):
                if form in self._pages:
                    return self._pages[form]
            target = self._redirects.get(bare)
            if target is None:
                return None
            bare = target
        return None


def _bare(url: str) -> str:
    url = canonicalise(url) or url
    return url.rpartition("://")[2].removeprefix("www.").partition("#")[0]


def compare(site: Path) -> tuple[int, float, int, set[tuple[str, str]], set[tuple[str, str]]]:
    """Pages, seconds, edges of the graph, edges not found, edges the graph lacks."""
    with lzma.open(site / "graph.tsv.xz", "rt", encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    names = Names(site, [row[0] for row in rows])
    known = {row[0]: {target for url in row[3].split() if (target := names.find(url))} - {row[0]} for row in rows}
    found: dict[str, set[str]] = {}
    seconds = 0.0
    for url, content_type, body in read_pages(site):
        page = names.find(url)
        if page is None or page in found:
            continue
        started = time.process_time()
        parsed = parse_page(decode_body(body, content_type), url)
        seconds += time.process_time() - started
        links = (names.find(link.url) for link in parsed.links if link.source in IN_GRAPH)
        found[page] = {link for link in links if link is not None and link != page}
    edges = {(page, target) for page, targets in known.items() if page in found for target in targets}
    ours = {(page, target) for page, targets in found.items() for target in targets}
    return len(found), seconds, len(edges), edges - ours, ours - edges


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path)
    parser.add_argument("names", nargs="*", metavar="SITE")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="show N edges of each difference")
    arguments = parser.parse_args()
    names = arguments.names or sorted(path.parent.name for path in arguments.sites.glob("*/site.json"))
    print(f"{'site':32}{'pages':>7}{'ms/page':>9}{'edges':>9}{'found':>8}{'missed':>8}{'more':>8}")
    for name in names:
        pages, seconds, edges, missed, more = compare(arguments.sites / name)
        share = 1 - len(missed) / max(edges, 1)
        row = f"{name:32}{pages:7}{1000 * seconds / max(pages, 1):9.2f}{edges:9}"
        print(row + f"{share:8.4f}{len(missed):8}{len(more):8}", flush=True)
        for sign, difference in ("-", missed), ("+", more):
            for page, target in sorted(difference)[: arguments.show]:
                print(f"  {sign} {page} -> {target}")


if __name__ == "__main__":
    main()
