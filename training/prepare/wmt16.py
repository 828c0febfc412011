"""WMT16 document alignment: links of known pages that are no translations, as in a crawl."""

from __future__ import annotations

import base64
import binascii
from collections import defaultdict
from typing import TYPE_CHECKING

from bilingual_crawler.languages.codes import from_bcp47
from bilingual_crawler.pages.decode import decode_body
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.urls.canonical import canonicalise
from training.common.data import BadRow
from training.parallelness.negatives import clusters
from training.prepare.corpora import UrlPair
from training.prepare.files import unpacked_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from training.prepare.files import Account

HTML = "html-link"
"""The evidence of negatives: links that are no translations."""
FIELDS = 6


class Gold:
    """Known pairs: the partners of a page, by canonical address."""

    def __init__(self) -> None:
        self.partners: dict[str, set[str]] = defaultdict(set)

    def add(self, url_a: str, url_b: str) -> None:
        """Take a pair."""
        a, b = canonicalise(url_a) or url_a, canonicalise(url_b) or url_b
        self.partners[a].add(b)
        self.partners[b].add(a)

    def documents(self) -> dict[str, str]:
        """Page -> its document. Translations of translations belong to the same document."""
        return clusters((a, b) for a, others in self.partners.items() for b in others)


def read_lett(
    path: Path, lines: Iterable[bytes], gold: Gold, languages: tuple[str, str], account: Account
) -> Iterator[UrlPair]:
    """Negatives out of the documents of a site (language, type, encoding, URL, HTML and text in base 64).

    A page of a known pair whose HTML links to its partner is paired with the other documents it links to, if they are
    in one of the two languages (García-Romero 2026, section 4.1); addresses are written as the file has them.
    """
    pages: dict[str, tuple[str, str]] = {}
    linked: dict[str, list[str]] = {}
    for number, raw in enumerate(lines, start=1):
        fields = raw.rstrip(b"\r\n").split(b"\t")
        url = fields[3].decode(errors="replace") if len(fields) == FIELDS else ""
        page = canonicalise(url)
        if page is None or not url:
            account.reject(BadRow(number, "not a URL" if url else f"{len(fields)} fields instead of {FIELDS}"))
            continue
        try:
            html = base64.b64decode(fields[4], validate=True) if page in gold.partners else b""
        except binascii.Error:
            account.reject(BadRow(number, "HTML is not in base 64"))
            continue
        account.read += 1
        pages.setdefault(page, (url, from_bcp47(fields[0].decode(errors="replace")) or ""))
        if page in gold.partners:
            linked[page] = [link.url for link in parse_page(decode_body(html, None), page).links]
    documents = gold.documents()
    for page, links in linked.items():
        if gold.partners[page].isdisjoint(links):
            account.left_out["known page without a link to its translation"] += 1
            continue
        url, lang = pages[page]
        for link in links:
            if documents.get(link) == documents[page]:
                continue
            other, other_lang = pages.get(link, ("", ""))
            if other_lang in languages:
                yield UrlPair(url, lang, other, other_lang, unpacked_name(path), HTML, "0")
            else:
                account.left_out["link to no document in the two languages"] += 1
