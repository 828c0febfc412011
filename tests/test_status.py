"""A running crawl watched in a browser and by scripts, on real servers on loopback."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from components import program
from prometheus_client.parser import text_string_to_metric_families
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from webserver import bilingual_site, scrapy_environment, serve, varied

from bilingual_crawler.options import Options

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "</td><script>document.title='taken'</script>"
SITE = {
    path: page.replace("<title>", "<title>" + HOSTILE.replace("<", "&lt;"))
    for path, page in varied(bilingual_site(6)).items()
}


@dataclass
class Watched:
    """What a crawl showed while it ran, and its output folder."""

    folder: Path
    address: str = ""
    statuses: list[dict[str, Any]] = field(default_factory=list)
    page: str = ""
    drawn: str = ""
    """The page after Chromium has shown it."""
    metrics: str = ""
    explained: list[Any] = field(default_factory=list)
    refused: int = 0

    @property
    def summary(self) -> dict[str, Any]:
        summary: dict[str, Any] = json.loads((self.folder / "out" / "summary.json").read_text())
        return summary


def command(url: str, address: str) -> list[str]:
    arguments = ("-a", "pair=eng-spa", "-a", f"seeds={url}", "-s", "DOWNLOAD_DELAY=0.4", "-s", "AUTOTHROTTLE_ENABLED=0")
    places = ("-s", "BILINGUAL_OUTPUT_DIR=out", "-s", f"BILINGUAL_STATUS={address}")
    return [sys.executable, "-m", "scrapy", "crawl", "bilingual", *arguments, *places]


def get(address: str, accept: str = "*/*") -> str:
    with urlopen(Request(address, headers={"accept": accept}), timeout=30) as answer:
        text: str = answer.read().decode()
        return text


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    chromium = program("chromium", "chromium-browser", "google-chrome", package="chromium")
    crawl = Watched(tmp_path_factory.mktemp("status"))
    log = crawl.folder / "log"
    with serve(SITE) as site, log.open("w") as output:
        url = site.url
        process = subprocess.Popen(
            command(url, "127.0.0.1:0"), cwd=crawl.folder, env=scrapy_environment(), stderr=output
        )
        while process.poll() is None:
            time.sleep(0.1)
            if not crawl.address:
                found = re.search(r"Status of the crawl: (\S+)/\n", log.read_text())
                crawl.address = found[1] if found else ""
                continue
            try:
                crawl.statuses.append(json.loads(get(f"{crawl.address}/status.json")))
            except (HTTPError, URLError, OSError):
                continue
            if crawl.page or not crawl.statuses[-1]["summary"]["pairs"]:
                continue
            crawl.page = get(f"{crawl.address}/")
            crawl.metrics = get(f"{crawl.address}/metrics")
            crawl.explained = [
                get(f"{crawl.address}/explain?url={quote(url + '/en/', safe='')}"),
                json.loads(get(f"{crawl.address}/explain?url={url}/es/new", "application/json")),
            ]
            show = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"{crawl.address}/"]
            crawl.drawn = subprocess.run(show, capture_output=True, text=True, timeout=60, check=True).stdout
            elsewhere = Request(f"{crawl.address}/status.json", headers={"host": "evil.example"})
            with pytest.raises(HTTPError) as error:
                urlopen(elsewhere, timeout=10)
            crawl.refused = error.value.code
    assert process.returncode == 0, log.read_text()[-3000:]
    return crawl


def test_the_figures_at_the_end_are_those_of_the_summary(watched: Watched) -> None:
    last = watched.statuses[-1]
    assert last["phase"] == "done: finished"
    assert last["summary"] == watched.summary
    assert watched.summary["pairs"] == 7
    assert last["curve"][-1] == [watched.summary["fetched"], 7]
    (site,) = last["sites"]
    assert (site["fetched"], site["pairs"]) == (watched.summary["fetched"], 7)


def test_the_figures_grow_while_it_crawls(watched: Watched) -> None:
    fetched = [status["summary"]["fetched"] for status in watched.statuses if status["phase"] == "crawling"]
    assert fetched == sorted(fetched)
    assert len(set(fetched)) > 2


def test_the_page_shows_the_newest_pairs_and_nothing_of_a_site_is_run(watched: Watched) -> None:
    assert "Newest pairs" in watched.page
    assert "/es/" in watched.page
    assert HOSTILE not in watched.page
    assert HOSTILE.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;") in watched.page
    assert "taken" not in re.search("<title>(.*?)</title>", watched.drawn, re.DOTALL)[1]  # type: ignore[index]
    assert "Harvest curve" in watched.drawn


def test_metrics_are_read_by_prometheus(watched: Watched) -> None:
    families = {family.name: family for family in text_string_to_metric_families(watched.metrics)}
    assert families["bilingual_fetched"].samples[0].value >= 2
    assert {sample.labels["language"] for sample in families["bilingual_documents"].samples} == {"eng", "spa"}
    assert families["bilingual_pairs"].samples[0].labels == {"pair": "eng-spa"}


def test_a_priority_is_explained(watched: Watched) -> None:
    page, unseen = watched.explained
    assert "State: done" in page
    assert "belief: eng" in page
    assert unseen["state"] == "unseen"
    assert unseen["terms"]["worth"] > 0
    assert unseen["terms"]["belief: spa"] > 0.8


def test_a_website_cannot_read_it_through_a_name_of_its_own(watched: Watched) -> None:
    assert watched.refused == 403


def test_an_address_in_use_is_an_error_at_the_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        crawl = command("http://127.0.0.1:9/", f"127.0.0.1:{taken.getsockname()[1]}")
        said = subprocess.run(
            crawl, cwd=tmp_path, env=scrapy_environment(), capture_output=True, text=True, check=False
        ).stderr
    assert "BILINGUAL_STATUS=127.0.0.1:" in said
    assert "give another address" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (None, None),
        ("", None),
        ("8010", ("127.0.0.1", 8010)),
        (":8010", ("127.0.0.1", 8010)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
        ("[::1]:8010", ("::1", 8010)),
    ],
)
def test_addresses(given: str | None, read: tuple[str, int] | None) -> None:
    assert Options.of(Settings({"BILINGUAL_STATUS": given})).status == read


@pytest.mark.parametrize("given", ["localhost:http", "127.0.0.1:70000", "127.0.0.1:-1", "example.org:80", "8010x"])
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match=r"give an address of this machine and a port, as in 127\.0\.0\.1:8010"):
        Options.of(Settings({"BILINGUAL_STATUS": given}))


def test_nobody_listens_unless_asked() -> None:
    assert Options.of(Settings()).status is None
