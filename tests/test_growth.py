"""Limits of growth on a hostile or a very large web."""

import asyncio
import random
import time
import tracemalloc
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.core.scraper import Slot
from scrapy.http import Response
from support.crawls import documents, each, succeeds, summary
from support.redis_server import redis_server
from support.scripted import Answer, scripted
from support.webserver import TEXT, bilingual_site, html, serve

from bilingual_crawler import settings
from bilingual_crawler.crawl.learner import Learner
from bilingual_crawler.crawl.requests import PART, Turns
from bilingual_crawler.frontier.budget import MAX_BYTES, QueueQuota
from bilingual_crawler.frontier.entry import Entry
from bilingual_crawler.frontier.frontier import MAX_RECONSIDERED, Limits, StoreError
from bilingual_crawler.frontier.memory_store import MemoryStore
from bilingual_crawler.frontier.redis_store import RedisStore
from bilingual_crawler.frontier.shared import LEARNT_AT_ONCE, SharedFrontier
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.pages.links import MAX_ANNOUNCED, MAX_CHARACTERS
from bilingual_crawler.pages.model import Link, LinkPosition, PageRecord
from bilingual_crawler.pages.sitemap import MAX_CHARACTERS as MAX_SITEMAP_CHARACTERS
from bilingual_crawler.pages.sitemap import parse_sitemap
from bilingual_crawler.pairing.book import MAX_RELATED, Book
from bilingual_crawler.pairing.ledger import PairLedger
from bilingual_crawler.policies.evidence import base as places
from bilingual_crawler.policies.evidence import parallel_links, shared_words
from bilingual_crawler.policies.evidence.base import MAX_TWINS
from bilingual_crawler.policies.gain import Gain
from bilingual_crawler.urls.hosts import CACHED_LENGTH, url_cache

PAIR = LanguagePair.parse("eng-spa")
LINKS, LENGTH = 1000, 1900
IN_FLIGHT = 2
MISSED = IN_FLIGHT + MAX_RECONSIDERED
"""URLs that are on their way out of the queue or back while it is listed."""


def long_links(url: str, number: int) -> str:
    """A page of 15 kB with 1,000 links of 1,900 characters to pages that nobody else links to."""
    base = f"/{number}/" + "a" * (LENGTH - len(url) - len(str(number)) - 7)
    words = " ".join(random.Random(number).choices(TEXT["en"].split(), k=100))
    anchors = "".join(f"<a href={link:04}>x</a>" for link in range(LINKS))
    return html("en", str(number), f"<base href={base}/><p>{words}{anchors}")


def test_the_links_of_a_page_have_half_a_million_characters_and_languages_go_first() -> None:
    switch = "<link rel=alternate hreflang=es href=http://a.example/es/>"
    page = parse_page(long_links("http://a.example", 1).replace("</body>", f"{switch}</body>"), "http://a.example/")
    assert {len(link.url) for link in page.links} == {len("http://a.example/es/"), LENGTH}
    assert MAX_CHARACTERS - LENGTH < sum(len(link.url) for link in page.links) <= MAX_CHARACTERS
    assert len(page.links) + page.links_left == LINKS + 1
    assert page.links[0].hreflang == "spa"


def test_a_page_announces_no_thousands_of_translations_and_other_switches_are_links() -> None:
    names = "".join(f"<link rel=alternate hreflang=es href=/es/{number}>" for number in range(1000))
    page = parse_page(f"<html><head>{names}<link rel=alternate hreflang=fr href=/fr/>", "http://a.example/")
    assert [link.hreflang for link in page.links if link.alternate] == ["spa"] * MAX_ANNOUNCED + ["fra"]
    assert len(page.links) == 1001
    switches = "".join(f"<nav class=language-switcher><a href=/es/{n}>es</a></nav><p>text" for n in range(200))
    page = parse_page(switches, "http://a.example/")
    assert sum(link.position is LinkPosition.SWITCHER for link in page.links) == MAX_ANNOUNCED
    assert len(page.links) == 200


