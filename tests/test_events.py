"""What each event leaves behind: in the frontier, in policy and ledger, in the scope; under each policy and frontier.

Crawls of a web in memory run through the real scheduler, spider and middlewares, without a downloader.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.redirect import RedirectMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.settings import Settings
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.statscollectors import MemoryStatsCollector
from support.redis_server import RedisServer, redis_server
from support.webserver import html, varied
from twisted.internet.error import ConnectionRefusedError as Refusal
from twisted.python.failure import Failure

from bilingual_crawler.crawl.middlewares import links
from bilingual_crawler.crawl.middlewares.backoff import BackoffMiddleware
from bilingual_crawler.crawl.middlewares.language import counted
from bilingual_crawler.crawl.middlewares.links import LinkPriorityMiddleware
from bilingual_crawler.crawl.signals import ENTRY, READ, SITEMAP, Fetch, url_fetched
from bilingual_crawler.crawl.spiders.arguments import parse_arguments
from bilingual_crawler.crawl.spiders.bilingual import BilingualSpider
from bilingual_crawler.frontier import shared
from bilingual_crawler.frontier.entry import Kind, State
from bilingual_crawler.options import Options
from bilingual_crawler.pages.jobs import PageJob, SitemapJob
from bilingual_crawler.pages.model import PageRecord
from bilingual_crawler.plugins import POLICIES
from bilingual_crawler.scheduler import FrontierScheduler
from bilingual_crawler.scoring.models import load_models

QUEUED, DONE, REDIRECTED, REFUSED = State.QUEUED, State.DONE, State.REDIRECTED, State.REFUSED


def page(lang: str, *targets: str) -> str:
    return html(lang, "page", "".join(f"<a href={target}>{target}</a> " for target in targets))


def sitemap(*urls: str) -> str:
    return "<urlset>" + "".join(f"<url><loc>{url}</loc></url>" for url in urls) + "</urlset>"


# the web ----------------------------------------------------------------------------------------------------------

SITE = "https://site.org/"
HOMES = ("https://new.net/en/", "http://guess.org/", "https://twice.org/", "https://mute.org/")
LEAVES = {
    "en": [f"{SITE}{path}" for path in ("en/c/report", "en/contact", "en/new", "behind", "en/mapped")],
    "es": [f"{SITE}es/c/report", f"{SITE}es/mapped", *(f"{home.removesuffix('en/')}es/" for home in HOMES)],
}
"""Pages without links."""
PAGES = varied(
    {
        SITE: page("en", "/en/a", "/es/a", "/en/gone", "/en/old", "/en/out", "/muu"),
        f"{SITE}en/a": page("en", "/en/b"),
        f"{SITE}es/a": page("es", "/es/b"),
        f"{SITE}en/b": page("en", "/en/c/report", "/en/contact"),
        f"{SITE}es/b": page("es", "/es/c/report"),
        f"{SITE}muu": page("fi", "/behind"),
        "https://new.net/en/mapped": page("en"),
        **dict.fromkeys(HOMES, page("en", "/es/")),
        **{url: page(language) for language, urls in LEAVES.items() for url in urls},
    }
)
SITEMAPS = {
    f"{SITE}sitemap.xml": sitemap(f"{SITE}en/mapped", f"{SITE}es/mapped"),
    "https://new.net/sitemap.xml": sitemap("https://new.net/en/mapped"),
}
REDIRECTS = {
    f"{SITE}en/old": f"{SITE}en/new",
    f"{SITE}en/out": "https://elsewhere.com/",
    "https://moved.org/": "https://new.net/en/",
    "http://twice.org/": "https://twice.org/",
}
DEAD = ("https://dead.org/", "https://dead.org/2")
SILENT = {"https://guess.org/", "http://mute.org/", *DEAD}
SILENT_ONCE = {"https://twice.org/", "https://mute.org/"}
SEEDS = [SITE, "https://moved.org/", "guess.org", "twice.org", "mute.org", *DEAD]

# the table --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Event:
    left: Mapping[str, tuple[State | None, ...]]
    """URL -> its state in the frontier. With a resume or several workers it may be a later one of those named: each
    process tries https, and hosts that are dead, anew."""
    pairs: tuple[tuple[str, str], ...] = ()
    """What policy and ledger have learnt."""
    scope: Mapping[str, bool] = field(default_factory=dict)


def found(english: str, spanish: str = "", **more: Any) -> Event:
    """Two pages, *spanish* at /es/ by default, that are fetched and are a pair, beside what else is *left*."""
    spanish = spanish or f"{english}es/"
    left = {english: (DONE,), spanish: (DONE,), **more.pop("left", {})}
    return Event(left, ((english, spanish),), **more)


SECOND, THIRD = (f"{SITE}en/b", f"{SITE}es/b"), (f"{SITE}en/c/report", f"{SITE}es/c/report")
LISTED = dict.fromkeys((*SITEMAPS, "https://new.net/en/mapped"), (DONE,))
EVENTS = {
    "page": found(f"{SITE}en/a", f"{SITE}es/a", left=dict.fromkeys((SITE, *SECOND), (DONE,))),
    "page of the last level": found(*THIRD, left={f"{SITE}en/contact": (DONE,)}),
    "page in a third language": Event({f"{SITE}muu": (DONE,), f"{SITE}behind": (DONE,)}),
    "no page": Event({f"{SITE}en/gone": (DONE,)}),
    "redirect": Event({f"{SITE}en/old": (REDIRECTED,), f"{SITE}en/new": (DONE,)}),
    "redirect to another site": Event(
        {f"{SITE}en/out": (DONE,), "https://elsewhere.com/": (None,)},
        scope={f"{SITE}x": True, "https://elsewhere.com/x": False},
    ),
    "seed's redirect": found(
        *("https://new.net/en/", "https://new.net/es/"),
        left={"https://moved.org/": (REDIRECTED,)},
        scope={"https://new.net/x": True, "https://moved.org/x": True},
    ),
    "sitemap": found(f"{SITE}en/mapped", f"{SITE}es/mapped", left=LISTED),
    "https guess failed": found("http://guess.org/", left={"https://guess.org/": (REFUSED, QUEUED, DONE)}),
    "https guess failed once": found("https://twice.org/", left={"http://twice.org/": (REDIRECTED,)}),
    "https guess failed once, http always": found("https://mute.org/", left={"http://mute.org/": (REDIRECTED, DONE)}),
    "given up": Event({"https://dead.org/": (DONE,), "https://dead.org/2": (REFUSED, DONE)}),
}
OTHERWISE: dict[str, dict[str, tuple[State | None, ...]]] = {
    **{policy: {f"{SITE}en/contact": (QUEUED,)} for policy in ("pplocator", "pti")},
    **{policy: {f"{SITE}behind": (None,)} for policy in ("cld2", "smart", "ilsp")},
}
"""What some policies leave in another state."""
FRONTIERS = ("memory", "job folder", "job folder, resumed", "redis", "redis, resumed")
STRICT = FRONTIERS[:2]
STOP, ENOUGH = 13, 1000
"""Fetches before each resume, and more than there are."""


@dataclass
class Outcome:
    """What a crawl leaves."""

    states: dict[str, State | None]
    counts: dict[State, int]
    learnt: set[str]
    """URLs that policy and ledger take for done."""
    pairs: set[tuple[str, str]]
    scope: Callable[[str], bool]
    worths: dict[str, float]
    """What the policy thinks of the URLs, as if each had its turn at the last level."""
    logged: Counter[str]


# the crawl --------------------------------------------------------------------------------------------------------


@cache
def read(url: str) -> PageRecord:
    return PageJob(PAGES[url].encode(), "text/html; charset=utf-8", url).run()


class Web:
    """Answers requests; some servers are silent."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.logged: Counter[str] = Counter()

    def answer(self, request: Request) -> Response:
        url = request.url
        self.asked[url] += 1
        if url in SILENT or (url in SILENT_ONCE and self.asked[url] == 1):
            raise Refusal
        if url in REDIRECTS:
            return HtmlResponse(url, status=301, headers={"Location": REDIRECTS[url]}, request=request)
        body = PAGES.get(url) or SITEMAPS.get(url)
        return HtmlResponse(url, status=200 if body else 404, body=(body or "").encode(), request=request)


