"""Frozen sites in the format of the shared ones, made here."""

import json
import lzma
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter


def write_frozen(
    folder: Path,
    base: str,
    pages: Mapping[str, tuple[str, str, Iterable[str]]],
    pairs: Iterable[tuple[str, str]],
    copies: Mapping[str, str] | None = None,
    **description: object,
) -> None:
    """Write a site of *pages*: URL -> language, HTML and the pages it links to. *copies* are URLs of the same HTML."""
    folder.mkdir(parents=True)
    graph = [(url, language, str(len(html)), " ".join(links)) for url, (language, html, links) in pages.items()]
    gold = [(a, pages[a][0], b, pages[b][0], "hreflang") for a, b in pairs]
    for name, rows in (("graph", graph), ("pairs", gold)):
        with lzma.open(folder / f"{name}.tsv.xz", "wt") as file:
            file.writelines("\t".join(row) + "\n" for row in rows)
    (folder / "site.json").write_text(json.dumps({"site": folder.name, "base": base, **description}))
    with lzma.open(folder / "pages.warc.xz", "wb") as file:
        writer = WARCWriter(file, gzip=False)
        for url, page in (dict(zip(pages, pages, strict=True)) | dict(copies or {})).items():
            headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html; charset=utf-8")], "HTTP/1.1")
            body = BytesIO(pages[page][1].encode())
            writer.write_record(writer.create_warc_record(url, "response", payload=body, http_headers=headers))
