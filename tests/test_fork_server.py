"""A forked process is what a new one would be."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from support import fork_server
from support.fork_server import HELPER, Popen
from support.webserver import bilingual_site, run_scrapy, scrapy_command, serve, start_scrapy

PROBE = """
import atexit, json, os, resource, signal, sys, threading
import bilingual_crawler, onnxruntime

onnxruntime.InferenceSession  # a crawl loads it
marked = hasattr(bilingual_crawler, "marked")
bilingual_crawler.marked = True
atexit.register(print, "over")
files = os.listdir("/proc/self/fd")
itself = {
    "arguments": sys.argv[1:],
    "name": sys.modules["__main__"].__spec__.name,
    "path": sys.path,
    "folder": os.getcwd(),
    "environment": {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
    "standard files": {"0", "1", "2"} <= {*files},
    "open files": len(files),
    "signals": [str(signal.getsignal(number)) for number in (1, 2, 10, 13, 15, 17, 25)],
    "parent": os.getppid(),
    "leads": [os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid()],
    "limits": [resource.getrlimit(number) for number in range(10)],
    "threads": [thread.name for thread in threading.enumerate()],
    "buffered": [sys.stdout.line_buffering, sys.stderr.line_buffering, sys.stdin.read()],
    "marked": marked,
}
print(json.dumps(itself))
print("ends", file=sys.stderr)
sys.exit(7)
"""


def probe(folder: Path, *, fresh: bool) -> dict[str, Any]:
    (folder / "probe.py").write_text(PROBE)
    done = run_scrapy(folder, "runspider", "probe.py", "-L", "ERROR", "-a", "some=thing", fresh=fresh)
    said, over = done.stdout.splitlines()
    assert (done.returncode, over, done.stderr) == (7, "over", "ends\n")
    itself: dict[str, Any] = json.loads(said)
    return itself


def test_a_forked_process_is_as_a_new_one_and_has_seen_no_other(tmp_path: Path) -> None:
    new = probe(tmp_path, fresh=True)
    # libraries may have one open for a moment
    files = new.pop("open files")
    assert new["parent"] == os.getpid()
    assert new["leads"] == [True, True]
    for _ in range(2):
        forked = probe(tmp_path, fresh=False)
        # one more leads to the process from which its helpers are forked
        assert forked.pop("open files") <= files + 1
        assert forked == new


def test_it_ends_as_a_new_one(tmp_path: Path) -> None:
    refused = [run_scrapy(tmp_path, "align", "nonexist", fresh=fresh) for fresh in (True, False)]
    assert [done.returncode for done in refused] == [2, 2]
    assert refused[0].stderr == refused[1].stderr
    (tmp_path / "waits.py").write_text("import time\nprint('begun', flush=True)\ntime.sleep(600)\n")
    for number in (signal.SIGKILL, signal.SIGTERM):
        process = start_scrapy(tmp_path, "runspider", "waits.py")
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        begun = time.monotonic()
        os.killpg(process.pid, number)
        process.communicate(timeout=300)
        assert process.returncode == -number
        assert time.monotonic() - begun < 120


def test_a_crawl_and_its_helpers_are_forked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after an alignment in this process, which names its cache folder to its helpers."""
    monkeypatch.setenv("BILINGUAL_CACHE_DIR", str(tmp_path))
    with serve(bilingual_site(3), delay=0.1) as site:
        crawl = start_scrapy(tmp_path, "crawl", "bilingual", "-a", "pair=eng-spa", "-a", f"seeds={site.url}/")
        site.wait_until_asked(6)
        # they are alive until the crawl ends: its last page has not been asked for
        itself = psutil.Process(crawl.pid)
        commands = [process.cmdline() for process in (itself, *itself.children())]
        crawl.kill()
        crawl.communicate()
    assert len(commands) > 2, "a helper, and the server that forks it"
    assert not [command for command in commands if {"scrapy", HELPER} & {*command}]


def test_a_changed_environment_is_a_new_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = fork_server._server_here()
    assert server
    assert server.suits(os.environ)
    for name in ("PYTHONHASHSEED", "PYTHONPATH", "TZ"):
        assert not server.suits(os.environ | {name: "1"})
    monkeypatch.setenv("TZ", "1")
    (tmp_path / "shows.py").write_text("import sys\nprint(sys.orig_argv[1:3])\nsys.exit(0)\n")
    command = scrapy_command("runspider", "shows.py")
    # without the settings of the project, which take time
    with Popen(command, cwd=tmp_path, env=dict(os.environ), stdout=-1, text=True) as process:
        assert process.stdout
        assert process.stdout.read() == "['-m', 'scrapy']\n"
