"""Cost of ``-a render=auto`` on a site without JavaScript, and the speed of rendering on a site that needs it.

    python -m benchmarks.rendering [--pages 1000] [--shells 60] [--runs 5]

Whole crawls on loopback without delays, of a site whose pages have scripts and text (never and auto in turn, medians of
several runs), then of one whose pages hold nothing but a script that fetches their content.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.website import answer_of, html, path, start

SCRIPT = b"fetch('/parts' + location.pathname).then(a => a.text()).then(html => document.body.innerHTML = html)"
SHELL = b"<!doctype html><title>shell</title><body><script src=/app.js></script>"
QUICK = ("CONCURRENT_REQUESTS_PER_DOMAIN=8", "DOWNLOAD_DELAY=0", "AUTOTHROTTLE_ENABLED=0", "LOG_LEVEL=INFO")


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one crawl, its browser included."""

    pages: int
    seconds: float
    cpu: float
    """Seconds."""
    memory: float
    """MB of the largest process."""


def site(pages: int, *, shells: bool) -> dict[str, bytes]:
    contents = {path(number): html(number, pages) for number in range(pages)}
    answers = {"/app.js": answer_of(SCRIPT if shells else b"", "text/javascript")}
    for place, content in contents.items():
        if shells:
            answers |= {place: answer_of(SHELL), f"/parts{place}": answer_of(content)}
        else:
            answers[place] = answer_of(content.replace(b"</head>", b"<script src=/app.js></script></head>"))
    return answers


def crawl(base: str, render: str) -> Cost:
    """Run one crawl in a folder of its own; exits with its log if it fails."""
    arguments = ("pair=eng-spa", f"seeds={base}{path(0)}", "policy=bfs", f"render={render}")
    command = [sys.executable, "-m", "scrapy", "crawl", "bilingual"]
    command += [part for argument in arguments for part in ("-a", argument)]
    command += [part for setting in QUICK for part in ("-s", setting)]
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).resolve().parent.parent),
        "SCRAPY_SETTINGS_MODULE": "bilingual_crawler.settings",
    }
    with tempfile.TemporaryDirectory() as folder, Path(folder, "log").open("w+") as log:
        begun = time.perf_counter()
        command += ["-s", f"BILINGUAL_OUTPUT_DIR={folder}/out"]
        streams = [(os.POSIX_SPAWN_DUP2, log.fileno(), stream) for stream in (1, 2)]
        child = os.posix_spawn(sys.executable, command, environment, file_actions=streams)
        _, status, used = os.wait4(child, 0)
        if status:
            sys.exit(Path(folder, "log").read_text()[-2000:])
        pages = json.loads(Path(folder, "out", "summary.json").read_text())["fetched"]
        return Cost(pages, time.perf_counter() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--shells", type=int, default=60)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    (plain,), (shells,) = start(site(options.pages, shells=False)), start(site(options.shells, shells=True))
    costs: dict[str, list[Cost]] = {"never": [], "auto": []}
    for _ in range(options.runs):
        for render, measured in costs.items():
            measured.append(crawl(plain, render))
    for render, measured in costs.items():
        cpu = statistics.median(cost.cpu for cost in measured)
        memory = statistics.median(cost.memory for cost in measured)
        print(f"{measured[0].pages} pages without need, render={render:6} {cpu:6.2f} s of CPU   {memory:5.0f} MB")
    cost = crawl(shells, "auto")
    print(f"{cost.pages} shells, render=auto: {cost.pages / cost.seconds:.2f} pages/s, {cost.cpu:.1f} s of CPU")


if __name__ == "__main__":
    main()
