import gzip
import json
import os
import re
import xml.etree.ElementTree as ET
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from support.tables import write_table

from bilingual_crawler.bitext.align import SentencePair
from bilingual_crawler.bitext.cleaning import REASONS
from bilingual_crawler.bitext.exports import DocumentPair
from bilingual_crawler.bitext.overview import Overview
from bilingual_crawler.commands.report import Command
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.reporting.markup import MAX_POINTS, harvest_chart, ticks
from bilingual_crawler.reporting.report import why_no_pair, write_report
from bilingual_crawler.reporting.results import ResultsError, read_results
from bilingual_crawler.reporting.summary import print_summary
from bilingual_crawler.storage.warc import MAX_RECORD

SITE = "https://example.org"
EVIL = "<script>alert('x')</script>\"&"

PAIRS = [
    (f"{SITE}/en/{page}", f"{SITE}/es/{page}", score, method)
    for page, score, method in (("home", "0.99", "hreflang"), ("help", "0.75", "url"), ("news", "0.5", "url"))
]
FETCHES = [
    (200, f"{SITE}/", "un", "other-language"),
    (0, f"{SITE}/private", "", "robots"),
    (200, f"{SITE}/en/home", "eng", "document"),
    (200, f"{SITE}/es/home", "spa", "document"),
    (404, f"{SITE}/es/gone", "", "http-404"),
    (200, f"{SITE}/es/news", "spa", "document"),
    (200, "https://other.example/eu/", "eus", "other-language"),
    (301, f"{SITE}/old", "", "redirect"),
    (200, f"{SITE}/en/news", "eng", "document"),
    (200, f"{SITE}/en/news", "eng", "document"),
    (200, f"{SITE}/en/help", "eng", "document"),
    (200, f"{SITE}/es/help", "spa", "document"),
]


def make_summary() -> dict[str, Any]:
    begun, ended = "2026-05-04T10:00:00+00:00", "2026-05-04T10:02:05+00:00"
    return {
        **{"pair": "eng-spa", "policy": "smart", "seeds": [f"{SITE}/"], "output_dir": "crawls/eng-spa"},
        **{"started_at": begun, "finished_at": ended, "finish_reason": "finished"},
        **{"fetched": 9, "html": 8, "candidates": 5, "pairs": 3, "harvest_rate": 6 / 9},
        "documents": {"eng": 3, "spa": 3},
        "dropped": {"other-language": 2, "http-404": 1, "robots": 1},
        "unpaired": {"no_candidate": 1},
        "refused": {"length": 2},
        "languages": {"eng": 3, "spa": 3, "eus": 1, "un": 1},
    }


def gzip_lines(documents: list[dict[str, Any]]) -> bytes:
    return b"".join(gzip.compress(json.dumps(document).encode() + b"\n") for document in documents)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    sides = [side for row in PAIRS for side in zip(row[:2], ("eng", "spa"), strict=True)]
    documents = [{"url": url, "language": language, "title": f"{EVIL} {url[-7:]}"} for url, language in sides]
    (tmp_path / "summary.json").write_text(json.dumps(make_summary()), encoding="utf-8")
    (tmp_path / "documents.jsonl.gz").write_bytes(gzip_lines(documents))
    write_pairs(tmp_path, PAIRS)
    write_table(tmp_path / "crawl.tsv", "status url language outcome", FETCHES)
    (tmp_path / "crawl-00000.warc.gz").write_bytes(b"x" * 2500)
    return tmp_path


def write_pairs(folder: Path, rows: list[Any], more: str = "") -> None:
    write_table(folder / "pairs.tsv", f"url_a url_b score method {more}", rows)


def write_unpaired(folder: Path, rows: list[Any]) -> None:
    write_table(folder / "unpaired.tsv", "url reason nearest score", rows)


