"""How well the detectors tell bilingual sites, on frozen sites, beside Table 1 of Barbosa et al. 2011.

    python -m benchmarks.detector SITES_DIR... [--json OUT] [--instances detector_instances.tsv] [--leave-out kind]

`--leave-out` judges a site by weights learnt from the sites of the first folder that are not in its group: the site
itself, its source (an organisation or a host), or its kind (manuals, presentations, ...). It prints the figures of each
group, and the worst decile: of 1,000 draws of as many linked sites, with replacement, the value that one in ten fails.

A site is positive for the pairs of languages that it has gold pairs in. Negatives lack a language, or are cut to one
language, with links to the other pages left out or dangling. Sites weigh equally; positives and negatives weigh the
same. Downloads do not count the entry page. `disjoint` is the share of sites accepted that have both languages but lost
one half of each gold pair, and of each two pages at one address but for its language mark; they are not among the
negatives. *Traps* are the sites in `traps.tsv` of a folder, with a true pair or two among many false ones: they are to
be refused, and count neither as positives nor as negatives.

*Linked* are instances on which links lead from the entry page to both languages, and the negatives of their sites. The
JSON file has for both detectors the figures of linked sites, of all sites, and of each group; and the rows of Table 1.
Sites that the list of instances does not name get instances by the same rules (`training/discovery/cuts.py`).
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np
from rich.progress import track

from bilingual_crawler.discovery.detector.barbosa import BarbosaDetector, BarbosaInspection
from bilingual_crawler.discovery.detector.base import MAX_DOWNLOADS, Reason, Verdict
from bilingual_crawler.discovery.detector.evidence import TRANSLATION_THRESHOLD, EvidenceDetector
from bilingual_crawler.discovery.detector.features import EvidenceWeights
from bilingual_crawler.harvest.sites import read_site
from bilingual_crawler.pairing.resemblance import ResemblanceWeights
from bilingual_crawler.scoring.models import LanguageModel, models_folder
from training.common.options import refuse_bad_input
from training.discovery.cuts import CutWeb, FrozenWeb, Variant, make_instances, read_instances, site_folders
from training.discovery.examples import read_examples
from training.discovery.fit import fit_barbosa, fit_evidence, without_each
from training.documents.encounters import kind_of
from training.documents.examples import family

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bilingual_crawler.discovery.detector.base import Detector, Inspection
    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pages.model import PageRecord
    from bilingual_crawler.scoring.linear import LinearModel
    from training.discovery.cuts import Instance

PAPER = {
    0.0: (0.86, 0.73, 29.1),
    0.1: (0.75, 0.84, 6.5),
    0.2: (0.74, 0.89, 4.5),
    0.3: (0.71, 0.93, 3.6),
    0.4: (0.70, 0.93, 3.1),
    0.5: (0.67, 0.95, 2.8),
    0.6: (0.67, 0.95, 2.6),
    0.7: (0.67, 0.95, 2.4),
    0.8: (0.67, 0.95, 2.2),
    0.9: (0.66, 0.97, 2.0),
}
"""Table 1: threshold -> recall, precision, downloads a site of the detector, on other sites."""
PAPER_PREDICTOR = {
    0.0: (1.00, 0.50),
    0.1: (0.97, 0.55),
    0.2: (0.94, 0.61),
    0.3: (0.88, 0.68),
    0.4: (0.85, 0.72),
    0.5: (0.84, 0.75),
    0.6: (0.84, 0.75),
    0.7: (0.83, 0.76),
    0.8: (0.81, 0.78),
    0.9: (0.77, 0.80),
}
"""The same of the link predictor alone, which downloads nothing."""
GROUPS: dict[str, Callable[[str], str]] = {"site": str, "source": family, "kind": kind_of}
MEASURED = "evidence", "barbosa, t = 0.5"
DRAWS = 1000
CONFIRMATIONS = (0.1, 0.3, 0.7, 0.9)
DOWNLOADS = (1, 2, 5, 8)


class LinkPredictor(BarbosaDetector):
    """The first step alone, as in Table 1: a site with a link from the threshold on is accepted, without a download."""

    def inspect(self, pair: LanguagePair, entry: PageRecord) -> Inspection:
        return Prediction(self, pair, entry)


class Prediction(BarbosaInspection):
    def next(self) -> None:
        return None

    @property
    def verdict(self) -> Verdict:
        accepted = super().next() is not None
        return Verdict(accepted, float(accepted), Reason.BILINGUAL if accepted else Reason.ONE_LANGUAGE)


def detectors(weights: EvidenceWeights, predictor: LinearModel, model: LanguageModel) -> dict[str, Detector]:
    """What is measured, by name: the two as they are and with other thresholds, and the link predictor alone."""
    resemblance = ResemblanceWeights.load(models_folder(None))

    def evidence(confirmed: float = TRANSLATION_THRESHOLD, most: int = MAX_DOWNLOADS) -> Detector:
        return EvidenceDetector(weights, resemblance, model, max_downloads=most, confirmed=confirmed)

    return {
        "evidence": evidence(),
        "barbosa": BarbosaDetector(predictor),
        **{f"evidence, pair from {threshold}": evidence(threshold) for threshold in CONFIRMATIONS},
        **{f"evidence, at most {most}": evidence(most=most) for most in DOWNLOADS},
        **{f"barbosa, t = {threshold}": BarbosaDetector(predictor, threshold) for threshold in PAPER},
        **{f"link predictor, t = {threshold}": LinkPredictor(predictor, threshold) for threshold in PAPER},
    }


def judge(detector: Detector, web: CutWeb, instance: Instance) -> Verdict | None:
    """The verdict on one site; None if its entry page cannot be read."""
    entry = web.fetch(instance.entry)
    if entry is None:
        return None
    inspection = detector.inspect(instance.pair, entry)
    while (url := inspection.next()) is not None:
        read = web.fetch(url)
        inspection.observe_page(url, read)
    return inspection.verdict


Judged = tuple["Instance", dict[str, Verdict]]


def judge_all(
    sites: Path, listed: Iterable[Instance], measured: Callable[[str], Mapping[str, Detector]]
) -> Iterator[Judged]:
    """Every instance of every site with the verdict of each detector that is *measured* on the site."""
    by_site: defaultdict[str, list[Instance]] = defaultdict(list)
    for instance in listed:
        by_site[instance.site].append(instance)
    for folder in track(site_folders(sites), "Judging"):
        web = FrozenWeb(read_site(folder))
        for instance in by_site.get(folder.name) or make_instances(web.site):
            cut = CutWeb.from_instance(web, instance)
            verdicts = {name: judge(detector, cut, instance) for name, detector in measured(folder.name).items()}
            yield instance, {name: verdict for name, verdict in verdicts.items() if verdict is not None}


def linked(judged: Sequence[Judged]) -> list[Judged]:
    """The linked instances, and the negatives of their sites."""
    sites = {instance.site for instance, _ in judged if instance.linked}
    return [
        (instance, verdicts)
        for instance, verdicts in judged
        if instance.site in sites and (instance.linked or instance.variant is not Variant.WHOLE)
    ]


def figures(judged: Sequence[Judged], name: str) -> dict[str, float]:
    """Recall, precision, downloads a site, and the share of disjoint sites accepted, of the detector called *name*."""
    by_label: defaultdict[str, defaultdict[str, list[Verdict]]] = defaultdict(lambda: defaultdict(list))
    labels = {Variant.WHOLE: "positive", Variant.DISJOINT: "disjoint"}
    for instance, verdicts in judged:
        if name in verdicts:
            by_label[labels.get(instance.variant, "negative")][instance.site].append(verdicts[name])

    def accepted(label: str) -> float:
        return mean([mean(verdict.bilingual for verdict in one) for one in by_label[label].values()] or [0.0])

    def downloads(label: str) -> float:
        return mean([mean(verdict.downloads for verdict in one) for one in by_label[label].values()] or [0.0])

    recall, wrong = accepted("positive"), accepted("negative")
    return {
        "recall": round(recall, 4),
        "precision": round(recall / (recall + wrong), 4) if recall + wrong else 0.0,
        "downloads": round((downloads("positive") + downloads("negative")) / 2, 3),
        "disjoint": round(accepted("disjoint"), 4),
    }


def table_1(judged: Sequence[Judged], threshold: float) -> dict[str, dict[str, float]]:
    """A row of Table 1 of Barbosa et al. 2011: the detector and the link predictor, here and in the paper."""
    return {
        "detector": figures(judged, f"barbosa, t = {threshold}"),
        "predictor": figures(judged, f"link predictor, t = {threshold}"),
        "paper": dict(zip(("recall", "precision", "downloads"), PAPER[threshold], strict=True)),
        "paper_predictor": dict(zip(("recall", "precision"), PAPER_PREDICTOR[threshold], strict=True)),
    }


def without_traps(judged: Sequence[Judged], sites: Iterable[Path]) -> tuple[list[Judged], list[Judged]]:
    """*judged* without the traps of the folders *sites*, and the traps."""
    rows = [row for folder in sites if (path := folder / "traps.tsv").exists() for row in _rows(path)]
    traps = {(row["site"], frozenset((row["lang_a"], row["lang_b"]))) for row in rows}

    def is_trap(one: Instance) -> bool:
        return one.variant is Variant.WHOLE and (one.site, frozenset((one.lang_a, one.lang_b))) in traps

    return [one for one in judged if not is_trap(one[0])], [one for one in judged if is_trap(one[0])]


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines, delimiter="\t")


def worst_decile(judged: Sequence[Judged], name: str) -> dict[str, float]:
    """Figures of the detector called *name* that one in ten draws of as many sites, with replacement, fails."""
    by_site: defaultdict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        by_site[one[0].site].append(one)
    columns = {"recall": 0.1, "downloads": 0.9, "disjoint": 0.9}
    needed = {"recall": Variant.WHOLE, "disjoint": Variant.DISJOINT}
    found = {instance.variant for instance, _ in judged}
    # a site without such an instance has no such figure
    rows = np.array(
        [
            [
                figures(one, name)[column]
                if needed.get(column) not in found or any(instance.variant is needed[column] for instance, _ in one)
                else np.nan
                for column in columns
            ]
            for one in by_site.values()
        ]
    )
    means = np.nanmean(rows[np.random.default_rng(0).integers(len(rows), size=(DRAWS, len(rows)))], axis=1)
    return {
        column: round(float(np.quantile(means[:, place], share)), 4)
        for place, (column, share) in enumerate(columns.items())
    }


def leave_out(judged: Sequence[Judged], group_of: Callable[[str], str]) -> dict[str, dict[str, dict[str, float]]]:
    """The figures of both detectors on each group of sites, on all of them, and the worst decile."""
    groups: defaultdict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        groups[group_of(one[0].site)].append(one)
    rows = {group: {name: figures(some, name) for name in MEASURED} for group, some in sorted(groups.items())}
    return {
        **rows,
        "mean of sites": {name: figures(judged, name) for name in MEASURED},
        "worst decile": {name: worst_decile(judged, name) for name in MEASURED},
    }


def run(options: argparse.Namespace) -> None:
    """Measure, and print the table."""
    models = models_folder(None)
    model = LanguageModel(models / "url-language")
    shipped = detectors(EvidenceWeights.load(models), BarbosaDetector.load(models, model).predictor, model)
    group_of = GROUPS[options.leave_out or "kind"]
    by_group: dict[str, dict[str, Detector]] = {}
    if options.leave_out:
        examples = [read_examples(folder, model) for folder in track(site_folders(options.sites[0]), "Reading")]
        shipped = detectors(fit_evidence(examples), fit_barbosa(examples), model)
        by_group = {
            group: detectors(weights, predictor, model)
            for group, weights, predictor in without_each(examples, group_of)
        }
    judged: list[Judged] = []
    for sites in options.sites:
        beside = sites.resolve().parent.parent / "discovery" / "detector_instances.tsv"
        path = options.instances or (beside if beside.exists() else None)
        listed = read_instances(path) if path else ()
        judged += judge_all(sites, listed, lambda site: by_group.get(group_of(site), shipped))
    judged, traps = without_traps(judged, options.sites)
    some = linked(judged)
    print(f"\n{'':28}{'linked sites':^36}{'all sites':^36}{'the paper':^27}")
    print(
        f"{'':28}"
        + f"{'recall':>9}{'precis.':>9}{'downl.':>9}{'disj.':>9}" * 2
        + f"{'recall':>9}{'precis.':>9}{'downl.':>9}"
    )
    for name in shipped:
        columns = [*figures(some, name).values(), *figures(judged, name).values()]
        for start, paper in (("barbosa, t = ", PAPER), ("link predictor, t = ", PAPER_PREDICTOR)):
            if name.startswith(start):
                columns += paper[float(name.removeprefix(start))]
        print(f"{name:28}" + "".join(f"{column:9.2f}" for column in columns))
    for instance, verdicts in traps:
        accepted = [name for name in MEASURED if name in verdicts and verdicts[name].bilingual]
        print(f"trap {instance.site} {instance.pair}: {', '.join(accepted) or '-'}")
    groups = leave_out(some, group_of) if options.leave_out else {}
    print_groups(groups)
    if options.verbose:
        for instance, verdicts in judged:
            verdict = verdicts.get("evidence")
            if verdict is None or verdict.bilingual != (instance.variant is Variant.WHOLE):
                print(*(instance.site, instance.pair, instance.variant, instance.kept, instance.entry, verdict))
    if options.json:
        result: dict[str, Mapping[str, object]] = {
            name: {
                **figures(some, name),
                "all": figures(judged, name),
                "left_out": {group: rows[name] for group, rows in groups.items() if name in rows},
            }
            for name in dict.fromkeys(("evidence", "barbosa", *MEASURED))
        }
        result |= {f"t = {threshold}": table_1(some, threshold) for threshold in PAPER}
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, nargs="+", help="folders of frozen sites")
    parser.add_argument("--json", type=Path, help="write the figures of both detectors, and the rows of Table 1")
    parser.add_argument(
        "--instances",
        type=Path,
        help="list of instances (SITES_DIR/../../discovery/detector_instances.tsv, if it is there)",
    )
    parser.add_argument("--verbose", action="store_true", help="print the wrong verdicts of the evidence detector")
    parser.add_argument(
        "--leave-out", choices=GROUPS, help="judge a site by weights learnt from the other groups of the first folder"
    )
    options = parser.parse_args()
    with refuse_bad_input(parser):
        run(options)


def print_groups(groups: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
    """Print a line for each group, and the detectors beside each other."""
    columns = ("recall", "downloads", "disjoint")
    if groups:
        print(f"\n{'linked sites':28}" + "".join(f"{name:^27}" for name in MEASURED))
        print(f"{'':28}" + "".join(f"{column:>9}" for column in columns) * len(MEASURED))
    for group, rows in groups.items():
        print(f"{group:28}" + "".join(f"{row[column]:9.2f}" for row in rows.values() for column in columns))


if __name__ == "__main__":
    main()
