"""News in two languages with gold pairs of documents, as Fernando et al. publish them: texts without HTML.

The archive has a folder for each language, with a JSON object for each document, and a list of pairs of file names.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import PurePath
from typing import TYPE_CHECKING

from bilingual_crawler.languages.codes import parse_language
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.language import BY_DEFAULT
from bilingual_crawler.pairing.corpus import Corpus
from bilingual_crawler.pairing.reading import PackedDocument, RawPage, read_pages

if TYPE_CHECKING:
    from pathlib import Path

HOST = "https://news.example"


def read_gold_texts(path: Path) -> tuple[Corpus, set[tuple[str, str]]]:
    """All documents in the archive *path* under made-up addresses, and the gold pairs."""
    pages: dict[str, RawPage] = {}
    lists: dict[str, list[str]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is None:
                continue
            folder, name = PurePath(member.name).parts[-2:]
            content = file.read().decode("utf-8")
            if name.endswith(".json"):
                document, url = json.loads(content), f"{HOST}/{folder}/{name}"
                title, text = document["Header"].strip(), document["Content"].strip()
                pages[url] = RawPage(url, None, title=title, text=text, language=parse_language(folder))
            else:
                lists[name] = content.splitlines()
    ((name, lines),) = lists.items()
    # NAME_en-si_golden-pair.txt
    a, b = name.split("_")[1].split("-")
    pairs = LanguagePairs.parse("-".join(map(parse_language, (a, b))))
    corpus = Corpus(pairs)
    for read in read_pages(pages.values(), pairs, BY_DEFAULT, corpus.unreadable):
        if isinstance(read, PackedDocument):
            corpus.add(read)
    return corpus, {(f"{HOST}/{a}/{left}", f"{HOST}/{b}/{right}") for left, right in map(str.split, lines)}
