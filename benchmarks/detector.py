"""How well the detectors tell bilingual sites, on frozen sites, beside Table 1 of Barbosa et al. 2011.

    python -m benchmarks.detector SITES_DIR [--json OUT] [--instances detector_instances.tsv] [--unseen-kinds]

A site is positive for the pairs of languages that it has gold pairs in. Negatives lack a language, or are cut to one
language, with links to the other pages left out or dangling. Sites weigh equally; positives and negatives weigh the
same. Downloads do not count the entry page. `disjoint` is the share of sites accepted that have both languages but lost
one half of each gold pair, and of each two pages at one address but for its language mark; they are not among the
negatives.

*Linked* are instances on which links lead from the entry page to both languages, and the negatives of their sites. The
objects `evidence` and `barbosa` of the JSON file hold the figures of the linked sites; `all_sites` holds those of all.
Sites that the list of instances does not name get instances by the same rules (`bilingual_crawler/harvest/cuts.py`).
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from rich.progress import track

from bilingual_crawler.alignment.documents.resemblance import Weights
from bilingual_crawler.discovery.detector.barbosa import BarbosaDetector, LinkPredictor
from bilingual_crawler.discovery.detector.base import MAX_DOWNLOADS, DetectorPage, Verdict
from bilingual_crawler.discovery.detector.evidence import CONFIRMED, EvidenceDetector
from bilingual_crawler.discovery.detector.pairs import EvidenceWeights
from bilingual_crawler.harvest.cuts import CutWeb, FrozenWeb, Variant, make_instances, read_instances, site_folders
from bilingual_crawler.harvest.sites import read_site
from bilingual_crawler.scoring.models import LanguageModel, models_folder
from training.discovery.examples import read_examples
from training.discovery.fit import without_each_kind
from training.documents.encounters import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from bilingual_crawler.discovery.detector.base import Detector
    from bilingual_crawler.harvest.cuts import Instance

PAPER = {
    0.0: (0.86, 0.73, 29.1),
    0.1: (0.75, 0.84, 6.5),
    0.2: (0.74, 0.89, 4.5),
    0.3: (0.71, 0.93, 3.6),
    0.4: (0.70, 0.93, 3.1),
    0.5: (0.67, 0.95, 2.8),
    0.7: (0.67, 0.95, 2.4),
    0.8: (0.67, 0.95, 2.2),
    0.9: (0.66, 0.97, 2.0),
}
"""Table 1: threshold -> recall, precision, downloads a site; of other sites."""
CONFIRMATIONS = (0.1, 0.3, 0.7, 0.9)
DOWNLOADS = (1, 2, 5, 8)


def detectors(weights: EvidenceWeights, predictor: LinkPredictor, model: LanguageModel) -> dict[str, Detector]:
    """What is measured, by name: the two as they are, and with other thresholds."""
    resemblance = Weights.load(models_folder(None))

    def evidence(confirmed: float = CONFIRMED, most: int = MAX_DOWNLOADS) -> Detector:
        return EvidenceDetector(weights, resemblance, model, max_downloads=most, confirmed=confirmed)

    return {
        "evidence": evidence(),
        "barbosa": BarbosaDetector(predictor),
        **{f"evidence, pair from {threshold}": evidence(threshold) for threshold in CONFIRMATIONS},
        **{f"evidence, at most {most}": evidence(most=most) for most in DOWNLOADS},
        **{f"barbosa, t = {threshold}": BarbosaDetector(predictor, threshold) for threshold in PAPER},
    }


def judge(detector: Detector, web: CutWeb, instance: Instance) -> Verdict | None:
    """The verdict on one site; None if its entry page cannot be read."""
    entry = web.fetch(instance.entry)
    if entry is None:
        return None
    inspection = detector.inspect(instance.pair, DetectorPage.from_read_page(entry))
    while (url := inspection.next()) is not None:
        read = web.fetch(url)
        inspection.observe_page(url, DetectorPage.from_read_page(read) if read else None)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, help="folder of frozen sites")
    parser.add_argument("--json", type=Path, help="write the figures of both detectors")
    parser.add_argument(
        "--instances",
        type=Path,
        help="list of instances (SITES_DIR/../../discovery/detector_instances.tsv, if it is there)",
    )
    parser.add_argument("--verbose", action="store_true", help="print the wrong verdicts of the evidence detector")
    parser.add_argument(
        "--unseen-kinds", action="store_true", help="judge a site by weights learnt from the other kinds of SITES_DIR"
    )
    options = parser.parse_args()
    models = models_folder(None)
    model = LanguageModel(models / "url-language")
    shipped = detectors(EvidenceWeights.load(models), LinkPredictor.load(models), model)
    by_kind: dict[str, dict[str, Detector]] = {}
    if options.unseen_kinds:
        examples = [read_examples(folder, model) for folder in track(site_folders(options.sites), "Reading")]
        by_kind = {kind: detectors(*learnt, model) for kind, *learnt in without_each_kind(examples)}
    beside = options.sites.resolve().parent.parent / "discovery" / "detector_instances.tsv"
    path = options.instances or (beside if beside.exists() else None)
    listed = read_instances(path) if path else ()
    judged = list(judge_all(options.sites, listed, lambda site: by_kind.get(kind_of(site), shipped)))
    some = linked(judged)
    print(f"\n{'':28}{'linked sites':^36}{'all sites':^36}{'the paper':^27}")
    print(
        f"{'':28}"
        + f"{'recall':>9}{'precis.':>9}{'downl.':>9}{'disj.':>9}" * 2
        + f"{'recall':>9}{'precis.':>9}{'downl.':>9}"
    )
    for name in shipped:
        columns = [*figures(some, name).values(), *figures(judged, name).values()]
        if name.startswith("barbosa, t"):
            columns += PAPER[float(name.rpartition(" ")[2])]
        print(f"{name:28}" + "".join(f"{column:9.2f}" for column in columns))
    if options.verbose:
        for instance, verdicts in judged:
            verdict = verdicts.get("evidence")
            if verdict is None or verdict.bilingual != (instance.variant is Variant.WHOLE):
                print(*(instance.site, instance.pair, instance.variant, instance.kept, instance.entry, verdict))
    if options.json:
        result = {
            **{name: figures(some, name) for name in ("evidence", "barbosa")},
            "all_sites": {name: figures(judged, name) for name in ("evidence", "barbosa")},
        }
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
