"""`python -m training.wmt16`: recall and soft recall of a URL model on the WMT16 document alignment task (Table 3).

Buck and Koehn 2016: every pair of an English and a French document of one site is scored, pairs are taken best first if
neither page was taken before, and recall is over all known pairs. Soft recall also counts a page whose text is at least
95 % the text of the known one (edit distance). `--second-pass` then pairs the documents that are left, by what the URLs
of the site have in common.
"""

from __future__ import annotations

import argparse
import base64
import json
from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from rapidfuzz.distance import Levenshtein
from rich.progress import track

from bilingual_crawler.languages.codes import from_bcp47, parse_language
from bilingual_crawler.storage.files import DAMAGE
from bilingual_crawler.urls.rewriting import rewritten_pairs
from training.common.data import DataError
from training.common.options import new_file, refuse_bad_input
from training.parallelness.baselines import split_url
from training.parallelness.evaluation import pair_scorer
from training.prepare.files import PACKED
from training.prepare.wmt16 import FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from training.parallelness.evaluation import PairScorer

NEAR = 0.95  # least similarity of two texts that count as one document
THRESHOLD = 0.5
BATCH = 4096


@dataclass(frozen=True, slots=True)
class Recall:
    """Found known pairs, and those found softly too, of all."""

    gold: int
    found: int
    found_softly: int

    def as_dict(self) -> dict[str, float]:
        """Counts and percentages."""
        share = {
            "recall": 100 * self.found / self.gold,
            "soft_recall": 100 * self.found_softly / self.gold,
        }
        return {"gold": self.gold, "found": self.found, "found_softly": self.found_softly, **share}


def one_to_one(scored: Iterable[tuple[float, str, str]]) -> list[tuple[str, str]]:
    """Pairs best first, ties by URL, each page once. The pages of a refused pair stay available."""
    taken: set[str] = set()
    pairs = []
    for _, a, b in sorted(scored, key=lambda row: (-row[0], row[1], row[2])):
        if a not in taken and b not in taken:
            taken |= {a, b}
            pairs.append((a, b))
    return pairs


