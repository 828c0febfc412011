"""Fine-tuned XLM-R classifiers, such as the models the authors released, as model folders."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.float16 import convert_float_to_float16
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from bilingual_crawler.language_tables import URL_LABELS
from training.export import largest_difference, parity, write_card, write_folder

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel


class Classifier(nn.Module):
    """A sequence classifier that gives its logits only; two logits of a pair become their difference."""

    model: PreTrainedModel

    def __init__(self, model: PreTrainedModel, difference: bool) -> None:
        super().__init__()
        self.model = model
        self.difference = difference

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        logits: Tensor = self.model(input_ids=input_ids, attention_mask=attention_mask).logits
        return logits[:, 1:] - logits[:, :1] if self.difference else logits


def load_classifier(name: str, kind: str) -> Classifier:
    """A classifier from the hub or a folder.

    Reads the layout of transformers, and that of the reference code: one `.pt` file in a folder, with the states
    `encoder` and `tasks`, beside the `config.json` of the encoder.
    """
    own = sorted(Path(name).glob("*.pt")) if Path(name).is_dir() else []
    if not own:
        model = AutoModelForSequenceClassification.from_pretrained(name)
    else:
        state = torch.load(own[0], weights_only=True, map_location="cpu")
        task = next(key for key in state["tasks"] if key.endswith("out_proj.weight")).split(".")[0]
        merged = {f"roberta.{key}": value for key, value in state["encoder"].items() if "pooler" not in key}
        head = {key: value for key, value in state["tasks"].items() if key.startswith(f"{task}.")}
        merged |= {key.replace(task, "classifier", 1): value for key, value in head.items()}
        config = AutoConfig.from_pretrained(name, num_labels=len(merged["classifier.out_proj.bias"]))
        model = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
        model.load_state_dict(merged, strict=False)
    net = Classifier(model, difference=kind == "parallelness" and model.config.num_labels == 2)
    return net.eval()


def classifier_graph(net: Classifier) -> onnx.ModelProto:
    """The graph of a classifier, of any batch and length."""
    ids = torch.randint(4, 100, (3, 11))
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
    program = torch.onnx.export(
        net,
        (ids, torch.ones_like(ids)),
        input_names=["input_ids", "attention_mask"],
        output_names=["logits"],
        dynamic_shapes={"input_ids": sizes, "attention_mask": sizes},
        dynamo=True,
        verbose=False,
    )
    assert program is not None
    return program.model_proto


def lowered(graph: onnx.ModelProto, precision: str) -> onnx.ModelProto:
    """The graph in `fp32` (as it is), `fp16` or `int8` (weights of matrix products)."""
    if precision == "fp16":
        half: onnx.ModelProto = convert_float_to_float16(graph, keep_io_types=True)
        return half
    if precision == "fp32":
        return graph
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "fp32.onnx", Path(folder) / "int8.onnx"
        bare = onnx.ModelProto.FromString(graph.SerializeToString())
        del bare.graph.value_info[:]  # the exporter's shapes trip the quantiser's shape inference
        onnx.save(bare, source)
        quantize_dynamic(source, target, weight_type=QuantType.QInt8)
        return onnx.load(target)


def from_hub(name: str, kind: str, out: Path, precision: str = "fp32") -> float:
    """Convert a classifier; returns the largest difference of logits from PyTorch, which only fp32 must keep small."""
    net = load_classifier(name, kind)
    graph = classifier_graph(net)
    ids = torch.randint(4, 100, (4, 19))
    difference = parity(net, graph, ids)
    if precision != "fp32":
        graph = lowered(graph, precision)
        difference = largest_difference(net, graph, ids)
    tokenizer = AutoTokenizer.from_pretrained(name).backend_tokenizer
    labels = label_names(net.model.config) if kind == "language" else ()
    write_folder(out, graph, tokenizer, kind=kind, labels=labels, max_length=256)
    text = f"Converted from `{name}`, {precision}; largest difference of logits from PyTorch {difference:.2g}."
    write_card(out, f"URL {kind}", {"Source": text})
    return difference


def label_names(config: PreTrainedConfig) -> tuple[str, ...]:
    """The labels of the reference model if their number is right, else those in the configuration."""
    named = {int(index): str(label) for index, label in (config.id2label or {}).items()}
    reference = ("unk", *URL_LABELS)
    return reference if len(named) == len(reference) else tuple(named[i] for i in range(len(named)))
