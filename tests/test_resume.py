from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.example_site import PAGES, serve

from bilingual_crawler.crawl.learner import GONE, Learner, news_fact, page_fact, redirect_fact, relearn
from bilingual_crawler.frontier.entry import NEVER, Entry
from bilingual_crawler.frontier.frontier import Limits
from bilingual_crawler.frontier.lmdb_store import LmdbStore
from bilingual_crawler.frontier.local import LocalFrontier
from bilingual_crawler.frontier.memory_store import MemoryStore
from bilingual_crawler.harvest.sites import read_site, read_tasks
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.model import Link, LinkPosition, PageRecord
from bilingual_crawler.policies.gain import Gain
from training.common.simulated import SLOT, FrozenSite, freeze, open_links

PAIRS = LanguagePairs.parse("eng-isl")
(PAIR,) = PAIRS
EN, SWITCHED, QUEUED = "https://a.is/en/x", "https://a.is/sagan", "https://a.is/is/x"


def switch(label: str, url: str) -> Link:
    return Link(url, label=label, position=LinkPosition.SWITCHER)


class Listener(Gain):
    """Keeps the pages that it is told of."""

    def __init__(self) -> None:
        super().__init__(PAIR)
        self.told: list[PageRecord] = []

    def observe_page(self, page: PageRecord, links: object, partner: str | None = None) -> None:
        self.told.append(page)


def told_again(*pages: PageRecord) -> list[PageRecord]:
    """What a policy is told of *pages* after a resume."""
    policy = Listener()
    facts = [(page.url, page_fact(page, page.links, PAIRS)) for page in pages]
    assert not list(relearn(Learner(policy), facts, ()))
    return policy.told


def test_a_policy_knows_after_a_resume_what_it_knew_before(tmp_path: Path) -> None:
    before = Gain(PAIR)
    learner = Learner(before)
    claims = (Link("https://a.is/um", hreflang="isl", alternate=True), switch("isl", SWITCHED))
    page = PageRecord(EN, "eng", "eng", links=claims, new_text=0.05)
    learner.observe_page(page, claims)
    before.priorities(page, [*claims, Link(QUEUED)], None)
    learner.observe_redirect("https://a.is/um", "https://a.is/is/um")
    learner.observe_failure("https://a.is/gone")

    store = LmdbStore(tmp_path)
    store.push([Entry(url, "a.is", 0.5) for url in (QUEUED, SWITCHED, "https://a.is/is/um")])
    store.remember("a.is", EN, page_fact(page, claims, PAIRS))
    store.remember("a.is", EN, news_fact(page, [*claims, Link(QUEUED)]))
    store.remember("a.is", "https://a.is/um", redirect_fact("https://a.is/is/um"))
    store.remember("a.is", "https://a.is/gone", GONE)
    store.close()
    reopened = LmdbStore(tmp_path)
    after = Gain(PAIR)
    for slot in reopened.slots():
        assert not list(relearn(Learner(after), reopened.facts(slot), reopened.queued(slot)))
    reopened.close()

    for url in (QUEUED, "https://a.is/elsewhere"):
        assert after.explain(url) == before.explain(url)
    assert min(after.explain(url).completes for url in (SWITCHED, "https://a.is/is/um")) > 0.1


def test_a_resumed_crawl_knows_its_pairs_by_every_kind_of_evidence() -> None:
    both = Link("https://a.is/saga", hreflang="isl", alternate=True, position=LinkPosition.SWITCHER)
    pages = [
        PageRecord("https://a.is/story", "eng", "eng", links=(both,)),
        PageRecord("https://a.is/en/um", "eng", "eng"),
        PageRecord("https://a.is/is/um", "isl", "isl"),
        PageRecord("https://a.is/en/ei", "eng", "eng", objection="noindex"),
        PageRecord("https://a.is/is/ei", "isl", "isl"),
        PageRecord("https://a.is/one", "eng", "eng", links=(switch("isl", "https://a.is/old"),)),
        PageRecord("https://a.is/two", "isl", "isl", links=(switch("eng", "https://a.is/one"),)),
        PageRecord("https://a.is/saga", "isl", "isl", links=(switch("eng", "https://a.is/story"),)),
        PageRecord("https://a.is/is/enn", "eng", "eng", declared_language="isl"),
        PageRecord("https://a.is/de", "deu", declared_language="isl"),
    ]
    learner = Learner(Gain(PAIR))
    facts = []
    for page in pages:
        learner.observe_page(page, page.claims)
        facts.append((page.url, page_fact(page, page.claims, PAIRS)))
    learner.observe_redirect("https://a.is/old", "https://a.is/two")
    facts.append(("https://a.is/old", redirect_fact("https://a.is/two")))
    assert [pair.method for pair in learner.ledgers[PAIR].pairs()] == ["hreflang", "switcher", "url"]
    resumed = Learner(Gain(PAIR))
    assert len(list(relearn(resumed, facts, ()))) == 3
    assert resumed.ledgers[PAIR].pairs() == learner.ledgers[PAIR].pairs()
    assert resumed.ledgers[PAIR].unpaired() == learner.ledgers[PAIR].unpaired()
    before, after = (one.remaining.estimates()["a.is"] for one in (learner, resumed))
    assert before.unclear == 2 + 1
    assert after == before


