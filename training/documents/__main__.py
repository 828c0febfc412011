"""Train the judges of document pairs: ``python -m training.documents SITES [HALF_TRANSLATED NOTHING CMS …]``.

Each argument is a folder of frozen sites. Sites of which only a part is translated, or nothing, teach that a page may
have no partner (``orphans.tsv``). What two pages hold is judged by boosted trees, one for each view of the evidence
(``evidence.py``); what the site says of a pair by a logistic regression on top of it (``convention.py``), and sentences
by another one (``bitext.py``). All are calibrated on kinds of sites that they were not trained on. The site's judge and
the thorough one meet every site in several forms (``forms.py``), so that pages without HTML, announcements or telling
URLs are nothing new to them; the site's judge also meets announcements and equal addresses that lie. Candidates count
if one of their documents is in a gold pair, or has no translation; a domain gives a sample of them and weighs as its
square root, so that big sites do not drown the small ones.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np
from msgspec.structs import asdict
from rich.progress import track
from scipy.special import expit, logit
from sklearn.tree import DecisionTreeClassifier

from bilingual_crawler.encoders.base import load_encoder
from bilingual_crawler.harvest.sites import SiteError, read_tasks
from bilingual_crawler.pages.sandbox.pool import processes
from bilingual_crawler.pairing.candidates import Editions, url_evidence
from bilingual_crawler.pairing.content import CONTENT_FEATURES
from bilingual_crawler.pairing.convention import (
    SITE_FEATURES,
    contradictions,
    convincing,
    outshone,
    says,
    site_columns,
    url_columns,
)
from bilingual_crawler.pairing.evidence import (
    CONFIG,
    FOLDER,
    VIEWS,
    CandidateEvidence,
    Proposals,
    View,
)
from bilingual_crawler.pairing.sentences import (
    BITEXT_FEATURES,
    CLAIM_FEATURES,
    MIN_HELD,
    SUPPORTED,
    SURE,
    BitextReader,
    doubtful,
)
from bilingual_crawler.scoring.linear import LinearModel
from bilingual_crawler.settings import BILINGUAL_MIN_SCORE
from training.common.options import refuse_bad_input, workers
from training.documents.classifier import Regression, corrected, fit_correction, fit_trees, held_out, report
from training.documents.examples import SEED, TaskSites
from training.documents.forms import FORMS
from training.documents.trees import boosted_to_onnx, tree_to_onnx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from bilingual_crawler.harvest.sites import Task
    from bilingual_crawler.pairing.corpus import Domain
    from training.documents.examples import Examples

    Place = tuple[Path, Task]
    T = TypeVar("T")
    Pairs = list[tuple[NDArray[np.intp], NDArray[np.intp]]]

PAPER_FEATURES = ("word_ratio", "byte_ratio", "tags", "word_overlap")
"""The four features of PPLocator; ratios are a logarithm of first to second."""
SAYING = ("whole", "unannounced", "silent", "lying")
"""Forms in which the site's judge meets a site: what pages hold is the same, what the site says is not."""
REFUTING = ("contradicted", "site_contradicted")
"""Features of the site's judge that it learns from sites that lie."""
BELIEVING = tuple(name for name in SITE_FEATURES if name not in REFUTING)
"""Those that it learns from sites that tell the truth."""
READ = ("whole", "silent", "lying")
"""Forms in which sentences are read."""
SHOWING = ("whole", "text")
"""Forms in which the thorough judge meets a site."""


