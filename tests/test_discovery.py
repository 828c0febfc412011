"""Discovery of bilingual sites: learners, policies, the search, and whole crawls of real web servers."""

from __future__ import annotations

import json
import signal
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from support.redis_server import redis_server
from support.url_index import page as indexed
from support.url_index import served, write_index
from support.webserver import TEXT, html, run_scrapy, serve, start_scrapy

from benchmarks.discovery_simulator import simulate
from benchmarks.graph_web import Node
from bilingual_crawler.crawl.spiders.arguments import parse_discovery
from bilingual_crawler.discovery.detector.base import Reason, Verdict
from bilingual_crawler.discovery.policies import (
    AddressReader,
    Hop,
    NaiveBayes,
    OnlineLogistic,
    Way,
    entry_page,
    site_order,
    words,
)
from bilingual_crawler.discovery.search import SiteSearch, Topic, fact_of
from bilingual_crawler.discovery.sites import expected_pairs, is_table
from bilingual_crawler.frontier.entry import NEVER
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.plugins import SITE_ORDERS, PluginError
from bilingual_crawler.scoring.models import LanguageModel, models_folder
from bilingual_crawler.storage.records import read_json_lines, read_members, read_tsv
from bilingual_crawler.storage.writer import Exchange, WarcWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from support.webserver import Site as Server

PAIR = LanguagePair.parse("eng-spa")
ADDRESSES = AddressReader(PAIR, LanguageModel(models_folder(None) / "url-language"))


# words and learners -----------------------------------------------------------------------------------------------


def test_words_lose_stop_words_and_endings_of_their_language() -> None:
    assert words("The hotels of the harbours", "eng") == ["hotel", "harbour"]
    assert words("Los hoteles de la ciudad", "spa") == ["hotel", "ciud"]
    assert words("The Hotels", "xxx") == ["the", "hotels"]


def test_a_word_in_two_contexts_is_two_features() -> None:
    hop = Hop(Way.FORTH, "http://www.hotel.es/hotel/", "http://a.com/", "Hotel Sol", "a hotel by the sea", "eng")
    assert {"path:hotel", "host:hotel", "anchor:hotel", "around:hotel", "host:es"} <= set(hop.words)


def test_the_text_around_a_link_to_another_site_is_that_of_its_block() -> None:
    page = "<ul><li><a href=http://hotel.es/>Sol</a> by the sea</li><li><a href=/x>own</a> here</li></ul>"
    assert [link.around for link in parse_page(page, "http://a.com/").links] == ["Sol by the sea", ""]


def test_naive_bayes_tells_relevant_words() -> None:
    examples = [(["hotel", "sol"], True), (["hotel"], True), (["bank"], False), (["bank", "sol"], False)]
    learnt = NaiveBayes(examples)
    assert learnt.trained
    assert learnt.probability(["hotel"]) > 0.5 > learnt.probability(["bank"])
    assert learnt.probability(["never seen"]) == pytest.approx(0.5)
    assert not NaiveBayes([(["hotel"], True)]).trained


@given(st.lists(st.tuples(st.sets(st.sampled_from("abcdef"), min_size=1), st.booleans()), max_size=60))
def test_an_online_learner_stays_a_probability_and_moves_towards_what_it_saw(
    examples: list[tuple[set[str], bool]],
) -> None:
    learner = OnlineLogistic(size=1 << 10)
    for names, outcome in examples:
        features = learner.features(names)
        before = learner.probability(features)
        learner.observe_example(features, outcome)
        assert 0 <= learner.probability(features) <= 1
        assert (learner.probability(features) - before) * (1 if outcome else -1) >= 0


def test_unknown_policies_are_named() -> None:
    assert site_order("cobfc:50", ADDRESSES).name == "cobfc"
    for wrong in ("cobfc:0", "cobfc:x", "fc:5"):
        with pytest.raises(PluginError, match="only cobfc takes a number"):
            site_order(wrong, ADDRESSES)
    with pytest.raises(PluginError, match=r"choose one of both, .*; did you mean both"):
        site_order("bth", ADDRESSES)


# the search -------------------------------------------------------------------------------------------------------


