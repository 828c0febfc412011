"""Which pages have the same text in two languages: fits and measures bilingual_crawler/pages/parts.py.

    python -m benchmarks.bilingual_pages SITES [SITES …] [--fit] [--list FILE]

SITES are folders of archived sites. Positive examples are gold pairs put on one page, one below the other or paragraph
by paragraph, and the real pages of sites that write in two languages. Negative are pages that are translated in half or
here and there, pages with the text of another page, and all other real pages with two languages. A site is measured
with weights that were fitted to the others; with --fit those of all sites are printed. --list writes the real pages and
their probabilities.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from bilingual_crawler.harvest.cuts import site_folders
from bilingual_crawler.harvest.sites import read_site
from bilingual_crawler.pages.decode import decode_body
from bilingual_crawler.pages.html import walk_through
from bilingual_crawler.pages.language import BY_DEFAULT
from bilingual_crawler.pages.parts import MIN_PROBABILITY, Lines, features, split_by_language
from bilingual_crawler.storage.archive import iter_responses
from bilingual_crawler.urls.canonical import canonicalise
from training.common.options import refuse_bad_input

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

IN_TWO_LANGUAGES = frozenset(["civiclearn.kansalaisuuskoe"])
"""Sites whose real pages with two languages have the same text in both, as reading them has shown."""
MAX_PAGES = 700
"""Pages of a site that are read."""
MAX_PAIRS = 12
MIN_TEXT = 300
"""Characters of the main text of a page that is put on one page with another."""
THRESHOLDS = (0.5, MIN_PROBABILITY, 0.9)


class Example(NamedTuple):
    """A page with two languages."""

    site: str
    kind: str
    is_parallel: bool
    url: str
    values: tuple[float, ...]


def run(options: argparse.Namespace) -> None:
    """Measure, and print the table."""
    examples = [example for folder in options.sites for site in site_folders(folder) for example in examples_of(site)]
    values = np.array([example.values for example in examples])
    labels = np.array([example.is_parallel for example in examples])
    weight = weights_of(examples)
    probabilities = np.zeros(len(examples))
    for site in {example.site for example in examples}:
        own = np.array([example.site == site for example in examples])
        fitted = fit(values[~own], labels[~own], weight[~own])
        probabilities[own] = fitted.predict_proba(values[own])[:, 1]
    print_table(examples, probabilities)
    if options.list:
        found = zip(examples, probabilities, strict=True)
        rows = [f"{p:.3f}\t{e.site}\t{e.url}" for e, p in found if e.kind == "real"]
        options.list.write_text("\n".join(sorted(rows, reverse=True)) + "\n", encoding="utf-8")
    if options.fit:
        intercept, weights = weights_in(fit(values, labels, weight))
        print(f"INTERCEPT = {intercept:.3f}\nWEIGHTS = ({', '.join(f'{one:.3f}' for one in weights)})")


def main() -> None:
    """Read the sites, measure each with the others, print table and weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, nargs="+")
    parser.add_argument("--fit", action="store_true", help="print the weights that fit all sites")
    parser.add_argument("--list", type=Path, help="write the real pages with two languages here")
    options = parser.parse_args()
    with refuse_bad_input(parser):
        run(options)


def examples_of(folder: Path) -> Iterator[Example]:
    """Yield the pages with two languages that the site in *folder* has, and that are made of its pages."""
    texts = dict(texts_of(folder))
    rng = random.Random(folder.name)
    for url, text in texts.items():
        yield from example(folder.name, "real", folder.name in IN_TWO_LANGUAGES, url, text)
    pairs = [(pair.url_a, pair.url_b) for pair in read_site(folder).pairs]
    known = {frozenset(pair) for pair in pairs}
    pairs = [
        pair for pair in pairs if all(url in texts and sum(map(len, texts[url].texts)) >= MIN_TEXT for url in pair)
    ]
    other: str | None = None
    for a, b in rng.sample(pairs, min(MAX_PAIRS, len(pairs))):
        for kind, is_parallel, text in made(texts[a], texts[b]):
            yield from example(folder.name, kind, is_parallel, a, text)
        if other and not any(frozenset((one, other)) in known for one in (a, b)):
            yield from example(folder.name, "another page", False, a, of([*texts[a].texts, *texts[other].texts]))
        other = b


