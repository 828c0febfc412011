import json
import lzma
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.frozen_sites import write_frozen
from support.harvest_site import BASE, PAGES, TEXT, build_site
from support.tables import write_table
from support.webserver import run

from benchmarks.report import read_rows
from bilingual_crawler.harvest.plot import plot_results
from bilingual_crawler.harvest.results import (
    Measure,
    Reference,
    Result,
    bootstrap,
    downloads_to,
    oracle_order,
    print_tables,
    worse_than,
    write_deciles,
)
from bilingual_crawler.harvest.run import ResultStore, crawl_command, read_order
from bilingual_crawler.harvest.sites import GoldPair, Site, SiteError, Task, linked_forms, read_site, read_tasks
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.html import outline_of, walk_through
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.policies.baselines import BreadthFirst, LanguageBreadthFirst
from training.common.simulated import FrozenSite, compare, freeze, simulate

LENGTHS = dict.fromkeys((BASE + path for path in PAGES), 1)
PAIR = LanguagePair.parse("eng-isl")
TASK = Task("saga", "eng", "isl", (BASE,))
CHAIN = 40


def build_chain(directory: Path, *names: str) -> Path:
    """Sites in the same format: each page links to the next one, and page 2n + 1 translates page 2n."""
    directory.mkdir()
    for name in names:
        base = f"https://{name}.org/"
        urls = [f"{base}{number}" for number in range(CHAIN)]
        following = zip(urls, [*urls[1:], ""], ["eng", "isl"] * (CHAIN // 2), strict=True)
        pages = {}
        for url, after, lang in following:
            html = f"<html><body><p>{TEXT[lang] * 3}</p><a href='{after}'>{url}</a></body></html>"
            pages[url] = (lang, html, [after])
        write_frozen(directory / name, base, pages, zip(urls[::2], urls[1::2], strict=True))
    tasks = [(name, "eng", "isl", f"https://{name}.org/0") for name in names]
    write_table(directory / "tasks.tsv", "site lang_a lang_b seeds", tasks)
    return directory


@pytest.fixture
def sites(tmp_path: Path) -> Path:
    return build_site(tmp_path / "sites")


@pytest.fixture
def site(sites: Path) -> Site:
    return read_site(sites / "saga")


def urls(*paths: str) -> list[str]:
    return [BASE + path for path in paths]


def result(policy: str, site: str = "s", relative: float = 0.5, **more: Any) -> Result:
    shares = [n / 100 for n in range(101)]
    values = {
        **{"site": site, "lang_a": "eng", "lang_b": "isl", "policy": policy},
        **{"reachable_pages": 100, "gold_pairs": 10, "downloads": 100, "found": 10},
        **{"auc": relative, "relative_auc": relative, "text_auc": relative / 2, "relative_text_auc": relative / 2},
        **{"deciles": tuple(range(1, 11)), "downloads_to": {"50": 50, "80": 80, "90": None}},
        **{"curve": tuple(shares), "text_curve": tuple(share**2 for share in shares)},
    }
    return Result(**{**values, **more})


class TestSites:
    def test_reads_the_shared_format(self, sites: Path, site: Site) -> None:
        assert read_tasks(sites) == [TASK]
        assert str(TASK) == "saga.eng-isl"
        assert site.languages[BASE + "is/"] == "isl"
        assert site.links[BASE + "en/books"] == tuple(urls("en/news", "is/bokin"))
        assert site.links[BASE + "de/mehr"] == ()

    def test_only_reachable_pairs_count(self, site: Site) -> None:
        assert site.reachable([BASE]) == set(urls(*PAGES)) - set(urls("en/island", "is/eyja"))
        partners = site.partners(TASK)
        assert partners[BASE + "is/bokin"] == {BASE + "en/books"}
        assert BASE + "en/island" not in partners
        assert len(partners) == 6
        assert site.partners(Task("saga", "deu", "isl", (BASE,))) == {}

    def test_languages_may_have_any_codes(self, sites: Path, site: Site) -> None:
        tasks, pairs = sites / "tasks.tsv", sites / "saga" / "pairs.tsv.xz"
        tasks.write_text(tasks.read_text().replace("eng\tisl", "en\tice"))
        pairs.write_bytes(lzma.compress(lzma.decompress(pairs.read_bytes()).replace(b"\tisl", b"\tis")))
        (sites / "saga" / "orphans.tsv").write_text(f"{BASE}is/eyja\tis\n")
        assert read_tasks(sites) == [TASK]
        found = read_site(sites / "saga")
        assert found.partners(TASK) == site.partners(TASK)
        assert found.truth(TASK).orphans == {f"{BASE}is/eyja"}
        tasks.write_text(tasks.read_text().replace("ice", "icelang"))
        with pytest.raises(SiteError, match=r"tasks\.tsv: unknown language 'icelang'"):
            read_tasks(sites)

    def test_forms_of_a_page(self, site: Site) -> None:
        assert [site.page(BASE + form) for form in ("is/", "is", "is/#top")] == [BASE + "is/"] * 3
        assert site.page("http://saga.example/en/news") == site.page(BASE + "en/news/") == BASE + "en/news"
        assert site.page(BASE + "gone#x") == BASE + "gone"

    def test_a_folder_without_tasks(self, tmp_path: Path) -> None:
        with pytest.raises(SiteError, match=r"tasks\.tsv"):
            read_tasks(tmp_path)
        utf_16 = "site\tlang_a\tlang_b\tseeds\nsaga\tísl".encode("utf-16")
        for content, message in ((b"site\tlang_a\nx\teng\n", "columns"), (utf_16, r"tasks\.tsv cannot be read.*UTF-8")):
            (tmp_path / "tasks.tsv").write_bytes(content)
            with pytest.raises(SiteError, match=message):
                read_tasks(tmp_path)

    @pytest.mark.parametrize(
        "content",
        [
            None, lzma.compress(b"https://x\teng\t1\t\n" * 9)[:-20],
            b"x\teng\t1\t\xff\n", lzma.compress(b"https://x\teng\n"),
        ],
        ids=["missing", "cut", "no text", "columns"],
    )  # fmt: skip
    def test_a_damaged_site_names_the_file(self, sites: Path, content: bytes | None) -> None:
        (sites / "saga" / "graph.tsv.xz").unlink()
        if content:
            (sites / "saga" / "graph.tsv.xz").write_bytes(content)
        with pytest.raises(SiteError, match=r"graph\.tsv\.xz"):
            read_site(sites / "saga")


class TestCurve:
    def test_by_hand(self, site: Site) -> None:
        order = urls("", "is", "de/", "missing", "en/news", "is/frettir", "is/", "en/books", "is/bokin")
        measured = Reference(site, TASK, LENGTHS).measure("bfs", order)
        assert (measured.reachable_pages, measured.gold_pairs, measured.downloads) == (8, 3, 9)
        # y: 0 1 1 1 1 2 2 2, the ninth download comes after N
        assert measured.auc == pytest.approx(10 / 24)
        assert measured.found == 2
        assert measured.downloads_to == {"50": 6, "80": None, "90": None}
        # 0.8 1.6 2.4 3.2 4.0 4.8 5.6 6.4 7.2 8.0 downloads, rounded
        assert measured.deciles == (0, 1, 1, 1, 1, 1, 2, 2, 2, 2)
        # oracle: home, is/, en/news, is/frettir, en/books, is/bokin: 0 1 1 2 2 3 3 3
        assert measured.relative_auc == pytest.approx(10 / 15)
        assert measured.curve[0] == 0
        assert measured.curve[-1] == pytest.approx(2 / 3, abs=1e-4)

    def test_text_weighs_a_pair_by_its_shorter_page(self, site: Site) -> None:
        lengths = dict.fromkeys(urls("", "is/"), 50) | dict.fromkeys(urls("en/news", "en/books", "is/bokin"), 900)
        reference = Reference(site, TASK, lengths | {BASE + "is/frettir": 100})
        order = urls("", "en/books", "is/bokin", "is/", "en/news", "is/frettir", "de/", "de/mehr")
        measured = reference.measure("bfs", order)
        # 900 at the third download, 50 at the fourth, 100 at the sixth; the oracle takes the three pairs the other
        # way round: home, news, books at the second, fourth and sixth
        assert measured.text_auc == pytest.approx((900 * 6 + 50 * 5 + 100 * 3) / (8 * 1050))
        assert measured.relative_text_auc == pytest.approx((900 * 6 + 50 * 5 + 100 * 3) / (50 * 7 + 100 * 5 + 900 * 3))
        assert measured.text_curve[50] == pytest.approx(950 / 1050, abs=1e-4)
        assert measured.auc == pytest.approx((6 + 5 + 3) / 24)

    def test_pages_that_the_archive_lacks_have_no_text_and_a_task_without_pairs_is_worth_nothing(
        self, site: Site
    ) -> None:
        measured = Reference(site, TASK, {}).measure("bfs", urls("", "is/"))
        assert (measured.text_auc, measured.relative_text_auc, measured.text_curve[100]) == (0, 0, 0)
        assert measured.auc > 0
        measured = Reference(site, Task("saga", "deu", "isl", (BASE,)), LENGTHS).measure("bfs", urls(""))
        assert (measured.auc, measured.relative_auc, measured.gold_pairs) == (0, 0, 0)

    def test_an_early_end_holds_the_last_value_and_a_page_in_two_pairs_counts_for_both(self) -> None:
        measure = Measure({"a": {"b"}, "b": {"a"}}, 5, "")
        curves = [measure.curve(order) for order in ("ab", "aab", "")]
        assert curves == [[0, 1, 1, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 0, 0]]
        partners = {"a": {"A", "B"}, "A": {"a"}, "B": {"a"}}
        measure = Measure(partners, 4, "", lambda *urls: 10 if "B" in urls else 1)
        assert measure.total == 11
        assert [measure.curve(order) for order in ("AxBa", "aAB")] == [[0, 0, 0, 11], [0, 1, 11, 11]]
        assert downloads_to([0, 1, 1, 2, 9], 50, 3) == 4
        assert downloads_to([0, 0], 50, 3) is None

    def test_bootstrap_draws_sites(self) -> None:
        assert bootstrap([result("bfs", "x", 0.2), result("bfs", "x", 0.8)]) == (0.5, 0.5)
        spread = [result("bfs", str(n), n / 10) for n in range(10)]
        low, high = bootstrap(spread)
        assert 0.1 < low < 0.45 < high < 0.8
        assert bootstrap(spread) == (low, high)

    def test_worse_than(self) -> None:
        ours = [result("gain", "x", 0.2), result("gain", "y", 0.8), result("gain", "z", 0.1)]
        assert worse_than(ours, [result("bfs", "x", 0.3), result("bfs", "y", 0.3)]) == 0.5
        assert worse_than(ours, []) is None


class TestOracle:
    def test_no_crawl_order_is_better(self, site: Site) -> None:
        measure = Reference(site, TASK, LENGTHS).by_number
        pages = site.reachable([BASE])

        def allowed(order: Sequence[str]) -> bool:
            known = {BASE}
            for url in order:
                if url not in known:
                    return False
                known.update(site.links[url])
            return True

        orders = (order for order in permutations(sorted(pages)) if order[0] == BASE and allowed(order))
        best = max(measure.auc(measure.curve(order)) for order in orders)
        assert measure.oracle_auc == best

    def test_it_ends_with_the_last_gold_page_and_its_urls_include_the_forms_that_redirect(self, site: Site) -> None:
        assert oracle_order(site, TASK) == urls("", "is/", "en/news", "is/frettir", "en/books", "is/bokin")
        assert linked_forms(site)[BASE + "is/"] == urls("is", "is/index.html")
        assert Reference(site, TASK, LENGTHS).oracle_urls()[:4] == urls("", "is/", "is", "is/index.html")

    @pytest.mark.parametrize(
        ("links", "seeds", "order"),
        [
            pytest.param({"s": "xa", "a": "A"}, "s", "saA", id="a gold page before another page"),
            pytest.param({"s": "abA", "b": "B"}, "s", "saAbB", id="the other half before another gold page"),
            pytest.param({"s": "ba", "a": "A", "b": "B"}, "s", "sbBaA", id="of two gold pages the one found first"),
            pytest.param({"s": "fn", "f": "m", "m": "a", "n": "a", "a": "A"}, "s", "snaA", id="the nearest way"),
            pytest.param({"s": "xy", "x": "aA", "y": "bB"}, "s", "sxaAybB", id="of two ways the first that was found"),
            pytest.param({"s": "pxq", "p": "aA", "x": "a", "q": "bB"}, "s", "spaAqbB", id="no way to what it has"),
            pytest.param({"s": "x", "x": "s"}, "ts", "", id="no gold page"),
            pytest.param({"s": "a", "t": "bA", "b": "B"}, "st", "satAbB", id="the other half is behind another seed"),
            pytest.param({"s": "aAC", "C": "c"}, "s", "saACc", id="pages in two pairs"),
        ],
    )
    def test_orders_by_hand(self, links: dict[str, str], seeds: str, order: str) -> None:
        pages = sorted({*"".join(links), *"".join(links.values()), *seeds})
        pairs = [(a, a.upper()) for a in "abc" if {a, a.upper()} <= {*pages}] + [("a", "C")] * ("C" in pages)
        gold = tuple(GoldPair(a, "eng", b, "isl") for a, b in pairs)
        graph = {page: tuple(links.get(page, "")) for page in pages}
        site = Site(Path(), dict.fromkeys(pages, "eng"), graph, gold, {})
        assert "".join(oracle_order(site, Task("x", "eng", "isl", tuple(seeds)))) == order


class Ranked(BreadthFirst):
    """A policy of fixed priorities by page and link; ``events`` maps a downloaded page to new priorities."""

    def __init__(self, ranks: Mapping[str, float], events: Mapping[str, Mapping[str, float]] | None = None) -> None:
        super().__init__(PAIR)
        self.ranks = ranks
        self.events: Mapping[str, float] = {}
        self.news = events or {}

    def observe_page(self, page: PageRecord, links: Sequence[Link], partner: str | None = None) -> None:
        self.events = self.news.get(page.url, {})

    def priorities(self, page: PageRecord, links: Sequence[Link], scores: object) -> Sequence[float]:
        return [self.ranks.get(page.url + link.url, 0.0) for link in links]

    def changed(self) -> Mapping[str, float]:
        return self.events


def frozen_graph(links: Mapping[str, str]) -> FrozenSite:
    pages = {}
    for url, others in links.items():
        outline = outline_of(walk_through(""), url)
        pages[url] = PageRecord(url, "eng", links=tuple(map(Link, others)), length=1000, outline=outline)
    return FrozenSite(pages, {})


class TestSimulator:
    def test_other_languages_are_expanded_by_breadth_first_or_only_as_seeds(self, sites: Path, site: Site) -> None:
        frozen = freeze(sites / "saga", site.languages)
        order = urls("", "en/news", "en/books", "de/", "is/", "is/bokin", "de/mehr", "is/frettir")
        assert simulate(frozen, [BASE], BreadthFirst(PAIR)) == order
        policy = LanguageBreadthFirst(PAIR)
        assert BASE + "de/mehr" not in simulate(frozen, [BASE], policy)
        assert simulate(frozen, urls("de/"), policy) == urls("de/", "de/mehr")

    def test_a_link_only_raises_news_can_lower_and_a_redirect_takes_the_turn_of_what_led_to_it(self) -> None:
        ranks = {"ab": 9.0, "ac": 3.0, "ad": 2.0, "bc": 1.0, "bd": 4.0}
        assert simulate(frozen_graph({"a": "bcd", "b": "cd", "c": "", "d": ""}), "a", Ranked(ranks)) == list("abdc")
        lowered = Ranked({"ab": 3.0, "ac": 2.0, "ad": 1.0}, {"b": {"c": 0.5, "a": 7.0}})
        assert simulate(frozen_graph({"a": "bcd", "b": "", "c": "", "d": ""}), "a", lowered) == list("abdc")
        pages = frozen_graph({"a": "bc", "c": "", "d": ""}).pages
        assert simulate(FrozenSite(pages, {"b": "d"}), "a", Ranked({})) == list("adc")

    def test_only_the_first_downloads_count(self, sites: Path) -> None:
        observed: list[str] = []

        class Watched(BreadthFirst):
            def observe_page(self, page: PageRecord, links: Sequence[Link], partner: str | None = None) -> None:
                observed.append(page.url)

        def policies(pair: LanguagePair) -> dict[str, Watched]:
            return {"bfs": Watched(pair)}

        # the pairs so far: 0 0 0 0 1 2; of the oracle 0 1 1 2 2 3
        assert compare(sites, [TASK], policies, first=6) == {"saga.eng-isl": {"bfs": pytest.approx(3 / 9)}}
        assert observed == urls("", "en/news", "en/books", "de/", "is/", "is/bokin")
        assert compare(sites, [TASK], policies, first=1) == {}, "one page is no pair"


class TestStore:
    def test_results_of_earlier_runs_stay(self, tmp_path: Path) -> None:
        path = tmp_path / "out" / "results.json"
        ResultStore(path).add(result("bfs", relative=0.1))
        store = ResultStore(path)
        store.add(result("cld2", relative=0.2))
        store.add(result("bfs", relative=0.3))
        rows = json.loads(path.read_text())
        assert [(row["policy"], row["auc"]) for row in rows] == [("bfs", 0.3), ("cld2", 0.2)]
        assert {"site", "lang_a", "lang_b", "reachable_pages", "gold_pairs", "downloads", "found"} <= rows[0].keys()
        assert [r.relative_auc for r in ResultStore(path).results] == [0.3, 0.2]

    def test_a_table_of_the_docs_has_a_row_for_each_policy(self, tmp_path: Path) -> None:
        store = ResultStore(tmp_path / "results.json")
        for one in (result("bfs", relative=0.1), result("bfs", "t", relative=0.3), result("gain", relative=0.8)):
            store.add(one)
        bfs, gain = read_rows(tmp_path)
        assert (bfs["name"], gain["name"]) == ("bfs", "gain")
        assert (bfs["auc"], bfs["worst"], bfs["complete"]) == (pytest.approx(0.2), 0.1, 2)
        assert (gain["to_50"], gain["to_80"], gain["to_90"]) == (0.5, 0.8, 1.0)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            *((content, r"results\.json") for content in ("", "{", "[1]", '[{"site": 1}]')),
            # not measured by text
            (json.dumps([asdict(result("bfs"))]).replace("relative_text", "old"), "another --out.*relative_text_auc"),
        ],
    )
    def test_a_file_that_is_damaged_or_old_is_named(self, tmp_path: Path, content: str, message: str) -> None:
        (tmp_path / "results.json").write_text(content)
        with pytest.raises(SiteError, match=message):
            ResultStore(tmp_path / "results.json")