class Told:
    """A detector that knows: hosts with ``bi`` are bilingual, after one download."""

    def inspect(self, pair: LanguagePair, entry: PageRecord) -> Told._One:
        return self._One(entry.url)

    class _One:
        def __init__(self, url: str) -> None:
            self._left = [url + "second"]
            self._bilingual = "bi" in url

        def next(self) -> str | None:
            return self._left[0] if self._left else None

        def observe_page(self, url: str, page: PageRecord | None) -> None:
            assert self._left.pop(0) == url

        @property
        def verdict(self) -> Verdict:
            return Verdict(self._bilingual, 0.5, Reason.BILINGUAL if self._bilingual else Reason.ONE_LANGUAGE)


OUTLINE = PageJob(b"<p>x", "text/html", "http://x.org/").run().outline


def page(url: str, *targets: str) -> PageRecord:
    links = tuple(Link(target, "here") for target in targets)
    return PageRecord(url, "eng", links=links, text="text", outline=OUTLINE)


def search(policy: str, *, own_links: bool = False) -> SiteSearch:
    return SiteSearch(PAIR, Told(), site_order(policy, ADDRESSES), own_links=own_links)


def visit(found: SiteSearch, *targets: str, url: str, backlinks: Sequence[str] = ()) -> list[str]:
    """Read the page at *url* and what its inspection asks for; the URLs wanted when its *backlinks* are known."""
    found.read(page(url, *targets))
    asked = [one.url for one in found.wanted()]
    if asked == [url + "second"]:
        found.read(page(asked[0]))
        asked = []
    found.go_back(Hop(Way.BACK, back, entry) for entry in found.found() for back in backlinks)
    return asked + [one.url for one in found.wanted()]


def test_a_link_to_another_site_leads_to_its_entry_page_once() -> None:
    found = search("both")
    wanted = visit(found, "http://b.org/deep/page", "http://www.b.org/other", "http://a.org/x", url="http://a.org/")
    assert wanted == ["http://b.org/"]
    assert entry_page("https://h.org:81/x?y") == "https://h.org:81/"


def test_the_paper_expands_pages_that_link_to_bilingual_sites_only() -> None:
    back = ["http://hub.org/links.html"]
    found = search("obfc")
    assert visit(found, "http://c.org/", url="http://bi.org/", backlinks=back) == back
    assert visit(found, "http://d.org/", url="http://hub.org/links.html") == ["http://d.org/", "http://hub.org/"]
    assert visit(found, "http://e.org/", url="http://d.org/") == []
    assert visit(search("both"), "http://c.org/", url="http://bi.org/", backlinks=back) == ["http://c.org/", *back]


def test_a_resume_knows_which_pages_were_visited_as_backlinks() -> None:
    """It may learn from them before it learns that the site to which they link is bilingual."""
    found = search("obfc")
    found.read(page("http://hub.org/links.html", "http://d.org/"), is_backlink=True)
    assert [one.url for one in found.wanted()] == ["http://d.org/", "http://hub.org/"]
    assert visit(found, url="http://bi.org/", backlinks=["http://hub.org/links.html"]) == []


def test_pages_visited_before_are_backlinks_too() -> None:
    found = search("obfc", own_links=True)
    assert visit(found, "http://bi.org/", "http://c.org/", url="http://hub.org/") == []
    assert visit(found, url="http://bi.org/") == ["http://c.org/"]


def test_sites_whose_address_is_in_the_rarer_language_come_first() -> None:
    found = search("both")
    targets = ("http://www.stadtwerke-augsburg.de/", "http://www.ayuntamientodesevilla.es/")
    for visited in (page("http://a.org/", *targets), page("http://a.org/second")):
        found.read(visited)
    *_, first, second = sorted(found.wanted(), key=lambda wanted: -wanted.priority)
    assert (first.url, second.url) == (targets[1], targets[0])
    assert first.priority > second.priority


def test_links_pages_are_visited_for_their_links() -> None:
    found = search("both")
    targets = ("http://a.org/partners.html", "http://a.org/news")
    assert visit(found, *targets, url="http://a.org/") == ["http://a.org/partners.html"]
    assert visit(search("fc"), *targets, url="http://a.org/") == [*targets]
    assert visit(found, "http://b.org/", url="http://a.org/partners.html") == ["http://b.org/"]


def test_both_learns_which_links_pay() -> None:
    found = search("both")
    good = [f"http://bi-{n}.es/" for n in range(20)]
    bad = [f"http://other-{n}.de/" for n in range(20)]
    for url in [one for two in zip(good[:15], bad[:15], strict=True) for one in two]:
        found.start([Hop(Way.FORTH, url, "http://a.org/")])
        found.wanted()
        visit(found, url=url)
    found.changed()
    found.read(page("http://hub.org/", good[16], bad[16]))
    found.read(page("http://hub.org/second"))
    priorities = {one.url: one.priority for one in found.wanted()}
    assert priorities[good[16]] > 2 * priorities[bad[16]]


