import gzip
import os
import random
import re
import resource
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from support.archives import exchange
from support.probe import PATHS, crawl, serve
from warcio.archiveiterator import ArchiveIterator
from warcio.cli import main as check_archives

from bilingual_crawler.storage.writer import WarcWriter, cut_partial_member


def records(path: Path) -> list[tuple[str, str | None, bytes]]:
    """Type, URL and payload of every record, as another reader sees them."""
    with path.open("rb") as file:
        return [
            (record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), record.raw_stream.read())
            for record in ArchiveIterator(file)
        ]


def responses(directory: Path) -> list[str | None]:
    return [url for path in sorted(directory.glob("*.warc.gz")) for kind, url, _ in records(path) if kind == "response"]


def opened(path: Path, offset: int = 0, **options: bool) -> list[tuple[Any, Any, bytes]]:
    """Fields, HTTP headers and content of the records from *offset* on; with their raw content if not parsed."""
    with path.open("rb") as file:
        file.seek(offset)
        records = ArchiveIterator(file, **options)
        return [(record.rec_headers, record.http_headers, record.content_stream().read()) for record in records]


def assert_sound(*paths: Path) -> None:
    """Let warcio verify the structure and all digests."""
    with redirect_stdout(StringIO()) as said, pytest.raises(SystemExit) as ended:
        check_archives(["check", "-v", *map(str, paths)])
    assert ended.value.code == 0, said.getvalue()
    assert "digest pass" in said.getvalue()


def test_exchange_is_two_linked_records(tmp_path: Path) -> None:
    writer = WarcWriter(tmp_path, info={"software": "tester"})
    location = writer.write_exchange(exchange(1, ip="192.0.2.1", truncated="disconnect"))
    writer.close()
    path = tmp_path / "crawl-00000.warc.gz"
    assert_sound(path)
    info, response, request = opened(path)
    assert b"software: tester" in info[2]
    assert response[0]["WARC-Type"] == "response"
    assert response[0]["WARC-Date"] == "2026-01-02T03:04:05Z"
    assert response[0]["WARC-IP-Address"] == "192.0.2.1"
    assert response[0]["WARC-Truncated"] == "disconnect"
    assert response[0]["WARC-Payload-Digest"].startswith("sha1:")
    assert response[1].statusline == "200 OK"
    assert response[1].headers == [("Content-Type", "text/html"), ("Content-Length", "17")]
    assert response[2] == b"<html>page</html>"
    assert request[1].headers == [("Host", "example.com"), ("User-Agent", "tester")]
    assert request[0]["WARC-Concurrent-To"] == response[0]["WARC-Record-ID"]
    assert location.file == path.name
    assert set(re.findall(rb"^WARC/.*?$", gzip.decompress(path.read_bytes()), re.MULTILINE)) == {b"WARC/1.0\r"}
    assert b"format: WARC File Format 1.0" in info[2]


def test_a_response_that_has_not_changed_keeps_its_date_beside_the_visit(tmp_path: Path) -> None:
    writer = WarcWriter(tmp_path)
    location = writer.write_unchanged(exchange(1), datetime(2026, 2, 2, tzinfo=UTC))
    writer.close()
    path = tmp_path / location.file
    assert_sound(path)
    _, response, revisit, request = (fields for fields, *_ in opened(path))
    assert [record["WARC-Type"] for record in (response, revisit, request)] == ["response", "revisit", "request"]
    assert response["WARC-Date"] == revisit["WARC-Refers-To-Date"] == "2026-01-02T03:04:05Z"
    assert revisit["WARC-Date"] == request["WARC-Date"] == "2026-02-02T00:00:00Z"
    assert revisit["WARC-Refers-To"] == response["WARC-Record-ID"] == location.record
    assert revisit["WARC-Target-URI"] == revisit["WARC-Refers-To-Target-URI"] == "https://example.com/1"
    assert revisit["WARC-Payload-Digest"] == response["WARC-Payload-Digest"]
    assert request["WARC-Concurrent-To"] == revisit["WARC-Record-ID"]
    page = Path(__file__).parent.parent / "docs" / "outputs.md"
    assert "over the wire, WARC 1.0," in page.read_text(encoding="utf-8")
    assert opened(path, location.offset)[0][0]["WARC-Target-URI"] == "https://example.com/1"


def test_odd_headers_stay_as_they_were_sent(tmp_path: Path) -> None:
    sent = [(b"Location", "/café".encode()), (b"X-Name", b"\xfe\xe6"), (b"Set-Cookie", b"a"), (b"Set-Cookie", b"b")]
    writer = WarcWriter(tmp_path)
    writer.write_exchange(exchange(1, status=799, headers=[*sent, (b"X-Lines", b"one\r\ntwo")], url="http://a.b#c"))
    writer.close()
    path = tmp_path / "crawl-00000.warc.gz"
    assert_sound(path)
    _, (fields, _, block), (*_, request) = opened(path, no_record_parse=True)
    assert request.startswith(b"GET / HTTP/1.1\r\nHost: a.b\r\n")
    head = b"HTTP/1.1 799 \r\n" + b"".join(b"%b: %b\r\n" % header for header in sent)
    assert block.startswith(head + b"X-Lines: one two\r\nContent-Length: 17\r\n\r\n")
    assert fields["WARC-Target-URI"] == "http://a.b"


