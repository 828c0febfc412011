import csv
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.crawls import ended_well
from support.frozen_sites import write_frozen
from support.harvest_site import BASE, TEXT
from support.webserver import run_scrapy

from benchmarks.alignment import main
from benchmarks.reliability import (
    BINS,
    by_method,
    calibration_error,
    plot_reliability,
    reliability,
    worst_precision,
    worst_recall,
)
from benchmarks.report import read_rows
from bilingual_crawler.harvest.sites import PairVerdict, Tally, Task, Truth, read_site
from bilingual_crawler.items import Pair

TRUTH = Truth(frozenset({("a1", "b1"), ("a2", "b2")}), frozenset({"a3", "b4"}))


def pairs(*urls: str, score: float = 0.95, method: str = "url") -> list[Pair]:
    return [Pair(a, b, score, method, "eng-isl") for a, b in map(str.split, urls)]


def scored(*rows: tuple[float, int, int]) -> Tally:
    """Pairs of each score: so many right, and so many false."""
    tally = Tally()
    for score, right, false in rows:
        gold = [(f"right{n}", f"b{n}") for n in range(right)]
        wrong = [(f"wrong{n}", f"z{n}") for n in range(false)]
        truth = Truth(frozenset(gold), frozenset(a for a, _ in wrong))
        tally += truth.judge(pairs(*map(" ".join, gold + wrong), score=score))
    return tally


class TestVerdicts:
    def test_of_one_pair(self) -> None:
        false = dict.fromkeys(("b1 a1", "a1 b2", "a1 x", "x b1", "a3 x", "x b4"), PairVerdict.FALSE)
        for urls, verdict in ({"a1 b1": PairVerdict.RIGHT, "x y": PairVerdict.UNJUDGED} | false).items():
            a, b = urls.split()
            assert TRUTH.verdict((a, b)) == verdict

    def test_a_pair_of_an_orphan_lowers_precision(self) -> None:
        right = pairs("a1 b1", "a2 b2", "x y")
        assert TRUTH.judge(right).precision == 1
        tally = TRUTH.judge([*right, *pairs("a3 x")])
        assert (tally.judged, tally.right, tally.precision) == pytest.approx((3, 2, 2 / 3))
        assert (tally.orphans, tally.orphans_paired) == (2, 1)
        assert tally.recall == 1
        both = TRUTH.judge(pairs("a3 b4"))
        assert (both.judged, both.right, both.orphans_paired) == (1, 0, 2)

    def test_nothing_translated(self) -> None:
        tally = Truth(frozenset(), frozenset({"a"})).judge(pairs("a b"))
        assert (tally.recall, tally.precision, tally.orphans_paired) == (None, 0, 1)
        nothing = Truth(frozenset()).judge(pairs("a b"))
        assert (nothing.recall, nothing.precision, len(nothing.pairs)) == (None, None, 1)

    def test_recall_counts_what_can_be_reached(self) -> None:
        truth = Truth(TRUTH.gold, TRUTH.orphans, frozenset({"a1", "b1", "a2", "a3"}))
        tally = truth.judge(pairs("a1 b1", "a2 b2", "x b4"))
        assert (tally.gold, tally.found, tally.orphans, tally.orphans_paired) == (1, 1, 1, 0)
        assert (tally.right, tally.judged) == (2, 3)

    def test_sums(self) -> None:
        tally = TRUTH.judge(pairs("a1 b1", "a3 x")) + TRUTH.judge(pairs("a1 b2", score=0.5, method="structure"))
        assert (tally.gold, tally.found, tally.judged, tally.right, tally.orphans) == (4, 1, 3, 1, 4)
        assert tally.sure_and_false == 1
        methods = {"url": {PairVerdict.RIGHT: 1, PairVerdict.FALSE: 1}, "structure": {PairVerdict.FALSE: 1}}
        assert by_method(tally) == methods

    def test_the_worst_task_has_enough_pairs_to_tell(self) -> None:
        tallies = [scored((0.9, 9, 1)), scored((0.9, 4, 1)), scored((0.9, 1, 3))]
        assert worst_precision(tallies) == pytest.approx(0.8)
        assert worst_precision(tallies[2:]) is None
        few, many = (Truth(frozenset((f"a{n}", f"b{n}") for n in range(size))).judge(()) for size in (4, 5))
        assert (worst_recall([few]), worst_recall([few, many])) == (None, 0)


