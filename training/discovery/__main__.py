"""Train the detectors of bilingual sites on frozen ones: ``python -m training.discovery SITES``.

Logistic regressions over the links of entry pages and documents, and over pairs of pages (see
``bilingual_crawler.discovery.detector``). Prints how good they are on kinds of sites that they were not trained on, and
writes their weights.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from rich.progress import track
from sklearn.metrics import roc_auc_score

from bilingual_crawler.discovery.detector.barbosa import FILE as BARBOSA
from bilingual_crawler.discovery.detector.barbosa import likelihood
from bilingual_crawler.discovery.detector.features import EVIDENCE, FOLDER
from bilingual_crawler.scoring.models import LanguageModel, models_folder
from training.common.data import DataError
from training.common.options import refuse_bad_input
from training.discovery.cuts import site_folders
from training.discovery.examples import read_examples
from training.discovery.fit import fit_barbosa, fit_evidence, without_each
from training.documents.encounters import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from training.discovery.examples import Examples


def main() -> None:
    """Train, print the quality on what was left out, write the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, help="folder of frozen sites")
    parser.add_argument("--out", type=Path, default=Path("models") / FOLDER, help="model folder (%(default)s)")
    args = parser.parse_args()
    with refuse_bad_input(parser):
        model = LanguageModel(models_folder(None) / "url-language")
        examples = [read_examples(folder, model) for folder in track(site_folders(args.sites), "Reading")]
        if len({one.kind for one in examples}) < 2:
            raise DataError(f"{args.sites} holds one kind of site: give two or more, each is left out once")
    report(examples)
    args.out.mkdir(parents=True, exist_ok=True)
    for name, weights in ((EVIDENCE, fit_evidence(examples)), (BARBOSA, fit_barbosa(examples))):
        (args.out / name).write_bytes(msgspec.json.format(msgspec.json.encode(weights), indent=1) + b"\n")


def report(examples: Sequence[Examples]) -> None:
    """Print the area under the ROC curve of each regression on kinds of sites that it was not trained on."""
    scores: dict[str, list[tuple[float, bool]]] = {
        name: [] for name in ("language", "translation", "parallel", "barbosa")
    }
    for kind, evidence, barbosa in without_each(examples, kind_of):
        for one in (one for one in examples if one.kind == kind):
            for link in one.links:
                scores["language"].append((evidence.language.probability(link.features), link.in_language))
                scores["translation"].append((evidence.translation.probability(link.features), link.translation))
            scores["barbosa"] += [(likelihood(barbosa, link.tokens), link.in_language) for link in one.tokens]
            scores["parallel"] += [(evidence.parallel.probability(pair.features), pair.parallel) for pair in one.pairs]
    for name, judged in scores.items():
        probabilities, labels = np.array(judged).T
        print(f"{name:12} {len(judged):6} examples, area under the curve {roc_auc_score(labels, probabilities):.3f}")


if __name__ == "__main__":
    main()
