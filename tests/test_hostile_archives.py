"""Archives that cost more than they hold, and those that are damaged: what is left out is counted, the rest is read."""

import gzip
import json
import lzma
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import pytest
from backports import zstd
from scrapy import Request
from support.archives import ask, replay_crawler, warc_record
from support.costs import within

from bilingual_crawler.crawl.handlers import ReplayDownloadHandler
from bilingual_crawler.harvest.sites import SiteError, read_site
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.mining.records import PlanRow, read_records
from bilingual_crawler.pairing.inputs import Inputs
from bilingual_crawler.storage import archive as warc_files
from bilingual_crawler.storage.archive import Redirect, iter_responses, open_archive, open_warc
from bilingual_crawler.storage.records import read_members
from bilingual_crawler.storage.warc import (
    MAX_HTTP_HEAD,
    MAX_RECORD,
    ArchivedResponse,
    ArchiveError,
    NoRecord,
    parse_head,
    parse_response,
)
from bilingual_crawler.storage.writer import cut_partial_member

PAIRS = LanguagePairs.parse("eng-spa")
BODY = b"<p>two words"
HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + BODY
LONG = MAX_RECORD + 1000

pytestmark = pytest.mark.timeout(60)


def record(name: str, block: bytes = HTML, length: int | str | None = None, more: bytes = b"") -> bytes:
    """A record of ``https://a.example/<name>``."""
    return warc_record(f"https://a.example/{name}", block, more=more, length=length)


def packed(*records: bytes) -> bytes:
    return b"".join(gzip.compress(one, 1, mtime=0) for one in records)


def bomb(name: str = "bomb", size: int = LONG) -> bytes:
    return record(name, HTML + bytes(size))


def archive(folder: Path, *records: bytes, kind: str = "warc.gz") -> Path:
    path = folder / f"pages.{kind}"
    path.write_bytes(packed(*records) if kind == "warc.gz" else b"".join(records))
    return path


def aligned(path: Path) -> Inputs:
    """The inputs of an alignment after all pages have been read."""
    inputs = Inputs([path], PAIRS)
    list(inputs.pages())
    return inputs


def found(path: Path) -> set[str]:
    """What each reader of archives finds, which must be the same."""
    replayed = {response.url for response in iter_responses(path)}
    assert replayed == {page.url for page in Inputs([path], PAIRS).pages()}
    archive = open_archive(path)
    assert all(archive.find(url) is not None for url in replayed)
    return {url.rpartition("/")[2] for url in replayed}


