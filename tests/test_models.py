import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers

from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.scoring.models import ByteTokens, LanguageModel, ModelError, ParallelnessModel, load_models
from training.common.encoding import Encoded
from training.common.model_folder import ParityError, parity, write_folder
from training.language.graph import language_graph, round_tables
from training.language.network import WordNet, WordNetConfig

URLS = [
    "https://www.example.mt/mt/ahbarijiet",
    "http://a.is",
    "https://example.org/caf%C3%A9/q?lang=fr&page=12#x",
    "http://xn--bcher-kva.example/" + "long-" * 100,
    "",
]
LABELS = ("eng", "mlt", "unk")
SMALL = WordNetConfig(labels=3, rows=251, word_rows=127, columns=8, width=16, heads=2, layers=2, max_words=8)


def small_net(seed: int = 1) -> WordNet:
    torch.manual_seed(seed)
    net = WordNet(SMALL).eval()
    round_tables(net)
    return net


@cache
def small_graph() -> onnx.ModelProto:
    """The graph of `small_net`, which takes seconds to export."""
    return language_graph(small_net())


def pair_graph() -> onnx.ModelProto:
    """The same with the first of its logits only."""
    graph = onnx.ModelProto()
    graph.CopyFrom(small_graph())
    next(node for node in graph.graph.node if "logits" in node.output).output[0] = "all"
    graph.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0]), "first"))
    graph.graph.node.append(onnx.helper.make_node("Gather", ["all", "first"], ["logits"], axis=1))
    graph.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 1
    return graph


