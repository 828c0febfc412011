"""What a crawl would have to judge by outlines: the documents of frozen sites, met in order, and proposed partners.

Positives are gold pairs. Negatives are near: the document met before, on another page beside the partner in a list of
links, one that is as long as the partner, and any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from random import Random
from typing import TYPE_CHECKING

from bilingual_crawler.harvest.sites import html_of, read_site
from bilingual_crawler.pages.html import outline_of, walk_through
from bilingual_crawler.pairing.resemblance import OUTLINE_FEATURES, Resemblance, ResemblanceWeights, is_copy
from bilingual_crawler.scoring.linear import LinearModel
from bilingual_crawler.storage.archive import open_archive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.harvest.sites import Site, Task
    from bilingual_crawler.pages.outline import Outline

MOST_PAIRS = 300  # gold pairs of a task that are met, in blocks of neighbours; and as many documents that are in none
BLOCK = 50
LOOKED_AT = 40  # documents among which the one of the most similar length is looked for, and whose links are looked at

NOTHING = ResemblanceWeights(
    LinearModel(0.0, dict.fromkeys(OUTLINE_FEATURES, 0.0)), LinearModel(0.0, {"log_odds": 1.0, "lead": 0.0})
)
"""Weights before training."""

KINDS = {
    "deb.": "manuals",
    "eustat": "statistics",
    "montestat": "statistics",
    "sdg-": "statistics",
    "hannesdahl": "statistics",
    "python-spain": "events",
    "iad": "events",
    **dict.fromkeys(
        ("imageconverterplus", "onlineqrscanner", "winnersclub", "weebi", "getlina", "gmodebate", "deskreen", "leavex"),
        "products",
    ),
    "socialtradingvlog": "products",
    **dict.fromkeys(
        ("peertube", "tb-reply", "wet-codefest", "civiclearn", "procomeka", "digital-justice", "irhpc", "ocr-d"),
        "guides",
    ),
    **dict.fromkeys(
        ("aumontdescollines", "grial-uoc", "havisy", "marcbusque", "rehabitem", "signo", "tropixel", "web-oeg"), "cms"
    ),
    **dict.fromkeys(("mimundodecarton", "orgolife"), "shops"),
    **dict.fromkeys(("aspirina", "hambrientos"), "blogs"),
    "akban": "wikis",
    **dict.fromkeys(("tanakalab", "cyberfair", "citywitness", "stratplan"), "institutes"),
    **dict.fromkeys(("omegat", "torproject-manual", "fdos-help"), "guides"),
}
"""Beginning of the name of a site to its kind; others are presentations of people, firms and places."""


def kind_of(site: str) -> str:
    """What kind of website a frozen site is."""
    return next((kind for start, kind in KINDS.items() if site.startswith(start)), "presentations")


@dataclass(frozen=True, slots=True)
class Judged:
    """A proposed pair at the moment when it could be compared."""

    features: dict[str, float]
    parallel: bool
    is_copy: bool


@dataclass(slots=True)
class Encounters:
    """What was met on one task."""

    site: str
    kind: str
    pairs: list[Judged] = field(default_factory=list)
    choices: list[list[Judged]] = field(default_factory=list)
    """For a document the proposed partners: the right one first, or none that is right."""


def meet(sites: Path, tasks: Sequence[Task]) -> list[Encounters]:
    """What is met on *tasks*, all of one site; each in the order of URLs and in a random one."""
    site = read_site(sites / tasks[0].site)
    found = []
    for task in tasks:
        random = Random(str(task))
        gold, others = _documents(site, task, random)
        outlines = dict(_outlines(site, {*chain.from_iterable(gold), *others}))
        gold = [pair for pair in gold if outlines.keys() >= set(pair)]
        met = Encounters(task.site, kind_of(task.site))
        shift = random.randrange(len(gold) or 1)
        for order in (gold[shift:] + gold[:shift], random.sample(gold, len(gold))):
            _Crawl(site, task, outlines, set(gold), met, Resemblance(NOTHING), random).run(order, others)
        found.append(met)
    return found


def _documents(site: Site, task: Task, random: Random) -> tuple[list[tuple[str, str]], list[str]]:
    """Gold pairs, sorted, and documents that are in none, shuffled."""
    gold = set()
    for pair in site.pairs:
        if (pair.lang_a, pair.lang_b) == (task.lang_a, task.lang_b):
            gold.add((pair.url_a, pair.url_b))
        elif (pair.lang_b, pair.lang_a) == (task.lang_a, task.lang_b):
            gold.add((pair.url_b, pair.url_a))
    blocks = [sorted(gold)[at : at + BLOCK] for at in range(0, len(gold), BLOCK)]
    random.shuffle(blocks)
    chosen = sorted(chain.from_iterable(blocks[: MOST_PAIRS // BLOCK]))
    paired = set(chain.from_iterable(gold))
    others = [url for url, lang in site.languages.items() if lang in (task.lang_a, task.lang_b) and url not in paired]
    return chosen, random.sample(others, min(len(others), MOST_PAIRS))


def _outlines(site: Site, urls: Iterable[str]) -> Iterator[tuple[str, Outline]]:
    archive = open_archive([site.directory])
    for url in sorted(urls):
        html = html_of(archive, url)
        if html is not None:
            yield url, outline_of(walk_through(html), url)


@dataclass(slots=True)
class _Crawl:
    site: Site
    task: Task
    outlines: Mapping[str, Outline]
    gold: set[tuple[str, str]]
    met: Encounters
    resemblance: Resemblance
    random: Random
    held: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    seen: set[str] = field(default_factory=set)

    def run(self, pairs: Sequence[tuple[str, str]], others: Sequence[str]) -> None:
        """Meet *pairs* in order, and *others* evenly among them."""
        for number, (a, b) in enumerate(pairs):
            for url in others[number * len(others) // len(pairs) : (number + 1) * len(others) // len(pairs)]:
                self._see(url, int(self.site.languages[url] == self.task.lang_b))
            self._see(a, 0)
            self._see(b, 1)
            right = self._judge(a, b)
            self.met.pairs.append(right)
            for side in (0, 1):
                wrong = [self._judge(*pair) for pair in self._wrong((a, b), side)]
                self.met.pairs += wrong
                # the partner may be in the queue yet
                self.met.choices.append(wrong if self.random.random() < 0.5 else [right, *wrong])

    def _see(self, url: str, side: int) -> None:
        if url not in self.seen and url in self.outlines:
            self.seen.add(url)
            self.held[side].append(url)
            self.resemblance.see(self.outlines[url], side)

    def _judge(self, a: str, b: str) -> Judged:
        one, other = self.outlines[a], self.outlines[b]
        return Judged(self.resemblance.features(one, other), (a, b) in self.gold, is_copy(one, other))

    def _wrong(self, pair: tuple[str, str], side: int) -> Iterator[tuple[str, str]]:
        """Pairs with other documents in the place *side* of *pair*."""
        chosen: dict[str, None] = {}
        rivals = [url for url in self.held[side] if _with(pair, side, url) not in self.gold]
        if rivals:
            looked_at = self.random.sample(rivals, min(len(rivals), LOOKED_AT))
            length = self.outlines[pair[side]].length
            alike = min(looked_at, key=lambda url: abs(self.outlines[url].length - length))
            beside = [url for url in looked_at if url in self._beside(pair[side], looked_at)]
            chosen = dict.fromkeys((rivals[-1], alike, looked_at[0], *beside[:1]))
        return (_with(pair, side, url) for url in chosen)

    def _beside(self, url: str, pages: Iterable[str]) -> set[str]:
        """What *pages* link to right before or after *url*."""
        found: set[str] = set()
        for page in pages:
            links = self.site.links[page]
            if url in links:
                place = links.index(url)
                found.update(links[max(0, place - 2) : place + 3])
        return found


def _with(pair: tuple[str, str], side: int, url: str) -> tuple[str, str]:
    return (pair[0], url) if side else (url, pair[1])