@pytest.mark.parametrize("kind", ["warc", "warc.gz", "warc.xz", "one-member.warc.gz"])
def test_a_record_that_is_too_long_is_left_out_and_what_follows_is_read(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = archive(tmp_path, record("first"), bomb(), bomb("another"), record("last"), kind=kind)
    if kind == "warc.xz":
        path.write_bytes(lzma.compress(path.read_bytes(), preset=0))
    elif kind == "one-member.warc.gz":
        path.write_bytes(gzip.compress(path.read_bytes(), 1))
    opened = open_archive(path)
    assert opened.left_out == {"record_too_long": 2}
    assert opened.find("https://a.example/bomb") is None
    assert not opened.cut_files
    (told,) = (one.message for one in caplog.records)
    assert told.startswith(f"{path} at ")
    assert "left out (record_too_long)" in told
    assert found(path) == {"first", "last"}
    assert aligned(path).refused == {"record_too_long": 2}


READ = """
import sys
from pathlib import Path
from bilingual_crawler.storage.archive import iter_responses, open_archive
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pairing.inputs import Inputs

def peak():
    # ru_maxrss begins with that of the process of the tests
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])

before = peak()
open_archive(sys.argv[1]).find("https://a.example/bomb")
inputs = Inputs([Path(sys.argv[1])], LanguagePairs.parse("eng-spa"))
print(len(list(iter_responses(sys.argv[1]))), len(list(inputs.pages())), end=" ")
print(peak() - before)
"""


def test_memory_does_not_grow_with_what_a_record_unpacks_to(tmp_path: Path) -> None:
    path = archive(tmp_path, record("first"), bomb(size=4 * LONG), record("last"))
    assert path.stat().st_size < 2 << 20
    done = subprocess.run([sys.executable, "-c", READ, path], check=True, capture_output=True, text=True)
    responses, pages, kilobytes = map(int, done.stdout.split())
    assert (responses, pages) == (2, 2)
    assert kilobytes < 2 * MAX_RECORD >> 10


@pytest.mark.parametrize("length", ["-1", "-300", "1_0", "+5", "0x10", "9" * 30, "9" * 5000, ""])
@pytest.mark.parametrize("kind", ["warc", "warc.gz"])
def test_a_length_that_is_none(tmp_path: Path, length: str, kind: str) -> None:
    path = archive(tmp_path, record("first"), record("bad", length=length), record("last"), kind=kind)
    assert not open_archive(path).cut_files
    assert open_archive(path).left_out == {"damaged_record": 1}
    assert found(path) == {"first", "last"}


def test_a_length_beyond_the_file_and_places_where_no_record_is(tmp_path: Path) -> None:
    path = archive(tmp_path, record("first"), record("bad", length=1 << 40), record("last"), kind="warc")
    assert open_archive(path).left_out == {"damaged_record": 1}
    assert found(path) == {"first", "last"}
    offset = len(record("first"))
    for place, reason in ((offset, "too long"), (-1, "not a place"), (1 << 70, "not a place"), (5, "damaged")):
        with pytest.raises(NoRecord, match=reason):
            open_warc(path).read(place)
    for place in (7, -1, 1 << 70):
        with pytest.raises(NoRecord):
            open_warc(archive(tmp_path, record("first"))).read(place)


@pytest.mark.parametrize("wrong", [-2, 2, 1000])
@pytest.mark.parametrize("packer", [bytes, gzip.compress, zstd.compress])
def test_after_a_wrong_length_the_next_record_is_read(
    tmp_path: Path, wrong: int, packer: Callable[[bytes], bytes]
) -> None:
    """One of fifty; one too long would take the beginning of the next record for a page, or only a line end."""
    block = HTML + b"x" * 500
    records = [record(str(number), block) for number in range(50)]
    records[5] = record("5", block, length=len(block) + wrong)
    path = archive(tmp_path, packer(b"".join(records)), kind="warc")
    inputs = Inputs([path], PAIRS)
    pages = {page.url.rpartition("/")[2]: page.body for page in inputs.pages()}
    assert all(body is not None and b"WARC/" not in body for body in pages.values())
    left = set() if wrong == 2 else {"5"}
    assert pages.keys() == {*map(str, range(50))} - left
    assert inputs.damaged == ({"damaged_record": 1} if left else {})


@pytest.mark.parametrize("filled", [b"\0" * 16, b"\0" * 200_000, b"\r\n"])
@pytest.mark.parametrize("kind", ["warc", "warc.gz"])
def test_what_fills_up_the_room_between_records_is_no_damage(tmp_path: Path, filled: bytes, kind: str) -> None:
    path = tmp_path / f"pages.{kind}"
    pieces = [record(name) if kind == "warc" else packed(record(name)) for name in "abc"]
    path.write_bytes(filled.join(pieces) + filled)
    assert not open_archive(path).cut_files
    assert not open_archive(path).left_out
    assert found(path) == {"a", "b", "c"}


@pytest.mark.parametrize("lines", ["WARC-Target-URI:\r\n https://a.example/folded\r\n", "X: y\r\n\t z\r\n"])
def test_lines_of_a_warc_header_may_be_folded(tmp_path: Path, lines: str) -> None:
    records = record("first"), record("folded", more=lines.encode()), record("last")
    assert found(archive(tmp_path, *records, kind="warc")) == {"first", "folded", "last"}


@pytest.mark.parametrize("by", ["WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Payload-Digest"])
def test_a_revisit_has_the_payload_of_the_record_to_which_it_refers(tmp_path: Path, by: str) -> None:
    name = {"WARC-Refers-To": "<urn:uuid:1>", "WARC-Refers-To-Target-URI": "https://a.example/first"}.get(by, "sha1:A")
    named = b"WARC-Record-ID: <urn:uuid:1>\r\nWARC-Payload-Digest: sha1:A\r\n"
    revisits = {"again": name, "first": name, "lost": f"{name}-of-another-file"}
    records = [
        record(url, b"", more=f"{by}: {original}\r\n".encode()).replace(b"response", b"revisit", 1)
        for url, original in revisits.items()
    ]
    path = archive(tmp_path, record("first", more=named), *records)
    inputs = Inputs([path], PAIRS)
    assert [(page.url, page.body) for page in inputs.pages()] == [
        (f"https://a.example/{url}", BODY) for url in ("first", "again")
    ]
    assert inputs.damaged == {"revisit_without_record": 1}
    archived = open_archive(path).find("https://a.example/again")
    assert isinstance(archived, ArchivedResponse)
    assert archived.body == BODY


WHOLE = packed(record("first"), record("second"))


@pytest.mark.parametrize(
    ("content", "names"),
    [(WHOLE + b"no gzip" * 100, {"first", "second"}), (WHOLE[:-9], {"first"})],
    ids=["no gzip at the end", "cut off"],
)
def test_the_records_before_the_damage_are_read_and_the_file_is_named(
    tmp_path: Path, content: bytes, names: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "pages.warc.gz"
    path.write_bytes(content)
    assert aligned(path).damaged == {"cut_file": 1}
    told = f"{path} is cut off or damaged: only the records before the damage are used"
    assert [one.message for one in caplog.records] == [told]
    assert found(path) == names
    assert open_archive(path).cut_files == [path]


def test_mining_takes_no_record_that_is_too_long(tmp_path: Path) -> None:
    records = record("first"), bomb(), record("bad", length=-1), record("last")
    path = archive(tmp_path, *records)
    starts = [*accumulate((len(packed(one)) for one in records), initial=0), -1]
    rows = [PlanRow("", "", "", str(path), start, None, None, 0) for start in starts]
    read = {row.offset: one if isinstance(one, NoRecord) else len(one) for row, one in read_records(rows, None)}
    assert [str(read[start]) for start in starts] == [
        *(str(len(record("first"))), "too long", "damaged record", str(len(record("last")))),
        *("not a place in an archive", "not a place in an archive"),
    ]


def test_repair_keeps_a_long_record_and_cuts_what_follows(tmp_path: Path) -> None:
    path = tmp_path / "crawl-00000.warc.gz"
    whole = packed(record("first"), bomb())
    path.write_bytes(whole + packed(record("last"))[:-9])
    assert cut_partial_member(path) == len(packed(record("last"))) - 9
    assert path.read_bytes() == whole


def test_time_for_the_ends_of_long_records_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("first", "second", "third")
    path = archive(tmp_path, *(one for name in names for one in (record(name), bomb(size=2 * LONG))))
    with path.open("rb") as file:
        assert len(list(read_members(file.fileno(), keep=0))) == 6
        assert len(list(read_members(file.fileno(), max_skipped=2 * LONG))) == 3
    monkeypatch.setattr(warc_files, "MAX_SKIPPED", 2 * LONG)
    assert open_archive(path).cut_files == [path]
    assert found(path) == {"first", "second"}


def test_the_disk_that_an_unpacked_file_takes_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc_files, "UNPACKED", 1 << 20)
    path = archive(tmp_path, lzma.compress(record("first") + bomb() + record("last"), preset=0), kind="warc.xz")
    assert open_archive(path).cut_files == [path]
    assert found(path) == {"first"}


def test_a_dictionary_of_any_size_is_not_allocated(tmp_path: Path) -> None:
    large = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    content = lzma.compress(record("first", HTML + os.urandom(100)), filters=large)
    with pytest.raises(ArchiveError, match="no HTTP response"):
        open_archive(archive(tmp_path, content, kind="warc.xz"))


@pytest.mark.parametrize(
    "head",
    [
        b"WARC-Date: " + b" " * 60_000 + b"x\r\n",
        b"".join(b"X-%d: y\r\n" % number for number in range(5000)),
        b"X" * 65_000 + b"\r\n",
    ],
)
def test_a_long_header_is_read_in_time_or_not_at_all(tmp_path: Path, head: bytes) -> None:
    assert within(0.2, lambda: parse_head(record("x", more=head)))
    assert found(archive(tmp_path, record("first"), record("odd", more=head), record("last"))) >= {"first", "last"}


@pytest.mark.parametrize("lines", [b"a:b\r\n", b"\r\n ", b":"])
def test_an_endless_http_header_is_no_response(tmp_path: Path, lines: bytes) -> None:
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html" + lines * (MAX_HTTP_HEAD // len(lines))
    assert parse_response(record("x", block)) is None
    path = archive(tmp_path, record("first"), record("odd", block))
    assert found(path) == {"first"}
    assert aligned(path).refused == {"no_response": 1}


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"   -9\r\n" * 3, b"   -9\r\n" * 3), (b"3\r\nabc\r\n   -9\r\n", b"abc"), (b"ffffffffffffffff\r\nabc", b"abc"),
        (b"3\r\nabc\r\n" + b"f" * 60 + b"\r\nx", b"abc"), (b"0x3\r\nabc\r\n", b"0x3\r\nabc\r\n"),
    ],
)  # fmt: skip
def test_sizes_of_chunks_that_make_no_sense(body: bytes, expected: bytes) -> None:
    response = parse_response(record("x", CHUNKED + body))
    assert response is not None
    assert response.body == expected