class Worker:
    """The process of a crawl."""

    def __init__(
        self, folder: Path, policy: str, web: Web, given: Mapping[str, object], seeds: list[str] = SEEDS
    ) -> None:
        settings = Settings()
        settings.setmodule("bilingual_crawler.settings", "project")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "order").write_text("https://site.org/en/b\n")
        usual = {"CONTACT": "mailto:a@b.example", "ALIGN": "", "OUTPUT_DIR": str(folder), "BACKOFF_START": 0.001}
        usual["ORACLE_ORDER"] = str(folder / "order")
        settings.set("CONCURRENT_REQUESTS_PER_DOMAIN", 1, "cmdline")
        settings.setdict({**{f"BILINGUAL_{name}": value for name, value in usual.items()}, **given}, "cmdline")
        crawler: Any = Crawler(BilingualSpider, settings)
        crawler.stats = MemoryStatsCollector(crawler)
        self.context = parse_arguments(crawler.settings, pair="eng-spa", seeds=seeds, policy=policy)
        self.context.share(crawler)
        self._crawler, self._web = crawler, web
        self._spider = crawler.spider = BilingualSpider(self.context)
        self._spider._options = Options.of(crawler.settings)
        self._spider.reads_sitemaps = True
        self._spider._set_crawler(crawler)
        self.scheduler = FrontierScheduler(crawler)
        crawler.engine = SimpleNamespace(scheduler=self.scheduler, scraper=SimpleNamespace(slot=None), _slot=None)
        crawler.signals.connect(self._logged, url_fetched)
        self.scheduler.open(self._spider)
        self.visits = self.scheduler.visits
        self._backoff = BackoffMiddleware(crawler)
        self._redirects = RedirectMiddleware.from_crawler(crawler)
        self._links = LinkPriorityMiddleware(crawler)
        self._links.spider_opened()
        for seed in self.context.seeds:
            self.scheduler.enqueue_request(Request(seed.url))

    async def step(self) -> bool:
        """Fetch a URL, if there is one now."""
        request = self.scheduler.next_request()
        if request is None:
            return False
        await self.fetch(request)
        return True

    async def fetch(self, request: Request) -> None:
        """Fetch the URL of a *request* that was handed out."""
        site = "/".join(request.url.split("/")[:3])
        self._spider.sitemaps_named([url for url in SITEMAPS if url.startswith(f"{site}/")])
        try:
            self._backoff.process_request(request)
            response = self._web.answer(request)
        except (IgnoreRequest, Refusal) as error:
            again = self._backoff.process_exception(request, error)
            if again is None:
                self.fail(request, error)
            else:
                self.scheduler.enqueue_request(again)
            return
        self._backoff.response_downloaded(request, response)
        self._backoff.process_response(request, response)
        followed = self._redirects.process_response(request, response)
        if isinstance(followed, Request):
            self.scheduler.enqueue_request(followed)
        elif response.status != 200:
            self.fail(request, HttpError(response))
        else:
            await self._process(request, response)

    async def _process(self, request: Request, response: Response) -> None:
        if request.meta[ENTRY].kind is Kind.SITEMAP:
            request.meta[SITEMAP] = SitemapJob(response.body, response.url).run()
        else:
            request.meta[READ] = counted(read(response.url), request, response, self._crawler, self._spider._options)

        async def yielded() -> AsyncIterator[Any]:
            assert request.callback
            for output in request.callback(response):
                yield output

        self._links.process_spider_input(response)
        async for item in self._links.process_spider_output(response, yielded()):
            self._crawler.signals.send_catch_log(signals.item_scraped, item=item, response=response)

    def fail(self, request: Request, error: Exception) -> None:
        failure: Any = Failure(error)
        failure.request = request
        assert request.errback
        request.errback(failure)

    def _logged(self, fetch: Fetch) -> None:
        self._web.logged[fetch.url] += 1

    async def outcome(self, urls: list[str]) -> Outcome:
        visits, policy = self.visits, self.context.policy
        (ledger,) = visits.learner.ledgers.values()
        return Outcome(
            dict(zip(urls, await visits.frontier.states(urls), strict=True)),
            {state: visits._store.count(state) for state in State},
            {url for url in urls if visits.learner.is_done(url)},
            {(pair.url_a, pair.url_b) for pair in ledger.pairs()},
            self.context.scope.admits,
            # that http takes the place of a seed is told only while https is silent
            {url: round(policy.reconsider(url, -1.0), 9) for url in urls if url.startswith("https")},
            self._web.logged,
        )

    async def leave(self) -> None:
        self._links.spider_closed()
        await self.visits.leave()


