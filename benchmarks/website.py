"""A generated website on loopback, for benchmarks of whole crawls."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import re
from string import ascii_lowercase
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bilingual_crawler.storage.archive import iter_responses
from bilingual_crawler.storage.sites import find_sources

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized
    from pathlib import Path

WORDS = (
    [
        "the",
        "harvest",
        "of",
        "this",
        "year",
        "was",
        "good",
        "and",
        "people",
        "in",
        "every",
        "village",
        "went",
        "to",
        "market",
        "with",
        "their",
        "fruit",
    ],
    [
        "la",
        "cosecha",
        "de",
        "este",
        "año",
        "fue",
        "buena",
        "y",
        "la",
        "gente",
        "de",
        "cada",
        "pueblo",
        "fue",
        "al",
        "mercado",
        "con",
        "toda",
        "su",
        "fruta",
    ],
)
SENTENCES = (
    ("The harvest of the year {0} was good in {1}.", "La cosecha del año {0} fue buena en {1}."),
    ("{1} people went to the market of {2}.", "{1} personas fueron al mercado de {2}."),
    ("The old mayor of {1} opened a new school.", "El antiguo alcalde de {1} abrió una escuela nueva."),
    ("In {0} the river near {2} flooded the village.", "En {0} el río cerca de {2} inundó el pueblo."),
    ("Every family in {2} has {0} apple trees.", "Cada familia en {2} tiene {0} manzanos."),
    ("The train to {1} leaves at {0} in the morning.", "El tren a {1} sale a las {0} de la mañana."),
    ("Nobody knows who built the bridge of {1}.", "Nadie sabe quién construyó el puente de {1}."),
    ("They sold {0} sheep and bought a house in {2}.", "Vendieron {0} ovejas y compraron una casa en {2}."),
)
"""Each in both languages, with a number and two names."""
FOLDERS = ("en", "es")


def path(number: int) -> str:
    """Pages 2k and 2k + 1 are translations of each other."""
    return f"/{FOLDERS[number % 2]}/{number // 2}.html"


def html(number: int, pages: int) -> bytes:
    """6 kB of text with names of its own, for pages that say the same would be taken for a trap, and 13 links."""
    rng = random.Random(number)
    shared = random.Random(number // 2)
    children = [3 * number + 2 * k for k in (1, 2, 3)] + [rng.randrange(pages) for _ in range(9)] + [number ^ 1]
    links = " ".join(f'<a href="{path(n)}">page {n}</a>' for n in children if n < pages)
    text = "".join(f"<p>{_paragraph(shared, number % 2)}</p>" for _ in range(17))
    return f"<html><head><title>{number // 2}</title></head><body><nav>{links}</nav>{text}</body></html>".encode()


def _paragraph(rng: random.Random, side: int) -> str:
    sentences = (
        sentence[side].format(
            rng.randrange(10_000), *("".join(rng.choices(ascii_lowercase, k=7)).title() for _ in "12")
        )
        for sentence in rng.sample(SENTENCES, 8)
    )
    return " ".join(sentences)


def answer_of(body: bytes, kind: str = "text/html; charset=utf-8") -> bytes:
    """The whole HTTP response."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind.encode(), len(body), body)


def archived(folder: Path) -> dict[str, bytes]:
    """Return the answers of the frozen site in *folder*, by path; links to its own host are made relative to that."""
    [source] = find_sources(folder)
    host = urlsplit(source.base or "").netloc.encode()
    return {
        urlsplit(response.url).path: answer_of(re.sub(rb"https?://" + re.escape(host), b"", response.body))
        for response in iter_responses(folder)
    }


def start(answers: dict[str, bytes], hosts: int = 1, answered: Synchronized[int] | None = None) -> list[str]:
    """Serve *answers* (by path) on so many loopback addresses while this process lives; returns their base URLs.

    *answered* counts the answers that were sent.
    """
    ports: multiprocessing.Queue[list[str]] = multiprocessing.Queue()
    multiprocessing.Process(target=_serve, args=(answers, hosts, ports, answered), daemon=True).start()
    return ports.get()


def _serve(
    answers: dict[str, bytes],
    hosts: int,
    started: multiprocessing.Queue[list[str]],
    answered: Synchronized[int] | None,
) -> None:
    missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                found = answers.get(request.split(b" ", 2)[1].decode())
                writer.write(found or missing)
                if answered and found:
                    answered.value += 1
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, [f"127.0.0.{n + 1}" for n in range(hosts)], 0)
        started.put(["http://{}:{}".format(*socket.getsockname()) for socket in server.sockets])
        await server.serve_forever()

    asyncio.run(run())
