"""A review in the browser: real HTTP to the running command, and clicks in Chromium."""

import csv
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import pytest
from scrapy.exceptions import UsageError
from support import fork_server
from support.components import program
from support.crawls import refused
from support.reviews import write_review
from support.webserver import run_scrapy, scrapy_environment

from bilingual_crawler.reporting.review import Sheet

HOSTILE = "</p><script>document.title='taken'</script>\"'&"


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *arguments: object) -> None:
        return None


@dataclass
class Reviewing:
    """A running ``scrapy review --browse``."""

    process: subprocess.Popen[str]
    url: str

    def get(self, query: str = "", **headers: str) -> str:
        with build_opener().open(Request(self.url + query, headers=headers), timeout=30) as answer:
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
            return str(answer.read().decode())

    def post(self, fields: Mapping[str, str], **headers: str) -> tuple[int, str]:
        request = Request(self.url, urlencode(fields).encode(), headers)
        try:
            with build_opener(_NoRedirect).open(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def shown(self, query: str = "") -> dict[str, str]:
        """The hidden fields of the shown pair."""
        return dict(re.findall(r'<input type="hidden" name="(\w+)" value="(.*?)">', self.get(query)))

    def judge(self, judgement: str, query: str = "") -> int:
        """Send a judgement of the shown pair; the status of the answer."""
        return self.post(self.shown(query) | {"judgement": judgement})[0]


@contextmanager
def reviewing(folder: Path, max_file: int = resource.RLIM_INFINITY, interrupted: bool = False) -> Iterator[Reviewing]:
    """The command, which can write files of *max_file* bytes, and which SIGINT reaches if it is *interrupted*."""

    def listen() -> None:
        # a shell that runs the tests in the background has it ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    command = [sys.executable, "-m", "scrapy", "review", str(folder), "--browse"]
    first = listen if interrupted else None
    pipe, environment = subprocess.PIPE, scrapy_environment()
    with fork_server.Popen(command, stdout=pipe, text=True, env=environment, preexec_fn=first) as process:
        try:
            assert process.stdout
            found = re.search(r"http://\S+/", process.stdout.readline())
            assert found
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (max_file, max_file))
            yield Reviewing(process, found[0])
        finally:
            process.kill()


def written(folder: Path) -> Path:
    """A review of two document pairs and two sentence pairs, and its sheet."""
    sentences = [(f"{HOSTILE} {n}", f'"Kyllä" {n}\tsanoi') for n in range(2)]
    write_review(folder, 2, sentences, lambda url: [f"text of {url}", HOSTILE])
    return folder / "review.tsv"


def judgements(sheet: Path) -> list[str]:
    return [row.judgement for row in Sheet(sheet.parent).rows]


def test_clicks_write_the_sheet_in_chromium(tmp_path: Path) -> None:
    from playwright.sync_api import expect, sync_playwright

    def judged(count: int) -> None:
        """Waits for the page after a judgement, and for its script, which reads the keys."""
        expect(page).to_have_title(f"{count} of 4 pairs judged")
        page.wait_for_load_state()

    chromium = program("chromium", "chromium-browser", "google-chrome", package="chromium")
    sheet = written(tmp_path)
    with reviewing(tmp_path) as review, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(review.url)
        assert page.title() == "0 of 4 pairs judged"
        assert "text of https://a.fi/fi/" in page.inner_text("main")
        assert HOSTILE in page.inner_text("main")
        page.click("text=Right")
        judged(1)
        assert judgements(sheet) == ["1", "", "", ""]
        page.keyboard.press("w")
        judged(2)
        assert HOSTILE in page.inner_text("main")
        page.keyboard.press("u")
        judged(3)
        page.keyboard.press("ArrowLeft")
        page.wait_for_selector("[aria-pressed]")
        page.wait_for_load_state()
        page.keyboard.press("r")
        expect(page.locator("h1")).to_contain_text("4.")
        page.wait_for_load_state()
        page.keyboard.press("r")
        judged(4)
        assert "sentence pairs: 2 of 2 judged are translations" in page.inner_text("main")
        browser.close()
    assert judgements(sheet) == ["1", "0", "1", "1"]


@pytest.mark.slow
def test_a_pair_is_shown_escaped_and_the_sheet_goes_on_where_it_is_unfilled(tmp_path: Path) -> None:
    sheet = written(tmp_path)
    with reviewing(tmp_path, interrupted=True) as review:
        page = review.get()
        assert "<script>document" not in page
        assert "&lt;script&gt;document" in page
        assert review.judge("?") == 303
        review.process.send_signal(signal.SIGINT)
        assert review.process.wait(20) == 0
    with reviewing(tmp_path) as review:
        assert "1 of 4 pairs judged" in review.get()
        assert review.judge("1") == 303
        os.kill(review.process.pid, signal.SIGKILL)
        review.process.wait(20)
    assert judgements(sheet) == ["?", "1", "", ""]
    with reviewing(tmp_path) as review:
        assert "2 of 4 pairs judged" in review.get()
    said = run_scrapy(tmp_path, "review", ".").stdout
    assert "1 of 1 judged are translations" in said
    assert "1 of the sample are not judged, 1 of them unsure" in said