async def run(workers: list[Worker], fetches: int) -> bool:
    """Crawl until the number of *fetches* is reached, or to the end; returns whether anything may be left."""
    while fetches > 0 and any(worker.visits.frontier.has_pending() for worker in workers):
        stepped = [await worker.step() for worker in workers]
        fetches -= sum(stepped)
        if not any(stepped):
            await asyncio.sleep(0.002)
    return fetches <= 0


class Crawls:
    """Each crawl once, when the first cell of its part of the table is looked at."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._server: RedisServer | None = None
        self._outcomes: dict[tuple[str, str], list[Outcome]] = {}

    def outcomes(self, policy: str, frontier: str) -> list[Outcome]:
        """What each worker left; the last of a job folder is what is known when it is opened again."""
        if (policy, frontier) not in self._outcomes:
            self._outcomes[policy, frontier] = asyncio.run(self._crawl(policy, frontier))
        return self._outcomes[policy, frontier]

    async def _crawl(self, policy: str, frontier: str) -> list[Outcome]:
        folder, web = self._folder / policy / frontier, Web()
        urls = list(dict.fromkeys(url for event in EVENTS.values() for url in event.left))
        given = self._given(policy, frontier, folder)

        def workers() -> list[Worker]:
            return [Worker(folder / str(n), policy, web, given) for n in range(2 if "redis" in frontier else 1)]

        outcomes: list[Outcome] = []
        going = True
        while going:
            team = workers()
            going = await run(team, STOP if "resumed" in frontier else ENOUGH)
            outcomes += [await worker.outcome(urls) for worker in team]
            for worker in team:
                await worker.leave()
        if "job" in frontier:
            [again] = workers()
            outcomes.append(await again.outcome(urls))
            await again.leave()
        return outcomes

    def _given(self, policy: str, frontier: str, folder: Path) -> dict[str, object]:
        if "redis" in frontier:
            if self._server is None:
                self._server = self._stack.enter_context(redis_server(self._folder))
            name = f"{policy}-{frontier}".replace(", ", "-")
            return {"BILINGUAL_FRONTIER": f"{self._server.url}#{name}"}
        return {"JOBDIR": str(folder / "job")} if "job" in frontier else {}


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawls]:
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setattr(links, "load_models", cache(load_models))
        patch.setattr(shared, "HEARTBEAT_SECONDS", 0.01)
        yield Crawls(tmp_path_factory.mktemp("events"), stack)


@pytest.mark.parametrize("frontier", FRONTIERS)
@pytest.mark.parametrize("policy", POLICIES.built_in)
@pytest.mark.parametrize("name", EVENTS)
def test_what_an_event_leaves(crawls: Crawls, name: str, policy: str, frontier: str) -> None:
    event = EVENTS[name]
    outcomes = crawls.outcomes(policy, frontier)
    learnt: set[str] = set().union(*(one.learnt for one in outcomes))
    pairs: set[tuple[str, str]] = set().union(*(one.pairs for one in outcomes))
    for url, usual in event.left.items():
        expected = OTHERWISE.get(policy, {}).get(url, usual)
        state = outcomes[-1].states[url]
        assert state in (expected[:1] if frontier in STRICT else expected), url
        done = state not in (None, QUEUED)
        assert outcomes[-1].logged[url] == done, url
        assert (url in learnt) == (done and url not in SITEMAPS), url
    assert pairs >= set(event.pairs)
    for url, admitted in event.scope.items():
        assert any(one.scope(url) for one in outcomes) == admitted


@pytest.mark.parametrize("frontier", FRONTIERS)
@pytest.mark.parametrize("policy", POLICIES.built_in)
def test_nothing_else_is_left_and_a_resume_knows_the_same(crawls: Crawls, policy: str, frontier: str) -> None:
    outcomes = crawls.outcomes(policy, frontier)
    states = Counter(state for state in outcomes[-1].states.values() if state is not None)
    assert outcomes[-1].counts == {state: states[state] for state in State}
    if "job" in frontier:
        before, after = outcomes[-2:]
        assert (after.states, after.counts) == (before.states, before.counts)
        assert (after.learnt, after.pairs, after.worths) == (before.learnt, before.pairs, before.worths)
        assert after.scope("https://new.net/x")


def test_a_link_to_a_guess_that_waits_for_http_does_not_end_the_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = varied({"https://hub.org/": page("en", "https://late.org/"), "https://late.org/": page("en")})
    for url, body in pages.items():
        monkeypatch.setitem(PAGES, url, body)
    monkeypatch.setitem(REDIRECTS, "http://late.org/", "https://late.org/")

    async def states() -> list[State | None]:
        web = Web()
        given = {"CONCURRENT_REQUESTS_PER_DOMAIN": 2, "BILINGUAL_SITE_BUDGET": "best"}
        worker = Worker(tmp_path, "gain", web, given, ["late.org", "https://hub.org/"])
        late, hub = worker.scheduler.next_request(), worker.scheduler.next_request()
        assert late
        assert hub
        worker.fail(late, Refusal())
        await worker.fetch(hub)
        # the link has raised https, so both forms are handed out before http has answered
        for request in filter(None, [worker.scheduler.next_request() for _ in range(2)]):
            await worker.fetch(request)
        await run([worker], ENOUGH)
        outcome = await worker.outcome(["https://late.org/", "http://late.org/"])
        await worker.leave()
        return list(outcome.states.values())

    assert asyncio.run(states()) == [DONE, REDIRECTED]