def main() -> None:
    """Train all judges, print their cross-validated quality, write models and configuration."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, nargs="+", help="folders of frozen sites with tasks.tsv")
    parser.add_argument("--encoder", default="e5-small", help="sentence encoder (%(default)s)")
    parser.add_argument(
        "--cache", type=Path, default=Path("~/.cache/bilingual-crawler"), help="of vectors (%(default)s)"
    )
    parser.add_argument("--out", type=Path, default=Path("models") / FOLDER, help="model folder (%(default)s)")
    args = parser.parse_args()
    with refuse_bad_input(parser):
        run(args)


def run(args: argparse.Namespace) -> None:
    """Train all judges from the folders of ``args.sites``, write ``args.out``."""
    places = [(folder, task) for folder in args.sites for task in read_tasks(folder)]
    if not places:
        raise SiteError(f"{' '.join(map(str, args.sites))}: no tasks.tsv names a task; give each pair of a site a line")
    args.out.mkdir(parents=True, exist_ok=True)
    encoder = args.encoder, args.cache.expanduser()
    views: dict[str, View] = {}

    by_task = _each(partial(_read, *encoder), [(place,) for place in places])
    examples = [one for found in by_task for one in found]
    whole = [one for one in examples if one.form == "whole"]
    for name in ("structure", "content", "structure-content"):
        views[name] = _train(name, whole, args.out)

    _, _, held = held_out(examples, VIEWS["structure"], fit_trees)
    said = [
        one.with_columns(site_columns(odds, one.columns, (one.a, one.b), one.alike, contradictions(odds, one.columns)))
        for one, odds in zip(examples, held, strict=True)
    ]
    slope, shift, odds = held_out(said, BELIEVING, Regression)
    report("site, believing", said, odds, BILINGUAL_MIN_SCORE)
    believing = Regression([one for one in said if not one.lying], BELIEVING).judge(slope, shift)
    said = [one.with_columns({"believing": own}) for one, own in zip(said, odds, strict=True)]
    odds = corrected(said, "believing", REFUTING)
    report("site", said, odds, BILINGUAL_MIN_SCORE)
    refuting = fit_correction(said, "believing", REFUTING)
    judges = {"site": LinearModel(believing.intercept, believing.weights | refuting.weights)}

    # of each task what the next judges are asked, by those that saw no site of its kind
    judged = iter(
        [
            one.with_columns({"probability": expit(own), "held": by_pages, "said": says(by_pages, one.columns)})
            for one, own, by_pages in zip(examples, odds, held, strict=True)
        ]
    )
    taught: list[tuple[Place, Pairs]] = []
    doubts: list[tuple[Place, str, list[Examples]]] = []
    for place, found in zip(places, by_task, strict=True):
        by_form: dict[str, list[Examples]] = {}
        for one in islice(judged, len(found)):
            by_form.setdefault(one.form, []).append(one)
        if _is_complete(*place):
            taught.append((place, [one.pairs(BILINGUAL_MIN_SCORE) for one in by_form.get("whole", ())]))
        doubts += [(place, form, by_form[form]) for form in READ if form in by_form]
    thorough = [one for found in _each(partial(_read_thoroughly, *encoder), taught) for one in found]
    # the encoder may be missing
    thorough += [one.without(CONTENT_FEATURES) for one in thorough]
    views["thorough"] = _train("thorough", thorough, args.out)

    read = [one for found in _each(_read_sentences, doubts) for one in found]
    claimed = [one for one in read if "aligned" in one.columns]
    slope, shift, odds = held_out(claimed, CLAIM_FEATURES, Regression, lies=True)
    report("claims", claimed, odds, BILINGUAL_MIN_SCORE)
    judges["claims"] = Regression(claimed, CLAIM_FEATURES).judge(slope, shift)
    read = [one for one in read if "behind" in one.columns]
    report("before sentences", read, [one.columns["site"].astype(np.float64) for one in read], BILINGUAL_MIN_SCORE)
    report("sentences", read, corrected(read, "site", BITEXT_FEATURES), BILINGUAL_MIN_SCORE)
    judges["bitext"] = fit_correction(read, "site", BITEXT_FEATURES)

    tree = DecisionTreeClassifier(max_depth=6, min_samples_leaf=20, random_state=SEED)
    rows = np.concatenate([one.rows(PAPER_FEATURES)[one.judged] for one in whole])
    tree.fit(rows, np.concatenate([one.parallel[one.judged] for one in whole]))
    (args.out / "pplocator.onnx").write_bytes(tree_to_onnx(tree))
    # the tree gives a probability: spread it out, so that the scale of a logit does no harm to one half
    views["pplocator"] = View(PAPER_FEATURES, 20.0, -10.0)
    config = {
        "format": 2,
        "views": {name: asdict(view) for name, view in views.items()},
        **{name: msgspec.to_builtins(judge) for name, judge in judges.items()},
    }
    (args.out / CONFIG).write_text(json.dumps(config, indent=1) + "\n")


def _each(read: Callable[..., T], tasks: Iterable[tuple[object, ...]]) -> list[T]:
    """*read* each of *tasks* in other processes."""
    with workers(processes()) as pool:
        waiting = [pool.submit(read, *task) for task in tasks]
        return [future.result() for future in track(waiting)]


def _read(encoder: str, cache: Path, place: Place) -> list[Examples]:
    """The candidates of a task in the forms of :data:`SAYING`, with the features of all views but ``thorough``."""
    sites = TaskSites(*place)
    proposed = [_candidates(domain, encoder, cache) for domain, _ in sites.domains("whole")]
    found = []
    for form in SAYING:
        for (domain, truth), usual in zip(sites.domains(form), proposed, strict=True):
            # what a site lies of may be no candidate but for that
            one = _candidates(domain, encoder, cache) if FORMS[form].lying else usual
            evidence = url_evidence(domain)
            pages = Editions.from_evidence(domain, evidence, with_copies=True)
            columns = one.columns | url_columns(domain, evidence, one.a, one.b, pages)
            found.append(sites.examples(form, domain, truth, replace(one, columns=columns)))
    return found


def _candidates(domain: Domain, encoder: str, cache: Path) -> Proposals:
    return CandidateEvidence(domain, "structure-content", load_encoder(encoder, cache), urls=True).candidates()


def _read_thoroughly(encoder: str, cache: Path, place: Place, taught: Pairs) -> list[Examples]:
    """The candidates of a task in the forms of :data:`SHOWING`, with the features of ``thorough``.

    *taught*: the pairs of each domain by which its glossary is learnt.
    """
    sites = TaskSites(*place)
    found = []
    for form in SHOWING:
        for (domain, truth), pairs in zip(sites.domains(form), taught, strict=True):
            evidence = CandidateEvidence(domain, "thorough", load_encoder(encoder, cache))
            found.append(sites.examples(form, domain, truth, evidence.candidates(pairs)))
    return found


def _read_sentences(place: Place, form: str, judged: Sequence[Examples]) -> list[Examples]:
    """The doubtful candidates of a task with the features of their sentences: claimed ones, and others."""
    sites = TaskSites(*place)
    found = []
    for (domain, truth), one in zip(sites.domains(form), judged, strict=True):
        i, j, held, said = one.a, one.b, one.columns["held"], one.columns["said"].astype(bool)
        probabilities = one.columns["probability"].astype(np.float64)
        reader = BitextReader(domain, i, j, probabilities)
        for disputed in (said & (held < SUPPORTED), ~said & (probabilities <= SURE)):
            asked = doubtful(domain, i, j, probabilities, disputed)
            if not len(asked):
                continue
            if said[asked[0]]:
                best = ~said & convincing(held, one.columns, i, j)
                columns = {
                    "held": held[asked].clip(MIN_HELD, SUPPORTED),
                    "aligned": reader.shares(asked).aligned,
                    "outshone": outshone(held, best, i, j)[asked].astype(np.float64),
                }
            else:
                columns = reader.columns(asked) | {"site": logit(probabilities[asked])}
            floats = {name: column.astype(np.float32) for name, column in columns.items()}
            found.append(sites.examples(form, domain, truth, Proposals(i[asked], j[asked], floats)))
    return found


def _is_complete(folder: Path, task: Task) -> bool:
    """Whether no document of the site is known to have no translation.

    The thorough judge learns from such sites only: texts alone say too little to tell orphans, and the site's judge
    comes after it.
    """
    return not (folder / task.site / "orphans.tsv").exists()


def _train(name: str, examples: Sequence[Examples], out: Path) -> View:
    """Write the trees of a view."""
    features = VIEWS[name]
    slope, shift, odds = held_out(examples, features, fit_trees)
    report(name, examples, odds, BILINGUAL_MIN_SCORE)
    (out / f"{name}.onnx").write_bytes(boosted_to_onnx(fit_trees(examples, features)))
    return View(tuple(features), slope, shift)


if __name__ == "__main__":
    main()
