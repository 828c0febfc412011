"""Fine-tuned XLM-R classifiers, such as the models the authors released, as model folders."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, cast

import numpy as np
import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.float16 import convert_float_to_float16
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from bilingual_crawler.languages.codes import URL_LABELS, from_bcp47
from bilingual_crawler.scoring.models import GRAPH, PAIR_TEXTS, TEXTS
from training.common.data import DataError
from training.common.model_folder import (
    both_logits,
    exported,
    has_weights,
    parity,
    write_card,
    write_folder,
    write_graph,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

PROBES = (
    ("https://www.example.com/en/about-us", "https://www.example.com/mt/dwarna"),
    ("https://example.is/", "https://example.is/index.php?page=2&lang=en"),
    ("https://example.eus/eu/berriak/2023/05/17/egitaraua.html", "https://example.eus/es/noticias/2023/05/17/programa.html"),
    ("https://example.org/" + "path/" * 30, "https://example.org/fi/" + "path/" * 30),
)  # fmt: skip


class HubError(DataError):
    """A name under which neither a folder nor the hub has a model."""


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
    `encoder` and `tasks`, beside the `config.json` of the encoder. HubError if there is none, or one of another kind.
    """
    own = sorted(Path(name).glob("*.pt")) if Path(name).is_dir() else []
    try:
        model = _of_reference(name, own[0]) if own else _of_transformers(name)
    except (OSError, ValueError, RuntimeError, LookupError, StopIteration, UnpicklingError) as error:
        raise HubError(f"no classifier in {name!r}, of transformers or of the reference code: {error}") from error
    outputs = model.config.num_labels
    if kind == "parallelness" and outputs > 2:
        raise HubError(f"{name!r} has {outputs} outputs, a model of pairs has 1 or 2: is it --kind language?")
    net = Classifier(model, difference=kind == "parallelness" and outputs == 2)
    return net.eval()


def _of_transformers(name: str) -> PreTrainedModel:
    model, found = AutoModelForSequenceClassification.from_pretrained(
        name, dtype=torch.float32, output_loading_info=True
    )
    _refuse_random(found["missing_keys"])
    return cast("PreTrainedModel", model)


def _of_reference(name: str, file: Path) -> PreTrainedModel:
    state = torch.load(file, weights_only=True, map_location="cpu")
    task = next(key for key in state["tasks"] if key.endswith("out_proj.weight")).split(".")[0]
    merged = {f"roberta.{key}": value for key, value in state["encoder"].items() if "pooler" not in key}
    head = {key: value for key, value in state["tasks"].items() if key.startswith(f"{task}.")}
    merged |= {key.replace(task, "classifier", 1): value for key, value in head.items()}
    config = AutoConfig.from_pretrained(name, num_labels=len(merged["classifier.out_proj.bias"]))
    model: PreTrainedModel = AutoModelForSequenceClassification.from_config(config)
    _refuse_random(model.load_state_dict(merged, strict=False).missing_keys)
    return model


def _refuse_random(missing: Iterable[str]) -> None:
    """ValueError if weights are missing, for which random ones would stand."""
    if names := sorted(missing):
        raise ValueError(f"{len(names)} weights are missing, {names[0]} among them")


def load_tokenizer(name: str) -> PreTrainedTokenizerFast:
    """The fast tokenizer from the hub or a folder; HubError if there is none."""
    try:
        return cast("PreTrainedTokenizerFast", AutoTokenizer.from_pretrained(name))
    except (OSError, ValueError) as error:
        raise HubError(f"no tokenizer in {name!r}, neither as a folder nor on the hub: {error}") from error


def separator_of(tokenizer: PreTrainedTokenizerFast) -> str:
    """What stands between the two URLs of a pair, in training and in the crawl."""
    return tokenizer.sep_token or tokenizer.eos_token or "</s>"


def classifier_graph(net: Classifier) -> onnx.ModelProto:
    """The graph of a classifier, of any batch and length."""
    ids = torch.randint(4, 100, (3, 11))
    return exported(net, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})


