from __future__ import annotations

import json
import lzma
import sys
from dataclasses import asdict, replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from support.frozen_sites import write_frozen
from support.harvest_site import BASE, PAGES, TEXT, build_site
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from subprocess import CompletedProcess


LENGTHS = dict.fromkeys((BASE + path for path in PAGES), 1)
PAIR = LanguagePair.parse("eng-isl")
TASK = Task("saga", "eng", "isl", (BASE,))


CHAIN = 40


def build_chain(directory: Path, *names: str) -> Path:
    """Sites in the same format: each page links to the next one, and page 2n + 1 translates page 2n."""
    directory.mkdir()
    tasks = [("site", "lang_a", "lang_b", "seeds")]
    for name in names:
        base = f"https://{name}.org/"
        urls = [f"{base}{number}" for number in range(CHAIN)]
        tasks.append((name, "eng", "isl", urls[0]))
        following = zip(urls, [*urls[1:], ""], ["eng", "isl"] * (CHAIN // 2), strict=True)
        pages = {
            url: (lang, f"<html><body><p>{TEXT[lang] * 3}</p><a href='{after}'>{url}</a></body></html>", [after])
            for url, after, lang in following
        }
        write_frozen(directory / name, base, pages, zip(urls[::2], urls[1::2], strict=True))
    (directory / "tasks.tsv").write_text("".join("\t".join(row) + "\n" for row in tasks))
    return directory


@pytest.fixture
def sites(tmp_path: Path) -> Path:
    return build_site(tmp_path / "sites")


@pytest.fixture
def site(sites: Path) -> Site:
    return read_site(sites / "saga")


def urls(*paths: str) -> list[str]:
    return [BASE + path for path in paths]


def graph_site(
    links: Mapping[str, Sequence[str]],
    pairs: Iterable[tuple[str, str]],
    languages: Mapping[str, str] | None = None,
) -> Site:
    gold = tuple(GoldPair(a, "eng", b, "isl") for a, b in pairs)
    return Site(Path(), languages or dict.fromkeys(links, "eng"), {u: tuple(v) for u, v in links.items()}, gold, {})


def result(policy: str, site: str = "s", relative: float = 0.5, error: str | None = None) -> Result:
    return Result(
        site=site,
        lang_a="eng",
        lang_b="isl",
        policy=policy,
        reachable_pages=100,
        gold_pairs=10,
        downloads=100,
        found=10,
        auc=relative,
        relative_auc=relative,
        text_auc=relative / 2,
        relative_text_auc=relative / 2,
        deciles=tuple(range(1, 11)),
        downloads_to={"50": 50, "80": 80, "90": None},
        error=error,
        curve=tuple(n / 100 for n in range(101)),
        text_curve=tuple((n / 100) ** 2 for n in range(101)),
    )


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

    @pytest.mark.parametrize("form", ["is/", "is", "is/#top"])
    def test_forms_of_a_page(self, site: Site, form: str) -> None:
        assert site.page(BASE + form) == BASE + "is/"

    def test_forms_by_scheme_and_slash(self, site: Site) -> None:
        assert site.page("http://saga.example/en/news") == BASE + "en/news"
        assert site.page(BASE + "en/news/") == BASE + "en/news"
        assert site.page(BASE + "gone#x") == BASE + "gone"

    def test_a_folder_without_tasks(self, tmp_path: Path) -> None:
        with pytest.raises(SiteError, match=r"tasks\.tsv"):
            read_tasks(tmp_path)
        (tmp_path / "tasks.tsv").write_text("site\tlang_a\nx\teng\n")
        with pytest.raises(SiteError, match="columns"):
            read_tasks(tmp_path)
        (tmp_path / "tasks.tsv").write_bytes("site\tlang_a\tlang_b\tseeds\nsaga\tísl".encode("utf-16"))
        with pytest.raises(SiteError, match=r"tasks\.tsv cannot be read.*UTF-8"):
            read_tasks(tmp_path)

    @pytest.mark.parametrize("damage", ["missing", "cut", "no text", "columns"])
    def test_a_damaged_site_names_the_file(self, sites: Path, damage: str) -> None:
        path = sites / "saga" / "graph.tsv.xz"
        match damage:
            case "missing":
                path.unlink()
            case "cut":
                path.write_bytes(path.read_bytes()[:-20])
            case "no text":
                path.write_bytes(b"https://x\teng\t1\t\xff\n")
            case "columns":
                path.write_bytes(lzma.compress(b"https://x\teng\n"))
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

    def test_pages_that_the_archive_lacks_have_no_text(self, site: Site) -> None:
        measured = Reference(site, TASK, {}).measure("bfs", urls("", "is/"))
        assert (measured.text_auc, measured.relative_text_auc, measured.text_curve[100]) == (0, 0, 0)
        assert measured.auc > 0

    def test_an_early_end_holds_the_last_value(self) -> None:
        measure = Measure({"a": {"b"}, "b": {"a"}}, 5, "")
        assert measure.curve("ab") == [0, 1, 1, 1, 1]
        assert measure.curve("aab") == [0, 0, 1, 1, 1]
        assert measure.curve("") == [0, 0, 0, 0, 0]

    def test_a_page_in_two_pairs_counts_for_both(self) -> None:
        partners = {"a": {"A", "B"}, "A": {"a"}, "B": {"a"}}
        measure = Measure(partners, 4, "", lambda *urls: 10 if "B" in urls else 1)
        assert measure.total == 11
        assert measure.curve("AxBa") == [0, 0, 0, 11]
        assert measure.curve("aAB") == [0, 1, 11, 11]

    def test_downloads_to(self) -> None:
        assert downloads_to([0, 1, 1, 2, 9], 50, 3) == 4
        assert downloads_to([0, 0], 50, 3) is None

    def test_a_task_without_pairs_is_worth_nothing(self, site: Site) -> None:
        measured = Reference(site, Task("saga", "deu", "isl", (BASE,)), LENGTHS).measure("bfs", urls(""))
        assert (measured.auc, measured.relative_auc, measured.gold_pairs) == (0, 0, 0)

    def test_bootstrap_draws_sites(self) -> None:
        same = [result("bfs", "x", 0.2), result("bfs", "x", 0.8)]
        assert bootstrap(same) == (0.5, 0.5)
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

    def test_it_ends_with_the_last_gold_page(self, site: Site) -> None:
        expected = urls("", "is/", "en/news", "is/frettir", "en/books", "is/bokin")
        assert oracle_order(site, TASK) == expected

    def test_its_urls_include_the_forms_that_redirect(self, site: Site) -> None:
        forms = linked_forms(site)
        assert forms[BASE + "is/"] == urls("is", "is/index.html")
        assert Reference(site, TASK, LENGTHS).oracle_urls()[:4] == urls("", "is/", "is", "is/index.html")

    @pytest.mark.parametrize(
        ("links", "seeds", "order"),
        [
            pytest.param({"s": "xa", "a": "A"}, "s", "saA", id="a gold page before another page"),
            pytest.param({"s": "abA", "b": "B"}, "s", "saAbB", id="the other half before another gold page"),
            pytest.param(
                {"s": "ba", "a": "A", "b": "B"}, "s", "sbBaA", id="of two gold pages the first that was found"
            ),
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
        site = graph_site({page: list(links.get(page, "")) for page in pages}, pairs)
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
    pages = {
        url: PageRecord(
            url, "eng", links=tuple(map(Link, others)), length=1000, outline=outline_of(walk_through(""), url)
        )
        for url, others in links.items()
    }
    return FrozenSite(pages, {})


class TestSimulator:
    @pytest.fixture
    def frozen(self, sites: Path, site: Site) -> FrozenSite:
        return freeze(sites / "saga", site.languages)

    def test_breadth_first(self, frozen: FrozenSite) -> None:
        assert simulate(frozen, [BASE], BreadthFirst(PAIR)) == urls(
            "", "en/news", "en/books", "de/", "is/", "is/bokin", "de/mehr", "is/frettir"
        )

    def test_other_languages_are_expanded_only_if_they_are_seeds(self, frozen: FrozenSite) -> None:
        policy = LanguageBreadthFirst(PAIR)
        assert BASE + "de/mehr" not in simulate(frozen, [BASE], policy)
        assert simulate(frozen, urls("de/"), policy) == urls("de/", "de/mehr")

    def test_a_link_only_raises(self) -> None:
        ranks = {"ab": 9.0, "ac": 3.0, "ad": 2.0, "bc": 1.0, "bd": 4.0}
        assert simulate(frozen_graph({"a": "bcd", "b": "cd", "c": "", "d": ""}), "a", Ranked(ranks)) == list("abdc")

    def test_a_redirect_takes_the_turn_of_what_led_to_it(self) -> None:
        pages = frozen_graph({"a": "bc", "c": "", "d": ""}).pages
        assert simulate(FrozenSite(pages, {"b": "d"}), "a", Ranked({})) == list("adc")

    def test_news_can_lower(self) -> None:
        ranks = {"ab": 3.0, "ac": 2.0, "ad": 1.0}
        events = {"b": {"c": 0.5, "a": 7.0}}
        site = frozen_graph({"a": "bcd", "b": "", "c": "", "d": ""})
        assert simulate(site, "a", Ranked(ranks, events)) == list("abdc")

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

    @pytest.mark.parametrize("content", ["", "{", "[1]", '[{"site": 1}]'])
    def test_a_damaged_file_is_named(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "results.json"
        path.write_text(content)
        with pytest.raises(SiteError, match=r"results\.json"):
            ResultStore(path)

    def test_results_that_were_not_measured_by_text_need_another_folder(self, tmp_path: Path) -> None:
        row = asdict(result("bfs"))
        del row["relative_text_auc"]
        path = tmp_path / "results.json"
        path.write_text(json.dumps([row]))
        with pytest.raises(SiteError, match=r"another --out.*relative_text_auc"):
            ResultStore(path)


class TestReports:
    def test_tables_fit_a_terminal(self) -> None:
        results = [result(p, s, r) for s in "xy" for p, r in (("bfs", 0.4), ("gain", 0.3), ("oracle", 1.0))]
        results.append(result("gain", "z", 0.9, error="exit status 1\nKeyError: [boom]"))
        console = Console(record=True, width=80, force_terminal=False)
        print_tables(results, console)
        text = console.export_text()
        line = next(line for line in text.splitlines() if line.strip().startswith("gain"))
        assert line.split() == ["gain", "3", "0.500", *line.split()[3:4], "0.300", "0.250", "100%", "50/80/100", "3"]
        assert "…" not in text
        assert "KeyError: [boom]" in text

    def test_false_pairs_lower_the_precision_of_a_policy(self) -> None:
        found = [
            replace(result("bfs", "x"), judged=10, right=9, paired=8, sure_and_false=1, orphans=4, orphans_paired=1),
            replace(result("bfs", "y", 0.0), gold_pairs=0, judged=10, orphans=6, orphans_paired=5, sure_and_false=7),
            result("gain", "x"),
        ]
        console = Console(record=True, width=80, force_terminal=False)
        print_tables(found, console)
        rows = [line.split() for line in console.export_text().splitlines()]
        assert ["bfs", "20", "0.450", "0.000", "0.800", "6", "of", "10", "8"] in rows
        assert [row[0] for row in rows if row].count("gain") == 1

    def test_nothing_to_harvest_where_nothing_is_translated(self, tmp_path: Path) -> None:
        nothing = replace(result("bfs", "y", 0.0), gold_pairs=0)
        console = Console(record=True, width=80, force_terminal=False)
        print_tables([nothing, result("bfs", "x", 0.5)], console)
        assert ["bfs", "1", "0.500"] in [line.split()[:3] for line in console.export_text().splitlines()]
        print_tables([nothing], console)
        write_deciles([nothing], tmp_path / "deciles.tsv")
        assert len((tmp_path / "deciles.tsv").read_text().splitlines()) == 1

    def test_where_crawls_ended_and_what_they_estimated(self) -> None:
        def ended(site: str, found: int, low: float, high: float) -> Result:
            estimate = {"remaining": 1.0, "share": 0.9, "low": low, "high": high}
            done = replace(result("gain", site), until=0.98, estimate=estimate)
            return replace(done, gold_pairs=10, found=found, downloads=30, reachable_pages=100)

        barren = [replace(ended(site, 0, 0, 1), gold_pairs=0, downloads=n) for site, n in (("y", 40), ("z", 90))]
        results = [ended("x", 9, 0.8, 1.0), ended("w", 5, 0.8, 1.0), *barren]
        console = Console(record=True, width=100, force_terminal=False)
        print_tables(results, console)
        rows = [line.split() for line in console.export_text().splitlines()]
        ends = [["gain", "0.700", "0.500", "0.300", "0.900", "0.700", "1", "of", "2", "90,", "65"]]
        assert [row for row in rows if row[:2] == ["gain", "0.700"]] == ends

    def test_plot(self, tmp_path: Path) -> None:
        pairs = [("eng", "isl"), ("isl", "eng"), ("eng", "fin")]
        results = [result(policy, str(n)) for n, _ in enumerate(pairs) for policy in ("bfs", "new", "oracle")]
        path = plot_results(results, tmp_path / "out" / "harvest.png")
        assert path.read_bytes().startswith(b"\x89PNG")


def scrapy_harvest(*arguments: str | Path) -> CompletedProcess[str]:
    root = Path(__file__).parent.parent
    return run(root, [sys.executable, "-m", "scrapy", "harvest", *map(str, arguments)], timeout=300)


class TestCommand:
    def test_end_to_end(self, sites: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        done = scrapy_harvest(
            sites, "--policies", "bfs,cld2,oracle", "--out", out, "-s", "BILINGUAL_LINK_SOURCES=a,area"
        )
        assert done.returncode == 0, done.stdout + done.stderr
        rows = {row["policy"]: row for row in json.loads((out / "results.json").read_text())}
        header, *deciles = (line.split("\t") for line in (out / "deciles.tsv").read_text().splitlines())
        assert header[:4] == ["pair", "policy", "tasks", "relative_auc"]
        assert {line[1]: line[-1] for line in deciles} == dict.fromkeys(rows, "100.0")
        site = read_site(sites / "saga")
        lengths = {url: page.length for url, page in freeze(sites / "saga", site.languages).pages.items()}
        for policy in rows:
            order = (out / "orders" / f"saga.eng-isl.{policy}.tsv").read_text().split()
            assert len(order) == rows[policy]["downloads"]
            measured = Reference(site, TASK, lengths).measure(policy, order)
            assert (measured.auc, measured.text_auc) == (rows[policy]["auc"], rows[policy]["text_auc"])
        assert rows["bfs"]["downloads"] == 8
        assert rows["cld2"]["downloads"] == 7
        assert rows["oracle"]["relative_auc"] == rows["oracle"]["relative_text_auc"] == 1
        assert rows["bfs"]["found"] == rows["cld2"]["found"] == 3
        crawled = read_order(out / "runs" / "saga.eng-isl.bfs" / "crawl.tsv")
        frozen = freeze(sites / "saga", site.languages)
        assert crawled == (simulate(frozen, [BASE], BreadthFirst(PAIR)), 1)
        assert rows["bfs"]["missing"] == 1
        assert (out / "harvest.png").stat().st_size > 10_000
        assert "oracle" in done.stdout

    def test_the_row_that_a_crash_has_cut_off_is_no_download(self, tmp_path: Path) -> None:
        log = tmp_path / "crawl.tsv"
        log.write_text(f"time\tstatus\turl\tlanguage\nnow\t200\t{BASE}\teng\nnow\t404\t{BASE}x\t\nno")
        assert read_order(log) == ([BASE], 1)

    def test_crawls_that_end_by_themselves(self, sites: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        done = scrapy_harvest(sites, "--policies", "gain", "--until", "0.98", "--out", out)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Where the crawls ended" in done.stdout
        (row,) = json.loads((out / "results.json").read_text())
        assert row["until"] == 0.98
        assert row["estimate"]["low"] <= row["estimate"]["share"] <= row["estimate"]["high"] == 1
        refused = scrapy_harvest(sites, "--policies", "gain", "--until", "0.9", "--out", out)
        assert refused.returncode == 2
        assert "holds crawls with --until 0.98: choose another --out" in refused.stderr

    def test_a_failing_crawl_is_reported(self, sites: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        done = scrapy_harvest(sites, "--policies", "bfs", "--out", out, "-s", "SCHEDULER=no.such.Scheduler")
        assert done.returncode == 1
        assert "failed saga.eng-isl bfs" in done.stdout
        (row,) = json.loads((tmp_path / "out" / "results.json").read_text())
        assert row["error"]
        assert row["relative_auc"] == 0

    def test_a_site_without_pages(self, sites: Path, tmp_path: Path) -> None:
        (sites / "saga" / "pages.warc.xz").unlink()
        done = scrapy_harvest(sites, "--policies", "bfs", "--out", tmp_path / "out")
        assert done.returncode == 2
        assert "saga: no *.warc" in done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--policies", "best"], "--policies=best: choose one of bfs,"),
            (["--site", "nowhere"], "nowhere"),
            (["--pairs", "en-is,eng-mlt"], "no task to run: eng-mlt is not among the tasks"),
            (["--pairs", "eng-xyzzy"], "--pairs=eng-xyzzy: unknown language 'xyzzy'"),
            (["--until", "2"], "--until=2: give a share"),
            (["--tasks", "0"], "--tasks=0: give a whole number of 1 or more"),
            (["--together", "--tasks", "0"], "--tasks=0: give a whole number of 1 or more"),
            ([], "SITES_DIR"),
        ],
    )
    def test_wrong_arguments(self, sites: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
        where: list[str | Path] = [sites, "--out", tmp_path / "out"] if arguments else []
        done = scrapy_harvest(*where, *arguments)
        assert done.returncode == 2
        assert message in done.stdout + done.stderr

    def test_all_sites_as_one_crawl(self, tmp_path: Path) -> None:
        sites = build_chain(tmp_path / "sites", "saga", "edda")
        out = tmp_path / "out"
        done = scrapy_harvest(sites, "--together", "even,sequential", "--policies", "bfs", "--out", out)
        assert done.returncode == 0, done.stdout + done.stderr
        even, sequential = json.loads((out / "together.json").read_text())
        assert (even["pair"], even["policy"], even["budget"]) == ("eng-isl", "bfs", "even")
        assert even["reachable_pages"] == 2 * CHAIN
        assert even["gold_pairs"] == CHAIN
        # 8 of 80 pages: 4 pairs of one site, or 2 of each
        assert even["shares"][-1] == sequential["shares"][-1] == 4 / CHAIN
        orders = [
            read_order(out / "runs" / f"together.eng-isl.bfs.{name}" / "crawl.tsv")[0]
            for name in ("even", "sequential")
        ]
        hosts = [[url.split("/")[2] for url in order[:8]] for order in orders]
        assert hosts == [["saga.org", "edda.org"] * 4, ["saga.org"] * 8]
        assert "even" in done.stdout

    def test_a_policy_or_budget_given_twice_is_measured_once(self, tmp_path: Path) -> None:
        sites = build_chain(tmp_path / "sites", "saga")
        done = scrapy_harvest(sites, "--policies", "bfs,bfs", "--jobs", "2", "--out", tmp_path / "out")
        assert done.returncode == 0, done.stdout + done.stderr
        given = ("--together", "even,even", "--policies", "bfs,bfs", "--jobs", "2", "--out", tmp_path / "out")
        done = scrapy_harvest(sites, *given)
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(json.loads((tmp_path / "out" / "together.json").read_text())) == 1

    def test_one_site_alone_is_crawled_if_only_it_is_asked_for(self, tmp_path: Path) -> None:
        sites = build_chain(tmp_path / "sites", "saga", "edda")
        out = tmp_path / "out"
        given = ("--together", "even", "--site", "edda", "--policies", "bfs", "--out", out)
        done = scrapy_harvest(sites, *given)
        assert done.returncode == 0, done.stdout + done.stderr
        (row,) = json.loads((out / "together.json").read_text())
        assert (row["reachable_pages"], row["gold_pairs"]) == (CHAIN, CHAIN / 2)
        order, _ = read_order(out / "runs" / "together.eng-isl.bfs.even" / "crawl.tsv")
        assert {url.split("/")[2] for url in order} == {"edda.org"}

    def test_a_budget_that_there_is_not(self, sites: Path, tmp_path: Path) -> None:
        done = scrapy_harvest(sites, "--together", "fair", "--out", tmp_path / "out")
        assert done.returncode == 2
        assert "--together=fair: choose" in done.stderr

    def test_settings_are_handed_on(self, sites: Path, tmp_path: Path) -> None:
        settings = ("BILINGUAL_BRIDGE=0.2", "BILINGUAL_LINK_SOURCES=a,area")
        command = crawl_command({"pair": TASK.pair}, TASK.seeds, [sites / "saga"], tmp_path, settings)
        assert "BILINGUAL_BRIDGE=0.2" in command
        assert "BILINGUAL_LINK_SOURCES=a,area" in command
        assert f"BILINGUAL_SCOPE_PREFIXES={BASE},https://saga.pages.example/saga/" in command
        assert (tmp_path / "seeds.txt").read_text() == f"{BASE}\n"