def test_a_claim_that_is_announced_and_a_switch_is_both_after_a_resume() -> None:
    link = Link("https://a.is/saga", hreflang="isl", alternate=True, position=LinkPosition.SWITCHER)
    (page,) = told_again(PageRecord("https://a.is/story", "eng", "eng", links=(link,)))
    assert page.claims == (link,)


def test_a_resume_knows_the_links_in_texts_that_the_crawl_followed() -> None:
    article, other = "https://a.is/wiki/x", "https://a.is/iswiki/x"
    for followed in ((), (Link(other),)):
        page = PageRecord(article, "eng", "eng", links=(Link(other),))
        before, after = Gain(PAIR), Gain(PAIR)
        Learner(before).observe_page(page, followed)
        assert not list(relearn(Learner(after), [(article, page_fact(page, followed, PAIRS))], ()))
        assert before.book.linked_by(other) == after.book.linked_by(other) == ((article,) if followed else ())


def test_a_resumed_crawl_knows_of_which_document_a_page_is_a_copy() -> None:
    pages = [PageRecord(url, "eng", "eng", canonical=EN) for url in (EN, "https://a.is/node/7")]
    assert [page.canonical for page in told_again(*pages)] == [None, EN]


def test_a_redirect_to_a_page_that_is_known_queues_nothing() -> None:
    policy = Gain(PAIR)
    learner = Learner(policy)
    page = PageRecord(EN, "eng", "eng")
    learner.observe_page(page, ())
    policy.priorities(page, [Link(SWITCHED), Link(QUEUED)], None)
    alone = policy.explain(QUEUED)
    learner.observe_redirect(SWITCHED, EN)
    assert policy.explain(QUEUED) == alone


def test_a_policy_weighs_every_queued_url_of_the_example_site_as_before() -> None:
    home = "http://127.0.0.1/"
    pages = {}
    for address, page in PAGES.items():
        url = home + address[1:]
        read = PageJob(serve.render(page).encode(), "text/html; charset=utf-8", url).run()
        links = tuple(link for link in read.links if link.url.startswith(home))
        pages[url] = replace(read.without_text(), links=links)
    for stop in (8, 20, 40):
        assert_same_after_resume(FrozenSite(pages, {}), [home], LanguagePair.parse("eng-spa"), stop)


@pytest.mark.parametrize("name", ["deb.live-manual", "getlina", "python-spain.PyConES-2015"])
def test_a_policy_weighs_every_queued_url_of_a_real_site_as_before(shared_data: Path, name: str) -> None:
    sites = shared_data / "sites" / "train"
    task = next(task for task in read_tasks(sites) if task.site == name)
    site = freeze(sites / name, read_site(sites / name).languages)
    assert_same_after_resume(site, task.seeds, LanguagePair.parse(task.pair), len(site.pages) // 2)


def assert_same_after_resume(site: FrozenSite, seeds: Sequence[str], pair: LanguagePair, stop: int) -> None:
    """Crawl *stop* pages, and teach what was stored of them to another policy."""
    policy = Gain(pair)
    before, facts = Learner(policy), list[tuple[str, bytes]]()
    store = MemoryStore()
    frontier = LocalFrontier(store, Limits(), clock=float, reconsider=policy.reconsider)
    frontier.push([Entry(url, SLOT, before.seed_priority(url)) for url in seeds])
    fetched = 0
    while fetched < stop and (entry := frontier.pop()):
        target = site.targets.get(entry.url, entry.url)
        if target not in site.pages:
            before.observe_failure(entry.url)
            facts.append((entry.url, GONE))
        elif target != entry.url:
            before.observe_redirect(entry.url, target)
            facts.append((entry.url, redirect_fact(target)))
            frontier.redirect(entry, Entry(target, SLOT, entry.priority))
        else:
            fetched += 1
            frozen = site.pages[target]
            page = replace(frozen, side=pair.side(frozen.language), canonical=None)
            before.observe_page(page, page.links)
            facts.append((target, page_fact(page, page.links, before.pairs)))
            frontier.rescore(policy.changed())
            links = open_links(store, page.links)
            weighed = list(zip(links, policy.priorities(page, links, None), strict=True))
            facts.append((target, news_fact(page, [link for link, priority in weighed if priority != NEVER])))
            frontier.push([Entry(link.url, SLOT, priority) for link, priority in weighed])
        frontier.finish(entry)

    resumed = Gain(pair)
    after, queued = Learner(resumed), list(store.queued(SLOT))
    assert list(relearn(after, facts, queued))
    # a worker that gets a site back is told all of it again
    assert not list(relearn(after, facts, queued))
    for url in seeds:
        after.seed_priority(url)
    assert queued
    assert [resumed.explain(url) for url in queued] == [policy.explain(url) for url in queued]
    assert after.ledgers[pair].pairs() == before.ledgers[pair].pairs() != []
    assert after.ledgers[pair].unpaired() == before.ledgers[pair].unpaired()
