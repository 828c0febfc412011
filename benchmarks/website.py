"""A generated website on loopback, for benchmarks of whole crawls."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
from string import ascii_lowercase

WORDS = (
    ("the", "harvest", "of", "this", "year", "was", "good", "and", "people", "in", "every", "village", "went", "fruit"),
    ("la", "cosecha", "de", "este", "año", "fue", "buena", "y", "gente", "en", "cada", "pueblo", "iba", "fruta"),
)
"""Words, and their translations at the same places."""
FOLDERS = ("en", "es")


def path(number: int) -> str:
    """Pages 2k and 2k + 1 are translations of each other."""
    return f"/{FOLDERS[number % 2]}/{number // 2}.html"


def html(number: int, pages: int) -> bytes:
    """6 kB of text with words of its own, for pages that say the same would be taken for a trap, and 13 links."""
    rng = random.Random(number)
    own = ["".join(rng.choices(ascii_lowercase, k=7)) for _ in range(100)]
    said, words = random.Random(number // 2), WORDS[number % 2]
    children = [3 * number + 2 * k for k in (1, 2, 3)] + [rng.randrange(pages) for _ in range(9)] + [number ^ 1]
    links = " ".join(f'<a href="{path(n)}">page {n}</a>' for n in children if n < pages)
    text = "".join(f"<p>{' '.join(said.choices(words, k=60))}</p>" for _ in range(16))
    return (
        f"<html><head><title>{number}</title></head><body><nav>{links}</nav>{text}<p>{' '.join(own)}</p></body></html>"
    ).encode()


def answer_of(body: bytes, kind: str = "text/html; charset=utf-8") -> bytes:
    """The whole HTTP response."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind.encode(), len(body), body)


def start(answers: dict[str, bytes], hosts: int = 1) -> list[str]:
    """Serve *answers* (by path) on so many loopback addresses while this process lives; returns their base URLs."""
    ports: multiprocessing.Queue[list[str]] = multiprocessing.Queue()
    multiprocessing.Process(target=_serve, args=(answers, hosts, ports), daemon=True).start()
    return ports.get()


def _serve(answers: dict[str, bytes], hosts: int, started: multiprocessing.Queue[list[str]]) -> None:
    missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(answers.get(request.split(b" ", 2)[1].decode(), missing))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, [f"127.0.0.{n + 1}" for n in range(hosts)], 0)
        started.put(["http://{}:{}".format(*socket.getsockname()) for socket in server.sockets])
        await server.serve_forever()

    asyncio.run(run())