def test_cobfc_weighs_the_whole_frontier_again_after_n_pages() -> None:
    targets = [f"http://bi-{n}.es/" for n in range(8)] + [f"http://other-{n}.de/" for n in range(8)]
    found = search("cobfc:14")
    visit(found, url="http://bi.org/", backlinks=["http://hub.org/links.html"])
    found.read(page("http://hub.org/links.html", *targets))
    assert {one.priority for one in found.wanted()} == {0.0}
    for url in (*targets[:3], *targets[8:11]):
        visit(found, url=url)
    changed = found.changed()
    assert min(changed[url] for url in targets[3:8]) > max(changed[url] for url in targets[11:])


def test_focused_crawls_expand_pages_of_the_topic_only() -> None:
    found = search("focc")
    seeds = ["http://a.org/", "http://b.org/"]
    for url in seeds:
        found.seed_priority(url)
    text = {True: "harvest of fruit in the village", False: "stock market and banks"}
    for url in seeds:
        links = Link("http://c.org/"), Link("http://d.org/")
        found.read(PageRecord(url, "eng", links=links, text=text[True], outline=OUTLINE))
        found.read(page(url + "second"))
    found.wanted()
    for url, on_topic in (("http://c.org/", True), ("http://d.org/", False)):
        link = Link(f"{url[:-1]}.net/")
        found.read(PageRecord(url, "eng", links=(link,), text=text[on_topic], outline=OUTLINE))
        found.read(page(url + "second"))
    assert [one.url for one in found.wanted() if "second" not in one.url] == ["http://c.org.net/"]