def test_a_body_of_tiny_chunks_is_read_in_time() -> None:
    chunked = record("x", CHUNKED + b"1\r\nx\r\n" * (MAX_RECORD // 6 - 100))
    assert within(2, lambda: parse_response(chunked))
    response = parse_response(chunked)
    assert response is not None
    assert set(response.body) == {ord("x")}


@pytest.mark.parametrize("more", [b"WARC-Date: yesterday\r\n", b"WARC-IP-Address: localhost\r\n"])
def test_a_date_or_address_that_is_none_loses_no_page(tmp_path: Path, more: bytes) -> None:
    path = archive(tmp_path, record("x", more=more), kind="warc")
    response = ask(ReplayDownloadHandler(replay_crawler(path)), Request("https://a.example/x"))
    assert (response.status, response.ip_address) == (200, None)
    (archived,) = iter_responses(path)
    assert (archived.date, archived.ip) == ("", None)


def test_what_is_left_out_is_in_the_stats(tmp_path: Path) -> None:
    path = archive(tmp_path, record("first"), bomb(), record("bad", length=-1))
    stats = ReplayDownloadHandler(replay_crawler(path)).crawler.stats
    assert [stats.get_value(f"bilingual/archive/{why}") for why in ("record_too_long", "damaged_record")] == [1, 1]


def test_pipes_loops_and_folders_named_like_archives(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    archive(tmp_path, record("x"), kind="warc")
    os.mkfifo(tmp_path / "pipe.warc.gz")
    (tmp_path / "loop.warc").symlink_to("loop.warc")
    (tmp_path / "nowhere.warc").symlink_to("missing")
    (tmp_path / "folder.warc").mkdir()
    assert open_archive(tmp_path).left_out == {"no_file": 4}
    told = f"{tmp_path / 'folder.warc'}: left out (no_file); others like it are only counted"
    assert [one.message for one in caplog.records] == [told]
    assert found(tmp_path) == {"x"}
    assert aligned(tmp_path).refused == {"no_file": 4}
    for name in ("pipe.warc.gz", "loop.warc", "nowhere.warc"):
        for read in (open_archive, aligned):
            with pytest.raises(ArchiveError, match=name):
                read(tmp_path / name)


def frozen_site(folder: Path, graph: bytes) -> Path:
    archive(folder, record("x"), kind="warc")
    (folder / "site.json").write_text(json.dumps({"base": "https://a.example/"}))
    (folder / "graph.tsv.xz").write_bytes(lzma.compress(graph, preset=0))
    (folder / "pairs.tsv.xz").write_bytes(lzma.compress(b""))
    return folder


def test_a_table_of_a_site_that_never_ends(tmp_path: Path) -> None:
    folder = frozen_site(tmp_path, bytes(100 << 20))
    tracemalloc.start()
    for read, error in ((open_archive, ArchiveError), (read_site, SiteError)):
        with pytest.raises(error, match=r"graph\.tsv\.xz is longer than"):
            read(folder)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50 << 20


def test_a_description_of_a_site_that_is_none(tmp_path: Path) -> None:
    folder = frozen_site(tmp_path, b"https://a.example/x\teng\t1\n")
    assert open_archive(folder).find("http://www.a.example/x") == Redirect("https://a.example/x")
    for content in ("[" * 100_000, "x" * (2 << 20)):
        (folder / "site.json").write_text(content)
        with pytest.raises(ArchiveError, match="damaged site folder"):
            open_archive(folder)
