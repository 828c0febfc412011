"""An index of archived URLs."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

import duckdb

from support.webserver import QuietServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


INDEX = {
    "url_protocol": "VARCHAR",
    "url_host_name": "VARCHAR",
    "url_port": "INTEGER",
    "url_path": "VARCHAR",
    "url_query": "VARCHAR",
    "url_host_registered_domain": "VARCHAR",
    "url_host_private_domain": "VARCHAR",
    "fetch_status": "SMALLINT",
    "content_mime_detected": "VARCHAR",
    "content_languages": "VARCHAR",
    "warc_filename": "VARCHAR",
    "warc_record_offset": "INTEGER",
    "warc_record_length": "INTEGER",
}


def page(address: str, languages: str | None, **changes: Any) -> dict[str, Any]:
    """A row of the index."""
    protocol, _, rest = address.partition("://")
    authority, _, path = rest.partition("/")
    host, _, port = authority.partition(":")
    domain = ".".join(host.split(".")[-2:])
    row = {
        "url_protocol": protocol,
        "url_host_name": host,
        "url_port": int(port) if port else None,
        "url_path": f"/{path}",
        "url_query": None,
        "url_host_registered_domain": domain,
        "url_host_private_domain": domain,
        "fetch_status": 200,
        "content_mime_detected": "text/html",
        "content_languages": languages,
        "warc_filename": "crawl-data/x.warc.gz",
        "warc_record_offset": 7,
        "warc_record_length": 9,
    }
    return row | changes


def write_index(path: Path, rows: Sequence[dict[str, Any]], without: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = [name for name in INDEX if name != without]
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE x ({', '.join(f'{name} {INDEX[name]}' for name in columns)})")
        for row in rows:
            db.execute(f"INSERT INTO x VALUES ({', '.join('?' * len(columns))})", [row[name] for name in columns])
        db.execute(f"COPY x TO '{path}' (FORMAT parquet)")
    return path


@contextmanager
def served(folder: Path, *, cuts: bool = True, pause: float = 0.0) -> Iterator[str]:
    """The address of a server of the files in a folder, which *cuts* them on request and may *pause* after a byte."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            file = folder / self.path.lstrip("/")
            if not file.is_file():
                self.send_error(404)
                return
            first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
            body = file.read_bytes()[first : last + 1] if cuts else file.read_bytes()
            self.send_response(206 if cuts else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for part in [body[i : i + 1] for i in range(len(body))] if pause else [body]:
                self.wfile.write(part)
                time.sleep(pause)

        def log_message(self, *arguments: object) -> None: ...

    with QuietServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