def test_a_search_by_topic_refuses_other_sites_without_a_download_and_learns_from_it(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("harvests\nfrutas\n")
    topic = Topic.parse(str(tmp_path / "words.txt"), PAIR)
    found = SiteSearch(PAIR, Told(), site_order("both", ADDRESSES), topic=topic)
    verdicts: dict[str, Verdict] = {}
    found.judged = lambda name, site: verdicts.update({name: site.verdict} if site.verdict else {})
    for url, language, text in (
        ("http://bi-farm.org/", "eng", "The harvest of the year"),
        ("http://bi-granja.org/", "spa", "La fruta del pueblo"),
        ("http://bi-bank.org/", "eng", "The stock market"),
        ("http://bi-paper.org/", "eng", "harvest " + "news of other things " * 60),
    ):
        found.seed_priority(url)
        found.read(PageRecord(url, language, text=text, outline=OUTLINE))
    assert [one.url for one in found.wanted()] == ["http://bi-farm.org/second", "http://bi-granja.org/second"]
    assert {name: verdict.reason for name, verdict in verdicts.items()} == {
        "bi-bank.org": Reason.OFF_TOPIC,
        "bi-paper.org": Reason.OFF_TOPIC,
    }
    found.read(page("http://bi-farm.org/second"))
    assert verdicts["bi-farm.org"].bilingual


def test_the_simulator_counts_sites_of_the_topic_and_a_search_by_topic_spends_less() -> None:
    nodes = [
        Node(f"www.s{n}.org", f"Site {n}", "eng", n % 2 == 0, topics=frozenset({"health"} if n < 8 else {"art"}))
        for n in range(40)
    ]
    nodes[0].links = nodes[:0:-1]
    found = [
        simulate(
            *(nodes, site_order("both", ADDRESSES), PAIR, nodes[:1], 500),
            known_backlinks=0.5,
            seed=1,
            topic="health",
            restricted=restricted,
        )
        for restricted in (False, True)
    ]
    assert list(map(len, found)) == [4, 4]
    assert found[1][-1] < found[0][-1]


@pytest.mark.parametrize("policy", SITE_ORDERS.built_in)
def test_a_link_without_a_word_to_an_address_of_digits_is_followed(policy: str) -> None:
    found = search(policy)
    found.seed_priority("http://a.org/")
    found.read(PageRecord("http://a.org/", "eng", links=(Link("http://192.0.2.7/"),), text="text", outline=OUTLINE))
    found.read(page("http://a.org/second"))
    assert ("http://192.0.2.7/" in {one.url for one in found.wanted()}) is (policy not in ("obfc", "cobfc"))


def test_a_site_that_redirects_elsewhere_or_gives_no_page_is_judged() -> None:
    found = search("both")
    told: dict[str, Any] = {}
    found.judged = lambda name, site: told.update({name: site.verdict and site.verdict.reason})
    visit(found, "http://b.org/", "http://c.org/", "http://e.org/", url="http://a.org/")
    found.observe_redirect("http://b.org/", "http://bi.net/")
    found.drop_url("http://c.org/")
    found.observe_redirect("http://e.org/", "http://e.org/home")
    visit(found, url="http://bi.net/")
    found.read(page("http://e.org/home"))
    found.drop_url("http://e.org/homesecond")
    assert told == {
        "a.org": "one_language",
        "b.org": "other_site",
        "c.org": "no_page",
        "bi.net": "bilingual",
        "e.org": "one_language",
    }
    assert found.unjudged == 0


def test_a_site_is_judged_by_another_seed_or_candidate_if_one_gives_no_page() -> None:
    found = search("both")
    told: dict[str, Any] = {}
    found.judged = lambda name, site: told.update({name: site.verdict and site.verdict.reason})
    candidates = ["http://old.bi.org/", "http://www.bi.org/", "http://old.c.org/", "http://new.c.org/"]
    found.start(Hop(Way.FORTH, url) for url in candidates)
    for seed in ("http://bi.net/gone", "http://bi.net/moved", "http://bi.net/links"):
        found.seed_priority(seed)
    assert [one.url for one in found.wanted()] == [candidates[0], candidates[2]]
    for url in (candidates[0], candidates[2], "http://bi.net/gone"):
        found.drop_url(url)
    assert [one.url for one in found.wanted()] == [candidates[1], candidates[3]]
    assert found.unjudged == 3
    found.observe_redirect("http://bi.net/moved", "http://elsewhere.org/")
    found.drop_url(candidates[3])
    visit(found, url="http://bi.net/links")
    visit(found, url=candidates[1])
    assert told == {"c.org": "no_page", "bi.net": "bilingual", "bi.org": "bilingual"}
    assert found.unjudged == 0


def test_a_site_is_judged_by_its_first_seed_if_another_one_gives_no_page_before() -> None:
    found = search("both")
    told: dict[str, Any] = {}
    found.judged = lambda name, site: told.update({name: site.verdict and site.verdict.reason})
    for site in ("http://bi.net/", "http://bi.org/"):
        found.seed_priority(f"{site}slow")
        found.seed_priority(f"{site}gone")
    found.observe_redirect("http://bi.org/slow", "http://bi.org/home")
    for url in ("http://bi.net/gone", "http://bi.org/gone"):
        found.drop_url(url)
    assert not told
    visit(found, url="http://bi.net/slow")
    visit(found, url="http://bi.org/home")
    assert told == {"bi.net": "bilingual", "bi.org": "bilingual"}
    assert found.unjudged == 0


def test_an_entry_page_is_not_fetched_once_its_site_is_being_judged() -> None:
    found = search("both")
    visit(found, "http://b.org/", url="http://a.org/")
    found.changed()
    found.read(page("http://www.b.org/"))
    assert found.changed()["http://b.org/"] == NEVER


@given(
    st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(0, 9), max_size=4)), max_size=40),
    st.sampled_from([*SITE_ORDERS.built_in]),
)
def test_no_url_is_wanted_after_it_was_read_and_no_site_judged_twice(
    visits: list[tuple[int, list[int]]], policy: str
) -> None:
    found = search(policy, own_links=True)
    judged: list[str] = []
    found.judged = lambda name, site: judged.append(name)
    read: set[str] = set()
    for number, targets in visits:
        name = "bi" if number % 3 == 0 else "c"
        queue = [f"http://{name}{number}.org/"]
        while queue:
            url = queue.pop()
            found.read(page(url, *(f"http://{'bi' if t % 3 == 0 else 'c'}{t}.org/" for t in targets)))
            read.add(url)
            found.go_back(Hop(Way.BACK, f"{entry}x".replace("bi", "linksto"), entry) for entry in found.found())
            wanted = [one.url for one in found.wanted()]
            assert not read & set(wanted)
            queue += [one for one in wanted if one.endswith("second")]
    assert len(judged) == len(set(judged))


# whole crawls -----------------------------------------------------------------------------------------------------


def home(lang: str, links: str, other: str = "") -> str:
    switch = f"<nav class=language-switcher><a href=/{other}/>{other}</a></nav>" if other else ""
    return html(lang, f"home {links[:20]}", switch + links)


