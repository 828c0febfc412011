"""Cost of scoring and re-scoring per page with 100,000 queued URLs of one site, and of learning the pages again.

    python -m benchmarks.gain_cost [--queued 100000] [--pages 1000]

A site with two languages and 40 links a page; every page fetched teaches the policy `gain`, re-scores what it changes,
pushes its links, stores the facts and pops the next URL, on the embedded store. Prints the median and the 99th
percentile of processor time; the memory that the policy takes for each queued URL; then what the facts take, and how
long a resume takes to learn them.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections import deque
from pathlib import Path

from benchmarks.processes import own_memory
from bilingual_crawler import collect_rarely
from bilingual_crawler.crawl.learner import Learner, news_fact, page_fact, relearn
from bilingual_crawler.frontier.entry import NEVER, Entry
from bilingual_crawler.frontier.frontier import Limits
from bilingual_crawler.frontier.lmdb_store import LmdbStore
from bilingual_crawler.frontier.local import LocalFrontier
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.model import Link, LinkPosition, PageRecord
from bilingual_crawler.pages.outline import Outline
from bilingual_crawler.policies.gain import Gain

LINKS = 40
NEW = 8  # links of a page to URLs that were not known before
LINES = 16
SIDES = {"en": "eng", "is": "isl"}


def url(number: int) -> str:
    return f"https://site.example/{'en' if number % 2 else 'is'}/{number // 2 % 97}/page-{number // 2}.html"


def outline(address: str) -> Outline:
    """An outline as large as the median of real pages, of which a page shares half with its translation."""
    shared, own = random.Random(address.rpartition("/")[2]), random.Random(address)

    def array(most: int) -> bytes:
        return shared.randbytes(2 * most) + own.randbytes(2 * most)

    return Outline(4000, LINES, array(10), array(14), array(8), array(LINES), bytes([26] * LINES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queued", type=int, default=100_000)
    parser.add_argument("--pages", type=int, default=1000)
    options = parser.parse_args()
    collect_rarely()
    rng = random.Random(1)
    policy = Gain(LanguagePair.parse("eng-isl"))
    learner = Learner(policy)
    with tempfile.TemporaryDirectory() as folder:
        frontier = LocalFrontier(
            LmdbStore(Path(folder)), Limits(per_slot=0, in_flight=0), time.monotonic, policy.reconsider
        )
        home = PageRecord("https://site.example/", "eng", "eng")
        before = own_memory()
        for start in range(0, options.queued, 1000):
            links = [Link(url(number)) for number in range(start, start + 1000)]
            worth = policy.priorities(home, links, None)
            frontier.push([Entry(link.url, "site.example", w) for link, w in zip(links, worth, strict=True)])
        memory = (own_memory() - before) / options.queued
        milliseconds = []
        facts = 0
        known = options.queued
        for _ in range(options.pages):
            begun = time.process_time()
            entry = frontier.pop()
            popped = time.process_time() - begun
            assert entry is not None
            language = SIDES[entry.url.split("/")[3]]
            other = entry.url.replace("/en/", "/is/") if language == "eng" else entry.url.replace("/is/", "/en/")
            links = [Link(url(rng.randrange(options.queued))) for _ in range(LINKS - NEW - 1)]
            links += [Link(url(known + number)) for number in range(NEW)]
            known += NEW
            switch = Link(other, position=LinkPosition.SWITCHER)
            links.append(switch)
            page = PageRecord(entry.url, language, language, links=(switch,), outline=outline(entry.url))
            begun = time.process_time() - popped
            learner.observe_page(page, links)
            told = page_fact(page, links, learner.pairs)
            frontier.remember(entry, told)
            frontier.rescore(policy.changed())
            worth = policy.priorities(page, links, None)
            news = news_fact(page, [link for link, w in zip(links, worth, strict=True) if w != NEVER])
            frontier.remember(entry, news)
            facts += len(told) + len(news)
            frontier.push([Entry(link.url, "site.example", w) for link, w in zip(links, worth, strict=True)])
            frontier.finish(entry)
            milliseconds.append(1000 * (time.process_time() - begun))
        pairs, begun = len(learner.ledgers[policy.pair]), time.process_time()
        again = Learner(Gain(policy.pair))
        deque(relearn(again, frontier.store.facts("site.example"), frontier.store.queued("site.example")), maxlen=0)
        resumed = time.process_time() - begun
        assert len(again.ledgers[policy.pair]) == pairs
        frontier.store.close()
    cuts = statistics.quantiles(milliseconds, n=100)
    print(
        f"{options.queued:,} URLs queued, {LINKS} links a page, {NEW} of them new: "
        f"median {cuts[49]:.2f} ms a page, 99 % {cuts[98]:.2f} ms"
    )
    print(f"{memory:,.0f} B of memory for each queued URL")
    print(
        f"{options.pages:,} pages learnt again, {pairs:,} pairs: {resumed:.1f} s of processor time; "
        f"their facts {facts / options.pages:,.0f} B a page"
    )


if __name__ == "__main__":
    main()
