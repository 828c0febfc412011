"""An index of archived URLs."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from support.webserver import QuietHandler, running

INDEX = {
    **dict.fromkeys(("url_protocol", "url_host_name"), "VARCHAR"),
    "url_port": "INTEGER",
    **dict.fromkeys(("url_path", "url_query", "url_host_registered_domain", "url_host_private_domain"), "VARCHAR"),
    "fetch_status": "SMALLINT",
    **dict.fromkeys(("content_mime_detected", "content_languages", "warc_filename"), "VARCHAR"),
    **dict.fromkeys(("warc_record_offset", "warc_record_length"), "INTEGER"),
}


def page(address: str, languages: str | None, **changes: Any) -> dict[str, Any]:
    """A row of the index."""
    protocol, _, rest = address.partition("://")
    authority, _, path = rest.partition("/")
    host, _, port = authority.partition(":")
    domain = ".".join(host.split(".")[-2:])
    parts = (protocol, host, int(port) if port else None, f"/{path}", None, domain, domain)
    record = (200, "text/html", languages, "crawl-data/x.warc.gz", 7, 9)
    return dict(zip(INDEX, (*parts, *record), strict=True)) | changes


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

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            file = folder / self.path.lstrip("/")
            if not file.is_file():
                self.answer(404)
                return
            first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
            body = file.read_bytes()[first : last + 1] if cuts else file.read_bytes()
            self.send_response(206 if cuts else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for part in [body[i : i + 1] for i in range(len(body))] if pause else [body]:
                self.wfile.write(part)
                time.sleep(pause)

    with running(Handler) as url:
        yield f"{url}/"