@contextmanager
def web(delay: float = 0.0) -> Iterator[list[Server]]:
    """Seven sites on loopback: the first links to all others; 2, 3 and 6 are bilingual, 4 redirects to 6, 5 is gone."""
    pages: list[dict[str, str]] = [{} for _ in range(7)]
    with ExitStack() as stack:
        servers = [
            stack.enter_context(serve(pages[n], redirects={"/old": "/"}, delay=delay, address=f"127.0.1.{n + 1}"))
            for n in range(7)
        ]
        links = "".join(f"<li><a href={server.url}/some/page>site {n}</a></li>" for n, server in enumerate(servers))
        pages[0]["/"] = home("en", links)
        pages[1] |= {"/": home("en", ""), "/links.html": home("en", "")}
        for n in (2, 3, 6):
            pages[n] |= {"/": home("en", "", "es"), "/es/": home("es", "", "en"), "/en/": home("en", "", "es")}
            for k in range(3):
                pages[n] |= {f"/en/{k}": home("en", TEXT["en"][k:], "es"), f"/es/{k}": home("es", TEXT["es"][k:], "en")}
            for lang in ("en", "es"):
                pages[n][f"/{lang}/"] += "".join(f"<a href=/{lang}/{k}>{k}</a>" for k in range(3))
        servers[4].redirects = {"/": f"{servers[6].url}/"}
        yield servers


def discovery(folder: Path, *more: str) -> tuple[str, ...]:
    """The arguments of a discovery that does not align the pages it saw."""
    settings = ("ALLOWED_NETWORKS=127.0.0.0/8", "CONTACT=mailto:a@b.example", f"OUTPUT_DIR={folder / 'out'}", "ALIGN=")
    return (
        *("crawl", "discovery", "-a", "pair=eng-spa"),
        *(part for setting in settings for part in ("-s", f"BILINGUAL_{setting}")),
        *more,
    )


def arguments(servers: list[Server], folder: Path, *more: str) -> tuple[str, ...]:
    return discovery(folder, "-a", f"seeds={servers[0].url}/", *more)


def sites(folder: Path) -> dict[str, dict[str, str]]:
    rows = list(read_tsv(folder / "out" / "sites.tsv"))
    found = {row["site"]: row for row in rows}
    assert len(found) == len(rows)
    return found


VERDICTS = {
    "127.0.1.1": "one_language",
    "127.0.1.2": "one_language",
    "127.0.1.3": "bilingual",
    "127.0.1.4": "bilingual",
    "127.0.1.5": "other_site",
    "127.0.1.6": "no_page",
    "127.0.1.7": "bilingual",
}


@pytest.fixture(scope="module")
def discovered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[Server], Path, str]]:
    """The web, the folder of a discovery of its sites with a crawl after it, and what was logged."""
    folder: Path = tmp_path_factory.mktemp("discovered")
    with web() as servers:
        result = run_scrapy(folder, *arguments(servers, folder, "-a", "then=crawl", "-s", "BILINGUAL_ALIGN=auto"))
        assert result.returncode == 0, result.stderr
        yield servers, folder, result.stderr


def test_every_site_is_judged_and_written(discovered: tuple[list[Server], Path, str]) -> None:
    servers, folder, log = discovered
    found = sites(folder)
    assert {name: row["verdict"] for name, row in found.items()} == VERDICTS
    row = found["127.0.1.3"]
    assert (row["way"], row["found_on"]) == ("forth", f"{servers[0].url}/")
    assert {row["url_a"], row["url_b"]} == {f"{servers[2].url}/", f"{servers[2].url}/es/"}
    assert found["127.0.1.1"]["way"] == "seed"
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert summary["sites_judged"] == summary["site_candidates"] == 7
    assert summary["sites_bilingual"] == 3
    assert summary["sites_refused"] == {"one_language": 2, "other_site": 1, "no_page": 1}
    assert summary["policy"] == "both"
    assert "7  sites judged" in log
    assert "127.0.1.3" in (folder / "out" / "report.html").read_text()


def test_the_sites_found_are_crawled_in_the_same_process(discovered: tuple[list[Server], Path, str]) -> None:
    """Its seeds are the table of the sites, as they are for a crawl that is begun by hand."""
    servers, folder, _ = discovered
    pairs = {(row["url_a"], row["url_b"]) for row in read_tsv(folder / "out" / "crawl" / "pairs.tsv")}
    homes = [servers[n].url for n in (2, 3, 6)]
    assert pairs >= {(f"{home}/en/{k}", f"{home}/es/{k}") for home in homes for k in range(3)}


