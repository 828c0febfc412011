import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from support.example_site import EXAMPLES, LINK, PAGES, check, serve
from support.waits import wait_for

from bilingual_crawler import settings
from bilingual_crawler.storage.records import read_tsv


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


@pytest.mark.parametrize(
    ("pair", "first", "second"), [("eng-spa", "en", "es"), ("eus-eng", "eu", "en"), ("spa-eus", "es", "eu")]
)
def test_gold_pairs_are_the_translations_of_the_pages(pair: str, first: str, second: str) -> None:
    pages = [page for page in PAGES.values() if page.language == first and second in page.translations]
    assert check.gold_pairs(pair) == {(page.address, page.translations[second]) for page in pages}


def test_one_section_is_behind_basque_pages_and_nothing_is_out_of_reach() -> None:
    assert set(PAGES) <= reachable({"en", "es", "eu"})
    hidden = {address for address in set(PAGES) - reachable({"en", "es"}) if PAGES[address].language != "eu"}
    assert {urlsplit(address).path.split("/")[2] for address in hidden} == {"workshop", "taller"}


def test_server_answers_like_a_website() -> None:
    with serve.serving() as url:
        with urllib.request.urlopen(f"{url}glossary?lang=es") as response:
            assert "Glosario" in response.read().decode()
        with urllib.request.urlopen(f"{url}en/") as response:
            assert response.url == url
        with urllib.request.urlopen(f"{url}style.css") as response:
            assert response.headers["Content-Type"] == "text/css"
        with urllib.request.urlopen(f"{url}robots.txt") as response:
            assert f"Sitemap: {url}sitemap.xml" in response.read().decode()
        with urllib.request.urlopen(f"{url}sitemap.xml") as response:
            tree = ET.fromstring(response.read())
        for missing in ("nothing", "..%2fserve.py", "../serve.py", "_page.html", "es/index.html"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(url + missing)
    locations = [element.text for element in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert f"{url}en/policies/smart.html" in locations
    assert f"{url}" not in locations


def test_server_prints_its_address() -> None:
    with subprocess.Popen([sys.executable, EXAMPLES / "serve.py"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            with urllib.request.urlopen(process.stdout.readline().strip()) as response:
                assert response.status == 200
        finally:
            process.terminate()


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


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the crawl of the example in a process group of its own."""
    command = [sys.executable, str(EXAMPLES / "crawl.py"), *arguments]
    environment = {**os.environ, "SCRAPY_SETTINGS_MODULE": settings.__name__, "PYTHONPATH": str(EXAMPLES.parent)}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


def crawl(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    process = start(folder, *arguments)
    out, errors = process.communicate(timeout=300)
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)


def assert_every_pair_is_found(result: subprocess.CompletedProcess[str], folder: Path, count: int) -> None:
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"{count} of the {count} true pairs of the example site were found (100%)\n")
    (output,) = (folder / "crawls").iterdir()
    assert (output / "report.html").exists()


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder: Path = tmp_path_factory.mktemp("crawled")
    return folder, crawl(folder, "--pair", "eng-spa", "-a", "policy=bfs")


def test_crawl_of_the_example_finds_every_pair(crawled: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, result = crawled
    assert_every_pair_is_found(result, folder, 26)


@pytest.mark.slow
def test_crawl_of_the_example_for_another_pair_finds_every_pair(tmp_path: Path) -> None:
    assert_every_pair_is_found(crawl(tmp_path, "--pair", "eu-en", "-a", "policy=bfs"), tmp_path, 5)


def test_ctrl_c_lets_the_crawl_of_the_example_end_in_order(tmp_path: Path) -> None:
    process = start(tmp_path, "-s", "DOWNLOAD_DELAY=0.2", "-s", "DOWNLOAD_DELAY_JITTER=0")
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
    result = crawl(tmp_path, "--pair", pair)
    assert result.returncode == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_the_links_of_the_report_work_with_the_command_that_the_crawl_ends_with(
    crawled: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, result = crawled
    command = result.stdout.splitlines()[-1].partition("links in the report: ")[2].split()
    (output,) = (folder / "crawls").iterdir()
    link = next(read_tsv(output / "pairs.tsv"))["url_b"]
    assert f'href="{link}"' in (output / "report.html").read_text()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(link)
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout
            server.stdout.readline()
            with urllib.request.urlopen(link) as response:
                assert response.status == 200
        finally:
            server.terminate()
