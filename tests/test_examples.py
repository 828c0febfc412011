import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from support.crawls import ended_well
from support.example_site import EXAMPLES, LINK, PAGES, check, serve
from support.waits import wait_for
from support.webserver import run, start

from bilingual_crawler.storage.records import read_tsv

CRAWL = [sys.executable, str(EXAMPLES / "crawl.py")]


def links(page: Any) -> set[str]:
    return {urljoin(page.address, link) for link in LINK.findall(serve.render(page))}


def reachable(languages: set[str]) -> set[str]:
    """Addresses found from the home page when only pages in these languages are expanded."""
    found, queue = {"/"}, ["/"]
    while queue:
        page = PAGES.get(queue.pop())
        if page and page.language in languages:
            new = links(page) - found
            found |= new
            queue += new
    return found


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_page_has_text_mutual_translations_and_links_that_lead_somewhere(page: Any) -> None:
    assert len(re.sub(r"<[^>]+>", " ", page.body).split()) >= 120
    for language, address in page.translations.items():
        assert PAGES[address].language == language
        assert PAGES[address].translations[page.language] == page.address
        assert address in links(page)
    for link in links(page):
        assert link in PAGES or link in serve.REDIRECTS or serve._static_file(link), link


def test_gold_pairs_are_the_translations_of_the_pages() -> None:
    for pair, first, second in (("eng-spa", "en", "es"), ("eus-eng", "eu", "en"), ("spa-eus", "es", "eu")):
        pages = [page for page in PAGES.values() if page.language == first and second in page.translations]
        assert check.gold_pairs(pair) == {(page.address, page.translations[second]) for page in pages}, pair


def test_one_section_is_behind_basque_pages_and_nothing_is_out_of_reach() -> None:
    assert set(PAGES) <= reachable({"en", "es", "eu"})
    hidden = {address for address in set(PAGES) - reachable({"en", "es"}) if PAGES[address].language != "eu"}
    assert {urlsplit(address).path.split("/")[2] for address in hidden} == {"workshop", "taller"}


def fetched(url: str) -> tuple[Any, str]:
    """The answer of a server, and its text."""
    with urllib.request.urlopen(url) as response:
        return response, response.read().decode()


def test_server_answers_like_a_website() -> None:
    with serve.serving() as url:
        assert "Glosario" in fetched(f"{url}glossary?lang=es")[1]
        assert fetched(f"{url}en/")[0].url == url
        assert fetched(f"{url}style.css")[0].headers["Content-Type"] == "text/css"
        assert f"Sitemap: {url}sitemap.xml" in fetched(f"{url}robots.txt")[1]
        tree = ET.fromstring(fetched(f"{url}sitemap.xml")[1])
        for missing in ("nothing", "..%2fserve.py", "../serve.py", "_page.html", "es/index.html"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                fetched(url + missing)
    locations = [element.text for element in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert f"{url}en/policies/smart.html" in locations
    assert f"{url}" not in locations


@contextmanager
def first_line(command: Sequence[str], folder: Path) -> Iterator[str]:
    """The first line that a server prints, which then runs in this context."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def test_server_prints_its_address(tmp_path: Path) -> None:
    with first_line([sys.executable, str(EXAMPLES / "serve.py")], tmp_path) as address:
        assert fetched(address)[0].status == 200


@pytest.mark.parametrize(
    ("found", "reason", "status"),
    [(26, "finished", 0), (24, "finished", 0), (23, "finished", 1), (0, "finished", 1), (3, "page_budget", 0)],
)
def test_check_reports_the_share(tmp_path: Path, found: int, reason: str, status: int) -> None:
    gold = sorted(check.gold_pairs("eng-spa"))
    (tmp_path / "summary.json").write_text(json.dumps({"pair": "eng-spa", "finish_reason": reason}))
    rows = [f"http://127.0.0.1:9{a}\thttp://127.0.0.1:9{b}\t0.9\turl\n" for a, b in gold[:found]]
    (tmp_path / "pairs.tsv").write_text("url_a\turl_b\tscore\tmethod\n" + "".join(rows), encoding="utf-8")
    command = [sys.executable, str(EXAMPLES / "check.py"), str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == status
    assert result.stdout.startswith(f"{found} of the 26 true pairs")
    assert result.stdout.count("Not found: ") == (26 - found if reason == "finished" else 0)


def every_pair_is_found(folder: Path, pair: str, count: int) -> str:
    """What a crawl of the example prints, whose report is in *folder*."""
    printed: str = ended_well(run(folder, [*CRAWL, "--pair", pair, "-a", "policy=bfs"], fresh=True)).stdout
    assert printed.startswith(f"{count} of the {count} true pairs of the example site were found (100%)\n")
    (output,) = (folder / "crawls").iterdir()
    assert (output / "report.html").exists()
    return printed


@pytest.mark.slow
def test_crawl_of_the_example_for_another_pair_finds_every_pair(tmp_path: Path) -> None:
    every_pair_is_found(tmp_path, "eu-en", 5)


def test_ctrl_c_lets_the_crawl_of_the_example_end_in_order(tmp_path: Path) -> None:
    process = start(tmp_path, [*CRAWL, "-s", "DOWNLOAD_DELAY=0.2", "-s", "DOWNLOAD_DELAY_JITTER=0"], fresh=True)
    wait_for(lambda: any(log.read_text().count("\n") > 5 for log in tmp_path.glob("crawls/*/crawl.tsv")))
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    [folder] = tmp_path.glob("crawls/*")
    assert json.loads((folder / "summary.json").read_text())["finish_reason"] == "shutdown"
    assert (folder / "report.html").exists()
    assert "KeyboardInterrupt" not in errors


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("eng-mlt", "the example site is in eng, spa, eus; to crawl websites for eng-mlt"),
        ("eng-x", "unknown language 'x'"),
    ],
)
def test_a_pair_that_the_example_does_not_have_is_an_error(tmp_path: Path, pair: str, message: str) -> None:
    result = run(tmp_path, [*CRAWL, "--pair", pair], fresh=True)
    assert result.returncode == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_crawl_of_the_example_finds_every_pair_and_names_a_server_for_its_links(tmp_path: Path) -> None:
    printed = every_pair_is_found(tmp_path, "eng-spa", 26)
    command = printed.splitlines()[-1].partition("links in the report: ")[2].split()
    (output,) = (tmp_path / "crawls").iterdir()
    link = next(read_tsv(output / "pairs.tsv"))["url_b"]
    assert f'href="{link}"' in (output / "report.html").read_text()
    with pytest.raises(urllib.error.URLError):
        fetched(link)
    with first_line(command, tmp_path):
        assert fetched(link)[0].status == 200
