"""A crawl of a site that publishes reports as PDFs in two languages."""

import csv
import gzip
import random
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.crawls import crawl, documents, each, ended_well, outcomes, pairs, start_crawl, summary
from support.pdf_files import HOSTILE, damaged_pdf, locked_pdf, long_pdf, report, scanned_pdf, text_pdf
from support.processes import PeakMemory
from support.scripted import Answer, Scripted, scripted
from support.webserver import ALIGNED, html, run_scrapy

from bilingual_crawler.reporting.results import read_summary
from bilingual_crawler.storage.archive import open_archive
from bilingual_crawler.storage.records import SUMMARY

REPORTS = 12
LOCKED, SCANNED, DAMAGED, LONG = range(4)
WITH_PDF = ("-s", "BILINGUAL_DOCUMENTS=html,pdf")
MEGABYTES = 900
LINKS = {"pdf": 2 * REPORTS, "xlsx": 2}
LISTINGS = {"en": "/publications.html", "es": "/publicaciones.html"}


def path_of(language: str, number: int) -> str:
    """The address of a report; those of odd number tell nothing."""
    if number % 2:
        return f"/files/{random.Random(f'{language}{number}').getrandbits(40):x}.pdf"
    return f"/{language}/report-{number}.pdf"


PAIRS = {(path_of("en", number), path_of("es", number)) for number in (LONG, *range(4, REPORTS))}


def listing(language: str) -> str:
    items = "".join(
        f"<li><a href='{path_of(language, number)}'>{report(language, number)[0]}</a>" for number in range(REPORTS)
    )
    others = "".join(f"<link rel=alternate hreflang={code} href={path}>" for code, path in LISTINGS.items())
    return html(language, "PDF", f"{others}<ul>{items}</ul><a href=/table.xlsx>xlsx</a><a href=/photo.jpg>jpg</a>")


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """The PDFs by path."""
    reports = [(language, number) for language in ("en", "es") for number in range(REPORTS)]
    made = {path_of(*one): text_pdf(*report(*one), heads=False) for one in reports}
    made[path_of("en", LOCKED)] = locked_pdf("en", LOCKED)
    made[path_of("es", SCANNED)] = scanned_pdf("es", SCANNED)
    made[path_of("es", DAMAGED)] = damaged_pdf("es", DAMAGED)
    made |= {path_of(language, LONG): long_pdf(language, LONG, 310) for language in ("en", "es")}
    return made


@pytest.fixture(scope="module")
def site(files: Mapping[str, bytes]) -> Iterator[Scripted]:
    pages = {path: Answer(listing(language)) for language, path in LISTINGS.items()}
    pages |= {path: Answer(body, kind="application/pdf") for path, body in files.items()}
    with scripted(lambda path: pages.get(path, Answer(status=404))) as served:
        yield served


def crawl_within_memory(folder: Path, seed: str, *more: str, timeout: float = 300) -> None:
    process = start_crawl(folder, seed, *WITH_PDF, *more, fresh=True)
    with PeakMemory(process.pid) as peak:
        _, log = process.communicate(timeout=timeout)
    assert process.returncode == 0, log
    assert "Traceback" not in log, log
    assert peak.most < MEGABYTES << 20


