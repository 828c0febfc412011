"""One budget over many sites: whose turn it is, in the frontier, in crawls and after a resume."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from support.crawls import crawl as crawl_site
from support.crawls import each, ended_well, summary
from support.frontiers import drain, entry, hand_out, popped, taken
from support.webserver import Site, bilingual_site, html, serve, varied

from benchmarks.budget import known, measure, read_curves, spend
from bilingual_crawler.crawl.learner import GONE, Learner, page_fact, redirect_fact, relearn
from bilingual_crawler.crawl.spiders.arguments import parse_arguments
from bilingual_crawler.frontier.budget import FAIR_TURN, Bandit, Even, Sequential, SiteBudget
from bilingual_crawler.frontier.entry import SUSPECT, Entry
from bilingual_crawler.frontier.frontier import Limits
from bilingual_crawler.frontier.local import LocalFrontier
from bilingual_crawler.frontier.memory_store import MemoryStore
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.policies.gain import Gain
from bilingual_crawler.storage.records import read_tsv

PAIR = LanguagePair.parse("eng-spa")
PAIRS = LanguagePairs((PAIR,))
CURVES = Path(__file__).parents[2] / "shared/data/discovery/site_curves.tsv.xz"
SITES = [f"{name}.org" for name in "abcdefgh"]


def play(
    budget: SiteBudget, pays: Sequence[Callable[[int], int]], turns: int, promises: Sequence[float] = (0.0,) * 8
) -> list[str]:
    """The sites in the order of their turns; the n-th page of a site brings as many pairs as its function says."""
    asked: Counter[str] = Counter()
    order = []
    promised = dict(zip(SITES[: len(pays)], promises, strict=False))
    for offered, priority in promised.items():
        budget.offer(offered, priority)
    for _ in range(turns):
        site = budget.choose()
        assert site
        budget.observe_download(site, pays[SITES.index(site)](asked[site]), promised[site])
        asked[site] += 1
        order.append(site)
    return order


rates = st.lists(st.floats(0, 1), min_size=1, max_size=len(SITES))


def paying(rate: float) -> Callable[[int], int]:
    """A site that brings *rate* pairs per page, in the same distances."""
    return lambda page: int((page + 1) * rate) - int(page * rate)


@settings(max_examples=40)
@given(rates, st.integers(0, 9))
def test_no_site_waits_forever(rates: list[float], seed: int) -> None:
    order = play(Bandit(seed=seed), [paying(rate) for rate in rates], 3 * FAIR_TURN * len(rates))
    for site in SITES[: len(rates)]:
        turns = [-1, *(turn for turn, asked in enumerate(order) if asked == site), len(order)]
        assert max(after - before for before, after in pairwise(turns)) <= FAIR_TURN * len(rates)


@settings(max_examples=40)
@given(rates, st.integers(0, 9))
def test_the_draws_are_the_same_again(rates: list[float], seed: int) -> None:
    pays = [paying(rate) for rate in rates]
    assert play(Bandit(seed=seed), pays, 100) == play(Bandit(seed=seed), pays, 100)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, len(SITES)), st.data(), st.floats(0.3, 1))
def test_what_a_site_pays_moves_its_share(count: int, data: st.DataObject, rate: float) -> None:
    best = data.draw(st.integers(0, count - 1))
    pays = [paying(rate if site == best else 0.02) for site in range(count)]
    assert Counter(play(Bandit(), pays, 600)[200:])[SITES[best]] > 300


def test_a_site_that_runs_dry_loses_its_share() -> None:
    pays = [lambda page: int(page < 100), paying(0.2)]
    order = play(Bandit(), pays, 600)
    assert Counter(order[:100])[SITES[0]] > 80
    assert Counter(order[-200:])[SITES[1]] > 150


def test_a_site_whose_first_pair_is_on_its_61st_page_is_not_given_up() -> None:
    pays = [paying(0.3), lambda page: int(page >= 60)]
    found = play(Bandit(), pays, 60 * FAIR_TURN * 2 + 1000)
    assert Counter(found)[SITES[1]] > 60
    assert Counter(found[-500:])[SITES[1]] > 400


def test_an_expectation_moves_the_first_turns() -> None:
    budget = Bandit()
    budget.expect({f"www.{SITES[0]}": 90.0, SITES[1]: 1.0, SITES[2]: 1.0})
    asked = Counter(play(budget, [paying(0)] * 4, 60))
    assert asked[SITES[0]] > asked[SITES[1]] + asked[SITES[2]]
    assert asked[SITES[3]] > asked[SITES[1]], "a site of which nothing is known counts as an average one"


def test_the_table_of_a_discovery_says_what_to_expect(tmp_path: Path) -> None:
    table = tmp_path / "sites.tsv"
    sizes = ("eng:900 spa:800", "eng:900 spa:2", "eng:900 spa:2")
    rows = [f"{site}\thttp://{site}/\tbilingual\t.9\t{size}\t\t\n" for site, size in zip(SITES, sizes, strict=False)]
    whole = "site\tentry\tverdict\tlikelihood\tpages\turl_a\turl_b\n" + "".join(rows)

    def budget(content: str) -> SiteBudget:
        table.write_text(content)
        contact = Settings({"BILINGUAL_CONTACT": "mailto:a@b.example"})
        contact.setmodule("bilingual_crawler.settings", "default")
        found = parse_arguments(contact, pair="eng-spa", seeds=str(table), policy="bfs").budget
        assert found
        return found

    asked = Counter(play(budget(whole), [paying(0)] * 3, 60))
    assert asked[SITES[0]] > asked[SITES[1]] + asked[SITES[2]]
    with pytest.raises(UsageError, match=r"sites.tsv: a.org: the likelihood nan is not from 0 to 1; correct"):
        budget(whole.replace(".9", "nan", 1))
    with pytest.raises(UsageError, match=r"sites.tsv: a.org: pages not as in mlt:12 eng:40; correct"):
        budget(whole.replace("spa:800", "spa:many"))


def test_a_site_that_breaks_its_promises_loses_its_turns() -> None:
    """It promises twice as much as the other site, and keeps nothing of it."""
    order = play(Bandit(promises=True), [paying(0), paying(0.5)], 400, [0.8, 0.4])
    assert Counter(order[:20])[SITES[0]] > 15
    assert Counter(order[-100:])[SITES[1]] > 60


@settings(max_examples=50)
@given(rates)
def test_no_site_waits_forever_whatever_is_promised(promises: list[float]) -> None:
    order = play(Bandit(promises=True), [paying(0)] * len(promises), FAIR_TURN * len(promises), promises)
    assert set(order) == set(SITES[: len(promises)])


def test_round_robin_gives_each_site_the_same() -> None:
    assert play(Even(), [paying(rate) for rate in (1, 0, 0.5)], 9) == SITES[:3] * 3


# in the frontier -----------------------------------------------------------------------------------------------------


def frontier_of(budget: SiteBudget | None, *entries: Entry, limits: Limits | None = None, **more: Any) -> LocalFrontier:
    frontier = LocalFrontier(MemoryStore(), limits or Limits(), clock=float, budget=budget, **more)
    frontier.push(entries)
    return frontier


def test_the_budget_chooses_the_site_and_the_priority_its_url() -> None:
    worth = {"//a.org/1": 0.1, "//b.org/1": 0.5, "//a.org/2": 0.9, "//b.org/2": 0.4}
    for budget, order in (
        (None, ["a.org/2", "b.org/1", "b.org/2", "a.org/1"]),
        (Even(), ["a.org/2", "b.org/1", "a.org/1", "b.org/2"]),
        (Sequential(["b.org"]), ["b.org/1", "b.org/2", "a.org/2", "a.org/1"]),
    ):
        assert drain(frontier_of(budget, *map(entry, worth, worth.values()))) == [f"//{url}" for url in order]


def test_slots_of_one_domain_are_one_site() -> None:
    frontier = frontier_of(Even(), entry("//en.a.org/1", 0.1), entry("//es.a.org/1", 0.9), entry("//b.org/1"))
    assert drain(frontier) == ["//es.a.org/1", "//b.org/1", "//en.a.org/1"]


def test_a_site_that_must_wait_passes_its_turn_on() -> None:
    frontier = frontier_of(Sequential(), *(entry(f"//{host}.org/{n}") for host in "ab" for n in range(3)))
    assert popped(frontier, 5) == ["//a.org/0", "//a.org/1", "//b.org/0", "//b.org/1", None]


def test_what_is_left_of_each_slot_is_known_after_the_end() -> None:
    frontier = frontier_of(None, entry("//a.org/1", 1.0), entry("//b.org/1"), entry("//c.org/1"))
    frontier.finish(taken(frontier))
    frontier.close("c.org")
    asyncio.run(frontier.leave())
    assert frontier.slot_states == {"a.org": "finished", "b.org": "open", "c.org": "spent"}


def test_suspects_come_after_all_sites() -> None:
    frontier = frontier_of(Sequential(), entry("//a.org/1", SUSPECT), entry("//b.org/1"))
    first = taken(frontier)
    assert first.url == "//b.org/1"
    assert frontier.pop() is None, "a suspect is fetched alone"
    frontier.finish(first)
    assert drain(frontier) == ["//a.org/1"]


def test_a_site_keeps_its_turn_when_its_best_url_falls() -> None:
    worth = {"//a.org/1": 0.1, "//a.org/2": 0.5, "//b.org/1": 0.9}
    entries = (entry("//a.org/1", 0.8), entry("//a.org/2", 0.5), entry("//b.org/1", 0.9))
    frontier = frontier_of(Sequential(), *entries, reconsider=lambda url, _: worth[url])
    assert drain(frontier) == ["//a.org/2", "//a.org/1", "//b.org/1"]


linked = st.tuples(st.sampled_from(["a.org", "x.b.org", "y.b.org"]), st.integers(0, 20), st.floats(0, 1))
budgets = st.sampled_from([Bandit, Even, Sequential, lambda: None])


@settings(max_examples=50, deadline=None)
@given(st.lists(linked, min_size=1, max_size=60), budgets, st.integers(1, 3))
def test_every_url_is_handed_out_exactly_once(
    links: list[tuple[str, int, float]], make: Callable[[], SiteBudget | None], per_slot: int
) -> None:
    frontier = frontier_of(make(), limits=Limits(per_slot=per_slot, in_flight=4))
    entries = [entry(f"//{host}/{number}", priority) for host, number, priority in links]
    assert hand_out(frontier, entries, per_slot) == Counter({one.url for one in entries})


# what it learns ------------------------------------------------------------------------------------------------------


class Told(Even):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, float]] = []

    def observe_download(self, site: str, pairs: float, priority: float) -> None:
        self.told.append((site, pairs))


def told_again(facts: list[tuple[str, bytes]]) -> list[tuple[str, float]]:
    """What a budget is told after a resume; a worker that gets a site back is told all of it again."""
    resumed = Told()
    after = Learner(Gain(PAIR), resumed)
    for _ in range(2):
        list(relearn(after, facts, ()))
    return resumed.told


def test_the_budget_learns_from_each_fetch_and_again_from_the_facts() -> None:
    told = Told()
    learner = Learner(Gain(PAIR), told)
    spanish = Link("https://www.a.org/es/", hreflang="es", alternate=True)
    english = PageRecord("https://www.a.org/en/", "eng", "eng", links=(spanish,))
    fetched = [english, PageRecord(spanish.url, "spa", "spa")]
    for page in fetched:
        learner.observe_page(page, page.links)
    learner.observe_failure("https://b.org/no")
    learner.observe_failure("https://b.org/no")
    learner.observe_redirect("https://b.org/old", "https://b.org/new")
    assert told.told == [("a.org", 0), ("a.org", 1), ("b.org", 0), ("b.org", 0)]
    facts = [(page.url, page_fact(page, page.links, PAIRS)) for page in fetched]
    facts += [("https://b.org/no", GONE), ("https://b.org/old", redirect_fact("https://b.org/new"))]
    assert told_again(facts) == told.told


@pytest.mark.parametrize("new_text", [(1.0, 0.05), (0.05, 1.0), (0.1, 0.05)])
def test_a_pair_pays_by_the_new_text_of_both_pages_and_again_from_the_facts(new_text: tuple[float, float]) -> None:
    told = Told()
    learner = Learner(Gain(PAIR), told)
    facts = []
    for language, share in zip(("eng", "spa"), new_text, strict=True):
        url = f"https://www.a.org/{language[:2]}/2026/11/"
        month = PageRecord(url, language, language, new_text=share)
        learner.observe_page(month, ())
        facts.append((url, page_fact(month, (), PAIRS)))
    assert told.told == [("a.org", 0), ("a.org", 0.25)]
    assert told_again(facts) == told.told


ONE, TWO = "http://127.0.0.1/", "http://127.0.0.1/,http://127.0.0.2/"


def test_one_site_needs_no_budget() -> None:
    for seeds, scope, name, budget in (
        (ONE, "site", "bandit", type(None)), ("http://127.0.0.1/en,http://127.0.0.1:81/", "site", "bandit", type(None)),
        (ONE, "web", "bandit", Bandit), (TWO, "site", "bandit", Bandit), (TWO, "site", "even", Even),
        (TWO, "site", "sequential", Sequential), (TWO, "site", "best", type(None)),
    ):  # fmt: skip
        given = Settings({"BILINGUAL_SITE_BUDGET": name, "BILINGUAL_ALIGN": ""})
        assert type(parse_arguments(given, pair="eng-spa", seeds=seeds, scope=scope).budget) is budget


def test_an_unknown_budget_is_named() -> None:
    with pytest.raises(UsageError, match=r"BILINGUAL_SITE_BUDGET=fair: choose one of bandit, even"):
        parse_arguments(Settings({"BILINGUAL_SITE_BUDGET": "fair"}), pair="eng-spa", seeds=ONE)


# crawls --------------------------------------------------------------------------------------------------------------

PAGES = 40


@pytest.fixture(scope="module")
def sites() -> Iterator[list[Site]]:
    """Two sites in one language, and one with translations."""
    names = [f"page-{number}" for number in range(2 * PAGES)]
    english = {f"/{name}": html("en", name, f"<a href=/{after}>on</a>") for name, after in pairwise(names)}
    english["/"] = html("en", "home", "".join(f"<a href=/{name}>{name}</a>" for name in names))
    with ExitStack() as stack:
        yield [
            stack.enter_context(serve(varied(pages), address=f"127.0.0.{number}"))
            for number, pages in ((2, english), (3, english), (4, bilingual_site(PAGES)))
        ]


def crawl(folder: Path, sites: Sequence[Site], budget: str, *arguments: str) -> Any:
    """The sites in the summary of a crawl."""
    folder.mkdir(exist_ok=True)
    settings = (f"BILINGUAL_SITE_BUDGET={budget}", "CONCURRENT_REQUESTS=1", "BILINGUAL_WARC=0")
    seeds = ",".join(f"{site.url}/" for site in sites)
    ended_well(crawl_site(folder, seeds, *each("-s", *settings), *arguments, policy="gain"))
    found = summary(folder)
    assert sum(row["fetched"] for row in found["sites"].values()) == found["fetched"]
    return found["sites"]


PAID = "127.0.0.4"


def test_the_bandit_goes_where_the_pairs_are_and_a_resumed_one_knows_what_it_learnt(
    tmp_path: Path, sites: list[Site]
) -> None:
    job = (tmp_path / "bandit", sites, "bandit", "-s", "JOBDIR=job")
    first, found = (crawl(*job, "-a", f"max_pages={pages}") for pages in (60, 120))
    even = crawl(tmp_path / "even", sites, "even", "-a", "max_pages=120")
    assert found[PAID]["pairs"] >= 1.5 * even[PAID]["pairs"] > 0
    assert found[PAID]["share"] >= 0.5 > even[PAID]["share"]
    assert found[PAID]["yield"] == round(found[PAID]["pairs"] / found[PAID]["fetched"], 4)
    assert {row["state"] for row in found.values()} == {"open"}
    assert "<h2>Sites</h2>" in (tmp_path / "bandit" / "out" / "report.html").read_text()
    more = {site: row["fetched"] - first[site]["fetched"] for site, row in found.items()}
    assert more[PAID] > 0.7 * sum(more.values())


def test_site_after_site(tmp_path: Path, sites: list[Site]) -> None:
    found = crawl(tmp_path, sites[1:], "sequential", "-a", "max_pages_per_site=30")
    assert {row["state"] for row in found.values()} == {"spent"}
    hosts = [row["url"].split("/")[2] for row in read_tsv(tmp_path / "out" / "crawl.tsv")]
    assert sum(one != other for one, other in pairwise(hosts)) == 1


# the benchmark -------------------------------------------------------------------------------------------------------


def test_the_best_split_is_known_and_none_is_better() -> None:
    curves = {"a": [0, 0, 3], "b": [1, 0, 0], "c": [0, 1, 1]}
    assert known(curves) == [1, 1, 3, 4, 4, 5, 6, 6, 6]
    for budget in (Bandit(), Even(), Sequential()):
        found = spend(budget, curves)
        assert all(one <= best for one, best in zip(found, known(curves), strict=True))
        assert found[-1] == 6


@pytest.mark.slow
@pytest.mark.skipif(not CURVES.exists(), reason="needs ../shared")
def test_the_bandit_reaches_the_bar_on_the_curves() -> None:
    table = measure(read_curves(CURVES, "dev"), 0.1, 1)
    assert table["bandit"]["mean"] >= 0.65
    assert table["bandit"]["mean"] > 2 * table["even"]["mean"]
    assert table["known"]["mean"] >= max(row["mean"] for row in table.values())
