"""Models say nothing of the machine that made them."""

from pathlib import Path

import pytest
import torch
from torch import nn

from training.common.model_folder import forget_origin, write_graph
from training.transformer.hub import lowered

MODELS = Path(__file__).parent.parent / "models"


@pytest.mark.parametrize("path", sorted(MODELS.glob("*/*.onnx")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_shipped_models_hold_no_paths(path: Path) -> None:
    data = path.read_bytes()
    assert b".py" not in data
    assert b"/tmp/" not in data


def test_traces_of_the_exporter_are_removed(tmp_path: Path) -> None:
    program = torch.onnx.export(nn.Linear(2, 2), (torch.zeros(1, 2),), dynamo=True, verbose=False)
    assert program is not None
    exact = tmp_path / "exact.onnx"
    write_graph(program.model_proto, exact)
    model = lowered(exact, "fp32")
    assert b".py" in model.SerializeToString()
    forget_origin(model)
    assert b".py" not in model.SerializeToString()