def printed(results: list[Result]) -> str:
    """The tables of *results* on a terminal."""
    console = Console(record=True, width=80, force_terminal=False)
    print_tables(results, console)
    return console.export_text()


def rows_of(results: list[Result]) -> list[list[str]]:
    return [words for line in printed(results).splitlines() if (words := line.split())]


class TestReports:
    def test_tables_fit_a_terminal(self) -> None:
        results = [result(p, s, r) for s in "xy" for p, r in (("bfs", 0.4), ("gain", 0.3), ("oracle", 1.0))]
        results.append(result("gain", "z", 0.9, error="exit status 1\nKeyError: [boom]"))
        text = printed(results)
        row = next(line.split() for line in text.splitlines() if line.strip().startswith("gain"))
        assert row == ["gain", "3", "0.500", row[3], "0.300", "0.250", "100%", "50/80/100", "3"]
        assert "…" not in text
        assert "KeyError: [boom]" in text

    def test_false_pairs_lower_the_precision_of_a_policy(self) -> None:
        false = result("bfs", "x", judged=10, right=9, paired=8, sure_and_false=1, orphans=4, orphans_paired=1)
        orphans = {"orphans": 6, "orphans_paired": 5, "sure_and_false": 7}
        rows = rows_of([false, result("bfs", "y", 0.0, gold_pairs=0, judged=10, **orphans), result("gain", "x")])
        assert ["bfs", "20", "0.450", "0.000", "0.800", "6", "of", "10", "8"] in rows
        assert [row[0] for row in rows].count("gain") == 1

    def test_nothing_to_harvest_where_nothing_is_translated(self, tmp_path: Path) -> None:
        nothing = result("bfs", "y", 0.0, gold_pairs=0)
        assert ["bfs", "1", "0.500"] in [row[:3] for row in rows_of([nothing, result("bfs", "x", 0.5)])]
        printed([nothing])
        write_deciles([nothing], tmp_path / "deciles.tsv")
        assert len((tmp_path / "deciles.tsv").read_text().splitlines()) == 1

    def test_where_crawls_ended_and_what_they_estimated(self) -> None:
        def ended(site: str, found: int, low: float, gold_pairs: int = 10, downloads: int = 30) -> Result:
            estimate = {"remaining": 1.0, "share": 0.9, "low": low, "high": 1.0}
            counts = {"found": found, "gold_pairs": gold_pairs, "downloads": downloads}
            return result("gain", site, until=0.98, estimate=estimate, **counts)

        barren = [ended(site, 0, 0.0, 0, downloads) for site, downloads in (("y", 40), ("z", 90))]
        rows = rows_of([ended("x", 9, 0.8), ended("w", 5, 0.8), *barren])
        ends = "gain 0.700 0.500 0.300 0.900 0.700 1 of 2 90, 65"
        assert [" ".join(row) for row in rows if row[:2] == ["gain", "0.700"]] == [ends]

    def test_plot(self, tmp_path: Path) -> None:
        results = [result(policy, str(n)) for n in range(3) for policy in ("bfs", "new", "oracle")]
        path = plot_results(results, tmp_path / "out" / "harvest.png")
        assert path.read_bytes().startswith(b"\x89PNG")