@pytest.fixture(scope="module")
def crawled(site: Scripted, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the site was crawled with PDFs."""
    folder: Path = tmp_path_factory.mktemp("pdf")
    crawl_within_memory(folder, site.url + LISTINGS["en"], *ALIGNED)
    return folder


def saved_links(out: Path) -> object:
    """The links to documents that a running crawl has written down; it does so once a second."""
    return read_summary(out)["document_links"] if (out / SUMMARY).exists() else {}


def listed(out: Path, site: Scripted) -> set[tuple[str, str]]:
    return pairs(out.parent, site) - {(LISTINGS["en"], LISTINGS["es"])}  # type: ignore[arg-type]


@pytest.mark.slow
def test_parallel_pdfs_are_paired_and_the_others_counted(crawled: Path, site: Scripted) -> None:
    assert len(PAIRS) == 9
    assert listed(crawled / "out", site) == PAIRS
    counts = summary(crawled)
    assert counts["dropped"] == {"encrypted": 1, "no-text": 1, "damaged": 1}
    assert counts["pdf"] == {"whole": 19, "too-long": 2}
    assert counts["document_links"] == LINKS
    report_page = (crawled / "out" / "report.html").read_text()
    assert "Links to documents that are not HTML, by ending: 26" in report_page
    assert outcomes(crawled, site.url)[path_of("en", LOCKED)] == "encrypted"


@pytest.mark.slow
def test_a_document_is_the_text_of_the_pdf_in_paragraphs(crawled: Path, site: Scripted) -> None:
    title, paragraphs = report("es", 7)
    document = documents(crawled)[site.url + path_of("es", 7)]
    assert document["title"] == title
    assert document["text"].split("\n") == [title, *paragraphs]
    assert (document["language"], document["reliable"]) == ("spa", True)


@pytest.mark.slow
def test_pdfs_are_archived_and_replayed(
    crawled: Path, site: Scripted, files: Mapping[str, bytes], tmp_path: Path
) -> None:
    archive = open_archive([str(crawled / "out")])
    found: Any = archive.find(site.url + path_of("es", SCANNED))
    assert found.body == files[path_of("es", SCANNED)]
    asked = len(site.asked)
    settings = ("-s", f"BILINGUAL_REPLAY={crawled / 'out'}", *WITH_PDF, *ALIGNED)
    ended_well(crawl(tmp_path, site.url + LISTINGS["en"], *settings))
    assert len(site.asked) == asked
    assert listed(tmp_path / "out", site) == PAIRS
    assert summary(tmp_path)["dropped"] == summary(crawled)["dropped"]


def align(folder: Path, source: Path, *more: str) -> str:
    out = ("--out", str(folder / "out" / "pairs.tsv"))
    (folder / "out").mkdir(exist_ok=True)
    done = ended_well(run_scrapy(folder, "align", str(source), "--pair", "eng-spa", *out, *more))
    return str(done.stdout)


@pytest.mark.slow
def test_a_folder_with_pdfs_is_aligned_down_to_sentences(crawled: Path, site: Scripted, tmp_path: Path) -> None:
    """Whatever the setting: the crawl has decided what its documents are."""
    bitext = ("--bitext", str(tmp_path / "bitext"), "--formats", "bitextor", "-s", "BILINGUAL_ENCODER=")
    align(tmp_path, crawled / "out", *bitext)
    assert listed(tmp_path / "out", site) == PAIRS
    with gzip.open(tmp_path / "bitext" / "en-es.raw.gz", "rt", encoding="utf-8") as file:
        # of these that are cleaned few stay, as they differ in a year and a place only
        sentences = {row["src_text"]: row["trg_text"] for row in csv.DictReader(file, delimiter="\t")}
    councils = [line for line in sentences if line.startswith("In 19") and "the council of" in line]
    assert len(councils) > 10
    for line in councils:
        assert sentences[line].startswith("En 19")
        assert "el ayuntamiento de" in sentences[line]


@pytest.mark.slow
def test_an_archive_gives_its_pdfs_when_asked(crawled: Path, site: Scripted, tmp_path: Path) -> None:
    (tmp_path / "warc").mkdir()
    for file in (crawled / "out").glob("*.warc.gz"):
        (tmp_path / "warc" / file.name).hardlink_to(file)
    align(tmp_path, tmp_path / "warc")
    assert listed(tmp_path / "out", site) == set()
    align(tmp_path, tmp_path / "warc", *WITH_PDF)
    assert listed(tmp_path / "out", site) == PAIRS


def test_without_the_setting_links_to_pdfs_are_counted_and_not_followed(site: Scripted, tmp_path: Path) -> None:
    before = len(site.asked)
    done = crawl(tmp_path, site.url + LISTINGS["en"])
    assert not any(path.endswith(".pdf") for path in site.paths()[before:])
    counts = summary(tmp_path)
    assert counts["document_links"] == LINKS
    assert counts["pdf"] == {}
    assert "26  links to documents that are not HTML (pdf 24, xlsx 2)" in done.stderr


def test_a_resumed_crawl_goes_on_with_pdfs(site: Scripted, tmp_path: Path) -> None:
    seed, job = site.url + LISTINGS["en"], ("-s", f"JOBDIR={tmp_path / 'job'}", *WITH_PDF)
    before = len(site.asked)
    slow = each("-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1", "DOWNLOAD_DELAY=.2")
    process = start_crawl(tmp_path, seed, *job, *slow)
    while len(site.asked) < before + 15 or saved_links(tmp_path / "out") != LINKS:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    ended_well(crawl(tmp_path, seed, *job, policy="gain"))
    assert listed(tmp_path / "out", site) == PAIRS
    assert summary(tmp_path)["document_links"] == LINKS


def test_the_budget_of_bytes_counts_pdfs(site: Scripted, files: Mapping[str, bytes], tmp_path: Path) -> None:
    crawl(tmp_path, site.url + LISTINGS["en"], "-s", "BILINGUAL_MAX_BYTES=100000", *WITH_PDF)
    counts = summary(tmp_path)
    assert counts["bytes"] >= 100_000
    assert counts["fetched"] < len(files)


def test_a_pdf_is_known_by_what_the_server_says_or_by_its_name(tmp_path: Path) -> None:
    body = text_pdf(*report("en", 9))
    pages = {
        "/": Answer(html("en", "home", "<a href=/a>a</a> <a href=/b.pdf>b</a> <a href=/c>c</a> <a href=/d.pdf>d</a>")),
        "/a": Answer(body, kind="application/pdf;x=y"),
        "/b.pdf": Answer(body, kind="application/octet-stream"),
        "/c": Answer(body, kind="application/octet-stream"),
        "/d.pdf": Answer(html("es", "d", "")),
    }
    with scripted(lambda path: pages.get(path, Answer(status=404))) as site:
        crawl(tmp_path, f"{site.url}/", *WITH_PDF)
        found = {path: outcome for path, outcome in outcomes(tmp_path, site.url).items() if path in pages}
    assert found == {"/": "document", "/a": "document", "/b.pdf": "document", "/c": "not-html", "/d.pdf": "document"}


@pytest.mark.slow
def test_hostile_pdfs_cost_an_honest_site_nothing(tmp_path: Path) -> None:
    # one of each way to end: a limit of memory or of time, damaged, without text
    hostile = {f"/hostile/{name}.pdf": HOSTILE[name]() for name in ("bomb", "forms", "circle", "deep", "noise")}
    honest = {f"/{language}/report.pdf": text_pdf(*report(language, 11)) for language in ("en", "es")}
    bodies = hostile | honest
    pages = {path: Answer(body, kind="application/pdf") for path, body in bodies.items()}
    pages["/"] = Answer(html("en", "home", "".join(f"<a href={path}>{path}</a> " for path in bodies)))
    with scripted(lambda path: pages.get(path, Answer(status=404))) as site:
        crawl_within_memory(tmp_path, f"{site.url}/", timeout=480)
        assert pairs(tmp_path, site) == {tuple(honest)}  # type: ignore[arg-type]
        found = outcomes(tmp_path, site.url)
    assert {found[path].partition("-")[0] for path in hostile} <= {"damaged", "no", "unreadable", "other", "trap"}