@pytest.mark.parametrize(("how", "policy"), [(signal.SIGKILL, "both"), (signal.SIGINT, "fc")])
def test_a_discovery_that_was_stopped_is_resumed_without_loss(tmp_path: Path, how: signal.Signals, policy: str) -> None:
    with web(delay=0.05) as servers:
        (tmp_path / "backlinks.tsv").write_text(f"127.0.1.3\t{servers[1].url}/links.html\n")
        job = ("-s", "JOBDIR=job", "-s", "CONCURRENT_REQUESTS=2", "-a", f"policy={policy}")
        command = arguments(servers, tmp_path, *job, "-a", "backlinks=tsv:backlinks.tsv")
        process = start_scrapy(tmp_path, *command)
        servers[2].wait_until_asked(2)
        process.send_signal(how)
        process.communicate(timeout=300)
        result = run_scrapy(tmp_path, *command)
        assert result.returncode == 0, result.stderr
        found = sites(tmp_path)
        assert {name: row["verdict"] for name, row in found.items()} == VERDICTS
        assert found["127.0.1.2"]["entry"] == f"{servers[1].url}/"
        if policy == "fc":
            return
        assert servers[1].asked["/links.html"]
        asked = sum(server.asked.total() for server in servers)
        assert run_scrapy(tmp_path, *command).returncode == 0
        assert sum(server.asked.total() for server in servers) == asked, "nothing is judged twice"


def test_two_workers_judge_each_site_once(tmp_path: Path) -> None:
    with redis_server(tmp_path) as shared, web(delay=0.1) as servers:
        folders = [tmp_path / name for name in ("one", "two")]
        workers = [
            start_scrapy(tmp_path, *arguments(servers, folder, "-s", f"BILINGUAL_FRONTIER={shared.url}"))
            for folder in folders
        ]
        for worker in workers:
            _, errors = worker.communicate(timeout=300)
            assert worker.returncode == 0, errors
        judged = [(row["site"], row["verdict"]) for one in folders for row in read_tsv(one / "out" / "sites.tsv")]
        assert sorted(judged) == sorted(VERDICTS.items())


def test_candidates_and_backlinks_come_from_lists(tmp_path: Path) -> None:
    with web() as servers:
        (tmp_path / "candidates.tsv").write_text(f"{servers[2].url}/\n")
        (tmp_path / "backlinks.tsv").write_text(f"127.0.1.3\t{servers[0].url}/\n")
        result = run_scrapy(
            tmp_path,
            *discovery(tmp_path, "-a", "candidates=tsv:candidates.tsv", "-a", "backlinks=tsv:backlinks.tsv"),
            *("-a", "policy=obfc"),
        )
        assert result.returncode == 0, result.stderr
        found = sites(tmp_path)
        assert {name: row["verdict"] for name, row in found.items()} == VERDICTS
        assert found["127.0.1.3"]["way"] == "candidate"
        assert found["127.0.1.1"]["way"] == "back"


def test_hosts_without_a_scheme_are_judged_by_their_http_pages(tmp_path: Path) -> None:
    with web() as servers:
        bare = [server.url.removeprefix("http://") for server in servers]
        (tmp_path / "candidates.tsv").write_text(f"{bare[3]}\n")
        (tmp_path / "backlinks.tsv").write_text(f"127.0.1.3\t{bare[6]}\n")
        seeds = ("-a", f"seeds={bare[2]}", "-a", "candidates=tsv:candidates.tsv", "-a", "backlinks=tsv:backlinks.tsv")
        result = run_scrapy(tmp_path, *discovery(tmp_path, *seeds))
    assert result.returncode == 0, result.stderr
    found = sites(tmp_path)
    assert {name: row["verdict"] for name, row in found.items()} == dict.fromkeys(
        ("127.0.1.3", "127.0.1.4", "127.0.1.7"), "bilingual"
    )
    assert found["127.0.1.4"]["way"] == "candidate"
    assert found["127.0.1.7"]["way"] == "back"


def archived(folder: Path, pages: Sequence[tuple[str, str]]) -> list[dict[str, int]]:
    """Write an archive of *pages*, URL and HTML; returns the place of each as the index has it."""
    writer = WarcWriter(folder / "crawl-data")
    for url, content in pages:
        headers = [(b"Content-Type", b"text/html")]
        fetched = datetime(2026, 5, 12, tzinfo=UTC)
        writer.write_exchange(Exchange(url, "GET", [], 200, headers, content.encode(), fetched))
    writer.close()
    with (folder / "crawl-data/crawl-00000.warc.gz").open("rb") as file:
        members = list(read_members(file.fileno(), keep=1 << 10))
    return [
        {"warc_record_offset": member.offset, "warc_record_length": member.end - member.offset}
        for member in members
        if b"WARC-Type: response" in member.start
    ]


