"""A real Redis server on loopback, with an append-only file in a folder of its own."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from support.components import free_port, program


class RedisServer:
    """A server that can be stopped, killed and started again on the same port and files."""

    def __init__(self, folder: Path, **options: str) -> None:
        self._folder = folder
        self._options = options
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        options = {"port": self.port, "bind": "127.0.0.1", "dir": self._folder, "appendonly": "yes", "save": ""}
        options |= {name.replace("_", "-"): value for name, value in self._options.items()}
        arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        self.process = subprocess.Popen(["redis-server", *arguments], stdout=subprocess.DEVNULL)
        client = redis.Redis(port=self.port, password=self._options.get("requirepass"))
        for _ in range(3000):
            try:
                client.ping()
                return
            except redis.ConnectionError:
                time.sleep(0.02)
        raise AssertionError("redis-server does not answer")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def redis_server(folder: Path, **options: str) -> Iterator[RedisServer]:
    """A server for the time of a test, which is skipped where there is none (and fails in CI)."""
    program("redis-server", package="redis-server")
    server = RedisServer(folder, **options)
    try:
        yield server
    finally:
        server.stop()