class TestReliability:
    def test_a_calibrated_score_has_no_error(self) -> None:
        bins = reliability(scored((0.55, 11, 9), (0.75, 3, 1), (0.9, 9, 1)))
        assert calibration_error(bins) == pytest.approx(0)
        assert [one.pairs if one else 0 for one in bins] == [0, 20, 0, 4, 0, 10, 0, 0]

    def test_false_pairs_that_claim_to_be_certain(self) -> None:
        bins = reliability(scored((1.0, 1, 3), (0.8, 4, 1)))
        assert calibration_error(bins) == pytest.approx((4 * 0.75 + 5 * 0) / 9)
        assert bins[-1] == (4, 1.0, 0.25)

    def test_an_unjudged_pair_says_nothing_of_the_score(self) -> None:
        bins = reliability(TRUTH.judge(pairs("x y")))
        assert bins == [None] * (len(BINS) - 1)
        assert calibration_error(bins) is None

    def test_plot(self, tmp_path: Path) -> None:
        bins = reliability(scored((0.55, 11, 9), (0.99, 9, 1)))
        panels = {"dev": {"auto": bins, "url": reliability(Tally())}, "half": {"auto": bins}}
        assert plot_reliability(panels, tmp_path / "new" / "score.svg").read_text().startswith("<?xml")


COUPLES = 3


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """A site whose pages announce each other, couple by couple: of the last couple the first page is an orphan."""
    couples = [(f"{BASE}en/{n}", f"{BASE}is/{n}") for n in range(COUPLES)]
    pages = {}
    for n, couple in enumerate(couples):
        links = [*couple, *couples[(n + 1) % COUPLES]]
        head = '<link rel=alternate hreflang=en href="{}"><link rel=alternate hreflang=is href="{}">'.format(*couple)
        anchors = "".join(f'<a href="{url}">{url}</a>' for url in links)
        for url, language in zip(couple, ("eng", "isl"), strict=True):
            body = f"<h1>{n * 111}</h1><p>{TEXT[language] * 3}</p>{anchors}"
            pages[url] = language, f"<html><head>{head}</head><body>{body}</body></html>", links
    sites = tmp_path / "half"
    sites.mkdir()
    write_frozen(sites / "saga", BASE, pages, couples[:-1])
    (sites / "saga" / "orphans.tsv").write_text(f"{couples[-1][0]}\teng\n{couples[-1][1]}\tdeu\n")
    (sites / "tasks.tsv").write_text(f"site\tlang_a\tlang_b\tseeds\nsaga\teng\tisl\t{couples[0][0]}\n")
    return sites


TASK = Task("saga", "eng", "isl", (f"{BASE}en/0",))


class TestSite:
    def test_orphans_in_the_languages_of_the_task(self, half: Path) -> None:
        site = read_site(half / "saga")
        assert site.truth(TASK).orphans == {f"{BASE}en/2"}
        assert site.truth(TASK).gold == {(f"{BASE}en/{n}", f"{BASE}is/{n}") for n in range(2)}
        turned = Task("saga", "isl", "eng", TASK.seeds)
        assert site.truth(turned).gold == {(b, a) for a, b in site.truth(TASK).gold}

    def test_what_a_reader_has_said_counts_although_no_gold_pair_is_touched(self, half: Path) -> None:
        header = "url_a\tlang_a\turl_b\tlang_b"
        rows = [f"{BASE}is/{name}\tis\t{BASE}en/{name}\ten" for name in ("home", "map", "shop")]
        read = f"{rows[0]}\t.99\turl\twrong\n{rows[1]}\t.99\turl\tnothing to translate\n"
        (half / "saga" / "false.tsv").write_text(f"{header}\tscore\tmethod\twhy\n{read}")
        (half / "saga" / "partly.tsv").write_text(f"{header}\n{rows[2]}\n")
        truth = read_site(half / "saga").truth(TASK)
        verdicts = [truth.verdict((f"{BASE}en/{name}", f"{BASE}is/{name}")) for name in ("home", "map", "shop", "0")]
        assert verdicts == [PairVerdict.FALSE, PairVerdict.UNJUDGED, PairVerdict.UNJUDGED, PairVerdict.RIGHT]

    def test_pairs_of_a_crawl(self, half: Path) -> None:
        site = read_site(half / "saga")
        found = (
            ("en/0/", "is/0#top", 0.9, "eng-isl"),
            ("en/0", "is/0", 0.7, "eng-isl"),
            ("is/2", "en/2", 0.8, "isl-eng"),
            ("en/1", "fr/1", 0.8, "eng-fra"),
        )
        tally = site.judge(TASK, [Pair(BASE + a, BASE + b, score, "url", pair) for a, b, score, pair in found])
        assert [(pair.url_a, pair.score, verdict) for pair, verdict in tally.pairs] == [
            (f"{BASE}en/0", 0.9, PairVerdict.RIGHT),
            (f"{BASE}en/2", 0.8, PairVerdict.FALSE),
        ]
        assert (tally.gold, tally.found) == (2, 1)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[list[str]]]:
    """Runs the benchmark, and gives the lines that it prints, as words."""

    def run(*arguments: str | Path) -> list[list[str]]:
        monkeypatch.setattr(sys, "argv", ["alignment", *map(str, arguments)])
        main()
        return [line.split() for line in capsys.readouterr().out.splitlines()]

    return run


