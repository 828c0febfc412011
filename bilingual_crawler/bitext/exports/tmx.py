"""TMX 1.4, written as a stream, with the URLs and scores as properties."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from bilingual_crawler.bitext.exports.base import DocumentPair, Export, open_gzip

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bilingual_crawler.bitext.align import SentencePair
    from bilingual_crawler.languages import LanguagePair

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow."""


class Tmx(Export):
    """``en-mt.tmx.gz``."""

    def __init__(self, directory: Path, pair: LanguagePair) -> None:
        super().__init__(directory, pair)
        self._file = open_gzip(self.part("tmx.gz"))
        self._file.write(
            '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">\n'
            '<header creationtool="bilingual-crawler" creationtoolversion="0.1" segtype="sentence" o-tmf="text"'
            f' adminlang="en" srclang={quoteattr(self.languages[0])} datatype="plaintext"/>\n<body>\n'
        )

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        for found in kept:
            sides = zip(self.languages, (documents.url_a, documents.url_b), (found.text_a, found.text_b), strict=True)
            self._file.write(
                f'<tu><prop type="score-aligner">{found.score}</prop>'
                f'<prop type="score-document">{documents.score}</prop>\n'
                + "".join(
                    f'<tuv xml:lang={quoteattr(language)}><prop type="source-document">{_xml(url)}</prop>'
                    f"<seg>{_xml(text)}</seg></tuv>\n"
                    for language, url, text in sides
                )
                + "</tu>\n"
            )

    def close(self) -> None:
        self._file.write("</body>\n</tmx>\n")
        self._file.close()
        self.publish()


def _xml(text: str) -> str:
    return escape(_FORBIDDEN.sub("", text))
