"""Programs from outside Python that tests start."""

import os
import shutil
import socket

import pytest


def program(*names: str, package: str) -> str:
    """The path of the first of *names* that there is; without one the test is skipped, in CI it fails."""
    for name in names:
        if path := shutil.which(name):
            return path
    reason = f"no {names[0]} here; apt-get install {package}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