def made(a: Lines, b: Lines) -> Iterator[tuple[str, bool, Lines]]:
    """Yield kind, truth and text of pages that are made of two translations."""
    one, two = a.texts, b.texts
    yield "one below the other", True, of([*one, *two])
    yield "half translated", False, of([*one[: len(one) // 2], *two[len(two) // 2 :]])
    if len(one) == len(two):
        pairs = list(zip(one, two, strict=True))
        yield "by paragraph", True, of([line for pair in pairs for line in pair])
        scattered = [second if place % 3 == 0 else first for place, (first, second) in enumerate(pairs)]
        yield "a third translated", False, of(scattered)


def of(texts: Sequence[str]) -> Lines:
    """Return main text with these lines."""
    return Lines(texts, [None] * len(texts))


def example(site: str, kind: str, is_parallel: bool, url: str, text: Lines) -> Iterator[Example]:
    """Yield *text* as an example if it has two languages."""
    split = split_by_language(text, BY_DEFAULT)
    values = features(split) if split else None
    if values is not None:
        yield Example(site, kind, is_parallel, url, values)


def texts_of(folder: Path) -> Iterator[tuple[str, Lines]]:
    """Yield URL and lines of the first pages of the site in *folder*."""
    read = 0
    for response in iter_responses([folder]):
        url = canonicalise(response.url)
        if response.status != 200 or url is None or read == MAX_PAGES:
            continue
        read += 1
        kind = response.headers.get(b"content-type", [b""])[0].decode("latin-1")
        walk = walk_through(decode_body(response.body, kind))
        yield url, Lines.from_walk(walk)


def weights_of(examples: Sequence[Example]) -> NDArray[np.float64]:
    """Weights by which each site counts as much in each kind, and real pages as much as all made ones."""
    sizes = Counter((one.site, one.kind) for one in examples)
    sites: defaultdict[str, set[str]] = defaultdict(set)
    for one in examples:
        sites[one.kind].add(one.site)
    made_kinds = len(sites) - 1
    return np.array(
        [
            (made_kinds if one.kind == "real" else 1) / len(sites[one.kind]) / sizes[one.site, one.kind]
            for one in examples
        ]
    )


def fit(values: NDArray[np.float64], labels: NDArray[np.bool_], weight: NDArray[np.float64]) -> Pipeline:
    """Fit a logistic regression to standardised values."""
    model = make_pipeline(StandardScaler(), LogisticRegression(C=100 / len(values)))
    return model.fit(values, labels, logisticregression__sample_weight=weight / weight.mean())


def weights_in(fitted: Pipeline) -> tuple[float, NDArray[np.float64]]:
    """Return intercept and weights of the values as they are."""
    scaler, regression = fitted[0], fitted[-1]
    weights = regression.coef_[0] / scaler.scale_
    return float(regression.intercept_[0] - weights @ scaler.mean_), weights


def print_table(examples: Sequence[Example], probabilities: NDArray[np.float64]) -> None:
    """Print for each kind the share of the pages that is taken for parallel."""
    kinds = sorted({(not one.is_parallel, one.kind) for one in examples})
    print(f"{'':22}{'':14}{'pages':>7}" + "".join(f"{f'≥ {threshold}':>8}" for threshold in THRESHOLDS))
    for negative, kind in kinds:
        own = np.array([one.kind == kind and one.is_parallel != negative for one in examples])
        shares = "".join(f"{(probabilities[own] >= threshold).mean():8.3f}" for threshold in THRESHOLDS)
        print(f"{kind:22}{'not parallel' if negative else 'parallel':14}{own.sum():7}{shares}")


if __name__ == "__main__":
    main()