def test_a_sitemap_has_five_million_characters_of_urls() -> None:
    body = "\n".join(f"http://a.example/{number:04}/{'a' * LENGTH}" for number in range(10_000)).encode()
    links, _, _ = parse_sitemap(body, "http://a.example/sitemap.txt")
    assert len(links) == MAX_SITEMAP_CHARACTERS // len(links[-1].url)


def test_long_urls_are_computed_anew_and_short_ones_once() -> None:
    computed = []

    @url_cache(10)
    def shout(url: str, more: str) -> str:
        computed.append(url)
        return url.upper() + more

    short, long = "a" * CACHED_LENGTH, "a" * (CACHED_LENGTH + 1)
    for url in (short, short, long, long):
        assert shout(url, "!") == url.upper() + "!"
    assert computed == [short, long, long]


def test_urls_that_are_equal_but_for_many_language_marks_are_not_all_scored_for_one_page() -> None:
    policy = Gain(PAIR)
    policy.resume(f"http://a.example/x?lang=es&lang={'es&lang=' * number}es" for number in range(3 * MAX_TWINS))
    policy.observe_page(PageRecord("http://a.example/x", "eng", "eng", length=100), [])
    assert 1 < len(policy.changed()) <= MAX_TWINS


def test_documents_that_are_equal_but_for_many_language_marks_are_not_all_compared() -> None:
    ledger = PairLedger(Book(PAIR))
    for number in range(300):
        language = ("eng", "spa")[number % 2]
        url = f"http://a.example/x?lang={language}{'&lang=' + language * (number > 1)}{'&hl=en' * (number // 2)}"
        ledger.add_page(PageRecord(url, language, language, length=500))
    candidates = len(ledger) + sum(ledger.refused(len(ledger)).values())
    assert 100 < candidates < 150 * MAX_RELATED


def test_a_site_fills_its_own_share_of_the_queue_only() -> None:
    quota = QueueQuota()
    long = "a" * 1_000_000
    for _ in range(MAX_BYTES // len(long)):
        assert not quota.is_full("a.example")
        quota.add("a.example", long)
    assert quota.is_full("a.example")
    assert not quota.is_full("b.example")
    quota.remove("a.example", long)
    assert not quota.is_full("a.example")


@contextmanager
def traced_memory(kept: list[int]) -> Iterator[None]:
    """Adds to *kept* the bytes that are kept of what is made in the context."""
    tracemalloc.start()
    try:
        yield
        kept.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_the_share_counts_what_is_kept_of_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """By policy and frontier, in a folder of its own; caches and words of the last URLs are bounded for all sites."""
    monkeypatch.setattr(shared_words, "MAX_URLS", 10)
    monkeypatch.setattr(shared_words, "MAX_KNOWN", 10)
    monkeypatch.setattr(places, "_place", places._place.__wrapped__)
    policy, store, quota = Gain(PAIR), MemoryStore(), QueueQuota()
    page = PageRecord("https://a.example/", "eng", "eng")
    uncached = "a" * CACHED_LENGTH

    def queue(numbers: Iterable[int]) -> None:
        links = [Link(f"https://a.example/{number}/{uncached}/page.html", "All of the links") for number in numbers]
        worth = policy.priorities(page, links, None)
        store.push([Entry(link.url, "a.example", w, page.url) for link, w in zip(links, worth, strict=True)])
        for link in links:
            quota.add("a.example", link.url)
        # what links say until the next page is kept for no longer
        policy.observe_page(page, ())

    queue(range(300))
    before, kept = quota._queued["a.example"], list[int]()
    with traced_memory(kept):
        queue(range(300, 2700))
    counted = quota._queued["a.example"] - before
    assert 0.7 * counted < kept[0] < 1.1 * counted


def test_links_of_documents_without_a_partner_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_links, "MAX_BYTES", 1_000_000)
    monkeypatch.setattr(shared_words, "MAX_URLS", 10)
    monkeypatch.setattr(shared_words, "MAX_KNOWN", 10)
    policy, kept = Gain(PAIR), list[int]()
    with traced_memory(kept):
        for number in range(40):
            page = PageRecord(f"http://a.example/{number}", "eng", "eng", length=500)
            policy.observe_page(page, [Link(f"{page.url}/{link}/{'a' * 400}") for link in range(500)])
    assert kept[0] < 3_000_000