class Outline(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.targets: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.targets += [value or "" for name, value in attrs if name in ("href", "src", "action", "data")]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def outline(folder: Path) -> Outline:
    """The report of a crawl's output, written anew."""
    parser = Outline()
    parser.feed(write_report(folder).read_text(encoding="utf-8"))
    return parser


def test_curve_counts_a_pair_when_its_second_page_arrives(output: Path) -> None:
    assert read_results(output).curve == ((0, 0), (3, 1), (7, 2), (9, 3))
    write_pairs(output, [(f"{SITE}/en/home", f"{SITE}/x", 1, "url")])
    results = read_results(output)
    assert results.curve == ((0, 0), (9, 0)), "a page of the pair cost no download"
    assert results.pair_count == 1


def test_hosts_are_counted_from_all_files(output: Path) -> None:
    hosts = read_results(output).hosts
    assert (hosts["example.org"].fetched, hosts["example.org"].failed, hosts["example.org"].paired) == (8, 1, 6)
    assert hosts["example.org"].kept == {"eng": 3, "spa": 3}
    assert (hosts["other.example"].fetched, hosts["other.example"].paired) == (1, 0)


def test_report_shows_the_numbers_and_every_pair(output: Path) -> None:
    page = outline(output)
    text = " ".join(page.text)
    for shown in ("Parallel documents in English and Spanish", "67%", "The 3 best of 3 pairs", "0:02:05", "2.5 kB"):
        assert shown in text
    assert "other language" in text
    assert "no candidate" in text
    assert "Doubtful" not in text
    assert {url for row in PAIRS for url in row[:2]} <= {*page.targets}


def test_report_needs_nothing_from_elsewhere_and_runs_no_script(output: Path) -> None:
    write_report(output)
    page = outline(output)
    assert not {"script", "img", "link", "iframe", "object", "form"} & set(page.tags)
    assert EVIL.strip() in "".join(page.text)
    assert "report.html" not in page.targets
    assert all(target.startswith(("https://", "http://", "./")) for target in page.targets)


def add_bitext(output: Path, text: str = "Two words") -> None:
    """The bitext of two sites, as an alignment writes it."""
    overview = Overview(output / "bitext", LanguagePair.parse("eng-spa"))
    for site, kept in (("one.example", 3), ("two.example", 1)):
        documents = DocumentPair(f"https://{site}/en", f"https://{site}/es", "", "", 0.9, "url")
        found = [SentencePair(f"{text} {n}", "Una sola cosa", 0.9, "0", "0", 0.65 + 0.1 * n) for n in range(kept)]
        dropped = SentencePair("[ Next > ]", "[ Sigue > ]", 0.9, "0", "0", 0.9, "navigation")
        overview.add(documents, [*found, dropped], found)
    overview.close()


def test_report_shows_the_bitext(output: Path) -> None:
    assert "Bitext" not in outline(output).text
    add_bitext(output)
    page = outline(output)
    shown = [text.strip() for text in page.text if text.strip()]
    assert "Bitext" in shown
    start = shown.index("Bitext")
    assert shown[start : start + 5] == ["Bitext", "Sentence pairs aligned", "6", "Kept", "4"]
    assert shown[shown.index("Why sentence pairs were dropped: 2 of 6") + 1 :][:2] == [REASONS["navigation"], "2"]
    histogram = shown[shown.index("0.6 to 0.7") :]
    assert histogram[:8] == ["0.6 to 0.7", "2", "0.7 to 0.8", "1", "0.8 to 0.9", "1", "0.9 to 1.0", "0"]
    first = shown.index("one.example")
    assert " ".join(shown[first : first + 10]) == "one.example 1 3 9 9 two.example 1 1 3 3"
    assert "4 of 4 kept sentence pairs, drawn at random." in shown
    assert shown.count("Una sola cosa") == 4
    assert page.targets.count("https://one.example/es") == 3
    (output / "bitext" / "en-es.summary.json").write_bytes(b'{"pair": 1}')
    with pytest.raises(ResultsError, match=r"en-es.summary.json cannot be read.*write the bitext again"):
        write_report(output)


def test_titles_and_sentences_reach_the_report_but_as_visible_text(output: Path) -> None:
    title = "<b onclick=alert(1)>\u202e{{ 7 * 7 }}\u200b{% raw %}&amp;\ud800\n</title></style>"
    documents = [{"url": PAIRS[0][0], "language": "eng", "title": title}]
    (output / "documents.jsonl.gz").write_bytes(gzip_lines(documents))
    add_bitext(output, "<b onclick=alert(1)>\u202e{{ 7 * 7 }}\u200b{% raw %}&amp;\x00\ud800\t\n</td></style>")
    text = outline(output).text
    assert "<b onclick" not in (output / "report.html").read_text(encoding="utf-8")
    assert "<b onclick=alert(1)>{{ 7 * 7 }}{% raw %}&amp; </title></style>" in text
    assert "<b onclick=alert(1)>{{ 7 * 7 }}{% raw %}&amp;? </td></style> 2" in text


def test_documents_that_no_candidate_came_near_are_linked_if_they_have_a_usual_scheme(output: Path) -> None:
    addresses = ["javascript:alert(1)", "HTTP://a.example/?a=1&b='\"", "https://a.example/\u202egnp.exe"]
    write_unpaired(output, [(url, "no_candidate", "", 0) for url in addresses])
    page = outline(output)
    shown = [*addresses[:2], "https://a.example/gnp.exe"]
    assert {url for url in page.targets if "/" not in url or "a.example" in url} == set(shown[1:])
    assert set(shown) <= set(page.text)
    text = " ".join(page.text)
    assert "3 of 3 documents in no pair" in text
    assert "nothing in the other language resembles them" in text


def test_the_report_of_foreign_or_older_files_stays_small(output: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Titles once had no limit; a row or a document may be of any length."""
    many = [(f"{SITE}/en/{n}", f"{SITE}/es/{n}", "0.9", "url") for n in range(200)]
    write_pairs(output, [*many, ("x" * 5_000_000, "y", "1", "url")])
    titled = [{"url": url, "language": "eng", "title": "T" * 100_000} for row in many for url in row[:2]]
    strange: list[Any] = [{"title": "no url"}, ["list"], {"url": 3}, {"url": many[0][0], "title": ["no text"]}]
    lines = gzip_lines([*titled, *strange]) + gzip.compress(b"not JSON") + gzip.compress(b"[" * 100_000)
    (output / "documents.jsonl.gz").write_bytes(lines + gzip.compress(b" " * (MAX_RECORD + 1)) + gzip_lines(titled[:1]))
    with (output / "crawl.tsv").open("ab") as file:
        file.write(b"200\thttps://example.org/\xff\teng\tdocument\n" + b"x" * 5_000_000)
    results = read_results(output)
    assert results.pair_count == 200
    assert {len(pair["title_b"]) for pair in results.pairs} == {500}
    assert write_report(output).stat().st_size < 1_000_000
    told = [record.message for record in caplog.records if "left out" in record.message]
    reasons = {message.partition("left out ")[2].partition(";")[0] for message in told}
    assert reasons == {"(line_too_long)", "(no_record)"}


def without_tabs_at_the_end(table: bytes) -> bytes:
    """As an editor leaves it, with blank lines."""
    return b"\n".join([*map(bytes.rstrip, table.splitlines()), b"", b"\t", b""])


@pytest.mark.parametrize("changed", [without_tabs_at_the_end, lambda table: table.replace(b"\n", b"\r\n")])
def test_what_editors_do_to_a_table_changes_no_result(output: Path, changed: Callable[[bytes], bytes]) -> None:
    fetches = [(status, url, outcome, language) for status, url, language, outcome in FETCHES]
    write_table(output / "crawl.tsv", "status url outcome language", fetches)
    write_table(output / "pairs.tsv", "url_a url_b score pair", [(*row[:3], "eng-fra") for row in PAIRS])
    before = read_results(output)
    for path in output.glob("*.tsv"):
        path.write_bytes(changed(path.read_bytes()))
    assert read_results(output) == replace(before, files=read_results(output).files)


def test_a_language_that_is_no_code_and_a_table_of_sites_that_lacks_columns_are_shown(output: Path) -> None:
    write_table(output / "crawl.tsv", "status url language outcome", [(200, f"{SITE}/both", "eng+spa", "document")])
    write_table(output / "sites.tsv", "site verdict", [("some.example", "bilingual")])
    page = write_report(output).read_text(encoding="utf-8")
    assert "eng+spa" in page
    assert "some.example" in page


def test_decimal_commas_of_a_spreadsheet_change_no_order(output: Path) -> None:
    write_pairs(output, [(a, b, score.replace(".", ","), method) for a, b, score, method in reversed(PAIRS)])
    assert [(pair["url_a"], pair["url_b"]) for pair in read_results(output).pairs] == [row[:2] for row in PAIRS]


def test_refused_pairs_count_in_either_order_of_the_languages(output: Path) -> None:
    write_pairs(output, [(b, a, score, method, "spa-eng") for a, b, score, method in PAIRS], "pair")
    assert read_results(output).summary["refused"] == make_summary()["refused"]


def run(arguments: list[str]) -> None:
    command = Command()
    command.settings = Settings()
    command.run(arguments, Namespace())


def test_the_command_prints_the_path_and_names_a_moved_folder(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run([str(output)])
    said = capsys.readouterr()
    assert said.out == f"{output / 'report.html'}\n"
    assert said.err.splitlines()[-1] == f"Outputs: {output}"


def test_a_pipe_in_place_of_a_file_is_named(output: Path) -> None:
    for name in ("crawl.tsv", "documents.jsonl.gz", "summary.json"):
        (output / name).unlink()
        os.mkfifo(output / name)
        with pytest.raises(UsageError, match=rf"{name}.*not a regular file|not a regular file.*{name}"):
            run([str(output)])
        (output / name).unlink()
        (output / name).touch()


def test_of_many_pairs_the_best_and_the_most_doubtful_are_shown(output: Path) -> None:
    results = read_results(output, max_pairs=2)
    assert [pair["score"] for pair in results.pairs] == ["0.99"]
    assert [pair["score"] for pair in results.doubtful] == ["0.5"]
    assert results.pair_count == 3
    assert results.curve[-1] == (9, 3)


def test_the_doubtful_pairs_and_what_was_left_over_are_in_the_report(output: Path) -> None:
    many = [(f"{SITE}/en/{n}", f"{SITE}/es/{n}", f"{1 - n / 1000:.3f}", "structure") for n in range(400)]
    write_pairs(output, many)
    left_over = [(f"{SITE}/en/left-{n}", "low_score", f"{SITE}/es/near-{n}", n / 1000) for n in range(300)]
    write_unpaired(output, [*left_over, (f"{SITE}/es/{EVIL}", "no_candidate", "", 0.0)])
    page = outline(output)
    text = " ".join(page.text)
    assert "The 150 best of 400 pairs" in text
    assert "The 50 with the lowest scores of 400 pairs" in text
    assert "100 of 301 documents in no pair" in text
    assert "the best candidate was not likely enough" in text
    assert {many[0][0], many[149][0], many[350][0], many[399][0]} <= set(page.targets)
    assert {f"{SITE}/en/left-299", f"{SITE}/es/near-299"} <= set(page.targets)
    assert not {many[200][0], f"{SITE}/en/left-3"} & set(page.targets)
    assert len(page.targets) < 1000


def test_one_thing_is_not_several(capsys: pytest.CaptureFixture[str]) -> None:
    estimate = {"remaining": 1.2, "share": 0.5, "low": 0.1, "high": 1.0}
    numbers = {"pairs": 1, "candidates": 1, "left_over": 1, "tried": 1, "queued": 1, "estimate": estimate, "bytes": 9}
    print_summary(make_summary() | numbers)
    lines = [line.strip() for line in capsys.readouterr().err.splitlines()]
    for line in ("1  pair", "1  candidate pair", "1  document in no pair", "1  address tried", "1  address is still"):
        assert any(one.startswith(line) for one in lines), line
    assert any("with about 1 pair: an estimated" in one for one in lines)
    assert any(re.match("[2-9]  HTML pages", one) for one in lines)


def counted(folder: Path) -> Any:
    """The summary that comes with a new report."""
    write_report(folder)
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def test_the_numbers_of_a_report_are_those_of_the_files(output: Path) -> None:
    stale = {**make_summary(), "fetched": 212, "html": 3, "pairs": 70, "documents": {"eng": 1, "spa": 1}, "dropped": {}}
    (output / "summary.json").write_text(json.dumps(stale | {"failures": {"503": 4}}), encoding="utf-8")
    write_pairs(output, [(f"{SITE}/en/home", f"{SITE}/es/news", "0.6", "url"), *PAIRS])
    summary = counted(output)
    results = read_results(output)
    assert results.curve[-1] == (9, 3)
    assert summary["fetched"] == 9 == sum(counts.fetched for counts in results.hosts.values())
    assert summary["tried"] == 11 == sum(summary["documents"].values()) + sum(summary["dropped"].values())
    assert summary["html"] == 8 == sum(summary["languages"].values())
    assert summary["pairs"] == 3 == results.pair_count
    assert summary["candidates"] == 3 + sum(summary["refused"].values())
    assert summary["failures"] == {"503": 4}


def test_all_editions_of_a_page_are_counted_once_the_crawl_has_ended(output: Path) -> None:
    write_pairs(output, [*PAIRS, (f"{SITE}/en/home", f"{SITE}/es-mx/home", "0.9", "hreflang")])
    assert read_results(output).pair_count == len(PAIRS), "a row that a better one has replaced"
    write_unpaired(output, [])
    results = read_results(output)
    assert results.pair_count == results.summary["pairs"] == len(PAIRS) + 1
    assert [pair["score"] for pair in results.pairs] == ["0.99", "0.9", "0.75", "0.5"]


def test_a_crawl_that_was_killed_still_has_a_report(output: Path) -> None:
    for name, cut in (("documents.jsonl.gz", 40), ("crawl.tsv", 20)):
        (output / name).write_bytes((output / name).read_bytes()[:-cut])
    results = read_results(output)
    assert sum(results.hosts["example.org"].kept.values()) == 4
    assert results.curve[-1] == (8, 2)
    assert "3" in write_report(output).read_text(encoding="utf-8")


def test_a_page_whose_document_was_not_written_before_a_kill_is_no_document(output: Path) -> None:
    urls = [url for row in PAIRS for url in row[:2]][1:]
    (output / "documents.jsonl.gz").write_bytes(gzip_lines([{"url": url} for url in urls]))
    counts = counted(output)
    assert counts["documents"] == {"eng": 2, "spa": 3}
    assert counts["dropped"]["not-written"] == 1
    assert counts["tried"] == 11
    assert sum(read_results(output).hosts["example.org"].kept.values()) == 5
    # without the file of the documents, the log is what there is
    (output / "documents.jsonl.gz").unlink()
    assert counted(output)["documents"] == {"eng": 3, "spa": 3}


def test_summary_alone_is_enough(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text('{"pair": "eng-mlt"}', encoding="utf-8")
    text = " ".join(outline(tmp_path).text)
    assert "No pair was found" in text
    assert "Maltese" in text


def summary_with(**values: Any) -> str:
    return json.dumps(make_summary() | values)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *((None, "no summary.json"), ("{", "cannot be read"), ("3", "JSON object")),
        (summary_with(sites=None), "at `$.sites`; correct the value"),
        (summary_with(settings=None), "at `$.settings`; correct the value"),
        (summary_with(bytes=None), "at `$.bytes`; correct the value"),
        (summary_with(by_pair={"eng-spa": {"refused": None}}), "at `$.by_pair[...].refused`; correct the value"),
        (summary_with(documents={"eng": "3"}), "at `$.documents[...]`; correct the value"),
    ],
)
def test_what_is_wrong_with_a_summary_is_named(output: Path, content: str | None, message: str) -> None:
    (output / "summary.json").unlink()
    if content is not None:
        (output / "summary.json").write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=re.escape(message)):
        run([str(output)])


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("crawl.tsv", "status, url, language, outcome"),
        ("pairs.tsv", "url_a, url_b"),
        ("unpaired.tsv", "url, reason, nearest, score"),
        ("sites.tsv", "site, verdict"),
    ],
)
def test_a_table_without_its_header_is_named(output: Path, name: str, columns: str) -> None:
    write_table(output / name, "junk more", [("1", "2")])
    with pytest.raises(UsageError, match=rf"{name} cannot be read: its first line must name {columns}$"):
        run([str(output)])


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["no/such/folder"]])
def test_command_refuses_bad_arguments(arguments: list[str]) -> None:
    with pytest.raises(UsageError):
        run(arguments)


def test_ticks_are_round_and_reach_the_maximum() -> None:
    expected = {0: [0, 1], 1: [0, 1], 4: [0, 1, 2, 3, 4], 24: [0, 5, 10, 15, 20, 25], 1000: [*range(0, 1001, 200)]}
    assert {maximum: ticks(maximum) for maximum in expected} == expected


def test_chart_of_a_long_crawl_stays_small_and_ends_at_the_last_point() -> None:
    chart = harvest_chart([(n, n // 2) for n in range(20_001)])
    root = ET.fromstring(chart)
    series = next(element.get("d", "") for element in root.iter("path") if element.get("class") == "series")
    assert series.count("V") <= MAX_POINTS + 1
    assert 'class="value"' in chart
    assert "10,000</text>\n</svg>" in chart


NO_PAGE = "No pair was found, because no HTML page was fetched (other-language 2, http-404 1, robots 1)."
NO_MALTESE = "No pair was found, because none of {} HTML pages is in Maltese (most: English 3, Spanish 3, Basque 1). {}"
NO_TRANSLATIONS = (
    "No pair was found: 3 English and 3 Spanish documents, but no two that are translations of each other."
)
WIDER = "Give a seed in Maltese, a wider scope, or another pair."
ONLY_SEEDS = (
    "Only seeds were read, because their links lead out of the scope (40 links): "
    "give a wider scope, or a seed on the site that they lead to."
)
EARLY = "The crawl ended early; a larger budget may help."
STOPPED = "The crawl was stopped before its end."
MALTESE = {"pair": "eng-mlt", "documents": {"eng": 3, "mlt": 0}}
FIRST = {"pair": "eng-mlt", "documents": {"eng": 1}, "html": 1, "seed_count": 1, "out_of_scope": 40}


def test_why_there_is_no_pair() -> None:
    for changes, hint in (
        ({"html": 0}, NO_PAGE),
        (MALTESE, NO_MALTESE.format(8, WIDER)),
        ({**MALTESE, "finish_reason": "page_budget"}, NO_MALTESE.format(8, EARLY)),
        (FIRST, NO_MALTESE.format(1, ONLY_SEEDS)),
        ({}, NO_TRANSLATIONS),
        ({"finish_reason": "shutdown"}, f"{NO_TRANSLATIONS} {STOPPED}"),
        ({"finish_reason": "write_error"}, f"{NO_TRANSLATIONS} {STOPPED}"),
        ({"finish_reason": "closespider_timeout"}, f"{NO_TRANSLATIONS} {EARLY}"),
    ):
        assert list(why_no_pair(make_summary() | {"pairs": 0} | changes)) == [hint]