def test_entry_pages_come_from_an_archive_in_place_of_the_site(tmp_path: Path) -> None:
    """Sites 1 (parked then) and 2 are in the archive; that of 3 is damaged, the place of 5 is that of another page."""
    with web() as servers, served(tmp_path) as address:
        kept = {1: "<html lang=en><body>This domain is for sale", 2: servers[2].pages["/"], 3: servers[3].pages["/"]}
        first, second, third = archived(tmp_path, [(f"{servers[n].url}/", content) for n, content in kept.items()])
        places = {1: first, 2: second, 3: third | {"warc_record_length": 50}, 5: first}
        servers[5].pages = {"/": home("en", "")}
        rows = []
        for n, place in places.items():
            archive = place | {"warc_filename": "crawl-data/crawl-00000.warc.gz"}
            rows += [indexed(f"{servers[n].url}/{path}", "eng,spa", **archive) for path in ("", "a", "b")]
            rows.append(indexed(f"{servers[n].url}/es/", "spa,eng", **archive))
        write_index(tmp_path / "index.parquet", rows)
        result = run_scrapy(
            tmp_path, *discovery(tmp_path, "-a", "candidates=cc-index:index.parquet", "-a", f"archive={address}")
        )
        assert result.returncode == 0, result.stderr
        found = sites(tmp_path)
        assert {name: row["verdict"] for name, row in found.items()} == {
            "127.0.1.2": "parked",
            "127.0.1.3": "bilingual",
            "127.0.1.4": "bilingual",
            "127.0.1.6": "one_language",
        }
        assert {row["pages"] for row in found.values()} == {"eng:3 spa:1"}
        assert {name for name, row in found.items() if row["archived"].startswith("2026-05-12")} == {
            "127.0.1.2",
            "127.0.1.3",
        }
        assert not servers[1].asked, "not even for its robots.txt"
        assert servers[2].asked["/"] == 0
        assert servers[2].asked["/es/"] == servers[2].asked["/robots.txt"] == 1
        assert servers[3].asked["/"] == servers[5].asked["/"] == 1
        assert "'bilingual/archived/missing': 2" in result.stderr
        assert json.loads((tmp_path / "out" / "summary.json").read_text())["entry_pages_archived"] == 2


def test_the_archive_of_an_entry_page_is_known_after_a_resume() -> None:
    archived = "2026-05-12T00:00:00Z"
    found = search("both")
    found.recall(fact_of(page("http://bi.org/"), (), archived, is_backlink=False))
    assert found.sites["bi.org"].archived == archived


def test_a_crawl_expects_of_a_site_its_likelihood_times_its_pages_in_the_rarer_language(tmp_path: Path) -> None:
    table = tmp_path / "sites.tsv"
    table.write_text(
        "site\tentry\tverdict\tlikelihood\tpages\n"
        "big.org\thttp://big.org/\tbilingual\t0.5\teng:1200 spa:300 fra:9\n"
        "one.org\thttp://one.org/\tbilingual\t1.0\teng:9000\n"
        "new.org\thttp://new.org/\tbilingual\t0.8\t\n"
        "not.org\thttp://not.org/\tone_language\t0.1\teng:5 spa:5\n"
    )
    one, several = LanguagePairs((PAIR,)), LanguagePairs.parse("eng-spa,eng-fra")
    assert expected_pairs(table, one) == {"big.org": 150, "one.org": 0, "new.org": pytest.approx(0.8 * 150)}
    assert expected_pairs(table, several)["big.org"] == 0.5 * (300 + 9)
    # as a spreadsheet writes it
    table.write_text(table.read_text().replace("eng:1200 spa:300 fra:9", "").replace("eng:9000", ""), "utf-8-sig")
    assert is_table(table)
    assert expected_pairs(table, one) == {"big.org": 0.5, "one.org": 1, "new.org": 0.8}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("pair=eng-spa",), "where to start"),
        (("pair=eng-spa", "seeds=http://127.0.0.1/", "archive=missing"), "missing: no such folder"),
        (("pair=eng-spa", "seeds=http://127.0.0.1/", "policy=best"), "policy=best: choose one of both"),
        (("pair=eng-spa", "seeds=http://127.0.0.1/", "then=align"), "then=align: choose one of crawl, or nothing"),
        (("pair=eng-spa", "seeds=http://127.0.0.1/", "detector=magic"), "magic"),
        (("pair=eng-spa", "seeds=http://127.0.0.1/", "topic=the, los"), "topic=the, los: no word in it"),
        (("pair=eng-spa", "seeds=http://127.0.0.1/", "topic=missing.txt"), "topic=missing.txt: there is no such file"),
        (("pair=eng-spa", "candidates=xyz:a"), "candidates=xyz:a: give cc-index"),
        (("pair=eng-spa", "candidates=tsv:missing.tsv"), "missing.tsv"),
        (("seeds=http://127.0.0.1/",), "-a pair="),
        (("pair=eng-spa", "seeds=http://127.0.0.1/", "scope=site"), "unknown spider argument scope"),
    ],
)
def test_wrong_arguments_of_discovery_are_named(given: tuple[str, ...], message: str) -> None:
    chosen = Settings({"BILINGUAL_CONTACT": "mailto:a@b.example"})
    chosen.setmodule("bilingual_crawler.settings", "default")
    with pytest.raises(UsageError) as caught:
        parse_discovery(chosen, **dict(one.split("=", 1) for one in given))
    assert message in str(caught.value)


