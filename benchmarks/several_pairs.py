"""One crawl for three pairs of languages against three crawls for one pair each, on frozen sites, with the real spider.

``python -m benchmarks.several_pairs SITES_DIR --out DIR`` takes three languages of a site among each other, then, where
there is a fourth, three pairs that share one language. For each pair it prints the relative AUC of its own crawl (as
``scrapy harvest`` has it) and two of the joint crawl: at the sum of the downloads, that is where three crawls have
downloaded as many pages together as the joint one; and at the same downloads, where the own crawl has spent all on its
pair. Then it prints, for shares of the pairs, how many downloads of the three crawls one needs to reach the share in
each pair.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bilingual_crawler.harvest.results import SHARES, Reference, downloads_to
from bilingual_crawler.harvest.run import Harvest, replay
from bilingual_crawler.harvest.sites import Site, Task, read_site, read_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

CRAWLS = (
    ("gaitegi", ("eng-eus", "eng-spa", "eus-spa")),
    ("python-spain.PyConES-2016", ("eng-eus", "eng-glg", "eus-glg")),
    ("omegat", ("glg-hrv", "glg-rus", "hrv-rus")),
    ("python-spain.PyConES-2016", ("eng-eus", "eng-glg", "eng-cat")),
    ("omegat", ("glg-hrv", "glg-rus", "glg-por")),
)
"""Sites and pairs of languages that have gold pairs there."""


@dataclass(frozen=True)
class Curves:
    """The gold pairs found after 1, 2, … downloads."""

    reference: Reference
    own: Sequence[int]
    joint: Sequence[int]

    def relative(self, curve: Sequence[int]) -> float:
        return self.reference.by_number.relative_auc(curve)

    def joint_at_the_sum(self, crawls: int) -> list[int]:
        """What the joint crawl has found when each of so many *crawls* has downloaded 1, 2, … pages."""
        return [self.joint[min(crawls * n, len(self.joint)) - 1] for n in range(1, len(self.joint) + 1)]


def joint_order(sites: Path, site: str, pairs: Sequence[str], seeds: Sequence[str], out: Path) -> list[str]:
    """The URLs that one crawl for all *pairs* downloads."""
    crawl = replay(out / "joint" / f"{site}.{'+'.join(pairs)}", {"pair": ",".join(pairs)}, seeds, [sites / site])
    if crawl.error:
        raise SystemExit(f"{site}: {crawl.error}")
    return crawl.order


def curves(site: Site, tasks: Sequence[Task], joint: Sequence[str], out: Path) -> list[Curves]:
    """Those of each of *tasks*, by the order of *joint* and that of its own crawl in the folder *out*."""
    found = []
    for task in tasks:
        reference = Reference(site, task, {})
        own = (out / "orders" / f"{task}.gain.tsv").read_text(encoding="utf-8").splitlines()
        by_order = [reference.by_number.curve(map(site.page, order)) for order in (own, joint)]
        found.append(Curves(reference, *by_order))
    return found


def main() -> None:
    """Crawl, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, help="folder of frozen sites with tasks.tsv")
    parser.add_argument("--out", type=Path, default=Path("several-pairs"), help="output folder (%(default)s)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="number of crawls at a time (%(default)s)"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the ratios of downloads, for benchmarks.report")
    args = parser.parse_args()
    sites, out = args.sites.resolve(), args.out.resolve()
    seeds = {task.site: task.seeds for task in read_tasks(sites)}
    tasks = {
        (site, pair): Task(site, a, b, seeds[site])
        for site, pairs in CRAWLS
        for pair in pairs
        for a, b in [pair.split("-")]
    }
    for result in Harvest(sites, out, jobs=args.jobs).run(list(tasks.values()), ["gain"]):
        print(result.task, result.error or f"{result.downloads} downloads", flush=True)
    rows = []
    for name, pairs in CRAWLS:
        site, asked = read_site(sites / name), [tasks[name, pair] for pair in pairs]
        joint = joint_order(sites, name, pairs, seeds[name], out)
        measured = curves(site, asked, joint, out)
        print(f"\n{name}: one crawl for {', '.join(pairs)}\npair     own AUC  at the sum  at the same downloads  pairs")
        for task, one in zip(asked, measured, strict=True):
            own, summed = one.relative(one.own), one.relative(one.joint_at_the_sum(len(pairs)))
            same = one.relative(one.joint)
            print(f"{task.pair}  {own:7.3f}  {summed:10.3f}  {same:21.3f}  {one.reference.by_number.total:5}")
        ratios = {}
        for share in SHARES:
            needed = [
                [downloads_to(curve, share, one.reference.by_number.total) for curve in (one.own, one.joint)]
                for one in measured
            ]
            if all(count is not None for both in needed for count in both):
                alone, jointly = sum(own or 0 for own, _ in needed), max(both or 0 for _, both in needed)
                ratios[f"to_{share}"] = jointly / alone
                print(f"{share} % of each pair: {jointly} of {alone} downloads ({jointly / alone:.2f})")
        rows.append({"name": f"{name} {','.join(pairs)}", "site": name, "pairs": ", ".join(pairs), **ratios})
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
