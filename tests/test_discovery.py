"""Discovery of bilingual sites: learners, policies, the search, and whole crawls of real web servers."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from support import crawls
from support.redis_server import redis_server
from support.tables import write_table
from support.url_index import page as indexed
from support.url_index import served, write_index
from support.webserver import TEXT, html, run_scrapy, serve, start_scrapy
from support.webserver import Site as Server

from benchmarks.discovery_simulator import simulate
from benchmarks.graph_web import Node
from bilingual_crawler.crawl.spiders.arguments import parse_discovery
from bilingual_crawler.discovery.detector.base import Reason, Verdict
from bilingual_crawler.discovery.policies import AddressReader, Hop, NaiveBayes, OnlineLogistic, Way, site_order, words
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


EXAMPLES = st.lists(st.tuples(st.sets(st.sampled_from("abcdef"), min_size=1), st.booleans()), max_size=60)


@given(EXAMPLES)
def test_an_online_learner_stays_a_probability_and_moves_towards_what_it_saw(seen: list[tuple[set[str], bool]]) -> None:
    learner = OnlineLogistic(size=1 << 10)
    for names, outcome in seen:
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

    def inspect(self, pair: LanguagePair, entry: PageRecord) -> Inspected:
        return Inspected(entry.url)


class Inspected:
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


def page(url: str, *targets: str, text: str = "text", language: str = "eng") -> PageRecord:
    links = tuple(Link(target, "here") for target in targets)
    return PageRecord(url, language, links=links, text=text, outline=OUTLINE)


def search(policy: str, **more: Any) -> SiteSearch:
    return SiteSearch(PAIR, Told(), site_order(policy, ADDRESSES), **more)


def judged(found: SiteSearch) -> dict[str, Any]:
    """The reason of each verdict by the name of the site, from now on."""
    told: dict[str, Any] = {}
    found.judged = lambda name, site: told.update({name: site.verdict and site.verdict.reason})
    return told


def urls_wanted(found: SiteSearch) -> list[str]:
    return [one.url for one in found.wanted()]


def visit(found: SiteSearch, *targets: str, url: str, backlinks: Sequence[str] = ()) -> list[str]:
    """Read the page at *url* and what its inspection asks for; the URLs wanted when its *backlinks* are known."""
    found.read(page(url, *targets))
    asked = urls_wanted(found)
    if asked == [url + "second"]:
        found.read(page(asked.pop()))
    found.go_back(Hop(Way.BACK, back, entry) for entry in found.found() for back in backlinks)
    return asked + urls_wanted(found)


def test_a_link_to_another_site_leads_to_its_entry_page_once() -> None:
    found = search("both")
    targets = ("http://b.org/deep/page", "http://www.b.org/other", "http://a.org/x", "https://h.org:81/x?y")
    assert visit(found, *targets, url="http://a.org/") == ["http://b.org/", "https://h.org:81/"]


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
    assert urls_wanted(found) == ["http://d.org/", "http://hub.org/"]
    assert visit(found, url="http://bi.org/", backlinks=["http://hub.org/links.html"]) == []


def test_pages_visited_before_are_backlinks_too() -> None:
    found = search("obfc", own_links=True)
    assert visit(found, "http://bi.org/", "http://c.org/", url="http://hub.org/") == []
    assert visit(found, url="http://bi.org/") == ["http://c.org/"]


def test_sites_whose_address_is_in_the_rarer_language_come_first() -> None:
    found = search("both")
    german, spanish = "http://www.stadtwerke-augsburg.de/", "http://www.ayuntamientodesevilla.es/"
    found.read(page("http://a.org/", german, spanish))
    found.read(page("http://a.org/second"))
    priorities = {one.url: one.priority for one in found.wanted()}
    assert priorities[spanish] > priorities[german]


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
    on_topic, off_topic = "harvest of fruit in the village", "stock market and banks"
    seeds = ("http://a.org/", "http://b.org/")
    for url in seeds:
        found.seed_priority(url)
    for url in seeds:
        found.read(page(url, "http://c.org/", "http://d.org/", text=on_topic))
        found.read(page(url + "second"))
    found.wanted()
    for url, text in (("http://c.org/", on_topic), ("http://d.org/", off_topic)):
        found.read(page(url, f"{url[:-1]}.net/", text=text))
        found.read(page(url + "second"))
    assert [url for url in urls_wanted(found) if "second" not in url] == ["http://c.org.net/"]


def test_a_search_by_topic_refuses_other_sites_without_a_download_and_learns_from_it(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("harvests\nfrutas\n")
    found = search("both", topic=Topic.parse(str(tmp_path / "words.txt"), PAIR))
    told = judged(found)
    for url, language, text in (
        ("http://bi-farm.org/", "eng", "The harvest of the year"),
        ("http://bi-granja.org/", "spa", "La fruta del pueblo"),
        ("http://bi-bank.org/", "eng", "The stock market"),
        ("http://bi-paper.org/", "eng", "harvest " + "news of other things " * 60),
    ):
        found.seed_priority(url)
        found.read(page(url, text=text, language=language))
    assert urls_wanted(found) == ["http://bi-farm.org/second", "http://bi-granja.org/second"]
    off_topic = {"bi-bank.org": Reason.OFF_TOPIC, "bi-paper.org": Reason.OFF_TOPIC}
    assert told == off_topic
    found.read(page("http://bi-farm.org/second"))
    assert told == {**off_topic, "bi-farm.org": Reason.BILINGUAL}


def test_the_simulator_counts_sites_of_the_topic_and_a_search_by_topic_spends_less() -> None:
    topics = [frozenset({"health"} if n < 8 else {"art"}) for n in range(40)]
    nodes = [Node(f"www.s{n}.org", f"Site {n}", "eng", n % 2 == 0, topics=topics[n]) for n in range(40)]
    nodes[0].links = nodes[:0:-1]
    given = (nodes, site_order("both", ADDRESSES), PAIR, nodes[:1], 500)
    topic: dict[str, Any] = {"known_backlinks": 0.5, "seed": 1, "topic": "health"}
    free, restricted = (simulate(*given, **topic, restricted=one) for one in (False, True))
    assert len(free) == len(restricted) == 4
    assert restricted[-1] < free[-1]


@pytest.mark.parametrize("policy", SITE_ORDERS.built_in)
def test_a_link_without_a_word_to_an_address_of_digits_is_followed(policy: str) -> None:
    found = search(policy)
    found.seed_priority("http://a.org/")
    found.read(PageRecord("http://a.org/", "eng", links=(Link("http://192.0.2.7/"),), text="text", outline=OUTLINE))
    found.read(page("http://a.org/second"))
    assert ("http://192.0.2.7/" in urls_wanted(found)) is (policy not in ("obfc", "cobfc"))


def test_a_site_that_redirects_elsewhere_or_gives_no_page_is_judged() -> None:
    found = search("both")
    told = judged(found)
    visit(found, "http://b.org/", "http://c.org/", "http://e.org/", url="http://a.org/")
    found.observe_redirect("http://b.org/", "http://bi.net/")
    found.drop_url("http://c.org/")
    found.observe_redirect("http://e.org/", "http://e.org/home")
    visit(found, url="http://bi.net/")
    found.read(page("http://e.org/home"))
    found.drop_url("http://e.org/homesecond")
    one_language = dict.fromkeys(("a.org", "e.org"), "one_language")
    assert told == {**one_language, "b.org": "other_site", "c.org": "no_page", "bi.net": "bilingual"}
    assert found.unjudged == 0


def test_a_site_is_judged_by_another_seed_or_candidate_if_one_gives_no_page() -> None:
    found = search("both")
    told = judged(found)
    candidates = ["http://old.bi.org/", "http://www.bi.org/", "http://old.c.org/", "http://new.c.org/"]
    found.start(Hop(Way.FORTH, url) for url in candidates)
    for seed in ("http://bi.net/gone", "http://bi.net/moved", "http://bi.net/links"):
        found.seed_priority(seed)
    assert urls_wanted(found) == candidates[::2]
    for url in (*candidates[::2], "http://bi.net/gone"):
        found.drop_url(url)
    assert urls_wanted(found) == candidates[1::2]
    assert found.unjudged == 3
    found.observe_redirect("http://bi.net/moved", "http://elsewhere.org/")
    found.drop_url(candidates[3])
    visit(found, url="http://bi.net/links")
    visit(found, url=candidates[1])
    assert told == {"c.org": "no_page", "bi.net": "bilingual", "bi.org": "bilingual"}
    assert found.unjudged == 0


def test_a_site_is_judged_by_its_first_seed_if_another_one_gives_no_page_before() -> None:
    found = search("both")
    told = judged(found)
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


VISITS = st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(0, 9), max_size=4)), max_size=40)


def numbered(number: int) -> str:
    return f"http://{'bi' if number % 3 == 0 else 'c'}{number}.org/"


@given(VISITS, st.sampled_from([*SITE_ORDERS.built_in]))
def test_no_url_is_wanted_after_it_was_read_and_no_site_judged_twice(
    visits: list[tuple[int, list[int]]], policy: str
) -> None:
    found = search(policy, own_links=True)
    judged: list[str] = []
    found.judged = lambda name, site: judged.append(name)
    read: set[str] = set()
    for number, targets in visits:
        queue = [numbered(number)]
        while queue:
            url = queue.pop()
            found.read(page(url, *map(numbered, targets)))
            read.add(url)
            found.go_back(Hop(Way.BACK, f"{entry}x".replace("bi", "linksto"), entry) for entry in found.found())
            wanted = urls_wanted(found)
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
    chosen = [part for setting in settings for part in ("-s", f"BILINGUAL_{setting}")]
    return ("crawl", "discovery", "-a", "pair=eng-spa", *chosen, *more)


def discover(folder: Path, *more: str) -> str:
    """Run it; what it logs."""
    return str(crawls.ended_well(run_scrapy(folder, *discovery(folder, *more))).stderr)


def column(folder: Path, name: str) -> dict[str, str]:
    """One column of the table of sites, by their names."""
    rows = list(read_tsv(folder / "out" / "sites.tsv"))
    found = {row["site"]: row[name] for row in rows}
    assert len(found) == len(rows)
    return found


VERDICTS = {
    **dict.fromkeys(("127.0.1.1", "127.0.1.2"), "one_language"),
    **dict.fromkeys(("127.0.1.3", "127.0.1.4", "127.0.1.7"), "bilingual"),
    "127.0.1.5": "other_site",
    "127.0.1.6": "no_page",
}


def test_every_site_is_judged_written_and_crawled_in_the_same_process(tmp_path: Path) -> None:
    folder, after = tmp_path, ("-a", "then=crawl", "-s", "BILINGUAL_ALIGN=auto", "-O", "%(name)s.jsonl")
    with web() as servers:
        log = discover(folder, "-a", f"seeds={servers[0].url}/", *after)
    assert column(folder, "verdict") == VERDICTS
    assert column(folder, "found_on")["127.0.1.3"] == f"{servers[0].url}/"
    pair = {column(folder, name)["127.0.1.3"] for name in ("url_a", "url_b")}
    assert pair == {f"{servers[2].url}/", f"{servers[2].url}/es/"}
    assert [column(folder, "way")[f"127.0.1.{n}"] for n in (1, 3)] == ["seed", "forth"]
    summary = crawls.summary(folder)
    assert summary["sites_judged"] == summary["site_candidates"] == 7
    assert (summary["sites_bilingual"], summary["policy"]) == (3, "both")
    assert summary["sites_refused"] == {"one_language": 2, "other_site": 1, "no_page": 1}
    assert "7  sites judged" in log
    assert "127.0.1.3" in (folder / "out" / "report.html").read_text()
    # the seeds of the crawl are the table of the sites, as they are for one that is begun by hand
    pairs = {(row["url_a"], row["url_b"]) for row in read_tsv(folder / "out" / "crawl" / "pairs.tsv")}
    homes = [servers[n].url for n in (2, 3, 6)]
    assert pairs >= {(f"{home}/en/{k}", f"{home}/es/{k}") for home in homes for k in range(3)}
    for name, output in (("discovery", "out"), ("bilingual", "out/crawl")):
        feed = {json.loads(line)["url"] for line in (folder / f"{name}.jsonl").read_text().splitlines()}
        assert feed == {record["url"] for record in read_json_lines(folder / output / "documents.jsonl.gz")}


@pytest.mark.parametrize(("how", "policy"), [(signal.SIGKILL, "both"), (signal.SIGINT, "fc")])
def test_a_discovery_that_was_stopped_is_resumed_without_loss(tmp_path: Path, how: signal.Signals, policy: str) -> None:
    with web(delay=0.05) as servers:
        (tmp_path / "backlinks.tsv").write_text(f"127.0.1.3\t{servers[1].url}/links.html\n")
        job = ("-s", "JOBDIR=job", "-s", "CONCURRENT_REQUESTS=2", "-a", f"policy={policy}")
        given = (*job, "-a", "backlinks=tsv:backlinks.tsv", "-a", f"seeds={servers[0].url}/")
        process = start_scrapy(tmp_path, *discovery(tmp_path, *given))
        servers[2].wait_until_asked(2)
        process.send_signal(how)
        process.communicate(timeout=300)
        discover(tmp_path, *given)
        assert column(tmp_path, "verdict") == VERDICTS
        assert column(tmp_path, "entry")["127.0.1.2"] == f"{servers[1].url}/"
        if policy == "fc":
            return
        assert servers[1].asked["/links.html"]
        asked = sum(server.asked.total() for server in servers)
        discover(tmp_path, *given)
        assert sum(server.asked.total() for server in servers) == asked, "nothing is judged twice"


def test_two_workers_judge_each_site_once(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    with redis_server(tmp_path) as shared, web(delay=0.1) as servers:
        given = ("-a", f"seeds={servers[0].url}/", "-s", f"BILINGUAL_FRONTIER={shared.url}")
        for worker in [start_scrapy(tmp_path, *discovery(folder, *given)) for folder in folders]:
            crawls.end(worker)
    judged = [found for folder in folders for found in column(folder, "verdict").items()]
    assert sorted(judged) == sorted(VERDICTS.items())


def test_seeds_candidates_and_backlinks_may_be_urls_or_hosts_which_are_judged_by_their_http_pages(
    tmp_path: Path,
) -> None:
    with web() as servers:
        bare = [server.url.removeprefix("http://") for server in servers]
        (tmp_path / "candidates.tsv").write_text(f"{servers[2].url}/\n{bare[3]}\n")
        (tmp_path / "backlinks.tsv").write_text(f"127.0.1.3\t{servers[0].url}/\n127.0.1.3\t{bare[6]}\n")
        lists = ("-a", "candidates=tsv:candidates.tsv", "-a", "backlinks=tsv:backlinks.tsv")
        discover(tmp_path, "-a", f"seeds={bare[1]}", *lists, "-a", "policy=obfc")
    assert column(tmp_path, "verdict") == VERDICTS
    ways = column(tmp_path, "way")
    assert [ways[f"127.0.1.{n}"] for n in (2, 3, 4, 1, 7)] == ["seed", "candidate", "candidate", "back", "back"]


def archived(folder: Path, pages: Sequence[tuple[str, str]]) -> list[dict[str, int]]:
    """Write an archive of *pages*, URL and HTML; returns the place of each as the index has it."""
    headers, fetched = [(b"Content-Type", b"text/html")], datetime(2026, 5, 12, tzinfo=UTC)
    writer = WarcWriter(folder / "crawl-data")
    for url, content in pages:
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
        log = discover(tmp_path, "-a", "candidates=cc-index:index.parquet", "-a", f"archive={address}")
    bilingual = dict.fromkeys(("127.0.1.3", "127.0.1.4"), "bilingual")
    assert column(tmp_path, "verdict") == {**bilingual, "127.0.1.2": "parked", "127.0.1.6": "one_language"}
    assert set(column(tmp_path, "pages").values()) == {"eng:3 spa:1"}
    dates = column(tmp_path, "archived")
    assert {name for name in dates if dates[name].startswith("2026-05-12")} == {"127.0.1.2", "127.0.1.3"}
    assert not servers[1].asked, "not even for its robots.txt"
    assert servers[2].asked["/"] == 0
    assert servers[2].asked["/es/"] == servers[2].asked["/robots.txt"] == 1
    assert servers[3].asked["/"] == servers[5].asked["/"] == 1
    assert "'bilingual/archived/missing': 2" in log
    assert crawls.summary(tmp_path)["entry_pages_archived"] == 2


def test_the_archive_of_an_entry_page_is_known_after_a_resume() -> None:
    found = search("both")
    found.recall(fact_of(page("http://bi.org/"), (), "2026-05-12T00:00:00Z", is_backlink=False))
    assert found.sites["bi.org"].archived == "2026-05-12T00:00:00Z"


def test_a_crawl_expects_of_a_site_its_likelihood_times_its_pages_in_the_rarer_language(tmp_path: Path) -> None:
    rows = [
        "big.org\thttp://big.org/\tbilingual\t0.5\teng:1200 spa:300 fra:9",
        "one.org\thttp://one.org/\tbilingual\t1.0\teng:9000",
        "new.org\thttp://new.org/\tbilingual\t0.8\t",
        "not.org\thttp://not.org/\tone_language\t0.1\teng:5 spa:5",
    ]
    table = write_table(tmp_path / "sites.tsv", "site entry verdict likelihood pages", rows)
    one, several = LanguagePairs((PAIR,)), LanguagePairs.parse("eng-spa,eng-fra")
    assert expected_pairs(table, one) == {"big.org": 150, "one.org": 0, "new.org": pytest.approx(0.8 * 150)}
    assert expected_pairs(table, several)["big.org"] == 0.5 * (300 + 9)
    # as a spreadsheet writes it
    table.write_text(table.read_text().replace("eng:1200 spa:300 fra:9", "").replace("eng:9000", ""), "utf-8-sig")
    assert is_table(table)
    assert expected_pairs(table, one) == {"big.org": 0.5, "one.org": 1, "new.org": 0.8}


def parsed(*given: str) -> SiteSearch:
    """The search of a discovery with these arguments, and settings if their names are capitals."""
    chosen = Settings({"BILINGUAL_CONTACT": "mailto:a@b.example"})
    chosen.setmodule("bilingual_crawler.settings", "default")
    arguments = dict(one.split("=", 1) for one in given)
    for name in filter(str.isupper, [*arguments]):
        chosen.set(name, arguments.pop(name))
    return parse_discovery(chosen, **arguments).search


PAIR_AND_SEED = ("pair=eng-spa", "seeds=http://127.0.0.1/")


def test_what_a_discovery_or_the_crawl_after_it_cannot_use_is_named_at_its_start() -> None:
    for arguments, message in (
        (("pair=eng-spa",), "where to start"), (("seeds=http://127.0.0.1/",), "-a pair="),
        (("pair=eng-spa", "candidates=xyz:a"), "candidates=xyz:a: give cc-index"),
        (("pair=eng-spa", "candidates=tsv:missing.tsv"), "missing.tsv"),
        ((*PAIR_AND_SEED, "archive=missing"), "missing: no such folder"), ((*PAIR_AND_SEED, "detector=magic"), "magic"),
        ((*PAIR_AND_SEED, "policy=best"), "policy=best: choose one of both"),
        ((*PAIR_AND_SEED, "then=align"), "then=align: choose one of crawl, or nothing"),
        ((*PAIR_AND_SEED, "topic=the, los"), "topic=the, los: no word in it"),
        ((*PAIR_AND_SEED, "topic=missing.txt"), "topic=missing.txt: there is no such file"),
        ((*PAIR_AND_SEED, "scope=site"), "unknown spider argument scope"),
        ((*PAIR_AND_SEED, "BILINGUAL_PROVIDERS=Cuda"), "BILINGUAL_PROVIDERS=Cuda: this onnxruntime has"),
        ((*PAIR_AND_SEED, "then=crawl", "BILINGUAL_POLICY=gian"), "BILINGUAL_POLICY=gian: choose one of"),
        ((*PAIR_AND_SEED, "then=crawl", "BILINGUAL_POLICY=oracle"), "policy=oracle: set BILINGUAL_ORACLE_ORDER"),
    ):  # fmt: skip
        with pytest.raises(UsageError) as caught:
            parsed(*arguments)
        assert message in str(caught.value)


def test_a_folder_of_url_models_suffices_for_discovery(tmp_path: Path) -> None:
    (tmp_path / "url-language").symlink_to(Path(str(models_folder(None)), "url-language"))
    assert parsed(*PAIR_AND_SEED, f"BILINGUAL_MODELS_DIR={tmp_path}", "BILINGUAL_ALIGN=")


def test_a_command_that_cannot_be_carried_out_ends_with_one_line(tmp_path: Path) -> None:
    for arguments, message in (
        (("-a", "backlinks=tsv:missing.tsv"), "missing.tsv"),
        (("-a", "then=crawl", "-O", "feed.jsonl"), "as in -O '%(name)s.jsonl'"),
    ):
        seed = ("-a", "pair=eng-spa", "-a", "seeds=http://127.0.0.1:1/")
        assert message in crawls.refused(tmp_path, "crawl", "discovery", *seed, *arguments)