def letter_tokenizer() -> Tokenizer:
    """One id for each printable character of ASCII."""
    vocabulary = {"<pad>": 0, "?": 1} | {chr(33 + i): 2 + i for i in range(94)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.add_special_tokens(["<pad>"])
    return tokenizer


def write(folder: Path, kind: str = "language", bytewise: bool = False, **values: Any) -> WordNet:
    """Write a folder of the model of `small_net`, with other *values* than those that change nothing."""
    labels, graph = (LABELS, small_graph()) if kind == "language" else ((), pair_graph())
    tokenizer = None if bytewise else letter_tokenizer()
    changed = {"temperature": 1.0, "text": "reference", "link_temperature": 1.0, "link_shift": 0.0, **values}
    write_folder(folder, graph, tokenizer, kind=kind, labels=labels, max_length=64, **changed)
    return small_net()


def change_config(folder: Path, **values: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "url-language")
    return tmp_path / "url-language"


def test_probabilities_are_one_distribution_per_url(folder: Path) -> None:
    model = LanguageModel(folder)
    found = model.probabilities(URLS)
    assert model.labels == LABELS
    assert found.dtype == np.float32
    assert found.shape == (5, 3)
    assert np.allclose(found.sum(axis=1), 1, atol=1e-5)
    assert model.probabilities([]).shape == (0, 3)


def test_a_label_may_be_any_code_of_its_language(folder: Path) -> None:
    change_config(folder, labels=["en", "nob", "bh"])
    model = LanguageModel(folder)
    for pair, columns in (("eng-nor", [0, 1]), ("eng-nno", [0, 1]), ("eng-bih", [0, 2])):
        assert (model.reader(LanguagePairs.parse(pair))(URLS) == model.probabilities(URLS)[:, columns]).all()
    assert model.unknown(LanguagePairs.parse("eng-nno")) == []
    assert model.unknown(LanguagePairs.parse("sme-nor")) == ["sme"]


def test_a_url_scores_the_same_alone_and_in_any_company(folder: Path) -> None:
    model = LanguageModel(folder)
    many = [*URLS, *(f"https://host{i}.example/{'dir/' * (i % 7)}{i}" for i in range(300))]
    together = model.probabilities(many)
    alone = np.concatenate([model.probabilities([url]) for url in many[:20]])
    assert np.allclose(together[:20], alone, atol=1e-5)
    assert np.allclose(model.probabilities(many[::-1])[::-1], together, atol=1e-5)


def test_temperature_divides_the_logits(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "two", temperature=2.0)
    assert np.allclose(LanguageModel(folder).logits(URLS), 2 * LanguageModel(tmp_path / "two").logits(URLS), atol=1e-5)


def test_graph_computes_what_the_network_computes_and_parity_notices_other_weights() -> None:
    texts = [*URLS[:4], "a", "//", "é?x=1/2", "two words"]
    ids = Encoded(ByteTokens(64), texts).batch(np.arange(len(texts)))
    assert parity(small_net(), small_graph(), ids) < 1e-4
    with pytest.raises(ParityError):
        parity(small_net(seed=2), small_graph(), ids)


def test_a_model_that_reads_bytes_needs_no_tokenizer(tmp_path: Path) -> None:
    write(tmp_path)
    net = write(tmp_path, text="lower", bytewise=True)
    assert not (tmp_path / "tokenizer.json").exists()
    texts = ["www.example.mt/mt/aħbar x", "xn--bcher-kva.example/" + "long-" * 100]
    ids = Encoded(ByteTokens(64), texts).batch(np.arange(2))
    assert ids.shape == (2, 64)
    urls = ["https://www.EXAMPLE.mt/mt/a%C4%A7bar%20x/", "http://xn--bcher-kva.example/" + "long-" * 100]
    with torch.no_grad():
        assert np.allclose(LanguageModel(tmp_path).probabilities(urls), net(ids).softmax(1).numpy(), atol=1e-5)


def test_links_have_a_calibration_of_their_own(tmp_path: Path) -> None:
    pairs = [("https://a.mt/en/x", "https://a.mt/mt/x"), ("https://a.mt/en/x", "https://a.mt/en/y")]
    write(tmp_path, kind="parallelness", temperature=2.0)
    model = ParallelnessModel(tmp_path)
    documents = model.probabilities(pairs)
    assert documents.shape == (2,)
    assert 0 < documents.min() <= documents.max() < 1
    assert np.allclose(model.link_probabilities(pairs), documents)
    write(tmp_path, kind="parallelness", temperature=2.0, link_temperature=4.0, link_shift=1.5)
    model = ParallelnessModel(tmp_path)
    assert np.allclose(model.probabilities(pairs), documents)
    logits = np.log(documents / (1 - documents))
    assert np.allclose(model.link_probabilities(pairs), 1 / (1 + np.exp(-(logits + 1.5) / 4)), atol=1e-5)


def test_load_models(folder: Path) -> None:
    write(folder.parent / "url-parallelness", kind="parallelness")
    language, parallelness = load_models(folder.parent)
    assert language.labels == LABELS
    assert len(parallelness.probabilities([])) == 0


PROVIDERS = ["CUDAExecutionProvider", "CPUExecutionProvider"]


class Broken(ort.InferenceSession):  # type: ignore[misc]
    """A session on the first provider that it is given, whose batches of more rows than `most` says of it fail."""

    most: ClassVar[dict[str, int]] = {}

    def __init__(self, graph: Any, options: Any, providers: list[str], **_: Any) -> None:
        super().__init__(graph, options, providers=PROVIDERS[1:])
        self.named = providers

    def get_providers(self) -> list[str]:
        return self.named

    def run(self, outputs: None, inputs: dict[str, NDArray[np.int64]]) -> Any:
        if len(inputs["input_ids"]) > self.most.get(self.named[0], 99):
            raise RuntimeError("Failed to allocate memory for requested buffer")
        return super().run(outputs, inputs)


def break_sessions(monkeypatch: pytest.MonkeyPatch, *most: int) -> None:
    """Larger batches than *most* says of each of `PROVIDERS` fail."""
    monkeypatch.setattr(Broken, "most", dict(zip(PROVIDERS, most, strict=False)))
    monkeypatch.setattr(ort, "InferenceSession", Broken)
    monkeypatch.setattr(ort, "get_available_providers", lambda: PROVIDERS)


def test_a_batch_that_is_too_large_is_halved(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    urls = [f"{url}{i}" for url in URLS for i in range(20)]
    expected = LanguageModel(folder).probabilities(urls)
    break_sessions(monkeypatch, 30)
    model = LanguageModel(folder)
    assert np.allclose(model.probabilities(urls), expected, atol=1e-5)
    assert (model.facts()["provider"], model.failures) == ("CUDAExecutionProvider", 2)  # 100, 50
    assert "a batch of 50 failed on CUDAExecutionProvider, now 25: Failed to allocate" in caplog.text
    assert np.allclose(model.probabilities(urls), expected, atol=1e-5)
    assert model.failures == 2


def test_an_accelerator_that_computes_nothing_is_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = LanguageModel(folder).probabilities(URLS)
    break_sessions(monkeypatch, 0)
    model = LanguageModel(folder)
    assert np.allclose(model.probabilities(URLS), expected, atol=1e-5)
    assert model.facts()["provider"] == "CPUExecutionProvider"
    [error] = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert "CUDAExecutionProvider failed, the CPU goes on, slower" in error


def test_a_model_that_computes_nothing_is_an_error_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_sessions(monkeypatch, 0, 0)
    model = LanguageModel(folder)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="Failed to allocate"):
            model.probabilities(URLS)


@pytest.mark.parametrize("providers", [None, PROVIDERS[:1]])
def test_a_provider_that_does_not_load_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, providers: list[str] | None
) -> None:
    """As in an installation of onnxruntime-gpu on a machine without CUDA."""
    loaded: list[str] = []
    monkeypatch.setattr(ort, "get_available_providers", lambda: PROVIDERS)
    monkeypatch.setattr(ort, "preload_dlls", lambda: loaded.append("CUDA"))
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"), pytest.raises(ModelError) as raised:
        LanguageModel(folder, providers)
    assert str(raised.value).startswith("CUDAExecutionProvider does not load")
    assert "BILINGUAL_PROVIDERS=CPUExecutionProvider" in str(raised.value)
    assert loaded == ["CUDA"]
    assert LanguageModel(folder, PROVIDERS[1:]).probabilities(URLS).shape == (5, 3)


