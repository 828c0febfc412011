"""How many known pairs of a site are predicted by what two others of the site have in common.

    python benchmarks/substitutions.py PAIRS.tsv.gz [--source wmt16-train] [--shown 2]

PAIRS has the columns url_a, lang_a, url_b, lang_b and source. The first pairs of each site, in the order of the file,
are shown; then every rewriting that two of them share is applied to the first URL of the other pairs. Prints how many
of these it predicts, how many are equal but for marks of the two languages, and how many are either. The last columns
are without a pair that is shown: how many `rewritten_pairs` finds among the hidden URLs of both languages, how many of
them are not equal but for marks, and how many others it finds.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections import Counter, defaultdict
from operator import add, or_
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bilingual_crawler.urls.canonical import canonicalise, registered_domain
from bilingual_crawler.urls.marks import strip_language
from bilingual_crawler.urls.rewriting import rewriting_of, rewritten_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

FIELDS = ("hidden", "predicted", "equal but for marks", "either", "without a known pair", "beyond marks", "wrong")


class KnownPair(NamedTuple):
    """Two URLs that are translations, with their languages."""

    url: str
    other: str
    languages: tuple[str, str]

    @property
    def equal(self) -> bool:
        """Whether they are equal but for marks of their languages."""
        return strip_language(self.url, self.languages) == strip_language(self.other, self.languages)


def read_pairs(path: Path, source: str) -> dict[str, list[KnownPair]]:
    """The pairs from *source* by site."""
    sites: defaultdict[str, list[KnownPair]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            url, other = canonicalise(row["url_a"]), canonicalise(row["url_b"])
            if row["source"] == source and url and other:
                sites[registered_domain(url)].append(KnownPair(url, other, (row["lang_a"], row["lang_b"])))
    return sites


def measure(shown: Sequence[KnownPair], hidden: Sequence[KnownPair]) -> list[int]:
    """The number for each of FIELDS."""
    counts = Counter(rewriting for pair in shown if (rewriting := rewriting_of(pair.url, pair.other)))
    rules = [rewriting for rewriting, pairs in counts.items() if pairs > 1]
    predicted = [any(rule.apply(pair.url) == pair.other for rule in rules) for pair in hidden]
    equal = [pair.equal for pair in hidden]
    found = rewritten_pairs([pair.url for pair in hidden], [pair.other for pair in hidden])
    known = {(pair.url, pair.other) for pair in hidden}
    right = [i for i, j, _ in found if (hidden[i].url, hidden[j].other) in known]
    beyond = sum(not equal[i] for i in right)
    either = sum(map(or_, predicted, equal))
    return [len(hidden), sum(predicted), sum(equal), either, len(right), beyond, len(found) - len(right)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--source", default="wmt16-train")
    parser.add_argument("--shown", type=int, default=2)
    options = parser.parse_args()
    total = [0] * len(FIELDS)
    for site, pairs in sorted(read_pairs(options.pairs, options.source).items()):
        row = measure(pairs[: options.shown], pairs[options.shown :])
        total = list(map(add, total, row))
        print(f"{site:32}", ", ".join(f"{count} {field}" for field, count in zip(FIELDS, row, strict=True)))
    for field, count in zip(FIELDS, total, strict=True):
        print(f"{field:24}{count:6} {count / max(total[0], 1):7.1%}")


if __name__ == "__main__":
    main()
