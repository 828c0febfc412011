"""A crawl of the hostile server."""

import re
from collections import Counter
from pathlib import Path
from urllib.request import urlopen

import pytest
from support.crawls import documents, each, outcomes, start_crawl, summary
from support.hostile import HONEST, PAGES, hostile
from support.processes import PeakMemory

from bilingual_crawler.storage.archive import iter_responses
from bilingual_crawler.storage.records import read_tsv

QUICK = (
    *("BILINGUAL_BACKOFF_START=0.2", "BILINGUAL_BACKOFF_MAX=1", "BILINGUAL_STALE_PAGES=20", "DOWNLOAD_TIMEOUT=10"),
    "CONCURRENT_REQUESTS_PER_DOMAIN=8",
)
MINUTES = 8


@pytest.mark.slow
def test_the_crawl_ends_with_the_honest_pairs_and_touches_nothing_forbidden(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with hostile() as (site, contacts):
        given = each("-s", *QUICK, f"JOBDIR={tmp_path / 'job'}")
        process = start_crawl(tmp_path, f"{site.url}/", "-a", "scope=web", *given, fresh=True)
        with PeakMemory(process.pid) as peak:
            stdout, stderr = process.communicate(timeout=60 * MINUTES)
    assert process.returncode == 0, stderr
    assert contacts == []
    assert summary(tmp_path)["finish_reason"] == "finished"
    assert peak.most < 900 << 20

    pairs = {(row["url_a"], row["url_b"]) for row in read_tsv(out / "pairs.tsv")}
    names = ["", *(f"page-{number}.html" for number in range(PAGES))]
    assert {(f"{site.url}/en/{name}", f"{site.url}/es/{name}") for name in names} <= pairs
    found = outcomes(tmp_path, site.url)
    kinds = Counter(found.values())
    assert kinds["soft-404"]
    assert kinds["forbidden-address"] >= 4
    traps = summary(tmp_path)["traps"]
    assert {"links/copy", "soft-404", "sitemaps", "links/stale", "links/too-many"} <= traps.keys()
    assert len(site.asked) < 2500

    assert not [request for request in site.requests if re.search(r"^X-Evil", request, re.MULTILINE | re.IGNORECASE)]
    _check_files(tmp_path, out)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", stdout + stderr)
    assert "<script" not in (out / "report.html").read_text()
    assert not [path for path in HONEST if path[1:3] in ("en", "es") and found[path] != "document"]
    assert len(documents(tmp_path)) >= 2 * PAGES + 2


def _check_files(folder: Path, out: Path) -> None:
    """The crawl wrote only its usual files, no pickle, and a complete archive."""
    written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    tables = {"crawl.tsv", "documents.jsonl.gz", "pairs.tsv", "unpaired.tsv"}
    allowed = {f"out/{name}" for name in (*tables, ".lock", "crawl.toml", "report.html", "summary.json")}
    others = {name for name in written - allowed if not re.fullmatch(r"out/crawl-[\w.-]+\.warc\.gz|job/.+", name)}
    assert not others
    kept = {f"job/{name}" for name in (".lock", "frontier/data.mdb", "frontier/lock.mdb", "job.json", "output_dir")}
    assert {name for name in written if name.startswith("job/")} <= kept
    assert not [name for name in written if (folder / name).read_bytes()[:1] == b"\x80"]
    responses = list(iter_responses([out]))
    assert len(responses) > PAGES
    assert not [response for response in responses if "\n" in response.url]


def test_the_listener_on_the_forbidden_address_notices() -> None:
    with hostile() as (site, contacts):
        with pytest.raises(OSError, match=r"closed connection|reset"):
            urlopen(f"{site.url}/forbidden/jump", timeout=30)
        assert contacts
