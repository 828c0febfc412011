"""Does what ``docs/deploy.md`` tells, as far as a test may: with other ports and paths, and not as root."""

import os
import re
import shlex
import signal
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping
from configparser import RawConfigParser
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from support.environments import outside_environment

PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"
AS_ROOT = ("apt-get", "chgrp", "chown", "systemctl", "useradd")
"""Commands that change the machine; they do nothing here."""
_BLOCK = re.compile(r"(?P<before>[^\n]*)\n+```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED_FILE = re.compile(r"`((?:/|~/)[\w./-]+|scrapy\.cfg)`.*:$")
"""In the line before a block: the file that the block is the content of."""


class Block(NamedTuple):
    """Commands, or with *path* the content of a file."""

    path: str | None
    body: str


class Machine:
    """A node as the page makes it, with its files under *folder*."""

    def __init__(self, folder: Path, changes: Mapping[str, str], checkout: Path | None = None) -> None:
        """*changes* are texts of the page and what is here instead.

        The project is not installed again if it is in *checkout*, where another node has installed it.
        """
        self.folder = folder
        self.checkout = checkout or folder / "opt"
        self._installed = checkout is not None
        self.home = folder / "home"
        self.state = folder / "var"
        for directory in (self.home, self.state, folder / "etc", folder / "bin"):
            directory.mkdir(parents=True)
        for name in AS_ROOT:
            (folder / "bin" / name).write_text("#!/bin/sh\n")
            (folder / "bin" / name).chmod(0o755)
        text = PAGE.read_text(encoding="utf-8")
        paths = {"/opt/bilingual-crawler": self.checkout, "/var/lib/scrapyd": self.state, "/etc/": f"{folder / 'etc'}/"}
        for old, new in {**changes, **paths}.items():
            assert old in text
            text = text.replace(old, str(new))
        self._sections = dict(section.split("\n", 1) for section in re.split(r"^##+ ", text, flags=re.MULTILINE)[1:])

    def follow(self, *titles: str) -> str:
        """Write the files and run the commands of these sections, in order; the output of the commands."""
        return "".join(self._do(block) for title in titles for block in self._blocks(title))

    @contextmanager
    def service(self) -> Iterator[None]:
        """Start what the systemd unit starts; stop it as systemd does."""
        (path,) = self.folder.glob("etc/systemd/system/*.service")
        unit = RawConfigParser()
        unit.optionxform = str  # type: ignore[assignment]
        unit.read(path)
        # Scrapyd reads /etc/scrapyd, then these two
        for name, source in (("scrapyd.conf", "scrapyd.conf"), (".scrapyd.conf", "conf.d/private.conf")):
            (self.state / name).symlink_to(self.folder / "etc" / "scrapyd" / source)
        with (self.folder / "scrapyd.log").open("w") as log:
            process = subprocess.Popen(
                shlex.split(unit["Service"]["ExecStart"]),
                cwd=unit["Service"]["WorkingDirectory"],
                env=outside_environment(HOME=str(self.state)),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield
        finally:
            assert unit["Service"]["KillMode"] == "control-group"
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=30)

    def run(self, commands: str) -> str:
        """Run *commands* where the checkout is; their output."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        # what pip would download is lent
        pip = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
        lent = {"PYTHONPATH": sysconfig.get_path("purelib")} if "pip install" in commands else {}
        result = subprocess.run(
            ("bash", "-euo", "pipefail", "-c", commands),
            cwd=self.checkout if self.checkout.exists() else self.folder,
            env=outside_environment(HOME=str(self.home), PATH=path, **pip, **lent),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert result.returncode == 0, f"{commands}\n{result.stdout}{result.stderr}"
        return result.stdout

    def _blocks(self, title: str) -> list[Block]:
        found = []
        for match in _BLOCK.finditer(self._sections[title]):
            named = _NAMED_FILE.search(match["before"])
            found.append(Block(named[1] if named else None, match["body"]))
        return found

    def _do(self, block: Block) -> str:
        if block.path is None:
            return "" if self._installed and "git clone" in block.body else self.run(block.body)
        path = self.checkout / block.path.replace("~", str(self.home))  # all but scrapy.cfg are absolute
        kept = path.read_text().partition("[deploy]")[0] if block.path == "scrapy.cfg" else ""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(kept + block.body, encoding="utf-8")
        return ""