def test_others_have_their_turn_between_the_parts_of_a_large_page() -> None:
    turns = Turns()
    counted = 0

    async def work(links: int) -> list[int]:
        sizes = []
        async for part in turns.parts(range(links)):
            time.sleep(0.01)
            sizes.append(len(part))
        return sizes

    async def count_turns() -> None:
        nonlocal counted
        while True:
            await asyncio.sleep(0)
            counted += 1

    async def run() -> Sequence[list[int]]:
        other = asyncio.create_task(count_turns())
        sizes = await asyncio.gather(work(0), work(PART), work(5 * PART + 1), work(5 * PART))
        other.cancel()
        return sizes

    assert asyncio.run(run()) == [[0], [PART], [PART] * 5 + [1], [PART] * 5]
    assert counted > 100


def test_large_pages_that_are_queued_in_turns_do_not_stop_the_downloads() -> None:
    slot = Slot(settings.SCRAPER_SLOT_MAX_ACTIVE_SIZE)
    body = bytes(settings.DOWNLOAD_MAXSIZE)
    for number in range(settings.CONCURRENT_REQUESTS):
        request = Request(f"http://a.example/{number}")
        slot.add_response_request(Response(request.url, body=body), request)
    assert not slot.needs_backout()


COUNTING = """
import atexit, pathlib
from bilingual_crawler.crawl.spiders.bilingual import BilingualSpider
from bilingual_crawler.frontier.memory_store import MemoryStore as Store
sizes, push = [], Store.push
Store.push = lambda store, entries: sizes.append(len(entries)) or push(store, entries)
atexit.register(lambda: sizes and pathlib.Path('sizes').write_text(' '.join(map(str, sizes))))
class Counting(BilingualSpider):
    name = 'counting'
"""


def test_a_large_page_and_a_sitemap_are_queued_in_parts(tmp_path: Path) -> None:
    """Of 1,000 links each: so many at a time."""
    (tmp_path / "counting.py").write_text(COUNTING)
    listed = "".join(f"<url><loc>/listed/{number}</loc></url>" for number in range(1000))
    anchors = "".join(f"<a href=/linked/{number}>{number}</a>" for number in range(1000))
    pages = {
        "/": Answer(html("en", "home", anchors)),
        "/sitemap.xml": Answer(f"<urlset>{listed}</urlset>", kind="application/xml"),
    }
    with scripted(lambda path: pages.get(path, Answer(status=404))) as site:
        pages["/robots.txt"] = Answer(f"Sitemap: {site.url}/sitemap.xml", kind="text/plain")
        chosen = each("-a", "pair=eng-spa", f"seeds={site.url}/", "policy=bfs", "max_pages=5")
        succeeds(tmp_path, "runspider", "counting.py", *chosen)
    sizes = sorted(map(int, (tmp_path / "sizes").read_text().split()))
    assert sizes[-10:] == [PART] * 10


SMALL_SHARE = """
import bilingual_crawler.frontier.budget as quota
from bilingual_crawler.crawl.spiders.bilingual import BilingualSpider
quota.MAX_BYTES = 2_250_000
class SmallShare(BilingualSpider):
    name = 'small-share'
"""


