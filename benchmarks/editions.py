"""How many announced editions are paired, on frozen sites with a made second edition.

    python -m benchmarks.editions ../shared/data/sites/train

Every document of the first language that is in a gold pair gets a second edition, in which 15 % of the lines and 4 % of
the words and numbers are others. All three documents announce each other. Counted are the announced pairs that
``--editions all`` finds, and the documents of the second language that ``best`` pairs with one of their editions.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.harvest.sites import read_site, read_tasks
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pairing.align import align_domain, read_corpus
from bilingual_crawler.pairing.corpus import Domain
from bilingual_crawler.pairing.methods import make_method
from training.common.options import refuse_bad_input

if TYPE_CHECKING:
    from bilingual_crawler.pairing.model import Profile

OTHER_LINES, OTHER_WORDS = 0.15, 0.04
MOST_PAIRS = 100  # gold pairs of a task; larger tasks are left out


def second_edition(profile: Profile, random: np.random.Generator) -> Profile:
    """A document like *profile*, under another host."""
    lines = profile.lines.copy()
    others = random.random(len(lines)) < OTHER_LINES
    lines[others] = random.integers(0, 1 << 32, others.sum(), dtype=np.uint32)
    kept = (part[random.random(len(part)) >= OTHER_WORDS] for part in (profile.words, profile.numbers))
    words, numbers = kept
    url, key = profile.url.replace("://", "://second.", 1), f"{profile.key}#second"
    return replace(profile, url=url, key=key, lines=lines, words=words, numbers=numbers)


def run(args: argparse.Namespace) -> None:
    """Measure, and print the table."""
    method, random = make_method("auto", Path("models"), "", Path()), np.random.default_rng(0)
    announced: set[tuple[str, str, str]] = set()
    every: set[tuple[str, str, str]] = set()
    best: set[tuple[str, str, str]] = set()
    for task in read_tasks(args.sites):
        gold = read_site(args.sites / task.site).truth(task).gold
        if len(gold) > MOST_PAIRS:
            continue
        corpus = read_corpus([args.sites / task.site], LanguagePairs.parse(task.pair))
        for group in corpus.groups():
            profiles = {profile.url: profile for profile in corpus.profiles(group)}
            paired: set[str] = set()
            for a, b in sorted(gold):
                if a in profiles and b in profiles and paired.isdisjoint((a, b)):
                    paired |= {a, b}
                    first = replace(profiles[a], claims=(b,))
                    second = second_edition(first, random)
                    translation = replace(profiles[b], claims=(a, second.url))
                    profiles |= {one.url: one for one in (first, second, translation)}
                    announced |= {(str(task), a, b), (str(task), second.url, b)}
            domain = Domain(group, corpus, corpus.pairs.pairs[0], profiles.values())
            for editions, found in (("all", every), ("best", best)):
                pairs = align_domain(domain, method, editions=editions).pairs
                found |= {(str(task), pair.url_a, pair.url_b) for pair in pairs}
    print(f"--editions all: {len(every & announced)} of {len(announced)} announced pairs")
    documents = {(task, b) for task, _, b in announced}
    paired_once = {(task, b) for task, _, b in best & announced}
    print(f"--editions best: {len(paired_once)} of {len(documents)} documents paired")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, help="folder of frozen sites with tasks.tsv")
    args = parser.parse_args()
    with refuse_bad_input(parser):
        run(args)


if __name__ == "__main__":
    main()
