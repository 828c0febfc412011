"""Write a trained model as a folder: ONNX graph, tokenizer, configuration with checksums, card."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime as ort
import torch

from bilingual_crawler.scoring.models import BYTES, CPU, GRAPH, TOKENIZER, WEIGHTS, ModelConfig

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer
    from torch import Tensor, nn

PARITY = 2e-3
FILES = (GRAPH, WEIGHTS, TOKENIZER)
MAX_WEIGHTS = (2 << 30) - (64 << 20)
"""Bytes of weights in one file of protobuf, which holds 2 GiB, and the graph itself."""


class ParityError(ValueError):
    """The exported graph computes other logits than the network."""


def write_folder(
    folder: Path,
    graph: onnx.ModelProto,
    tokenizer: Tokenizer | None,
    *,
    kind: str,
    labels: tuple[str, ...],
    max_length: int,
    temperature: float = 1.0,
    text: str = "reference",
    separator: str = "</s>",
    link_temperature: float = 1.0,
    link_shift: float = 0.0,
) -> ModelConfig:
    """Write model.onnx, config.json and, unless the model reads bytes, tokenizer.json; returns the configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    forget_origin(graph)
    write_graph(graph, folder / GRAPH)
    if tokenizer:
        (folder / TOKENIZER).write_text(tokenizer.to_str(), encoding="utf-8")
    else:
        (folder / TOKENIZER).unlink(missing_ok=True)
    sums = {name: sha256(folder / name) for name in FILES if (folder / name).exists()}
    config = ModelConfig(
        kind=kind,
        format=1,
        labels=labels,
        max_length=max_length,
        input="url" if kind == "language" else "pair",
        text=text,
        temperature=round(temperature, 4),
        sha256=sums,
        separator=separator,
        tokenizer=TOKENIZER if tokenizer else BYTES,
        link_temperature=round(link_temperature, 4),
        link_shift=round(link_shift, 4),
    )
    (folder / "config.json").write_text(json.dumps(asdict(config), indent=1) + "\n", encoding="utf-8")
    return config


def write_graph(graph: onnx.ModelProto, path: Path) -> None:
    """Write the file *path*; weights of over 2 GiB, which are taken out of *graph*, into another one beside it."""
    path.with_name(WEIGHTS).unlink(missing_ok=True)
    large = sum(len(tensor.raw_data) for tensor in graph.graph.initializer) > MAX_WEIGHTS
    onnx.save(graph, path, save_as_external_data=large, location=WEIGHTS, size_threshold=1024)


def has_weights(path: Path) -> bool:
    """Whether the weights of the graph *path* are in another file."""
    return path.with_name(WEIGHTS).exists()


def exported(net: nn.Module, inputs: dict[str, Tensor]) -> onnx.ModelProto:
    """ONNX graph with free batch and length: named int64 inputs [B, L] to float32 `logits`."""
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
    program = torch.onnx.export(
        net,
        tuple(inputs.values()),
        input_names=list(inputs),
        output_names=["logits"],
        dynamic_shapes=(sizes,) * len(inputs),
        dynamo=True,
        verbose=False,
    )
    assert program is not None
    model: onnx.ModelProto = program.model_proto
    # The shapes of inner tensors slow onnxruntime down by a fifth, and the quantiser fails on them.
    del model.graph.value_info[:]
    return model


def forget_origin(model: onnx.ModelProto) -> None:
    """Remove the exporter's stack traces, which contain paths of this machine."""
    parts = [model, model.graph, *model.graph.node, *model.graph.value_info, *model.graph.initializer, *model.functions]
    for part in (*parts, *(node for function in model.functions for node in function.node)):
        part.doc_string = ""
        part.ClearField("metadata_props")


def parity(net: nn.Module, graph: onnx.ModelProto | Path, ids: Tensor, mask: Tensor | None = None) -> float:
    """Largest absolute difference of logits between network and graph; ParityError beyond `PARITY`.

    The network must already hold the rounded weights that the graph holds.
    """
    difference = largest_difference(net, graph, ids, mask)
    if not difference <= PARITY:
        raise ParityError(f"logits of graph and network differ by {difference:.4g}")
    return difference


def largest_difference(net: nn.Module, graph: onnx.ModelProto | Path, ids: Tensor, mask: Tensor | None = None) -> float:
    """Largest absolute difference of logits on token ids; without `mask` all of them count."""
    expected, found = both_logits(net, graph, ids, mask)
    return float(np.abs(found - expected).max())


def both_logits(
    net: nn.Module, graph: onnx.ModelProto | Path, ids: Tensor, mask: Tensor | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Logits of the network and of the graph, or of that in a file, on the same token ids."""
    content = str(graph) if isinstance(graph, Path) else graph.SerializeToString()
    session = ort.InferenceSession(content, providers=[CPU])
    tensors = {"input_ids": ids, "attention_mask": torch.ones_like(ids) if mask is None else mask}
    given = [tensors[value.name] for value in session.get_inputs()]
    (found,) = session.run(None, {v.name: t.numpy() for v, t in zip(session.get_inputs(), given, strict=True)})
    with torch.no_grad():
        expected = net.eval()(*given).numpy()
    return expected, found


def write_card(folder: Path, title: str, sections: dict[str, str]) -> None:
    """Write README.md of a model folder: sections in order, then sizes and checksums of the files."""
    files = [
        f"| `{name}` | {(folder / name).stat().st_size:,} | `{sha256(folder / name)}` |"
        for name in FILES
        if (folder / name).exists()
    ]
    body = [f"# {title}\n"] + [f"## {name}\n\n{text.strip()}\n" for name, text in sections.items()]
    body.append("## Files\n\n| file | bytes | sha256 |\n|---|---|---|\n" + "\n".join(files) + "\n")
    (folder / "README.md").write_text("\n".join(body), encoding="utf-8")


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
