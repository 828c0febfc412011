"""The pairs that a crawl reports while it runs: none is lost by a death, none is written twice, none is half a page."""

from pathlib import Path

import pytest
from support.crawls import each, ended_well, summary
from support.webserver import bilingual_site, html, run_scrapy, serve, varied

from bilingual_crawler.storage.records import read_json_lines, read_tsv

PAGES = 12
DEADLY = """
import os, signal
import bilingual_crawler.frontier.lmdb_store as transaction
import bilingual_crawler.storage.records as records
from bilingual_crawler.crawl.spiders.bilingual import BilingualSpider
transaction.MAX_CHANGES = 0  # whatever was learnt is in the store at once
write, left = records.{method}, [{calls}]
def deadly(*arguments):
    left[0] -= type(arguments[1]).__name__ == "{kind}"
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return write(*arguments)
records.{method} = deadly
class Deadly(BilingualSpider):
    name = "bilingual"
"""


def command(url: str, *spider: str) -> tuple[str, ...]:
    settings = each("-s", "BILINGUAL_OUTPUT_DIR=out", "JOBDIR=job")
    return (*(spider or ("crawl", "bilingual")), *each("-a", "pair=eng-spa", f"seeds={url}/en/"), *settings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "kind", "calls"),
    [
        ("GzipJsonLines.write", "Document", 7),
        ("GzipJsonLines.write", "Document", 8),
        ("TsvLog.write_record", "Pair", 3),
    ],
)
def test_a_death_between_page_document_and_pair_loses_no_pair(
    tmp_path: Path, method: str, kind: str, calls: int
) -> None:
    """What was learnt of the page is in the store already: the resumed crawl has the pair before it has the page."""
    (tmp_path / "deadly.py").write_text(DEADLY.format(method=method, kind=kind, calls=calls))
    with serve(varied(bilingual_site(PAGES))) as site:
        killed = run_scrapy(tmp_path, *command(site.url, "runspider", "deadly.py"))
        assert killed.returncode == -9, killed.stderr
        assert 0 < len(list(read_tsv(tmp_path / "out" / "pairs.tsv"))) <= PAGES
        ended_well(run_scrapy(tmp_path, *command(site.url)))
    rows = [(row["url_a"], row["url_b"]) for row in read_tsv(tmp_path / "out" / "pairs.tsv")]
    assert len(rows) == len(set(rows)) == PAGES + 1 == summary(tmp_path)["pairs"]


def test_no_page_in_no_index_is_in_a_pair_and_a_page_whose_links_are_not_followed_announces(tmp_path: Path) -> None:
    """Every other Spanish page asks to be in no index, and a story announces its translation."""
    pages = bilingual_site(PAGES)
    left_out = [f"/es/page-{number}.html" for number in range(0, PAGES, 2)]
    for path in left_out:
        pages[path] = pages[path].replace("<head>", "<head><meta name=robots content=noindex>")
    robots = "<head><meta name=robots content=nofollow><link rel=alternate hreflang=es href=/saga>"
    pages["/en/"] = pages["/en/"].replace("<h1>", "<a href=/story>story</a> <a href=/saga>saga</a><h1>")
    pages |= {"/story": html("en", "story", "").replace("<head>", robots), "/saga": html("es", "saga", "")}
    with serve(varied(pages)) as site:
        ended_well(run_scrapy(tmp_path, *command(site.url)))
    assert all(site.asked[path] for path in left_out)
    documents = {record["url"] for record in read_json_lines(tmp_path / "out" / "documents.jsonl.gz")}
    pairs = {(row["url_a"], row["url_b"]): row["method"] for row in read_tsv(tmp_path / "out" / "pairs.tsv")}
    assert pairs[f"{site.url}/story", f"{site.url}/saga"] == "hreflang"
    paired = {url for pair in pairs for url in pair}
    assert paired <= documents
    assert not {f"{site.url}{path}" for path in left_out} & documents
    assert len(paired) == 2 * len(pairs) == 2 * (PAGES + 2 - len(left_out))
    alone = {row["url"] for row in read_tsv(tmp_path / "out" / "unpaired.tsv")}
    assert alone == documents - paired
    assert len(alone) == len(left_out)