def test_new_file_at_the_size_limit_and_on_reopening(tmp_path: Path) -> None:
    writer = WarcWriter(tmp_path, max_bytes=3000)
    body = random.Random(0).randbytes(900)
    files = [writer.write_exchange(exchange(number, body)).file for number in range(4)]
    writer.close()
    assert files == ["crawl-00000.warc.gz"] * 2 + ["crawl-00001.warc.gz"] * 2
    again = WarcWriter(tmp_path)
    assert again.write_exchange(exchange(4)).file == "crawl-00002.warc.gz"
    again.close()
    assert again.bytes_repaired == 0
    assert responses(tmp_path) == [f"https://example.com/{number}" for number in range(5)]
    for path in tmp_path.iterdir():
        assert records(path)[0][0] == "warcinfo"
    assert_sound(*tmp_path.iterdir())


def test_cut_anywhere_is_repaired(tmp_path: Path) -> None:
    writer = WarcWriter(tmp_path)
    for number in range(3):
        writer.write_exchange(exchange(number))
    writer.close()
    path = tmp_path / "crawl-00000.warc.gz"
    whole = path.read_bytes()
    complete = records(path)
    ends = [at for at in range(1, len(whole)) if whole.startswith(b"\x1f\x8b\x08", at)] + [len(whole)]
    assert len(ends) == len(complete)
    for size in [*range(ends[0], len(whole), 5), *ends]:
        path.write_bytes(whole[:size])
        kept = max(end for end in ends if end <= size)
        assert cut_partial_member(path) == size - kept
        assert path.read_bytes() == whole[:kept]
    assert records(path) == complete


def test_a_file_without_a_complete_record_goes_away(tmp_path: Path) -> None:
    path = tmp_path / "crawl-00007.warc.gz"
    path.write_bytes(b"\x1f\x8b\x08\x00")
    writer = WarcWriter(tmp_path)
    writer.close()
    assert [path.name for path in tmp_path.iterdir()] == ["crawl-00008.warc.gz"]
    assert writer.bytes_repaired == 4


SCRIPT = """
import random, resource, sys
from pathlib import Path
from support.archives import exchange
from bilingual_crawler.storage.writer import WarcWriter
writer = WarcWriter(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
body = random.Random(1).randbytes(int(sys.argv[3]))
for number in range(10_000):
    try:
        writer.write_exchange(exchange(number, body))
    except OSError:
        break
    print(number, flush=True)
"""


def write_in_a_process(folder: Path, max_file: int, size: int) -> subprocess.Popen[bytes]:
    """Write exchanges of *size* bytes into files of at most *max_file* bytes; each number that was written is said."""
    tests = Path(__file__).parent
    paths = os.pathsep.join((str(tests), str(tests.parent)))
    command = [sys.executable, "-c", SCRIPT, str(folder), str(max_file), str(size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": paths})


def test_kill_loses_nothing_that_was_written(tmp_path: Path) -> None:
    for run in range(3):
        process = write_in_a_process(tmp_path, resource.RLIM_INFINITY, 1 << 18)
        assert process.stdout is not None
        for _ in range(4 + run):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        rest = process.communicate()[0].split()
        last = int(rest[-1]) if rest else 3 + run
        WarcWriter(tmp_path).close()
        found = records(sorted(tmp_path.iterdir())[-2])
        urls = [url for kind, url, _ in found if kind == "response"]
        assert urls[: last + 1] == [f"https://example.com/{number}" for number in range(last + 1)]
    assert_sound(*tmp_path.iterdir())


def test_full_disk_keeps_complete_records(tmp_path: Path) -> None:
    said, _ = write_in_a_process(tmp_path, 3000, 17).communicate()
    written = len(said.split())
    assert written > 0
    assert responses(tmp_path) == [f"https://example.com/{number}" for number in range(written)]
    assert cut_partial_member(tmp_path / "crawl-00000.warc.gz") == 0


def test_crawl_is_kept(tmp_path: Path) -> None:
    with serve() as url:
        probe = crawl(tmp_path, url, BILINGUAL_WARC=True, ROBOTSTXT_OBEY=True, USER_AGENT="probe/1")
    path = tmp_path / "crawl-00000.warc.gz"
    assert_sound(path)
    kept = {target: payload for kind, target, payload in records(path) if kind == "response"}
    assert {str(target).removeprefix(url) for target in kept} == {"", "robots.txt", *PATHS}
    assert kept[url + "gz"][:2] == b"\x1f\x8b"
    assert kept[url + "chunked"] == b"<html>one two three</html>"
    assert probe.stats["bilingual/warc/exchanges"] == len(kept)
    assert probe.stats["bilingual/warc/bytes"] == path.stat().st_size
    for target, page in probe.pages.items():
        name, offset, *_ = page["location"]
        assert opened(tmp_path / name, offset)[0][0]["WARC-Target-URI"] == target
    sent = next(headers for fields, headers, _ in opened(path) if fields["WARC-Type"] == "request")
    assert (sent["User-Agent"], sent["Host"]) == ("probe/1", url.split("/")[2])
    assert "gzip" in sent["Accept-Encoding"]


def test_crawl_without_warc(tmp_path: Path) -> None:
    with serve() as url:
        probe = crawl(tmp_path, url, BILINGUAL_WARC=False)
    assert probe.pages[url]["status"] == 200
    assert not list(tmp_path.glob("*.warc.gz"))


def test_crawl_closes_if_it_cannot_be_kept(tmp_path: Path) -> None:
    (tmp_path / "taken" / "crawl-00000.warc.gz").mkdir(parents=True)
    with serve() as url:
        urls = [f"{url}?{number}" for number in range(30)]
        taken = crawl(tmp_path / "taken", *urls, BILINGUAL_WARC=True)
        full = crawl(tmp_path / "full", *urls, max_file=3000, BILINGUAL_WARC=True)
    for probe in (taken, full):
        assert probe.stats["finish_reason"] == "warc_error"
        assert "WARC cannot be written" in probe.log