def test_a_folder_of_url_models_suffices_for_discovery(tmp_path: Path) -> None:
    (tmp_path / "url-language").symlink_to(Path(str(models_folder(None)), "url-language"))
    chosen = Settings({"BILINGUAL_CONTACT": "mailto:a@b.example"})
    chosen.setmodule("bilingual_crawler.settings", "default")
    chosen.set("BILINGUAL_MODELS_DIR", str(tmp_path))
    chosen.set("BILINGUAL_ALIGN", "")
    assert parse_discovery(chosen, pair="eng-spa", seeds="http://127.0.0.1/").search


@pytest.mark.parametrize(
    ("setting", "value", "then", "message"),
    [
        ("BILINGUAL_PROVIDERS", "Cuda", "", "BILINGUAL_PROVIDERS=Cuda: this onnxruntime has"),
        ("BILINGUAL_POLICY", "gian", "crawl", "BILINGUAL_POLICY=gian: choose one of"),
        ("BILINGUAL_POLICY", "oracle", "crawl", "policy=oracle: set BILINGUAL_ORACLE_ORDER"),
    ],
)
def test_settings_that_a_discovery_or_the_crawl_after_it_cannot_use_are_named_at_its_start(
    setting: str, value: str, then: str, message: str
) -> None:
    chosen = Settings({"BILINGUAL_CONTACT": "mailto:a@b.example"})
    chosen.setmodule("bilingual_crawler.settings", "default")
    chosen.set(setting, value)
    with pytest.raises(UsageError) as caught:
        parse_discovery(chosen, pair="eng-spa", seeds="http://127.0.0.1/", then=then)
    assert message in str(caught.value)


def test_the_crawl_after_a_discovery_does_not_write_over_its_feed(tmp_path: Path) -> None:
    given = ("-a", "pair=eng-spa", "-a", "seeds=http://127.0.0.1:1/", "-a", "then=crawl", "-O", "feed.jsonl")
    result = run_scrapy(tmp_path, "crawl", "discovery", *given)
    assert result.returncode == 2, result.stderr
    assert "as in -O '%(name)s.jsonl'" in result.stderr + result.stdout
    with web() as servers:
        own = ("-a", "then=crawl", "-O", "%(name)s.jsonl", "-s", "BILINGUAL_ALIGN=")
        result = run_scrapy(tmp_path, *arguments(servers, tmp_path, *own))
    assert result.returncode == 0, result.stderr
    for name, folder in (("discovery", "out"), ("bilingual", "out/crawl")):
        feed = {json.loads(line)["url"] for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()}
        assert feed == {record["url"] for record in read_json_lines(tmp_path / folder / "documents.jsonl.gz")}


def test_a_missing_source_of_backlinks_ends_the_command_with_one_line(tmp_path: Path) -> None:
    given = ("-a", "pair=eng-spa", "-a", "seeds=http://127.0.0.1/", "-a", "backlinks=tsv:missing.tsv")
    result = run_scrapy(tmp_path, "crawl", "discovery", *given)
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    assert "missing.tsv" in result.stderr + result.stdout
