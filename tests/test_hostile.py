"""A crawl of the hostile server."""

from __future__ import annotations

import re
import socket
import time
from collections import Counter
from pathlib import Path

import pytest
from support.crawls import documents, outcomes, summary
from support.hostile import HONEST, PAGES, hostile
from support.webserver import start_scrapy

from bilingual_crawler.storage.archive import iter_responses
from bilingual_crawler.storage.records import read_tsv

QUICK = {
    "BILINGUAL_BACKOFF_START": 0.2,
    "BILINGUAL_BACKOFF_MAX": 1,
    "BILINGUAL_STALE_PAGES": 20,
    "DOWNLOAD_TIMEOUT": 10,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
}
MINUTES = 8


@pytest.mark.slow
def test_the_crawl_ends_with_the_honest_pairs_and_touches_nothing_forbidden(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["-a", "pair=eng-spa", "-a", "scope=web"]
    settings = {**QUICK, "BILINGUAL_OUTPUT_DIR": out, "JOBDIR": tmp_path / "job"}
    with hostile() as (site, contacts):
        arguments += ["-a", f"seeds={site.url}/", *(x for k, v in settings.items() for x in ("-s", f"{k}={v}"))]
        process = start_scrapy(tmp_path, "crawl", "bilingual", *arguments, fresh=True)
        peak = _watch(process.pid, lambda: process.poll() is None)
        stdout, stderr = process.communicate(timeout=10)
    assert process.returncode == 0, stderr
    assert contacts == []
    assert summary(tmp_path)["finish_reason"] == "finished"
    assert peak < 900_000

    pairs = {(row["url_a"], row["url_b"]) for row in read_tsv(out / "pairs.tsv")}
    names = ["", *(f"page-{number}.html" for number in range(PAGES))]
    assert {(f"{site.url}/en/{name}", f"{site.url}/es/{name}") for name in names} <= pairs
    found = outcomes(tmp_path, site.url)
    kinds = Counter(outcome for outcome in found.values())
    assert kinds["soft-404"]
    assert kinds["forbidden-address"] >= 4
    traps = summary(tmp_path)["traps"]
    assert {"links/copy", "soft-404", "sitemaps", "links/stale", "links/too-many"} <= traps.keys()
    assert len(site.asked) < 2500

    assert not [request for request in site.requests if re.search(r"^X-Evil", request, re.MULTILINE | re.IGNORECASE)]
    _check_files(tmp_path, out)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", stdout + stderr)
    report = (out / "report.html").read_text()
    assert "<script" not in report
    assert not [path for path in HONEST if path[1:3] in ("en", "es") and found[path] != "document"]
    assert len(documents(tmp_path)) >= 2 * PAGES + 2


def _watch(pid: int, running: object) -> int:
    """Peak memory in kB of the process, which is killed when it takes too long."""
    assert callable(running)
    peak = 0
    deadline = time.monotonic() + 60 * MINUTES
    while running() and time.monotonic() < deadline:
        status = Path(f"/proc/{pid}/status").read_text()
        peak = int(status.partition("VmHWM:")[2].split()[0]) if "VmHWM" in status else peak
        time.sleep(0.1)
    assert time.monotonic() < deadline, "the crawl does not end"
    return peak


def _check_files(folder: Path, out: Path) -> None:
    """The crawl wrote only its usual files, no pickle, and a complete archive."""
    written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    known = {
        ".lock",
        "crawl.toml",
        "crawl.tsv",
        "documents.jsonl.gz",
        "pairs.tsv",
        "report.html",
        "summary.json",
        "unpaired.tsv",
    }
    allowed = {f"out/{name}" for name in known}
    others = {name for name in written - allowed if not re.fullmatch(r"out/crawl-[\w.-]+\.warc\.gz|job/.+", name)}
    assert not others
    assert {name for name in written if name.startswith("job/")} <= {
        "job/.lock",
        "job/frontier/data.mdb",
        "job/frontier/lock.mdb",
        "job/job.json",
        "job/output_dir",
    }
    assert not [name for name in written if (folder / name).read_bytes()[:1] == b"\x80"]
    responses = list(iter_responses([out]))
    assert len(responses) > PAGES
    assert not [response for response in responses if "\n" in response.url]


def test_a_listener_on_the_forbidden_address_would_have_noticed() -> None:
    with hostile() as (_, contacts):
        pass
    with socket.create_server(("127.0.0.2", 0)) as listener:
        address = listener.getsockname()
        with socket.create_connection(address, timeout=5):
            connection, _ = listener.accept()
            connection.close()
    assert contacts == []