class TestBenchmark:
    def test_sets_in_one_run(self, half: Path, tmp_path: Path, run: Callable[..., list[list[str]]]) -> None:
        nothing = tmp_path / "nothing"
        nothing.mkdir()
        (nothing / "saga").symlink_to(half / "saga")
        head = "site\tlang_a\tlang_b\tseeds\n"
        (nothing / "tasks.tsv").write_text(head)
        (nothing / "traps.tsv").write_text(f"{head}saga\tdeu\tisl\t{BASE}is/2\n")
        files = ("--list", tmp_path / "pairs.tsv", "--plot", tmp_path / "score.svg", "--json", tmp_path / "out")
        lines = run(half, nothing, "--methods", "url", "--by-task", *files)
        rows = [line for line in lines if line[:1] == ["half"]]
        assert rows[0][:8] == ["half", "url", "2", "1.000", "–", "1.000", "3", "0.667"]
        assert ["half", "url", "hreflang", "3", "3", "2", "1", "0.667"] in rows
        assert ["half", "url", "saga.eng-isl", "2"] in [row[:4] for row in rows]
        assert ["nothing", "url", "0", "–", "–"] in [line[:5] for line in lines]
        with (tmp_path / "pairs.tsv").open(newline="") as file:
            listed = list(csv.DictReader(file, delimiter="\t"))
        assert [row["verdict"] for row in listed] == ["false", "right", "right"]
        assert listed[0].items() >= {"url_a": f"{BASE}en/2", "method": "hreflang", "task": "saga.eng-isl"}.items()
        assert (tmp_path / "score.svg").stat().st_size > 5_000
        one, other = read_rows(tmp_path / "out")
        assert one.items() >= {"name": "url", "set": "half", "gold": 2, "recall": 1.0, "judged": 3}.items()
        assert one["precision"] == pytest.approx(2 / 3)
        assert (other["set"], other["gold"], other["recall"]) == ("nothing", 0, None)

    def test_pairs_of_crawls(
        self, half: Path, tmp_path: Path, run: Callable[..., list[list[str]]], capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = tmp_path / "out"
        done = ended_well(run_scrapy(tmp_path, "harvest", str(half), "--policies", "bfs", "--out", str(out)))
        said = [line.split() for line in done.stdout.splitlines()]
        assert ["bfs", "3", "0.667", "–", "1.000", "1", "of", "1", "1"] in said
        rows = [line for line in run(half, "--pairs", out / "runs") if line[:1] == ["half"]]
        assert rows[0][:9] == ["half", "crawl,", "bfs", "2", "1.000", "–", "–", "3", "0.667"]
        (tmp_path / "empty").mkdir()
        with pytest.raises(SystemExit):
            run(half, "--pairs", tmp_path / "empty")
        assert "has no pairs.tsv of a task" in capsys.readouterr().err

    @pytest.mark.parametrize("option", ["--methods", "--forms"])
    def test_unknown_names(self, half: Path, run: Callable[..., object], option: str) -> None:
        with pytest.raises(SystemExit, match=f"{option}: unknown guess; choose among"):
            run(half, option, "guess")
