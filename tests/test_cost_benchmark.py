"""The measure of what crawls cost."""

import json
import os
import sys
from pathlib import Path

import pytest

from benchmarks import cost
from benchmarks.processes import measure

BURN = """
import time
held = bytearray(300 << 20)
held[::4096] = b"x" * len(held[::4096])
while time.process_time() < 0.8:
    pass
"""
START = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', *sys.argv[1:]], start_new_session=True)"


def test_a_process_that_outlives_its_parents_is_measured(tmp_path: Path) -> None:
    taken = measure([sys.executable, "-c", START, START, BURN], tmp_path, os.environ)
    assert taken.seconds > 0.8
    assert taken.peak_mb > 200


def test_a_process_that_waits_costs_nothing(tmp_path: Path) -> None:
    taken = measure(["sleep", "1"], tmp_path, os.environ)
    assert taken.seconds < 0.5
    assert taken.wall >= 1


def test_a_command_that_fails_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no pages"):
        measure([sys.executable, "-c", "raise SystemExit('no pages')"], tmp_path, os.environ)


@pytest.mark.slow
def test_what_is_not_there_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cost, "HANDBOOK", tmp_path / "absent")
    monkeypatch.setitem(cost.OTHERS, "crawlee", cost.Peer(("absent.py",), ("no_such_package",)))
    sites, names = ("--sites", "deb.handbook", "one page"), ("--names", "scrapy", "crawlee", "linguacrawl", "gain+warc")
    monkeypatch.setitem(cost.OTHERS, "linguacrawl", cost.Peer(("absent.py",), ()))
    with pytest.raises(SystemExit) as ended:
        cost.main(["--runs", "1", *sites, *names, "--json", str(tmp_path / "rows.json")])
    assert ended.value.code
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [(row["name"], *row["sites"]) for row in rows] == [("scrapy", "one page"), ("gain+warc", "one page")]
    medians = [row["sites"]["one page"] for row in rows]
    assert all(one["seconds"] > 0.2 and one["peak_mb"] > 20 for one in medians)
    left_out = capsys.readouterr().err
    assert "deb.handbook is left out" in left_out
    assert "crawlee is left out: ModuleNotFoundError: No module named 'no_such_package'" in left_out
    assert "one page, linguacrawl is left out: " in left_out
