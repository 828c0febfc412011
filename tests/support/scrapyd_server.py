"""A Scrapyd of its own on loopback, and the project deployed to it as a user does."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from support.components import free_port
from support.environments import outside_environment

ROOT = Path(__file__).parents[2]
PROJECT = "bilingual_crawler"
SHIPPED = (
    *("bilingual_crawler", "models", "LICENSE", "MANIFEST.in", "constraints.txt", "README.md"),
    *("pyproject.toml", "scrapy.cfg", "setup.py"),
)
CONFIG = """
[scrapyd]
http_port = {port}
poll_interval = 0.2
items_dir = items
jobs_dir = jobs
"""


class Scrapyd:
    """A running server; its files are under *folder*."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.url = f"http://127.0.0.1:{port}"

    def get(self, service: str, **parameters: str) -> dict[str, Any]:
        return _answer(f"{self.url}/{service}.json?{urlencode(parameters)}")

    def post(self, service: str, *parameters: tuple[str, str]) -> dict[str, Any]:
        return _answer(f"{self.url}/{service}.json", urlencode([("project", PROJECT), *parameters]).encode())

    def deploy(self, checkout: Path, version: str, egg: Path | None = None) -> None:
        """Run ``scrapyd-deploy`` in *checkout*, for this server, with an *egg* that has been built or a new one."""
        (checkout / "scrapy.cfg").write_text(
            (ROOT / "scrapy.cfg").read_text().replace("http://localhost:6800", self.url)
        )
        deploy = [sys.executable, "-m", "scrapyd_client.deploy", "--version", version]
        deploy += ["--egg", str(egg)] if egg else []
        result = subprocess.run(
            deploy, cwd=checkout, env=outside_environment(), capture_output=True, text=True, timeout=300
        )
        assert result.returncode == 0, result.stdout + result.stderr

    def egg(self, version: str) -> Path:
        """The egg that was deployed here as *version*."""
        return self.folder / "eggs" / PROJECT / f"{version}.egg"

    def schedule(
        self, arguments: dict[str, str], settings: Sequence[str] = (), jobid: str = "", spider: str = "bilingual"
    ) -> str:
        quick = ("DOWNLOAD_DELAY=0", "AUTOTHROTTLE_ENABLED=0", *settings)
        given = [("spider", spider), *arguments.items(), *(("setting", setting) for setting in quick)]
        job: str = self.post("schedule", *given, *([("jobid", jobid)] if jobid else []))["jobid"]
        return job

    def wait(self, job: str, runs: int = 1, timeout: float = 300) -> None:
        """Until *job* has finished for the time number *runs*."""
        deadline = time.monotonic() + timeout
        while sum(done["id"] == job for done in self.get("listjobs", project=PROJECT)["finished"]) < runs:
            assert time.monotonic() < deadline, f"{job} goes on: {self.log(job)}"
            time.sleep(0.1)

    def log(self, job: str) -> str:
        """What the job, of whatever spider, has logged."""
        return "".join(path.read_text() for path in (self.folder / "logs" / PROJECT).glob(f"*/{job}.log"))


@contextmanager
def start_scrapyd(folder: Path) -> Iterator[Scrapyd]:
    """A Scrapyd with its files in *folder*."""
    folder.mkdir()
    port = free_port()
    (folder / "scrapyd.conf").write_text(CONFIG.format(port=port))
    with (folder / "scrapyd.log").open("w") as log:
        process = subprocess.Popen(
            (sys.executable, "-m", "scrapyd"), cwd=folder, env=outside_environment(), stdout=log, stderr=log
        )
    try:
        server = Scrapyd(folder, port)
        _wait_until_up(server, process)
        yield server
    finally:
        process.terminate()
        process.wait(timeout=30)


def copy_checkout(folder: Path, bot: str) -> Path:
    """A copy of this checkout in which the crawler calls itself *bot*, to tell the egg from what is installed."""
    folder.mkdir()
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    rename_bot(folder, bot)
    return folder


def rename_bot(checkout: Path, bot: str) -> None:
    with (checkout / "bilingual_crawler" / "settings.py").open("a") as settings:
        settings.write(f'BOT_NAME = "{bot}"\n')


def _wait_until_up(server: Scrapyd, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 300
    while True:
        try:
            server.get("daemonstatus")
            return
        except URLError:
            assert process.poll() is None, (server.folder / "scrapyd.log").read_text()
            assert time.monotonic() < deadline, "scrapyd does not answer"
            time.sleep(0.1)


def _answer(url: str, data: bytes | None = None) -> dict[str, Any]:
    with urlopen(url, data, timeout=300) as response:
        answer: dict[str, Any] = json.load(response)
    assert answer["status"] == "ok", answer
    return answer
