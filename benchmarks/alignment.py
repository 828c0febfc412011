"""Document alignment on frozen sites or on gold texts: recall, precision, orphans and reliability of the score.

    python -m benchmarks.alignment ../shared/data/sites/dev HALF_TRANSLATED ../shared/data/sites/cms --plot score.svg
    python -m benchmarks.alignment ../shared/data/sites/dev --methods all --forms all --encoder e5-small
    python -m benchmarks.alignment ../shared/data/gold/fernando-army-en-si.tar.xz
    python -m benchmarks.alignment ../shared/data/sites/dev --pairs HARVEST/runs

A pair is *right* if it is in gold, *false* if it is not and touches a document in gold or an orphan: a document in a
language of the task that is known to have no translation (``orphans.tsv``). Other pairs are *unjudged*. Recall is the
share of gold pairs that are found, precision the share of the judged pairs that are right; both pooled over tasks, and
of the worst task. *Soft* figures take a pair for a gold one if they share a document and the texts of the others are
nearly equal, as WMT16 does (Buck & Koehn 2016).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rapidfuzz.distance import Levenshtein
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from benchmarks.alignment_baselines import (
    SOME_WORDS,
    Cosine,
    PpLocator,
    Pti,
    WmtBaseline,
    all_sentences,
    whole_text,
)
from benchmarks.gold_texts import read_gold_texts
from benchmarks.reliability import (
    BINS,
    by_method,
    calibration_error,
    plot_reliability,
    reliability,
    worst_precision,
    worst_recall,
)
from bilingual_crawler.encoders.base import load_encoder
from bilingual_crawler.harvest.results import decimals
from bilingual_crawler.harvest.sites import (
    CERTAIN_SCORE,
    PairVerdict,
    SiteError,
    Tally,
    Task,
    Truth,
    read_site,
    read_tasks,
    share,
)
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pairing.align import align, align_domain, read_corpus
from bilingual_crawler.pairing.methods import make_method
from bilingual_crawler.pairing.model import read_pairs
from bilingual_crawler.storage.records import PAIRS, tsv_line
from training.common.options import refuse_bad_input
from training.documents.forms import FORMS, DisguisedCorpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from benchmarks.reliability import Bin
    from bilingual_crawler.items import Pair
    from bilingual_crawler.pairing.corpus import Corpus
    from bilingual_crawler.pairing.methods import Method

OURS = ("auto", "url", "structure")
WITH_CONTENT = ("content", "structure-content")
WITH_ENCODER = "auto, encoder"
PAPERS = ("WMT16 URL baseline", "PTI", "PTI, similarity .2", "PPLocator")
PAPERS_WITH_ENCODER = ("DDE, adapted: 512 tokens, our encoder", "SAE, adapted: our encoder")
"""The paper has LASER, which reads texts of any length."""
WHOLE = "whole"
NEARLY_EQUAL = 0.95  # similarity of two texts, by edit distance, from which one stands for the other
TRAPS = "traps.tsv"
"""Tasks of sites that look translated and are not."""


@dataclass(slots=True)
class Measured:
    """One method on one task, or on several."""

    tally: Tally
    most: int | None = None
    """Gold pairs that a one-to-one matching finds at most; None for the pairs of a crawl, as below."""
    found_softly: int | None = None
    """Gold pairs to which a pair comes near."""
    right_softly: int | None = None
    """Pairs that come near to a gold pair."""


Results = dict[tuple[str, ...], dict[str, Measured]]
"""Set and method -> task -> figures."""


def methods(args: argparse.Namespace) -> dict[str, Method]:
    """Return the methods to measure by their names; raises EncoderError."""
    encoder = load_encoder(args.encoder, args.cache) if args.encoder else None
    known: dict[str, Callable[[], Method]] = {
        name: partial(make_method, name, args.models, "", args.cache) for name in OURS
    }
    papers: tuple[Callable[[], Method], ...] = (
        WmtBaseline,
        partial(Pti, args.lexicon),
        partial(Pti, args.lexicon, SOME_WORDS),
        partial(PpLocator, args.models),
    )
    known |= zip(PAPERS, papers, strict=True)
    if encoder is not None:
        known |= {name: partial(make_method, name, args.models, args.encoder, args.cache) for name in WITH_CONTENT}
        known[WITH_ENCODER] = partial(make_method, "auto", args.models, args.encoder, args.cache)
        texts = whole_text, all_sentences
        known |= {name: partial(Cosine, of, encoder) for name, of in zip(PAPERS_WITH_ENCODER, texts, strict=True)}
    if args.methods == "all":
        return {name: make() for name, make in known.items()}
    own = [name for name in (*OURS, *WITH_CONTENT) if name in known]
    chosen = _choose("--methods", args.methods, own)
    if "auto" in chosen and WITH_ENCODER in known:
        chosen.append(WITH_ENCODER)
    return {name: known[name]() for name in chosen}


def _choose(option: str, given: str, known: Sequence[str]) -> list[str]:
    """Return the names in *given*, separated by commas; ends with an error for an unknown one."""
    chosen = given.split(",")
    if unknown := set(chosen).difference(known):
        sys.exit(f"{option}: unknown {', '.join(sorted(unknown))}; choose among {', '.join(known)}, or all")
    return chosen


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("sets", type=Path, nargs="+", help="folders of frozen sites with tasks.tsv, or archives of gold texts")
    add("--pairs", type=Path, metavar="RUNS", help="measure RUNS/TASK[.POLICY]/pairs.tsv, which crawls have written")
    add("--methods", default="auto", help=f"of {', '.join((*OURS, *WITH_CONTENT))}; all: those of papers too (auto)")
    add("--forms", default=WHOLE, help=f"of {', '.join(FORMS)}; all (whole)")
    add("--models", type=Path, default=Path("models"), help="(%(default)s)")
    add("--encoder", default="", help="sentence encoder, such as e5-small; auto is measured with and without it")
    add("--cache", type=Path, default=Path("~/.cache/bilingual-crawler").expanduser(), help="of vectors (%(default)s)")
    add("--lexicon", type=Path, help="word list for PTI, written by training.prepare.lexicon")
    add("--tasks", type=int, help="of each set only so many, those with the smallest archives")
    add("--by-task", action="store_true", help="print the figures of each task, too")
    add("--json", type=Path, metavar="OUT", help="write the figures of each set and method, for benchmarks.report")
    add("--list", type=Path, metavar="FILE.tsv", help="write every pair with its verdict")
    add("--plot", type=Path, metavar="FILE.svg", help="draw reliability diagrams of the score")
    args = parser.parse_args()
    if args.pairs and len(args.sets) > 1:
        parser.error("--pairs: give the set that was crawled, alone")
    results: Results = defaultdict(dict)
    with refuse_bad_input(parser):
        known = {} if args.pairs else methods(args)
        forms = list(FORMS) if args.forms == "all" else _choose("--forms", args.forms, list(FORMS))
        for path in args.sets:
            found = _of_crawls(path, args.pairs) if args.pairs else _of_methods(path, args.tasks, known, forms)
            alone = sum(other.name == path.name for other in args.sets) == 1
            for method, task, measured in found:
                results[path.name if alone else str(path), method][task] = measured
    console = Console(width=200)
    console.print(_figures({key: _pooled(tasks.values()) for key, tasks in results.items()}, results))
    console.print(_evidence(results), _reliability(results))
    if args.by_task:
        console.print(_figures({(*key, task): one for key, tasks in results.items() for task, one in tasks.items()}))
    if args.json:
        args.json.write_text(json.dumps(list(_rows(results)), indent=1) + "\n", encoding="utf-8")
    if args.list:
        _write_list(results, args.list)
    if args.plot:
        _plot(results, args.plot)


def _of_crawls(sites: Path, runs: Path) -> Iterator[tuple[str, str, Measured]]:
    """Yield method, task and figures of each crawl in *runs*; raises SiteError."""
    tasks, crawled = _tasks(sites), 0
    for task in tasks:
        site = None
        for path in sorted(runs.glob(f"{task}*/{PAIRS}")):
            policy = path.parent.name.removeprefix(str(task))
            if policy and not policy.startswith("."):
                continue
            site = site or read_site(sites / task.site)
            pairs = LanguagePairs.parse(task.pair)
            measured = Measured(site.judge(task, read_pairs(path, pairs)))
            yield policy.replace(".", "crawl, ", 1) or "crawl", str(task), measured
        crawled += site is not None
    if not crawled:
        raise SiteError(f"{runs} has no {PAIRS} of a task of {sites}, such as {runs / str(tasks[0]) / PAIRS}")
    print(f"{sites}: {crawled} of {len(tasks)} tasks have a {PAIRS}", file=sys.stderr)


def _of_methods(
    path: Path, tasks: int | None, known: Mapping[str, Method], forms: Iterable[str]
) -> Iterator[tuple[str, str, Measured]]:
    """Yield method, task and figures of each method, in each form, on each task of the set."""
    in_forms = {*OURS, *WITH_CONTENT, WITH_ENCODER}
    for task, corpus, truth in read_set(path, tasks):
        for form, (name, method) in product(forms, known.items()):
            if form == WHOLE:
                pairs = [pair for _, alignment in align(corpus, method) for pair in alignment.pairs]
                yield name, task, _measure(truth, pairs, corpus)
            elif name in in_forms:
                disguised = DisguisedCorpus(corpus, FORMS[form])
                groups = corpus.groups()
                found = (align_domain(disguised.domain(group), method).pairs for group in groups)
                yield f"{name}, {form}", task, _measure(_shown(truth, disguised), chain.from_iterable(found), disguised)


def read_set(path: Path, tasks: int | None) -> Iterator[tuple[str, Corpus, Truth]]:
    """Yield task, documents, and what is known of them."""
    if path.is_file():
        corpus, gold = read_gold_texts(path)
        yield path.name, corpus, Truth(frozenset(gold))
        return
    smallest = sorted(_tasks(path), key=lambda task: _size(path / task.site))[:tasks]
    for task in track(smallest, path.name, console=Console(stderr=True)):
        corpus = read_corpus([path / task.site], LanguagePairs.parse(task.pair))
        yield str(task), corpus, read_site(path / task.site).truth(task)


def _tasks(sites: Path) -> list[Task]:
    """Return the tasks of a folder of sites, with those that are traps."""
    return read_tasks(sites) + (read_tasks(sites, TRAPS) if (sites / TRAPS).exists() else [])


def _size(site: Path) -> int:
    """Bytes of the archive."""
    return sum(file.stat().st_size for file in site.glob("*.warc*"))


def _shown(truth: Truth, corpus: DisguisedCorpus) -> Truth:
    """Return *truth* under the URLs of a disguised corpus."""
    gold = frozenset((corpus.url(a), corpus.url(b)) for a, b in truth.gold)
    return Truth(gold, frozenset(map(corpus.url, truth.orphans)))


def _measure(truth: Truth, pairs: Iterable[Pair], corpus: Corpus | DisguisedCorpus) -> Measured:
    of_url: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for pair in truth.gold:
        for url in pair:
            of_url[url].add(pair)
    tally = truth.judge(pairs)
    found_softly: set[tuple[str, str]] = set()
    right_softly = 0
    for found, _ in tally.pairs:
        a, b = found.url_a, found.url_b
        near = {one for one in of_url[a] | of_url[b] if _is_near((a, b), one, corpus)}
        found_softly |= near
        right_softly += bool(near)
    return Measured(tally, _most(truth.gold), len(found_softly), right_softly)


def _is_near(pair: tuple[str, str], gold: tuple[str, str], corpus: Corpus | DisguisedCorpus) -> bool:
    """Whether *pair* is *gold*, or they share a document and the others are nearly equal."""
    if pair == gold:
        return True
    for own, other in ((0, 1), (1, 0)):
        if pair[own] == gold[own]:
            try:
                texts = [corpus.document(one[other]).text for one in (pair, gold)]
            except KeyError:  # the page in gold counts as another language
                return False
            return Levenshtein.normalized_similarity(*texts, score_cutoff=NEARLY_EQUAL) >= NEARLY_EQUAL
    return False


def _most(gold: frozenset[tuple[str, str]]) -> int:
    """How many of the *gold* pairs can be in one one-to-one matching."""
    if not gold:
        return 0
    a, b = (np.unique(urls, return_inverse=True)[1] for urls in zip(*gold, strict=True))
    return int((maximum_bipartite_matching(csr_array((np.ones(len(gold)), (a, b)))) >= 0).sum())


def _pooled(tasks: Iterable[Measured]) -> Measured:
    tasks = list(tasks)
    counts = zip(*((one.most, one.found_softly, one.right_softly) for one in tasks), strict=True)
    return Measured(sum((one.tally for one in tasks), Tally()), *(None if None in one else sum(one) for one in counts))


def _rows(results: Results) -> Iterator[dict[str, str | int | float | None]]:
    """The figures of each set and method."""
    for (name, method), tasks in results.items():
        one = _pooled(tasks.values())
        tally = one.tally
        yield {
            "name": method,
            "set": name,
            "gold": tally.gold,
            "recall": tally.recall,
            "most": None if one.most is None else share(one.most, tally.gold),
            "soft_recall": None if one.found_softly is None else share(one.found_softly, tally.gold),
            "judged": tally.judged,
            "precision": tally.precision,
            "orphans": tally.orphans,
            "orphans_paired": share(tally.orphans_paired, tally.orphans),
            "sure_and_false": tally.sure_and_false,
            "calibration_error": calibration_error(reliability(tally)),
        }


def _figures(rows: Mapping[tuple[str, ...], Measured], tasks: Results | None = None) -> Table:
    """Return a table with a line for each of *rows*, and the worst of their *tasks*."""
    table = _table("Pairs", "set", "method", *(() if tasks else ("task",)))
    worst = ("worst",) if tasks else ()
    for heading in (
        *("gold", "recall", *worst, "one-to-one\nat most", "judged", "precision", *worst, "soft\nrecall"),
        *("soft\nprecision", "F1", "F1\nof all", "orphans", "paired"),
        *(f"false\n≥ {CERTAIN_SCORE:.1f}", "calibration\nerror"),
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for key, one in rows.items():
        tally = one.tally
        each = [task.tally for task in tasks[key].values()] if tasks else []
        most, soft_recall, soft_precision = (
            None if part is None else share(part, whole)
            for part, whole in (
                (one.most, tally.gold),
                (one.found_softly, tally.gold),
                (one.right_softly, tally.judged),
            )
        )
        f1, of_all = (share(2 * tally.found, tally.gold + pairs) for pairs in (tally.judged, len(tally.pairs)))
        table.add_row(
            *key,
            f"{tally.gold:,}",
            decimals(tally.recall),
            *([decimals(worst_recall(each))] if tasks else []),
            decimals(most),
            f"{tally.judged:,}",
            decimals(tally.precision),
            *([decimals(worst_precision(each))] if tasks else []),
            *map(decimals, (soft_recall, soft_precision, f1, of_all)),
            f"{tally.orphans:,}",
            decimals(share(tally.orphans_paired, tally.orphans)),
            f"{tally.sure_and_false:,}",
            decimals(calibration_error(reliability(tally))),
        )
    return table


def _evidence(results: Results) -> Table:
    """Return a table with a line for each set, method and evidence."""
    table = _table("Strongest evidence", "set", "method", "evidence")
    for heading in ("pairs", "judged", "right", "false", "precision"):
        table.add_column(heading, justify="right")
    for (name, method), tasks in results.items():
        for evidence, count in by_method(_pooled(tasks.values()).tally).items():
            right, false = count[PairVerdict.RIGHT], count[PairVerdict.FALSE]
            counts = map(str, (count.total(), right + false, right, false))
            table.add_row(name, method, evidence, *counts, decimals(share(right, right + false)))
        table.add_section()
    return table


def _reliability(results: Results) -> Table:
    """Return a table with a column for each bin of the score."""
    table = _table("Share of the judged pairs that is right, by score", "set", "method")
    for low, high in pairwise(BINS):
        table.add_column(f"{low:g} to {high:g}", justify="right")
    for (name, method), tasks in results.items():
        bins = reliability(_pooled(tasks.values()).tally)
        table.add_row(name, method, *(f"{one.right:.3f} of {one.pairs}" if one else "–" for one in bins))
    return table


def _table(title: str, *names: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for name in names:
        table.add_column(name, no_wrap=True)
    return table


def _write_list(results: Results, path: Path) -> None:
    """Write all pairs, those that a reader should look at first: false ones, then unjudged ones, best scores first."""
    order = (PairVerdict.FALSE, PairVerdict.UNJUDGED, PairVerdict.RIGHT)
    rows = [
        (verdict, pair.score, pair.method, pair.url_a, pair.url_b, task, name, method)
        for (name, method), tasks in results.items()
        for task, one in tasks.items()
        for pair, verdict in one.tally.pairs
    ]
    rows.sort(key=lambda row: (order.index(row[0]), -row[1]))
    header = ("verdict", "score", "method", "url_a", "url_b", "task", "set", "aligned_by")
    path.write_text("".join(map(tsv_line, (header, *rows))), encoding="utf-8")


def _plot(results: Results, path: Path) -> None:
    panels: defaultdict[str, dict[str, Sequence[Bin | None]]] = defaultdict(dict)
    for (name, method), tasks in results.items():
        panels[name][method] = reliability(_pooled(tasks.values()).tally)
    plot_reliability(panels, path)


if __name__ == "__main__":
    main()
