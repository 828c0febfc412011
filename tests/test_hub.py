import re
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from support import tiny_xlmr
from support.refusals import refused
from transformers import XLMRobertaForSequenceClassification

from bilingual_crawler.scoring.models import LanguageModel, ModelError, ParallelnessModel
from bilingual_crawler.urls.model_input import model_text
from training import export
from training.common import model_folder
from training.common.model_folder import largest_difference
from training.transformer import hub

URLS = ["https://www.example.mt/mt/ahbar", "http://a.is", "https://a.com/" + "x/" * 40]


def checkpoint(folder: Path, labels: int, layout: str = "transformers") -> XLMRobertaForSequenceClassification:
    model = tiny_xlmr.network(num_hidden_layers=1, max_position_embeddings=300, num_labels=labels).eval()
    with torch.no_grad():
        model.classifier.out_proj.weight.normal_()
    tiny_xlmr.tokenizer().save_pretrained(folder)
    if layout == "transformers":
        model.save_pretrained(folder)
    else:
        model.config.save_pretrained(folder)
        head = {f"language-identification.{k}": v for k, v in model.classifier.state_dict().items()}
        torch.save({"encoder": model.roberta.state_dict(), "tasks": head}, folder / "model.pt")
    return model


def export_language(source: Path, out: Path, precision: str = "fp32") -> None:
    export.main(f"--from-hub {source} --kind language --precision {precision} --out {out}".split())


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model in `out`, from the checkpoint in `hub`."""
    folder = tmp_path_factory.mktemp("language")
    checkpoint(folder / "hub", 162)
    export_language(folder / "hub", folder / "out")
    return folder


@pytest.mark.slow
def test_a_language_checkpoint_scores_as_in_pytorch(exported: Path) -> None:
    found = LanguageModel(exported / "out")
    assert found.labels[:3] == ("unk", "eng", "deu")
    batch = tiny_xlmr.tokenizer()([model_text(url) for url in URLS], padding=True, return_tensors="pt")
    model = XLMRobertaForSequenceClassification.from_pretrained(exported / "hub").eval()
    with torch.no_grad():
        expected = model(batch["input_ids"], batch["attention_mask"]).logits.softmax(1).numpy()
    assert np.allclose(found.probabilities(URLS), expected, atol=1e-4)


@pytest.mark.parametrize("labels", [1, 162])
def test_the_layout_of_the_reference_code_is_read(tmp_path: Path, labels: int) -> None:
    model = checkpoint(tmp_path, labels, "reference")
    given = torch.randint(4, 100, (2, 9)), torch.ones((2, 9), dtype=torch.long)
    assert torch.equal(hub.load_classifier(str(tmp_path), "language")(*given), model(*given).logits)


@pytest.mark.slow
def test_a_pair_checkpoint_joins_the_urls_with_one_separator(tmp_path: Path) -> None:
    model = checkpoint(tmp_path / "hub", 2)
    export.main(f"--from-hub {tmp_path}/hub --kind parallelness --out {tmp_path}/out".split())
    pair = ("https://a.mt/en/x", "https://a.mt/mt/x")
    ids = tiny_xlmr.tokenizer()("</s>".join(map(model_text, pair)), return_tensors="pt")["input_ids"]
    assert (ids == 2).sum() == 2
    with torch.no_grad():
        found = model(ids).logits[0]
    expected = float(found.softmax(0)[1])
    assert ParallelnessModel(tmp_path / "out").probabilities([pair])[0] == pytest.approx(expected, abs=1e-4)
    # one logit is what is left of two
    last = model.classifier.out_proj
    last.weight, last.bias = (torch.nn.Parameter(both[1:] - both[:1]) for both in (last.weight, last.bias))
    last.out_features = model.config.num_labels = 1
    model.save_pretrained(tmp_path / "one")
    one, two = (hub.load_classifier(str(tmp_path / name), "parallelness") for name in ("one", "hub"))
    assert not one.difference
    assert torch.allclose(one(ids, torch.ones_like(ids)), two(ids, torch.ones_like(ids)), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_lower_precision_is_smaller_and_weights_that_one_file_cannot_hold_are_in_another(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], precision: str
) -> None:
    # another export of the checkpoint finds the graph that the first one has made
    monkeypatch.setattr(hub, "classifier_graph", lambda net: onnx.load(exported / "out" / "model.onnx"))
    one, two = tmp_path / "one", tmp_path / "two"
    export_language(exported / "hub", one, precision)
    assert re.search(r"logits differ from PyTorch by.* of 4 inputs", capsys.readouterr().out.splitlines()[-1])
    assert f"{precision}: logits differ" in (one / "README.md").read_text()
    net, graph = hub.load_classifier(str(exported / "hub"), "language"), onnx.load(one / "model.onnx")
    assert largest_difference(net, graph, torch.randint(4, 100, (3, 15))) < 0.1
    assert (graph.ByteSize() < onnx.load(exported / "out" / "model.onnx").ByteSize()) == (precision != "fp32")
    monkeypatch.setattr(model_folder, "MAX_WEIGHTS", 1000)  # 2 GiB
    export_language(exported / "hub", two, precision)
    assert (two / "model.onnx").stat().st_size < (one / "model.onnx").stat().st_size / 2
    assert np.allclose(LanguageModel(two).probabilities(URLS), LanguageModel(one).probabilities(URLS), atol=1e-5)
    assert "| `model.onnx.data` |" in (two / "README.md").read_text()
    weights = two / "model.onnx.data"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ModelError, match=r"model\.onnx\.data: changed since export"):
        LanguageModel(two)
    weights.unlink()
    with pytest.raises(ModelError, match=r"model\.onnx\.data: No such file"):
        LanguageModel(two)


def test_what_is_no_classifier_of_the_kind_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = checkpoint(tmp_path / "five", 5)
    for name in ("base", "cut", "empty"):
        shutil.copytree(tmp_path / "five", tmp_path / name)
    model.roberta.save_pretrained(tmp_path / "base")
    (tmp_path / "cut" / "model.safetensors").unlink()
    (tmp_path / "empty" / "config.json").unlink()
    reference = checkpoint(tmp_path / "state", 162, "reference").roberta.state_dict()
    other = {f"model.{key}": value for key, value in reference.items()}
    state = torch.load(tmp_path / "state" / "model.pt", weights_only=True)
    torch.save(state | {"encoder": other}, tmp_path / "state" / "model.pt")
    for name, kind, message in (
        ("five", "parallelness", "has 5 outputs, a model of pairs has 1 or 2"),
        ("five", "language", "LABEL_0, LABEL_1, LABEL_2, LABEL_3, LABEL_4: no label is a language"),
        ("base", "language", "4 weights are missing, classifier.dense.bias among them"),
        ("cut", "language", "no classifier in"),
        ("empty", "language", "no classifier in"),
        ("state", "language", "weights are missing, roberta.embeddings"),
    ):
        command = f"--from-hub {tmp_path / name} --kind {kind} --out {tmp_path}/out"
        assert message in refused(capsys, export.main, command)
    assert not (tmp_path / "out").exists()
