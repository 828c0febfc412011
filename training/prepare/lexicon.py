"""`python -m training.prepare.lexicon OUT.tsv.gz`: words and phrases with translations, from Debian packages.

Columns lang_a, text_a, lang_b, text_b. Sources: FreeDict and Apertium dictionaries (GPL and others), messages of
WordPress (GPL), Django (BSD), MediaWiki (GPL) and iso-codes (LGPL), and the names that sections of websites have in 31
languages (`navigation.tsv`, written for this). Needs apt-get, dpkg-deb and the network; nothing is installed. For
training only: the list is not shipped.
"""

from __future__ import annotations

import argparse
import gettext
import gzip
import json
import random
import re
import tempfile
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from bilingual_crawler.languages.codes import from_bcp47
from training.prepare.apertium import PACKAGES, apertium
from training.prepare.debian import packages, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Row = tuple[str, str, str, str]

NAVIGATION = Path(__file__).parent / "navigation.tsv"
MESSAGES = ("wordpress-l10n", "python3-django", "mediawiki", "iso-codes")
DICTIONARIES = (
    "^dict-freedict-(eng-(fra|spa|deu|ita|por|nld|pol|ces|hrv|srp|hun|fin|swe|nor|dan|lit|ell|tur|rus|bul|hin|ara|cym|"
    "gle|ind|jpn)|(fra|spa|deu|ita|por|nld|pol|ces|slk|slv|hrv|srp|hun|fin|swe|dan|lit|isl|ell|tur)-eng|fra-spa|spa-por|"
    "ita-fin|mkd-bul|deu-fra|deu-spa|deu-pol|deu-rus|oci-cat|bre-fra|fra-ita)$"
)
MOST_OF_PAIR = 40_000
MOST_WORDS, LONGEST = 4, 40
DIGITS = {c: i for i, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}
WORD = re.compile(r"[^\W\d_]+")
NOISE = re.compile(r"\([^)]*\)|\[[^\]]*\]|<[^>]*>|/[^/]*/|^\s*\d+\.")
PARAMETERS = re.compile(r"[%$<{\[]")
LOCALE = re.compile(r"(?:^|[-_])([a-z]{2,3}(?:_[A-Z]{2})?)(?:@\w+)?$")


def plain_phrase(text: str) -> str:
    """The words of a phrase in lower case, without remarks in brackets."""
    return " ".join(WORD.findall(NOISE.sub(" ", text).lower()))


def freedict(root: Path) -> Iterator[Row]:
    """Head words with up to three translations each."""
    for index in sorted(root.glob("usr/share/dictd/freedict-*.index")):
        lang_a, lang_b = index.stem.split("-")[1:3]
        data = gzip.decompress(index.with_suffix(".dict.dz").read_bytes())
        places = {
            tuple(line.split("\t")[1:3]) for line in index.read_text(encoding="utf-8").splitlines() if line[:2] != "00"
        }
        for offset, length in sorted((_number(place[0]), _number(place[1])) for place in places):
            head, *lines = data[offset : offset + length].decode("utf-8", "ignore").strip().split("\n")
            meaning = next((line for line in lines if line.strip() and '"' not in line and line[:3] != "   "), "")
            for translation in re.split(r"[,;]| - ", NOISE.sub(" ", meaning))[:3]:
                yield lang_a, re.split(r"\s[/<]|,", head)[0], lang_b, translation


def _number(text: str) -> int:
    value = 0
    for char in text.strip():
        value = value * 64 + DIGITS[char]
    return value


def messages(root: Path) -> Iterator[Row]:
    """English messages of programs with their translations."""
    for path in sorted(root.rglob("*.mo")):
        found = LOCALE.search(path.stem) if "wordpress" in path.parts else LOCALE.search(path.parts[-3])
        lang = from_bcp47(found[1].replace("_", "-")) if found else None
        if lang is None or lang == "eng" or path.is_symlink() or "639-3" in path.name:
            continue
        with path.open("rb") as file:
            catalogue: dict[object, object] = vars(gettext.GNUTranslations(file))["_catalog"]
        for key, value in catalogue.items():
            text = key[0] if isinstance(key, tuple) else key
            if isinstance(text, str) and isinstance(value, str) and not PARAMETERS.search(text):
                yield "eng", text.rpartition("\x04")[2], lang, value
    for english in sorted(root.glob("usr/share/mediawiki/**/i18n/**/en.json")):
        keys = {
            k: v for k, v in json.loads(english.read_text()).items() if isinstance(v, str) and not PARAMETERS.search(v)
        }
        for path in sorted(english.parent.glob("*.json")):
            lang = from_bcp47(path.stem)
            if lang not in (None, "eng") and path.stem != "qqq":
                texts = json.loads(path.read_text())
                yield from (("eng", keys[k], str(lang), texts[k]) for k in keys if isinstance(texts.get(k), str))


def navigation() -> Iterator[Row]:
    """Names of the sections of a website in every two languages."""
    languages, *concepts = (line.split("\t") for line in NAVIGATION.read_text(encoding="utf-8").splitlines())
    for names in concepts:
        for (lang_a, a), (lang_b, b) in combinations(zip(languages, names, strict=True), 2):
            yield lang_a, a, lang_b, b


def chosen(rows: Iterable[Row], seed: int = 71213) -> list[Row]:
    """Distinct rows of up to four words a side, at most 40,000 of each pair of languages, short ones first."""
    rng = random.Random(seed)
    pairs: dict[tuple[str, str], dict[tuple[str, str], None]] = defaultdict(dict)
    for lang_a, text_a, lang_b, text_b in rows:
        a, b = plain_phrase(text_a), plain_phrase(text_b)
        if a and b and a != b and max(len(a), len(b)) < LONGEST and max(a.count(" "), b.count(" ")) < MOST_WORDS:
            pairs[lang_a, lang_b][a, b] = None
    found: list[Row] = []
    for (lang_a, lang_b), texts in sorted(pairs.items()):
        drawn = rng.sample(list(texts), len(texts))
        drawn.sort(key=lambda row: row[0].count(" ") + row[1].count(" ") > 1)
        found += [(lang_a, a, lang_b, b) for a, b in drawn[:MOST_OF_PAIR]]
    rng.shuffle(found)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Fetch the packages and write the lexicon."""
    parser = argparse.ArgumentParser(prog="python -m training.prepare.lexicon", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--root", type=Path, help="unpacked packages, instead of fetching them")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        root = options.root or unpack([*packages(DICTIONARIES), *MESSAGES, *PACKAGES], Path(folder))
        rows = chosen([*navigation(), *freedict(root), *apertium(root), *messages(root)])
    with gzip.open(options.out, "wt", encoding="utf-8") as file:
        file.write("lang_a\ttext_a\tlang_b\ttext_b\n")
        file.writelines("\t".join(row) + "\n" for row in rows)
    print(f"{len(rows)} rows in {len({(row[0], row[2]) for row in rows})} pairs of languages")


if __name__ == "__main__":
    main()
