"""Several sites of two languages, crawled by several workers, and what they have fetched."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import Popen

from bilingual_crawler.storage.records import read_json_lines, read_tsv
from support.webserver import ABOUT_SITE, Site, bilingual_site, serve, varied

PAGES = 8


@contextmanager
def serve_several(count: int) -> Iterator[list[Site]]:
    """The same site at so many addresses."""
    pages, moved = varied(bilingual_site(PAGES)), {"/old": "/en/page-1.html"}
    with ExitStack() as stack:
        hosts = (f"127.0.0.{number}" for number in range(2, 2 + count))
        yield [stack.enter_context(serve(pages, redirects=moved, address=host, delay=0.02)) for host in hosts]


def wait_until_asked(sites: list[Site], count: int, process: Popen[str]) -> None:
    """While the crawl of *process* goes on."""
    while asked(sites).total() < count:
        time.sleep(0.05)
        assert process.poll() is None, process.communicate()


def documents(folder: Path) -> set[str]:
    return {record["url"] for record in read_json_lines(folder / "out" / "documents.jsonl.gz")}


def hosts(folder: Path) -> set[str]:
    return {row["url"].split("/")[2] for row in read_tsv(folder / "out" / "crawl.tsv")}


def every_document(sites: list[Site]) -> set[str]:
    pages = bilingual_site(PAGES)
    return {f"{site.url}{path}" for site in sites for path in pages if path.startswith(("/en/", "/es/"))}


def asked(sites: list[Site]) -> Counter[str]:
    return Counter(
        {f"{site.url}{path}": n for site in sites for path, n in site.asked.items() if path not in ABOUT_SITE}
    )