@pytest.mark.slow
def test_a_site_that_has_filled_its_share_waits_and_the_other_is_crawled(tmp_path: Path) -> None:
    """A share of 2.25 MB, three pages of the hostile site."""
    (tmp_path / "small_share.py").write_text(SMALL_SHARE)

    def answer(path: str) -> Answer:
        if path != "/" and path.count("/") < 3:
            return Answer(status=404)
        return Answer(long_links(site.url, len(site.asked)))

    honest_pages = bilingual_site(12)
    with scripted(answer) as site, serve(honest_pages, address="127.0.0.2") as honest:
        chosen = each("-a", "pair=eng-spa", f"seeds={site.url}/,{honest.url}/en/", "max_pages_per_site=30")
        outputs = each("-s", "BILINGUAL_OUTPUT_DIR=out", "JOBDIR=job")
        succeeds(tmp_path, "runspider", "small_share.py", *chosen, *outputs)
        assert len(site.asked) > 20
        pages = {f"{honest.url}{path}" for path in honest_pages if path[1:3] in ("en", "es")}
    assert pages <= documents(tmp_path).keys()
    assert summary(tmp_path)["traps"]["links/queue-full"] > 1000
    frontier = sum(path.stat().st_size for path in (tmp_path / "job" / "frontier").iterdir())
    # some 15 MB, and 51 without the share
    assert frontier < 25 << 20


class Listener:
    """A worker that records its calls, and for which every priority has fallen."""

    def __init__(self) -> None:
        self.told: list[tuple[list[tuple[str, bytes]], list[str]]] = []
        self.failed: list[StoreError] = []
        self.reconsidered = 0

    def reconsider(self, url: str, priority: float) -> float:
        self.reconsidered += 1
        return priority / 2

    def gained(self, learnt: Iterable[tuple[str, bytes]], queued: Iterable[str]) -> None:
        self.told.append((list(learnt), list(queued)))

    def wake(self) -> None:
        pass

    def stop(self, error: StoreError) -> None:
        self.failed.append(error)


@pytest.mark.parametrize("facts", [0, 2500])
def test_a_large_site_is_taken_over_in_parts_and_fetched_from_at_once(tmp_path: Path, facts: int) -> None:
    urls = {f"http://a.example/{number}" for number in range(10_000)}
    with redis_server(tmp_path) as server:
        before = RedisStore(server.url, "before")
        before.push([Entry(url, "a.example", 0.5) for url in urls])
        for number in range(facts):
            before.remember("a.example", f"http://a.example/done/{number}", b"fact")
        before.close()
        worker = Listener()

        async def take_over() -> tuple[Entry, int]:
            frontier = SharedFrontier(RedisStore(server.url, "after"), Limits(IN_FLIGHT), time.monotonic, worker)
            while (first := frontier.pop()) is None:
                await asyncio.sleep(0.01)
            known = sum(len(part[0]) for part in worker.told)
            while sum(len(part[1]) for part in worker.told) < len(urls) - MISSED:
                await asyncio.sleep(0.01)
            await frontier.leave()
            return first, known

        first, known = asyncio.run(asyncio.wait_for(take_over(), 60))
    assert known == facts
    assert worker.reconsidered == MAX_RECONSIDERED + 1
    assert max(len(part) for told in worker.told for part in told) == LEARNT_AT_ONCE
    assert first.url in urls
    assert len(urls - {url for _, queued in worker.told for url in queued}) <= MISSED
    assert not worker.failed


KEPT = {
    "Learner._done",
    *(f"PairLedger.{name}" for name in ("_candidates", "_candidates_of")),
    *(f"Book.{name}" for name in ("_held", "_twins", "_partners")),
    # what documents are said to be; what other URLs are is limited
    *(f"Book.{name}" for name in ("_announced_by", "_switched_by")),
}
"""What a crawl knows of each document, and that a URL is done; nothing else may grow with the pages."""
LIMITS = {
    "bilingual_crawler.pairing.book.MAX_AWAITED": 50,
    "bilingual_crawler.policies.evidence.base.MAX_MENTIONED": 50,
    "bilingual_crawler.policies.evidence.parallel_links.MAX_BYTES": 50_000,
    "bilingual_crawler.policies.evidence.parallel_links.MAX_DOCUMENTS": 50,
    "bilingual_crawler.policies.evidence.shared_words.MAX_URLS": 50,
    "bilingual_crawler.policies.evidence.shared_words.MAX_KNOWN": 200,
    "bilingual_crawler.policies.evidence.base.MAX_COUNTED": 200,
}


