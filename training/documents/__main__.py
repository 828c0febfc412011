"""Train the classifiers of document pairs on frozen sites with gold pairs: ``python -m training.documents SITES``.

Every classifier is a gradient boosting of small trees over one view of the evidence (see ``bilingual_crawler.pairing.
evidence``), calibrated on sites that it was not trained on. Candidates count if one of their documents is in a gold
pair; a domain gives a sample of them and weighs as its square root, so that big sites do not drown the small ones.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rich.progress import track
from sklearn.tree import DecisionTreeClassifier

from bilingual_crawler.harvest.sites import read_tasks
from bilingual_crawler.pairing.classifier import FOLDER, View
from bilingual_crawler.pairing.encoders import load_encoder
from bilingual_crawler.pairing.evidence import VIEWS
from bilingual_crawler.pairing.structure import PAPER_FEATURES
from training.documents.classifier import calibrate, cross_validated, fit, measure
from training.documents.examples import SEED, read_examples
from training.documents.trees import boosted_to_onnx, tree_to_onnx

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
    examples = [one for task in track(read_tasks(args.sites)) for one in read_examples(args.sites, task, encoder)]
    views = {}
    for name, features in VIEWS.items():
        scores = cross_validated(examples, features)
        slope, shift = calibrate(examples, scores)
        recall, precision = measure(examples, scores, (np.log(THRESHOLD / (1 - THRESHOLD)) - shift) / slope)
        print(f"{name}: recall {recall:.4f}, precision {precision:.4f} on sites not trained on")
        views[name] = asdict(View(tuple(features), slope, shift, THRESHOLD))
        (args.out / f"{name}.onnx").write_bytes(boosted_to_onnx(fit(examples, features)))
    tree = DecisionTreeClassifier(max_depth=6, min_samples_leaf=20, random_state=SEED)
    rows = np.concatenate([one.rows(PAPER_FEATURES)[one.touching] for one in examples])
    tree.fit(rows, np.concatenate([one.parallel[one.touching] for one in examples]))
    (args.out / "pplocator.onnx").write_bytes(tree_to_onnx(tree))
    # the tree gives a probability: spread it out, so that the scale of a logit does no harm to one half
    views["pplocator"] = asdict(View(PAPER_FEATURES, 20.0, -10.0, THRESHOLD))
    (args.out / "config.json").write_text(json.dumps({"format": 1, "views": views}, indent=1) + "\n")


if __name__ == "__main__":
    main()
