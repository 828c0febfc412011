"""Train the classifiers of document pairs on frozen sites with gold pairs: ``python -m training.documents SITES``.

Every classifier is a gradient boosting of small trees over one view of the evidence (see ``documents/
evidence.py``), calibrated on kinds of sites that it was not trained on. The thorough one meets every site in all forms
(``forms.py``), so that pages without HTML, announcements or telling URLs are nothing new to it. Candidates count if one
of their documents is in a gold pair; a domain gives a sample of them and weighs as its square root, so that big sites
do not drown the small ones.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.progress import track
from sklearn.tree import DecisionTreeClassifier

from bilingual_crawler.alignment.documents.content import CONTENT_FEATURES
from bilingual_crawler.alignment.documents.evidence import FOLDER, VIEWS, View
from bilingual_crawler.alignment.documents.structure import PAPER_FEATURES
from bilingual_crawler.alignment.encoders.base import load_encoder
from bilingual_crawler.harvest.sites import read_tasks
from training.documents.classifier import calibrate, cross_validated, fit, measure
from training.documents.examples import SEED, read_sites
from training.documents.trees import boosted_to_onnx, tree_to_onnx

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from training.documents.examples import Examples

THRESHOLD = 0.5


def main() -> None:
    """Train all views, print their cross-validated quality, write models and configuration."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, help="folder of frozen sites with tasks.tsv")
    parser.add_argument("--encoder", default="e5-small", help="sentence encoder (%(default)s)")
    parser.add_argument(
        "--cache", type=Path, default=Path("~/.cache/bilingual-crawler"), help="of vectors (%(default)s)"
    )
    parser.add_argument("--out", type=Path, default=Path("models") / FOLDER, help="model folder (%(default)s)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    encoder = load_encoder(args.encoder, args.cache.expanduser())
    sites = [one for task in track(read_tasks(args.sites)) for one in read_sites(args.sites, task, encoder)]
    examples = [site.examples() for site in sites]
    whole = [one for one in examples if one.form == "whole"]
    views = {name: _train(name, whole, args.out) for name in VIEWS if name != "thorough"}
    # pairs that a judge finds on a site of another kind teach how the site translates, as they do in use
    _, _, probabilities = _held_out(examples, VIEWS["auto"])
    pairs = [one.pairs(found, THRESHOLD) for one, found in zip(examples, probabilities, strict=True)]
    taught = [site.examples(found) for site, found in zip(sites, pairs, strict=True)]
    # the encoder may be missing
    plain = [one.without(CONTENT_FEATURES) for one in taught]
    views["thorough"] = _train("thorough", [*taught, *plain], args.out)
    tree = DecisionTreeClassifier(max_depth=6, min_samples_leaf=20, random_state=SEED)
    rows = np.concatenate([one.rows(PAPER_FEATURES)[one.touching] for one in whole])
    tree.fit(rows, np.concatenate([one.parallel[one.touching] for one in whole]))
    (args.out / "pplocator.onnx").write_bytes(tree_to_onnx(tree))
    # the tree gives a probability: spread it out, so that the scale of a logit does no harm to one half
    views["pplocator"] = View(PAPER_FEATURES, 20.0, -10.0, THRESHOLD)
    config = {"format": 1, "views": {name: asdict(view) for name, view in views.items()}}
    (args.out / "config.json").write_text(json.dumps(config, indent=1) + "\n")


def _train(name: str, examples: Sequence[Examples], out: Path) -> View:
    """Write the judge of a view."""
    features = VIEWS[name]
    slope, shift, probabilities = _held_out(examples, features)
    for form in dict.fromkeys(one.form for one in examples):
        shown = [place for place, one in enumerate(examples) if one.form == form]
        recall, precision = measure(
            [examples[place] for place in shown], [probabilities[place] for place in shown], THRESHOLD
        )
        print(f"{name}, {form}: recall {recall:.3f}, precision {precision:.3f} on kinds of sites not trained on")
    (out / f"{name}.onnx").write_bytes(boosted_to_onnx(fit(examples, features)))
    return View(tuple(features), slope, shift, THRESHOLD)


def _held_out(examples: Sequence[Examples], features: Sequence[str]) -> tuple[float, float, list[NDArray[np.float64]]]:
    """Slope, shift, and the probabilities by judges that saw no site of the kind."""
    scores = cross_validated(examples, features)
    slope, shift = calibrate(examples, scores)
    return slope, shift, [1 / (1 + np.exp(-(slope * score + shift))) for score in scores]


if __name__ == "__main__":
    main()
