import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from bilingual_crawler.scoring.linear import LinearModel, expit, logistic, logit, read_weights
from bilingual_crawler.scoring.models import ModelError

MODEL = LinearModel(-1.0, {"length": 0.5, "names": 2.0})


def test_numbers_and_arrays_are_predicted_alike() -> None:
    rows = [{"length": 4.0, "names": 0.25}, {"names": -3.0, "length": 0.0}]
    columns = {name: np.array([row[name] for row in rows]) for name in MODEL.weights}
    assert [MODEL.predict(row) for row in rows] == [1.5, -7.0]
    assert MODEL.predict(columns).tolist() == [1.5, -7.0]
    assert columns["length"].tolist() == [4.0, 0.0], "the features are not changed in place"
    assert MODEL.probability(rows[0]) == pytest.approx(1 / (1 + math.exp(-1.5)))


def test_an_absent_feature_counts_as_0_and_an_unknown_one_is_an_error() -> None:
    assert MODEL.predict({"names": 1.0}) == MODEL.predict({"length": 0.0, "names": 1.0})
    with pytest.raises(KeyError, match="width"):
        MODEL.predict({"width": 1.0})


def test_probabilities_stay_between_0_and_1_for_any_log_odds() -> None:
    assert 0 < logistic(-1e9) < logistic(0) == 0.5 < logistic(1e9) < 1


@pytest.mark.filterwarnings("error")
def test_arrays_of_probabilities_and_log_odds_are_those_of_scipy() -> None:
    odds = np.array([-np.inf, -1e9, -30.5, -1e-9, 0, 2.5, 1e9, np.inf, np.nan])
    probabilities = np.array([0, 1e-300, 0.02, 0.5, 0.995, 1, np.nan])
    np.testing.assert_allclose(expit(odds), special.expit(odds), rtol=1e-14)
    np.testing.assert_allclose(logit(probabilities), special.logit(probabilities), rtol=1e-14)


def test_weights_of_other_features_or_none_at_all_are_named_with_their_file(tmp_path: Path) -> None:
    file = tmp_path / "weights.json"
    MODEL.check(("names", "length"), file)
    for features in (("names",), ("names", "length", "width")):
        with pytest.raises(ModelError, match=r"weights\.json: .*train it again"):
            MODEL.check(features, file)
    with pytest.raises(ModelError, match=r"weights\.json: No such file"):
        read_weights(file, LinearModel)
    file.write_text(json.dumps({"intercept": 1, "weights": {"names": "heavy"}}))
    with pytest.raises(ModelError, match=r"weights\.json: not the weights"):
        read_weights(file, LinearModel)
    file.write_text(json.dumps({"intercept": 1, "weights": {"names": 2}}))
    assert read_weights(file, LinearModel) == LinearModel(1.0, {"names": 2.0})
