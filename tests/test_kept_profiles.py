"""What the alignment compares is kept while the crawl reads its pages, and read again only where it does not fit."""

import asyncio
import shutil
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings
from support.crawls import crawl, each, ended_well
from support.webserver import bilingual_site, serve, varied

from bilingual_crawler.alignment.at_end import align_crawl
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.language import Detection
from bilingual_crawler.pages.sandbox.pool import submit
from bilingual_crawler.pairing.align import read_corpus
from bilingual_crawler.pairing.reading import pack
from bilingual_crawler.storage.records import PROFILES, GzipJsonLines, read_json_lines

PAIRS = LanguagePairs.parse("eng-spa")
PAGES = 5


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawled")
    with serve(varied(bilingual_site(PAGES))) as site:
        settings = each("-s", "BILINGUAL_ALIGN=url", "BILINGUAL_WARC=1")
        ended_well(crawl(folder, f"{site.url}/en/", *settings, policy="gain"))
    return folder / "out"


@pytest.fixture
def read_again(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses of the pages that helper processes read."""
    asked: list[str] = []

    def noting(job: Any) -> Any:
        asked.append(job.page.url)
        return submit(job)

    monkeypatch.setattr("bilingual_crawler.pairing.reading.submit", noting)
    return asked


def profiles(folder: Path, pairs: LanguagePairs = PAIRS) -> list[bytes]:
    corpus = read_corpus([folder], pairs, detection=Detection.for_pairs(("cld2",), pairs))
    assert len(corpus) == 2 * PAGES + 2
    found = [pack(profile) for group in corpus.groups() for profile in corpus.profiles(group)]
    documents = [corpus.document(row["url"]) for row in read_json_lines(folder / "documents.jsonl.gz")]
    assert all(document.warc_file for document in documents)
    return sorted([*found, *(pack(replace(document, warc_file=None)) for document in documents)])


def without(folder: Path, copy: Path) -> Path:
    copy.mkdir()
    for file in folder.iterdir():
        if file.is_file() and file.name != PROFILES:
            (copy / file.name).hardlink_to(file)
    return copy


def with_profiles(folder: Path, copy: Path, rows: list[dict[str, Any]]) -> Path:
    file = GzipJsonLines(without(folder, copy) / PROFILES)
    for row in rows:
        file.write(row)
    file.close()
    return copy


def test_kept_profiles_are_those_that_the_alignment_would_make(
    crawled: Path, tmp_path: Path, read_again: list[str]
) -> None:
    kept = profiles(crawled)
    assert read_again == []
    made = profiles(without(crawled, tmp_path / "copy"))
    assert len(read_again) == 2 * PAGES + 2
    assert kept == made


def test_an_alignment_of_kept_profiles_starts_no_helper_process(
    crawled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(crawled, folder)
    monkeypatch.setattr("bilingual_crawler.pages.sandbox.pool._attempt", None)
    given = folder, PAIRS, Detection(languages=frozenset(PAIRS.equivalents)), Settings({"BILINGUAL_ALIGN": "auto"})
    aligned = asyncio.run(align_crawl(*given, lambda: False, lambda phase: None, small=True))
    assert aligned
    assert aligned.outcomes["eng-spa"].pairs == PAGES + 1


@pytest.mark.parametrize("pairs", ["spa-eng", "eng-spa,eng-fin"])
def test_profiles_for_other_languages_are_made_anew(crawled: Path, read_again: list[str], pairs: str) -> None:
    corpus = read_corpus([crawled], LanguagePairs.parse(pairs))
    assert len(read_again) == len(corpus)


@pytest.mark.parametrize(
    "change",
    [
        *({"profile": profile} for profile in ("no base64", b64encode(b"no profile").decode(), 7, None)),
        *({"made_for": "another version"}, {"url": "https://example.org/elsewhere"}),
    ],
)
def test_a_profile_that_does_not_fit_is_made_anew(
    crawled: Path, tmp_path: Path, read_again: list[str], change: dict[str, Any]
) -> None:
    """One without a document, which a kill has left, is passed over."""
    rows = list(read_json_lines(crawled / PROFILES))
    lost, url = rows[0] | {"url": "https://example.org/lost"}, rows[3]["url"]
    rows[3] |= change
    assert profiles(with_profiles(crawled, tmp_path / "copy", [lost, *rows])) == profiles(crawled)
    assert read_again == [url]
