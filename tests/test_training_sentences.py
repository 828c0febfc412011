"""The quality score of sentence pairs is fitted on corrupted documents."""

import re
from random import Random

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra train")

from pathlib import Path

from bilingual_crawler.bitext.quality import WITHOUT_ENCODER
from bilingual_crawler.bitext.splitting import Sentence
from bilingual_crawler.harvest.sites import read_tasks
from training.common.data import DataError
from training.sentences import Example, corrupt, examples, fit, reliability

NAMES = list(WITHOUT_ENCODER.weights)


def test_documents_are_corrupted_in_each_way_and_the_same_every_time() -> None:
    side = [Sentence(f"{letter} one two three four five six seven", n) for n, letter in enumerate("dcbahgfe")]
    documents = [(side, [Sentence(f"{d} {s.text}", s.paragraph) for s in side]) for d in range(200)]
    found = list(corrupt(documents, Random("seed")))
    assert found == list(corrupt(documents, Random("seed")))
    assert len(found) == len(documents)
    whole = sum(one == other for one, other in zip(found, documents, strict=True))
    assert 0.4 < whole / len(documents) < 0.75
    lost = [s for (a, b), (c, d) in zip(found, documents, strict=True) for s in (len(c) - len(a), len(d) - len(b))]
    assert max(lost) >= 3
    texts = {s.text for a, b in documents for s in (*a, *b)}
    assert any(s.text not in texts for a, b in found for s in (*a, *b)), "some are cut in half"
    assert any(b and b[0].text[:3].split()[0] != str(n) for n, (_, b) in enumerate(found)), "some are of another page"
    assert any([s.text for s in b] == sorted(s.text for s in b) for _, b in found if len(b) > 3), "some are in order"


def test_shares_are_those_of_the_pairs_with_a_score() -> None:
    scores, right = np.array([0.95, 0.95, 0.15, 0.15]), np.array([True, False, False, False])
    assert [row[0] for row in reliability(scores, right)] == [0.1, 0.9]


def test_what_tells_right_from_wrong_gets_weight(capsys: pytest.CaptureFixture[str]) -> None:
    random = Random(1)
    found = []
    for n in range(400):
        right = random.random() < 0.7
        row = dict.fromkeys(NAMES, 0.0) | {"found_a": random.gauss(1.0 if right else -1.0, 0.7)}
        found.append(Example(f"site{n % 4}", row, right))
    fit(found, NAMES)
    printed = re.findall(r'^ {8}"(\w+)": *([-.\d]+)', capsys.readouterr().out, re.MULTILINE)
    weights = {name: float(value) for name, value in printed}
    assert list(weights) == NAMES
    assert weights["found_a"] > 1
    assert weights["around"] == 0


@pytest.mark.parametrize(("sites", "right"), [((), 0), (("a", "a"), 1), (("a", "b"), 2)])
def test_too_few_sites_are_named(sites: tuple[str, ...], right: int) -> None:
    row = dict.fromkeys(NAMES, 1.0)
    with pytest.raises(DataError, match=f"{right} of {len(sites)} sentence pairs of {len({*sites})} sites are right"):
        fit([Example(site, row, n < right) for n, site in enumerate(sites)], NAMES)


def test_the_sentences_of_a_site_are_examples_of_both_kinds(shared_data: Path) -> None:
    folder = shared_data / "sites" / "train"
    task = next(task for task in read_tasks(folder) if task.site == "deb.maint-guide")
    (found,) = examples(folder, task, None)
    right = np.mean([one.right for one in found])
    assert len(found) > 100
    assert 0.5 < right < 0.95
    assert set(found[0].row) == set(NAMES)
