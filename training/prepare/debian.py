"""Debian packages, downloaded and unpacked without being installed; needs apt-get, dpkg-deb and the network."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def packages(pattern: str) -> list[str]:
    """Names of the packages that match a regular expression."""
    command = ["apt-cache", "search", "-n", pattern]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in found.splitlines()]


def unpack(names: Iterable[str], folder: Path) -> Path:
    """Download packages into `folder` and unpack them; returns the root of their files."""
    subprocess.run(["apt-get", "download", *names], cwd=folder, check=True)
    root = folder / "root"
    for package in sorted(folder.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)
    return root
