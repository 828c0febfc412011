"""Bilingual dictionaries of Apertium, read from the compiled automata of Debian's packages."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from typing import TYPE_CHECKING

from bilingual_crawler.languages.codes import from_bcp47

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAIRS = "eu-es eu-en isl-eng mkd-eng hbs-eng hbs-slv hbs-mkd mkd-bul es-gl eng-cat es-ro spa-cat"
PACKAGES = ("lttoolbox", "lttoolbox-dev", "liblttoolbox3", "libicu72", "libxml2",
            *(f"apertium-{pair}" for pair in PAIRS.split()))  # fmt: skip
EPSILON = "ε"
LONGEST, MOST_STEPS, MOST_ENTRIES = 30, 3_000_000, 80_000
SIGNS = frozenset(" _'-·" + EPSILON)


def apertium(root: Path) -> Iterator[tuple[str, str, str, str]]:
    """Language, word, language, translation of every entry of the dictionaries under `root`."""
    tool = root / "usr/bin/lt-print"
    environment = {**os.environ, "LD_LIBRARY_PATH": str(root / "usr/lib" / f"{os.uname().machine}-linux-gnu")}
    for name in PAIRS.split():
        languages = [{"hbs": "hrv"}.get(code) or str(from_bcp47(code)) for code in name.split("-")]
        for path in sorted(root.glob(f"usr/share/apertium/*/{name}.autobil.bin")):
            printed = subprocess.run([tool, path], capture_output=True, text=True, check=True, env=environment).stdout
            for word, translation in sorted(entries(printed)):
                yield languages[0], word.replace("_", " "), languages[1], translation.replace("_", " ")


def entries(printed: str) -> set[tuple[str, str]]:
    """Words and translations in an automaton of `lt-print`: the text before the first grammar tags.

    Parts that match numbers or any capitalised name are left out, loops are not followed.
    """
    arcs: dict[tuple[int, int], list[tuple[int, str, str]]] = defaultdict(list)
    part = 0
    for line in printed.splitlines():
        fields = line.split("\t")
        if line.startswith("--"):
            part += 1
        elif len(fields) > 3 and fields[0] != fields[1] and all(map(_is_spelling, fields[2:4])):
            arcs[part, int(fields[0])].append((int(fields[1]), fields[2], fields[3]))
    found: set[tuple[str, str]] = set()
    stack = [(number, 0, "", "", False, False) for number in range(part + 1)]
    steps = 0
    while stack and len(found) < MOST_ENTRIES and steps < MOST_STEPS:
        number, state, word, translation, word_ends, translation_ends = stack.pop()
        steps += 1
        for target, x, y in arcs[number, state]:
            new_word, new_translation = _spelt(word, x, word_ends), _spelt(translation, y, translation_ends)
            if new_word is None or new_translation is None:
                continue
            ends = word_ends or x[0] == "<", translation_ends or y[0] == "<"
            if all(ends):
                found.add((new_word, new_translation))
            else:
                stack.append((number, target, new_word, new_translation, *ends))
    return found


def _is_spelling(symbol: str) -> bool:
    return symbol[0] == "<" or symbol.isalpha() or symbol in SIGNS


def _spelt(text: str, symbol: str, ended: bool) -> str | None:
    """`text` with a symbol more; None if it is too long, repeats itself or has capitals inside a word."""
    if ended or symbol == EPSILON or symbol[0] == "<":
        return text
    if symbol[0].isupper() and text and text[-1] != " ":
        return None
    longer = text + symbol
    return None if len(longer) > LONGEST or longer[-3:] == symbol * 3 else longer
