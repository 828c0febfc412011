"""`python -m training.parallelness.sets links|negatives`: evaluation sets for `training.evaluate parallelness`."""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from bilingual_crawler.harvest.sites import read_site
from training.common.counts import pair_name
from training.common.data import DataError
from training.common.options import new_file, refuse_bad_input
from training.parallelness.evaluation import LabelledPair, write_labelled_pairs
from training.parallelness.examples import frozen_sites, languages_of, link_examples, read_positives
from training.parallelness.negatives import DEFAULT_LIMIT, PAPER_COMBINATION, generate

if TYPE_CHECKING:
    from collections.abc import Sequence


def links_of_sites(folder: Path) -> list[LabelledPair]:
    """Real links of the gold pages of every site in `folder`; the kind is the site and the label."""
    return [
        LabelledPair(e.url_a, e.url_b, e.label, f"{site.name}:{e.kind}")
        for site in frozen_sites(folder)
        for e in link_examples(read_site(site))
    ]


def with_negatives(pairs: Path, evidence: str, combination: str, limit: int) -> list[LabelledPair]:
    """Positives of one evidence in a list of URL pairs with generated negatives, language pair by language pair."""
    found = read_positives(pairs)
    if evidence not in found:
        raise DataError(f"{pairs}: no pair with --evidence {evidence}, but {', '.join(sorted(found)) or 'of no kind'}")
    languages = languages_of(pairs)
    by_pair: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for a, b in found[evidence]:
        by_pair[pair_name(languages[a], languages[b]) if languages else ""].append((a, b))
    rows = []
    for pair, positives in by_pair.items():
        rows += [LabelledPair(a, b, 1, "positive", pair) for a, b in positives]
        rows += [LabelledPair(n.url_a, n.url_b, 0, n.kind, pair) for n in generate(positives, combination, limit)]
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Write one set."""
    parser = argparse.ArgumentParser(prog="python -m training.parallelness.sets", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    links = commands.add_parser("links", help="real links of gold pages of frozen sites")
    links.add_argument("sites", type=Path)
    negatives = commands.add_parser("negatives", help="positives with generated negatives")
    negatives.add_argument("pairs", type=Path, help="TSV with url_a, url_b, evidence, maybe lang_a and lang_b")
    negatives.add_argument("--evidence", default="gold")
    negatives.add_argument("--combination", default=PAPER_COMBINATION, help="numbers 1 to 6 or names, joined by +")
    negatives.add_argument("--limit", type=int, default=DEFAULT_LIMIT, help="of each generator for each positive")
    for command in (links, negatives):
        command.add_argument("--out", type=new_file, required=True, help="TSV with url_a, url_b, label, kind, pair")
    options = parser.parse_args(arguments)
    with refuse_bad_input(parser):
        if options.command == "links":
            rows = links_of_sites(options.sites)
            if not rows:
                raise DataError(f"{options.sites}: no gold page links to its partner, so there is no link to label")
        else:
            rows = with_negatives(options.pairs, options.evidence, options.combination, options.limit)
    write_labelled_pairs(options.out, rows)
    print(f"{len(rows)} pairs, {sum(row.label for row in rows)} positive")


if __name__ == "__main__":
    main()