def rewritten(pairs: Iterable[tuple[str, str]], first: Sequence[str], second: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of the documents of a site that are in none of *pairs*, by the rewritings that their URLs share."""
    taken = {url for pair in pairs for url in pair}
    first, second = ([url for url in urls if url not in taken] for urls in (first, second))
    return [(first[i], second[j]) for i, j, _ in rewritten_pairs(first, second)]


def recall(pairs: Iterable[tuple[str, str]], gold: set[tuple[str, str]], texts: Mapping[str, str]) -> Recall:
    """Number of pairs of *gold* among *pairs*; *texts* are for soft recall."""
    found, soft = matched(pairs, gold, texts)
    return Recall(len(gold), len(found), len(soft))


def matched(
    pairs: Iterable[tuple[str, str]], gold: set[tuple[str, str]], texts: Mapping[str, str]
) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The pairs of *gold* among *pairs*, and those that are found softly, too, by *texts*."""
    pairs = list(pairs)
    found = gold & set(pairs)
    soft = set(found)
    by_a, by_b = dict(gold), {b: a for a, b in gold}
    for a, b in pairs:
        for known in ((a, by_a.get(a)), (by_b.get(b), b)):
            if None in known or known in soft:
                continue
            candidate, truth = (b, known[1]) if known[0] == a else (a, known[0])
            if _near(texts.get(candidate, ""), texts.get(truth or "", "")):
                soft.add((str(known[0]), str(known[1])))
    return found, soft


def _near(a: str, b: str) -> bool:
    return bool(a and b) and Levenshtein.normalized_similarity(a, b, score_cutoff=NEAR) >= NEAR


def read_gold(path: Path) -> set[tuple[str, str]]:
    """Pairs of a file with two columns without a header, English first; DataError names a bad line."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            rows = [line.rstrip("\n").split("\t") for line in lines]
    except UnicodeDecodeError as error:
        raise DataError(f"{path} cannot be read: {error}; write it in UTF-8") from error
    if not rows:
        raise DataError(f"{path}: no known pair")
    for number, row in enumerate(rows, 1):
        if len(row) != 2:
            raise DataError(f"{path}, line {number}: {len(row)} columns instead of 2")
    return {(a, b) for a, b in rows}


def read_texts(path: Path, languages: Sequence[str]) -> dict[str, tuple[str, str]]:
    """URL to language and text of the documents of a `.lett` file that are in one of the *languages*.

    DataError names a line whose text is not in base 64.
    """
    documents: dict[str, tuple[str, str]] = {}
    with PACKED.get(path.suffix, open)(path, "rt", encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            fields = line.rstrip("\n").split("\t")
            language = from_bcp47(fields[0])
            if len(fields) == FIELDS and language in languages:
                try:
                    text = base64.b64decode(fields[5]).decode(errors="replace")
                except ValueError as error:
                    raise DataError(f"{path}, line {number}: the text is not in base 64 ({error})") from error
                documents.setdefault(fields[3], (str(language), text))
    return documents


def evaluate(
    letts: Sequence[Path],
    gold: set[tuple[str, str]],
    scorer: PairScorer,
    languages: Sequence[str],
    second_pass: bool = False,
) -> Recall:
    """Score all documents of all sites; pages are compared inside a host only, as the task has it.

    *second_pass*: documents without a pair are paired by what the URLs of the host have in common.
    """
    hosts: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for a, b in gold:
        hosts[split_url(a).netloc].add((a, b))
    # a site may be in several files, or given twice
    found: set[tuple[str, str]] = set()
    found_softly: set[tuple[str, str]] = set()
    straight = turned = 0
    for path in track(letts, "Sites"):
        documents = read_texts(path, languages)
        sides: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for url, (language, _) in documents.items():
            sides[split_url(url).netloc, language].append(url)
        orders = [tuple(documents[url][0] for url in pair if url in documents) for pair in gold]
        straight += orders.count(tuple(languages))
        turned += orders.count(tuple(languages[::-1]))
        for host, known in hosts.items():
            first, second = (sides[host, language] for language in languages)
            if not first or not second:
                continue
            pairs = list(product(first, second))
            scored: list[tuple[float, str, str]] = []
            for start in range(0, len(pairs), BATCH):
                batch = pairs[start : start + BATCH]
                scored += [(float(p), *pair) for p, pair in zip(scorer(batch), batch, strict=True) if p >= THRESHOLD]
            texts = {url: documents[url][1] for url in (*first, *second)}
            chosen = one_to_one(scored)
            if second_pass:
                chosen += rewritten(chosen, first, second)
            here, here_softly = matched(chosen, known, texts)
            found |= here
            found_softly |= here_softly
    if turned > straight:
        a, b = languages
        raise DataError(f"the known pairs have {b} first: turn their columns, or give --languages {b} {a}")
    return Recall(len(gold), len(found), len(found_softly))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print and write the recall."""
    parser = argparse.ArgumentParser(prog="python -m training.wmt16", description=__doc__.splitlines()[0])
    parser.add_argument("letts", type=Path, nargs="+", help=".lett files, plain, .gz or .xz")
    parser.add_argument("--gold", type=Path, required=True, help="test.pairs: two columns, English and French URL")
    parser.add_argument("--model", required=True, help="a model folder, rules or yoda")
    parser.add_argument("--languages", nargs=2, default=("eng", "fra"))
    parser.add_argument("--second-pass", action="store_true", help="pair what is left by what the site's URLs share")
    parser.add_argument("--json", type=new_file)
    options = parser.parse_args(arguments)
    try:
        with refuse_bad_input(parser):
            languages = [parse_language(language) for language in options.languages]
            gold, scorer = read_gold(options.gold), pair_scorer(options.model)
            result = evaluate(options.letts, gold, scorer, languages, options.second_pass)
    except DAMAGE as error:
        parser.error(str(error))
    print(
        f"{result.gold} known pairs: recall {result.as_dict()['recall']:.2f},"
        f" soft recall {result.as_dict()['soft_recall']:.2f}"
    )
    if options.json:
        options.json.write_text(json.dumps(result.as_dict(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