def lowered(exact: Path, precision: str) -> onnx.ModelProto:
    """The graph in the file *exact* in `fp32` (as it is), `fp16` or `int8` (weights of matrix products)."""
    if precision == "fp16":
        half: onnx.ModelProto = convert_float_to_float16(str(exact), keep_io_types=True)
        return half
    if precision == "fp32":
        return onnx.load(exact)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "int8.onnx"
        # with all 8 bits, sums overflow on processors without VNNI
        large = has_weights(exact)
        quantize_dynamic(exact, target, weight_type=QuantType.QInt8, reduce_range=True, use_external_data_format=large)
        return onnx.load(target)


@dataclass(frozen=True, slots=True)
class Parity:
    """Difference of a graph from its network: the largest difference of logits, and the number of equal answers."""

    difference: float
    equal: int
    inputs: int

    def __str__(self) -> str:
        return (
            f"logits differ from PyTorch by {self.difference:.2g} at most, "
            f"answers are the same on {self.equal} of {self.inputs} inputs"
        )


@dataclass(frozen=True, slots=True)
class Shipment:
    """Metadata of a model folder. Network and graph are compared on the inputs `probe`."""

    kind: str
    labels: tuple[str, ...]
    probe: Sequence[str]
    sections: dict[str, str]
    max_length: int = 256
    temperature: float = 1.0


def write_models(
    net: Classifier, tokenizer: PreTrainedTokenizerFast, shipment: Shipment, folders: Mapping[str, Path]
) -> dict[str, Parity]:
    """Write one model folder per precision; ParityError if the graph in fp32 computes other logits."""
    batch = tokenizer(
        list(shipment.probe), truncation=True, max_length=shipment.max_length, padding=True, return_tensors="pt"
    )
    ids, mask = batch["input_ids"], batch["attention_mask"]
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        exact = Path(scratch, GRAPH)
        write_graph(classifier_graph(net), exact)
        parity(net, exact, ids, mask)
        for precision, folder in folders.items():
            write_folder(
                folder,
                lowered(exact, precision),
                tokenizer.backend_tokenizer,
                kind=shipment.kind,
                labels=shipment.labels,
                max_length=shipment.max_length,
                temperature=shipment.temperature,
                separator=separator_of(tokenizer),
            )
            expected, logits = both_logits(net, folder / GRAPH, ids, mask)
            equal = answers(expected) == answers(logits)
            found[precision] = Parity(float(np.abs(logits - expected).max()), int(equal.sum()), len(ids))
            sections = {**shipment.sections, "Precision": f"{precision}: {found[precision]}."}
            write_card(folder, f"URL {shipment.kind}", sections)
    return found


def answers(logits: NDArray[np.float32]) -> NDArray[np.int64]:
    """The label of each row: the highest logit, or the sign of a single one."""
    chosen: NDArray[np.int64] = logits.argmax(1) if logits.shape[1] > 1 else (logits[:, 0] > 0).astype(np.int64)
    return chosen


def from_hub(name: str, kind: str, out: Path, precision: str = "fp32") -> Parity:
    """Convert a classifier from the hub or a folder."""
    tokenizer = load_tokenizer(name)
    net = load_classifier(name, kind)
    labels = label_names(net.model.config) if kind == "language" else ()
    probe = [
        TEXTS["reference"](a) if kind == "language" else PAIR_TEXTS["reference"](a, b, separator_of(tokenizer))
        for a, b in PROBES
    ]
    shipment = Shipment(kind, labels, probe, {"Source": f"Converted from `{name}`."})
    return write_models(net, tokenizer, shipment, {precision: out})[precision]


def label_names(config: PreTrainedConfig) -> tuple[str, ...]:
    """The labels of the reference model if their number is right, else those in the configuration.

    HubError if these are no languages.
    """
    named = {int(index): str(label) for index, label in (config.id2label or {}).items()}
    reference = ("unk", *URL_LABELS)
    if len(named) == len(reference):
        return reference
    if not any(map(from_bcp47, named.values())):
        first = ", ".join(list(named.values())[:5])
        raise HubError(f"{first}: no label is a language; name them by id2label in config.json")
    return tuple(named[i] for i in range(len(named)))