def scrapy_harvest(*arguments: str | Path, status: int = 0) -> str:
    """What ``scrapy harvest`` prints that ends with *status*."""
    root = Path(__file__).parent.parent
    done = run(root, [sys.executable, "-m", "scrapy", "harvest", *map(str, arguments)], timeout=300)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status < 2 else done.stdout + done.stderr


class TestCommand:
    def test_end_to_end(self, sites: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        # a policy that is given twice is measured once
        given = ("--policies", "bfs,cld2,oracle,bfs", "--jobs", "2", "-s", "BILINGUAL_LINK_SOURCES=a,area")
        assert "oracle" in scrapy_harvest(sites, *given, "--out", out)
        results = json.loads((out / "results.json").read_text())
        rows = {row["policy"]: row for row in results}
        assert len(rows) == len(results) == 3
        header, *deciles = (line.split("\t") for line in (out / "deciles.tsv").read_text().splitlines())
        assert header[:4] == ["pair", "policy", "tasks", "relative_auc"]
        assert {line[1]: line[-1] for line in deciles} == dict.fromkeys(rows, "100.0")
        site = read_site(sites / "saga")
        frozen = freeze(sites / "saga", site.languages)
        lengths = {url: page.length for url, page in frozen.pages.items()}
        for policy in rows:
            order = (out / "orders" / f"saga.eng-isl.{policy}.tsv").read_text().split()
            assert len(order) == rows[policy]["downloads"]
            measured = Reference(site, TASK, lengths).measure(policy, order)
            assert (measured.auc, measured.text_auc) == (rows[policy]["auc"], rows[policy]["text_auc"])
        assert (rows["bfs"]["downloads"], rows["cld2"]["downloads"]) == (8, 7)
        assert rows["oracle"]["relative_auc"] == rows["oracle"]["relative_text_auc"] == 1
        assert rows["bfs"]["found"] == rows["cld2"]["found"] == 3
        crawled = read_order(out / "runs" / "saga.eng-isl.bfs" / "crawl.tsv")
        assert crawled == (simulate(frozen, [BASE], BreadthFirst(PAIR)), 1)
        assert rows["bfs"]["missing"] == 1
        assert (out / "harvest.png").stat().st_size > 10_000

    def test_the_row_that_a_crash_has_cut_off_is_no_download(self, tmp_path: Path) -> None:
        log = tmp_path / "crawl.tsv"
        log.write_text(f"time\tstatus\turl\tlanguage\nnow\t200\t{BASE}\teng\nnow\t404\t{BASE}x\t\nno")
        assert read_order(log) == ([BASE], 1)

    def test_crawls_that_end_by_themselves(self, sites: Path, tmp_path: Path) -> None:
        given = (sites, "--policies", "gain", "--out", tmp_path / "out", "--until")
        assert "Where the crawls ended" in scrapy_harvest(*given, "0.98")
        (row,) = json.loads((tmp_path / "out" / "results.json").read_text())
        assert row["until"] == 0.98
        assert row["estimate"]["low"] <= row["estimate"]["share"] <= row["estimate"]["high"] == 1
        assert "holds crawls with --until 0.98: choose another --out" in scrapy_harvest(*given, "0.9", status=2)

    def test_a_failing_crawl_is_reported(self, sites: Path, tmp_path: Path) -> None:
        given = ("--policies", "bfs", "--out", tmp_path / "out", "-s", "SCHEDULER=no.such.Scheduler")
        assert "failed saga.eng-isl bfs" in scrapy_harvest(sites, *given, status=1)
        (row,) = json.loads((tmp_path / "out" / "results.json").read_text())
        assert row["error"]
        assert row["relative_auc"] == 0

    def test_a_site_without_pages(self, sites: Path, tmp_path: Path) -> None:
        (sites / "saga" / "pages.warc.xz").unlink()
        said = scrapy_harvest(sites, "--policies", "bfs", "--out", tmp_path / "out", status=2)
        assert "saga: no *.warc" in said
        assert "Traceback" not in said

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--policies", "best"], "--policies=best: choose one of bfs,"), (["--site", "nowhere"], "nowhere"),
            (["--pairs", "en-is,eng-mlt"], "no task to run: eng-mlt is not among the tasks"),
            (["--pairs", "eng-xyzzy"], "--pairs=eng-xyzzy: unknown language 'xyzzy'"), ([], "SITES_DIR"),
            (["--until", "2"], "--until=2: give a share"), (["--together", "fair"], "--together=fair: choose"),
            (["--tasks", "0"], "--tasks=0: give a whole number of 1 or more"),
            (["--together", "--tasks", "0"], "--tasks=0: give a whole number of 1 or more"),
        ],
    )  # fmt: skip
    def test_wrong_arguments(self, sites: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
        where: list[str | Path] = [sites, "--out", tmp_path / "out"] if arguments else []
        assert message in scrapy_harvest(*where, *arguments, status=2)

    def test_all_sites_as_one_crawl_or_one_alone_if_only_it_is_asked_for(self, tmp_path: Path) -> None:
        sites, out, alone = build_chain(tmp_path / "sites", "saga", "edda"), tmp_path / "out", tmp_path / "alone"
        # what is given twice is measured once
        given = ("--together", "even,sequential,even", "--policies", "bfs,bfs", "--jobs", "2")
        assert "even" in scrapy_harvest(sites, *given, "--out", out)
        even, sequential = json.loads((out / "together.json").read_text())
        assert (even["pair"], even["policy"], even["budget"]) == ("eng-isl", "bfs", "even")
        assert (even["reachable_pages"], even["gold_pairs"]) == (2 * CHAIN, CHAIN)
        # 8 of 80 pages: 4 pairs of one site, or 2 of each
        assert even["shares"][-1] == sequential["shares"][-1] == 4 / CHAIN
        for name, hosts in (("even", ["saga.org", "edda.org"] * 4), ("sequential", ["saga.org"] * 8)):
            order, _ = read_order(out / "runs" / f"together.eng-isl.bfs.{name}" / "crawl.tsv")
            assert [url.split("/")[2] for url in order[:8]] == hosts
        scrapy_harvest(sites, "--together", "even", "--site", "edda", "--policies", "bfs", "--out", alone)
        (row,) = json.loads((alone / "together.json").read_text())
        assert (row["reachable_pages"], row["gold_pairs"]) == (CHAIN, CHAIN / 2)
        order, _ = read_order(alone / "runs" / "together.eng-isl.bfs.even" / "crawl.tsv")
        assert {url.split("/")[2] for url in order} == {"edda.org"}

    def test_settings_are_handed_on(self, sites: Path, tmp_path: Path) -> None:
        settings = ("BILINGUAL_BRIDGE=0.2", "BILINGUAL_LINK_SOURCES=a,area")
        command = crawl_command({"pair": TASK.pair}, TASK.seeds, [sites / "saga"], tmp_path, settings)
        assert {*settings, f"BILINGUAL_SCOPE_PREFIXES={BASE},https://saga.pages.example/saga/"} <= set(command)
        assert (tmp_path / "seeds.txt").read_text() == f"{BASE}\n"