def entries(thing: Any, name: str, seen: set[int]) -> Iterator[tuple[str, int]]:
    """Every container in *thing*, by the class and attribute that holds it, with entries and those of its values."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, Mapping | set | list | tuple | deque):
        values = list(thing.values() if isinstance(thing, Mapping) else thing)
        yield name, len(values) + sum(len(value) for value in values if isinstance(value, Mapping | set | list | tuple))
        if len(values) < 50:  # the kinds of evidence, the ledgers
            for value in values:
                yield from entries(value, name, seen)
    elif type(thing).__module__.startswith("bilingual_crawler") and not isinstance(thing, LanguagePair):
        kind = type(thing).__name__
        for attribute, value in vars(thing).items() if hasattr(thing, "__dict__") else ():
            yield from entries(value, f"{kind}.{attribute}", seen)


def learn_a_pair(learner: Learner, number: int) -> None:
    """A pair of pages with folders, share buttons and announcements of their own, a redirect, and pages without use."""
    site = "https://a.example"
    first, second = f"{site}/en/{number}/title/", f"{site}/es/{number}/titulo-{number * 7}/"
    moved = f"{site}/o/{number}"

    def fetch(url: str, language: str, other: str, *linked: str) -> None:
        foreign = PAIR.other(language)
        claims = (
            Link(other, hreflang=foreign, alternate=True, position=LinkPosition.HEAD),
            Link(f"https://elsewhere.example/{number}", hreflang=foreign, alternate=True, position=LinkPosition.HEAD),
            Link(other, label=foreign, position=LinkPosition.SWITCHER),
            Link(f"{site}/", position=LinkPosition.SWITCHER),
        )
        shared = (f"https://share.example/?{button}&u={url}" for button in range(3))
        links = [*claims, *(Link(one, one, position=LinkPosition.BODY) for one in (*shared, *linked))]
        page = PageRecord(url, language, language, length=500, links=claims)
        learner.observe_page(page, links)
        learner.policy.changed()
        followed = [link for link in links if link.url.startswith(site) and not learner.is_done(link.url)]
        learner.policy.priorities(page, followed, None)

    alone, nothing = f"{site}/en/{number}/alone/", f"{site}/es/{number}/nothing/"
    fetch(first, "eng", moved, f"{site}/en/{number + 1}/title/", alone, f"{site}/fr/{number}")
    learner.observe_redirect(moved, second)
    fetch(second, "spa", first, nothing)
    fetch(alone, "eng", nothing)
    learner.observe_failure(nothing)
    learner.observe_page(PageRecord(f"{site}/fr/{number}", "fra", None), [Link(first), Link(second)])


@pytest.mark.slow
def test_what_is_done_and_what_is_never_queued_leaves_only_what_pairing_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, limit in LIMITS.items():
        monkeypatch.setattr(name, limit)
    learner = Learner(Gain(PAIR))
    learner.observe_page(PageRecord("https://a.example/", "fra", None), [])
    seen: list[Counter[str]] = []
    for number in range(600):
        learn_a_pair(learner, number)
        if number in (299, 599):
            seen.append(sum((Counter({name: count}) for name, count in entries(learner, "", set())), Counter()))
    [ledger] = learner.ledgers.values()
    assert len(ledger) == 600
    assert seen[1]["ParallelLinks._couples"] > 0
    grown = {name: seen[1][name] - seen[0][name] for name in seen[1]}
    assert {name for name, more in grown.items() if more > 100} == KEPT
    for claims in (ledger.book._announced_by, ledger.book._switched_by):
        assert len(claims.keys() - ledger.book._held.keys()) <= LIMITS["bilingual_crawler.pairing.book.MAX_AWAITED"]
