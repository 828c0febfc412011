"""How many known pairs of a site are found by what its URLs have in common.

    python benchmarks/rewritings.py PAIRS.tsv.gz [--source wmt16-train]

PAIRS has the columns url_a, lang_a, url_b, lang_b and source. Prints how many pairs a site has, how many of these are
equal but for marks of the two languages, how many `rewritten_pairs` finds among the URLs of both languages, how many of
them are not equal but for marks, and how many others it finds.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections import defaultdict
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bilingual_crawler.urls.canonical import canonicalise
from bilingual_crawler.urls.hosts import registered_domain
from bilingual_crawler.urls.marks import strip_language
from bilingual_crawler.urls.rewriting import rewritten_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

FIELDS = ("pairs", "equal but for marks", "found", "beyond marks", "wrong")


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


def measure(pairs: Sequence[KnownPair]) -> list[int]:
    """The number for each of FIELDS."""
    equal = [pair.equal for pair in pairs]
    found = rewritten_pairs([pair.url for pair in pairs], [pair.other for pair in pairs])
    known = {(pair.url, pair.other) for pair in pairs}
    right = [i for i, j, _ in found if (pairs[i].url, pairs[j].other) in known]
    return [len(pairs), sum(equal), len(right), sum(not equal[i] for i in right), len(found) - len(right)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--source", default="wmt16-train")
    options = parser.parse_args()
    total = [0] * len(FIELDS)
    for site, pairs in sorted(read_pairs(options.pairs, options.source).items()):
        row = measure(pairs)
        total = list(map(add, total, row))
        print(f"{site:32}", ", ".join(f"{count} {field}" for field, count in zip(FIELDS, row, strict=True)))
    for field, count in zip(FIELDS, total, strict=True):
        print(f"{field:24}{count:6} {count / max(total[0], 1):7.1%}")


if __name__ == "__main__":
    main()