@pytest.mark.parametrize("providers", [None, PROVIDERS[:1]])
def test_an_onnxruntime_gpu_whose_files_were_overwritten_is_an_error_with_its_remedy(
    folder: Path, monkeypatch: pytest.MonkeyPatch, providers: list[str] | None
) -> None:
    """As pip leaves it after the installation of the extra ``gpu``."""
    monkeypatch.setattr("bilingual_crawler.scoring.models.version", lambda distribution: "1.31.1")
    with pytest.raises(ModelError, match="pip uninstall -y onnxruntime onnxruntime-gpu && pip install onnxruntime-gpu"):
        LanguageModel(folder, providers)
    assert LanguageModel(folder, PROVIDERS[1:]).provider == "CPUExecutionProvider"


def test_what_computes_a_model_is_logged_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        facts = [LanguageModel(folder).facts() for _ in range(2)]
    sha256 = hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()
    assert facts[0] == {"folder": str(folder), "sha256": sha256, "provider": "CPUExecutionProvider", "failures": 0}
    assert [record.message for record in caplog.records] == [
        f"URL model of language: {folder} (sha256 {sha256}) on CPUExecutionProvider"
    ]


@pytest.mark.parametrize("name", ["config.json", "model.onnx", "tokenizer.json"])
def test_a_missing_changed_or_unreadable_file_is_named(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelError, match=name):
        LanguageModel(folder)
    (folder / name).write_bytes(b"nonsense")
    if name != "config.json":
        sums = json.loads((folder / "config.json").read_text())["sha256"]
        change_config(folder, sha256=sums | {name: hashlib.sha256(b"nonsense").hexdigest()})
    with pytest.raises(ModelError, match=name):
        LanguageModel(folder)
    (folder / name).unlink()
    with pytest.raises(ModelError, match=name):
        LanguageModel(folder)


@pytest.mark.parametrize("other", [{"format": 9}, {"kind": "parallelness"}, {"text": "else"}, {"labels": None}])
def test_a_configuration_of_something_else_is_refused(folder: Path, other: dict[str, object]) -> None:
    change_config(folder, **other)
    with pytest.raises(ModelError, match=r"config\.json"):
        LanguageModel(folder)
