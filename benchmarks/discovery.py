"""How many bilingual sites each policy of discovery finds per 1,000 downloads, after Figure 3 of Barbosa 2011.

``python -m benchmarks.discovery DATA --sites SITES --out DIR`` serves a web with the links of a real one, whose sites
are frozen sites under other names, as an archive to ``scrapy crawl discovery``, and counts every download.
``--simulate`` crawls the graph in memory instead and is told the verdicts: minutes for the mean of many draws. With
``--topic health``, sites count that the study calls so, the seeds are of this topic, and each policy is also restricted
to it (``-a topic``).

DATA holds ``eurosis_*.tsv`` and ``real_domains_*.tsv.gz``, SITES is a folder of frozen sites.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from bisect import bisect_right
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from benchmarks.discovery_simulator import simulate
from benchmarks.graph_web import Node, eurosis, linking, real
from benchmarks.web_archive import write_web
from bilingual_crawler.discovery.policies import AddressReader, Forward, site_order
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.scoring.models import LanguageModel, models_folder
from bilingual_crawler.storage.records import read_tsv

if TYPE_CHECKING:
    from collections.abc import Callable

AT = (300, 600, 1200)  # downloads at which sites are counted
SEEDS = {"eurosis": 10, "real": 50}
"""Sites that a crawl starts from, drawn among those with links."""
BILINGUAL_SEEDS = 0.3  # share of the seeds that are bilingual: without one, the paper's policies follow no link at all
KNOWN_BACKLINKS = 0.7
RESTRICTED = ", topic"
"""Ends the name of a policy that is restricted to the topic."""
COLOURS = {"both": "#0072b2", "cobfc": "#d55e00", "obfc": "#e69f00", "focc": "#cc79a7", "fc": "#8a949e"}
_WEBS: dict[str, Callable[[Path, LanguagePair, int], list[Node]]] = {
    "eurosis": eurosis,
    "real": lambda folder, pair, seed: real(folder, pair),
}


class Restricted(Forward):
    """``fc`` as a stronger baseline than that of the paper: within a site it follows links to lists of links only."""

    name = "fc-restricted"
    inside = False


def main() -> None:
    arguments = _arguments()
    pair = LanguagePair.parse(arguments.pair)
    addresses = AddressReader(pair, LanguageModel(models_folder(None) / "url-language"))
    policies = arguments.policies.split(",")
    curves: dict[str, list[list[int]]] = {policy: [] for policy in policies}
    if arguments.topic:
        curves |= {f"{policy}{RESTRICTED}": [] for policy in policies}
    for draw in range(arguments.draws):
        nodes = _WEBS[arguments.web](arguments.data, pair, draw)
        about = [node for node in nodes if not arguments.topic or arguments.topic in node.topics]
        seeds = _seeds(about, SEEDS[arguments.web], random.Random(1000 + draw))
        if not arguments.simulate:
            folder = arguments.out / f"{arguments.web}-{pair}-{draw}"
            _prepare(folder, nodes, seeds, arguments.sites, pair, draw)
        for policy, found in curves.items():
            if arguments.simulate:
                name = policy.removesuffix(RESTRICTED)
                order = Restricted(addresses) if name == Restricted.name else site_order(name, addresses)
                found.append(
                    simulate(
                        *(nodes, order, pair, seeds, arguments.pages),
                        known_backlinks=KNOWN_BACKLINKS,
                        seed=draw,
                        topic=arguments.topic,
                        restricted=policy != name,
                    )
                )
            else:
                found.append(_crawl(folder, policy, pair, nodes, arguments.pages))
            print(f"draw {draw}, {policy}: {_rates(found[-1:], arguments.pages)}", flush=True)
    rates = {policy: _rates(found, arguments.pages) for policy, found in curves.items()}
    arguments.out.mkdir(parents=True, exist_ok=True)
    name = f"{'simulated' if arguments.simulate else 'crawled'}-{arguments.web}-{pair}"
    (arguments.out / f"{name}.json").write_text(json.dumps(rates, indent=1) + "\n", encoding="utf-8")
    _plot(curves, arguments.pages, arguments.out / f"{name}.png")
    for policy, row in rates.items():
        print(f"{policy:17}", *(f"{number}: {rate:6.1f}" for number, rate in row.items()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sites", type=Path, help="folder of frozen sites (without --simulate)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--web", choices=_WEBS, default="eurosis")
    parser.add_argument("--pair", default="eng-fra")
    parser.add_argument("--policies", default="fc,focc,obfc,cobfc:50,both")
    parser.add_argument("--pages", type=int, default=1200)
    parser.add_argument("--draws", type=int, default=1, help="webs with other labels and seeds")
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--topic", default="", help="such as health, with --simulate and --web eurosis")
    arguments = parser.parse_args()
    if not arguments.simulate and arguments.sites is None:
        parser.error("give --sites, or --simulate")
    if arguments.topic and not (arguments.simulate and arguments.web == "eurosis"):
        parser.error("--topic: give --simulate and --web eurosis, too")
    return arguments


def _seeds(nodes: list[Node], count: int, rng: random.Random) -> list[Node]:
    with_links = [node for node in nodes if node.links]
    bilingual = round(BILINGUAL_SEEDS * count)
    return [
        *rng.sample([node for node in with_links if node.bilingual], bilingual),
        *rng.sample([node for node in with_links if not node.bilingual], count - bilingual),
    ]


def _rates(found: list[list[int]], pages: int) -> dict[str, float]:
    """Bilingual sites per 1,000 downloads, the mean of several crawls."""
    return {
        f"after_{at}": round(fmean(1000 * bisect_right(one, at) / at for one in found), 1) for at in AT if at <= pages
    }


def _prepare(folder: Path, nodes: list[Node], seeds: list[Node], sites: Path, pair: LanguagePair, draw: int) -> None:
    """Write the archive of the web, its backlinks and the seeds, unless they are there."""
    if (folder / "seeds.txt").exists():
        return
    write_web(folder / "web", nodes, sites, pair, draw)
    back = linking(nodes, KNOWN_BACKLINKS, draw)
    rows = [f"{host}\t{source.links_page}\n" for host, sources in back.items() for source in sources]
    (folder / "backlinks.tsv").write_text("".join(rows), encoding="utf-8")
    (folder / "seeds.txt").write_text("".join(f"{node.home}\n" for node in seeds), encoding="utf-8")


def _crawl(folder: Path, policy: str, pair: LanguagePair, nodes: list[Node], pages: int) -> list[int]:
    """Crawl with the real spider; the downloads after which each site that is bilingual was found."""
    out = folder / policy.replace(":", "-")
    if not (out / "sites.tsv").exists():
        arguments = (f"pair={pair}", f"seeds={folder / 'seeds.txt'}", f"policy={policy}", f"max_pages={pages}")
        more = f"backlinks=tsv:{folder / 'backlinks.tsv'}"
        settings = (f"BILINGUAL_REPLAY={folder / 'web'}", f"BILINGUAL_OUTPUT_DIR={out}", "BILINGUAL_ALIGN=")
        quick = ("BILINGUAL_WARC=False", "LOG_LEVEL=WARNING", "CONCURRENT_REQUESTS=4")
        subprocess.run(
            [
                *(sys.executable, "-m", "scrapy", "crawl", "discovery"),
                *(part for one in (*arguments, more) for part in ("-a", one)),
                *(part for one in (*settings, *quick) for part in ("-s", one)),
            ],
            env={**os.environ, "SCRAPY_SETTINGS_MODULE": "bilingual_crawler.settings"},
            check=True,
        )
    bilingual = {node.host.removeprefix("www.") for node in nodes if node.bilingual}
    times = [row["time"] for row in read_tsv(out / "crawl.tsv") if row["status"] != "0"]
    return sorted(
        bisect_right(times, row["time"])
        for row in read_tsv(out / "sites.tsv")
        if row["verdict"] == "bilingual" and row["site"] in bilingual
    )


def _plot(curves: dict[str, list[list[int]]], pages: int, path: Path) -> None:
    figure = Figure(figsize=(6.4, 4.2), dpi=160, layout="constrained")
    axes = figure.add_subplot()
    steps = np.arange(pages + 1)
    means = {
        policy: np.mean([np.searchsorted(one, steps, side="right") for one in found], axis=0)
        for policy, found in curves.items()
    }
    apart = max(mean[-1] for mean in means.values()) / 25
    height = 0.0
    for policy, mean in sorted(means.items(), key=lambda one: one[1][-1]):
        colour = COLOURS.get(policy.partition(":")[0])
        axes.plot(steps, mean, color=colour, linewidth=2)
        height = max(mean[-1], height + apart)  # or labels would lie upon each other
        axes.annotate(policy, (pages, height), xytext=(4, 0), textcoords="offset points", color=colour, va="center")
    axes.set(xlabel="pages downloaded", ylabel="bilingual sites found", xlim=(0, pages), ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


if __name__ == "__main__":
    main()