def test_what_a_person_writes_stays_byte_by_byte(tmp_path: Path) -> None:
    """A sheet of a spreadsheet program: with its mark, its line ends, another column, sorted, and with a comment."""
    sheet = written(tmp_path)
    with sheet.open(newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t")
    with sheet.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL)
        writer.writerow(["mine", *header])
        for row in reversed(rows):
            writer.writerow(["x\ny", *row[:-1], "a remark"])
        file.write("# a comment\r\n\r\n")
    with sheet.open("ab") as binary:
        binary.write(b"\xff not UTF-8")
    sheet.chmod(0o664)
    before = sheet.read_bytes()
    with reviewing(tmp_path) as review:
        assert review.judge("0") == 303
        # by hand, while the pair is shown
        shown = review.shown()
        sheet.write_bytes(sheet.read_bytes().replace(b"a remark", b"another", 1) + b"\r\n# more")
        assert review.post(shown | {"judgement": "1"})[0] == 303
    with sheet.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        cells = list(csv.reader(file, delimiter="\t"))
    assert [row[10] for row in cells[1:5]] == ["0", "1", "", ""]
    assert [row[11] for row in cells[1:5]] == ["another", "a remark", "a remark", "a remark"]
    assert [row[0] for row in cells[1:5]] == ["x\ny"] * 4
    after = sheet.read_bytes()
    # the header, and all from the third pair on
    assert after.startswith(before[: before.index(b"\r\n") + 2])
    assert after.endswith(before[before.index(b'"x\ny"\t"2"') :] + b"\r\n# more")
    assert sheet.stat().st_mode & 0o777 == 0o664


def test_a_judgement_made_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    sheet = written(tmp_path)
    with reviewing(tmp_path) as review:
        shown = review.shown()
        with ThreadPoolExecutor(2) as clicks:
            answers = [clicks.submit(review.post, shown | {"judgement": judgement}) for judgement in "10"]
        codes = [answer.result()[0] for answer in answers]
        assert sorted(codes) == [303, 409]
        assert judgements(sheet) == ["10"[codes.index(303)], "", "", ""]
        # the same click twice
        assert review.post(shown | {"judgement": "10"[codes.index(303)]})[0] == 303
        shown = review.shown()
        sheet.write_text(sheet.read_text().replace("\t\t\n", "\t0\tby hand\n"))
        code, page = review.post(shown | {"judgement": "1"})
        assert (code, judgements(sheet)[1:]) == (409, ["0", "0", "0"])
        assert "The judgement has changed meanwhile" in page
        assert 'value="0" data-key="w" aria-pressed="true"' in page
        assert "All pairs have a judgement" in review.get()
        assert review.judge("1", f"?pair={shown['pair']}") == 303
        assert judgements(sheet)[1:] == ["1", "0", "0"]
        sheet.write_text("number\tkind\ttranslation\n1\tdocument\t\n")
        code, page = review.post(shown | {"judgement": "1"})
        assert code == 409
        assert "no longer in it" in page
        sheet.write_text("kind\ttranslation\ndocument\t<script>\n")
        code, page = review.post(shown | {"judgement": "1"})
        assert code == 409
        assert "line 2: translation is '<script>'; write 1, 0, ? or nothing" in page
        assert sheet.read_text() == "kind\ttranslation\ndocument\t<script>\n"


def test_other_pages_and_users_cannot_judge(tmp_path: Path) -> None:
    sheet = written(tmp_path)
    with reviewing(tmp_path) as review:
        fields = review.shown() | {"judgement": "1"}
        host = urlsplit(review.url).netloc
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
            assert review.post(fields, origin=origin)[0] == 403
        assert review.post(fields, host="evil.example")[0] == 403
        assert review.post(fields | {"judgement": "yes"})[0] == 400
        assert review.post(fields | {"more": "x" * 5000})[0] == 413
        for path in ("/", "/keys.js", "/x/", "/x/keys.js"):
            with pytest.raises(HTTPError) as error:
                build_opener().open(f"http://{host}{path}", timeout=30)
            assert error.value.code == 404
        assert judgements(sheet) == [""] * 4
        assert review.post(fields, origin=f"http://{host}")[0] == 303
        assert judgements(sheet) == ["1", "", "", ""]


def test_a_sheet_under_review_is_not_replaced_and_not_reviewed_twice(tmp_path: Path) -> None:
    sheet = written(tmp_path)
    before = sheet.read_bytes()
    with reviewing(tmp_path):
        assert "is in use by process" in refused(tmp_path, "review", ".", "--browse")
        with pytest.raises(UsageError, match="is in use by process"):
            written(tmp_path)
    assert sheet.read_bytes() == before


def test_an_error_in_writing_is_shown_and_the_sheet_stays(tmp_path: Path) -> None:
    sheet = written(tmp_path)
    before = sheet.read_bytes()
    with reviewing(tmp_path, max_file=100) as review:
        code, page = review.post(review.shown() | {"judgement": "1"})
        assert code == 500
        assert "File too large" in page
        assert "0 of 4 pairs judged" in review.get()
    assert sheet.read_bytes() == before
    assert not list(tmp_path.glob(".review.tsv.*"))


def test_sheets_of_several_languages_are_reviewed_one_after_the_other(tmp_path: Path) -> None:
    sheets = [written(tmp_path / name) for name in ("eng-fin", "eng-swe")]
    with reviewing(tmp_path) as review:
        for _ in range(5):
            page = review.get()
            assert review.judge("1") == 303
        assert "5. eng-swe Document pair" in page
    assert [judgements(sheet) for sheet in sheets] == [["1"] * 4, ["1", "", "", ""]]
