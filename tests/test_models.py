from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.scoring.models import ByteTokens, LanguageModel, ModelError, ParallelnessModel, load_models
from training.common.encoding import Encoded
from training.common.model_folder import ParityError, parity, write_folder
from training.language.graph import language_graph, round_tables
from training.language.network import WordNet, WordNetConfig

if TYPE_CHECKING:
    from pathlib import Path

    import onnx
    from numpy.typing import NDArray

URLS = [
    "https://www.example.mt/mt/ahbarijiet",
    "http://a.is",
    "https://example.org/caf%C3%A9/q?lang=fr&page=12#x",
    "http://xn--bcher-kva.example/" + "long-" * 100,
    "",
]
LABELS = ("eng", "mlt", "unk")
SMALL = WordNetConfig(labels=3, rows=251, word_rows=127, columns=8, width=16, heads=2, layers=2, max_words=8)


def small_net(labels: int = 3, seed: int = 1) -> WordNet:
    torch.manual_seed(seed)
    config = WordNetConfig(**{f: getattr(SMALL, f) for f in SMALL.__slots__} | {"labels": labels})
    net = WordNet(config).eval()
    round_tables(net)
    return net


@cache
def small_graph(labels: int) -> onnx.ModelProto:
    """The graph of `small_net`, which takes seconds to export."""
    return language_graph(small_net(labels))


def letter_tokenizer() -> Tokenizer:
    """One id for each printable character of ASCII."""
    vocabulary = {"<pad>": 0, "?": 1} | {chr(33 + i): 2 + i for i in range(94)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.add_special_tokens(["<pad>"])
    return tokenizer


def write(
    folder: Path,
    kind: str = "language",
    temperature: float = 1.0,
    text: str = "reference",
    bytewise: bool = False,
    links: tuple[float, float] = (1.0, 0.0),
) -> WordNet:
    labels = LABELS if kind == "language" else ()
    net = small_net(len(labels) or 1)
    graph = small_graph(len(labels) or 1)
    write_folder(
        folder,
        graph,
        None if bytewise else letter_tokenizer(),
        kind=kind,
        labels=labels,
        max_length=64,
        temperature=temperature,
        text=text,
        link_temperature=links[0],
        link_shift=links[1],
    )
    return net


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
    config = folder / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "labels": ["en", "nob", "bh"]}))
    model = LanguageModel(folder)
    for pair in ("eng-nor", "eng-nno"):
        assert (model.reader(LanguagePairs.parse(pair))(URLS) == model.probabilities(URLS)[:, :2]).all()
    assert (model.reader(LanguagePairs.parse("eng-bih"))(URLS) == model.probabilities(URLS)[:, [0, 2]]).all()
    assert model.unknown(LanguagePairs.parse("eng-nno")) == []
    assert model.unknown(LanguagePairs.parse("sme-nor")) == ["sme"]


def test_a_url_scores_the_same_alone_and_in_any_company(folder: Path) -> None:
    model = LanguageModel(folder)
    many = [*URLS, *(f"https://host{i}.example/{'dir/' * (i % 7)}{i}" for i in range(300))]
    together = model.probabilities(many)
    alone = np.concatenate([model.probabilities([url]) for url in many[:20]])
    assert np.allclose(together[:20], alone, atol=1e-5)
    assert np.allclose(model.probabilities(many[::-1])[::-1], together, atol=1e-5)


def test_temperature_divides_the_logits(tmp_path: Path) -> None:
    write(tmp_path / "one")
    write(tmp_path / "two", temperature=2.0)
    one, two = LanguageModel(tmp_path / "one"), LanguageModel(tmp_path / "two")
    assert np.allclose(one.logits(URLS), 2 * two.logits(URLS), atol=1e-5)


def test_graph_computes_what_the_network_computes() -> None:
    net = small_net()
    texts = [*URLS[:4], "a", "//", "é?x=1/2", "two words"]
    ids = Encoded(ByteTokens(64), texts).batch(np.arange(len(texts)))
    assert parity(net, small_graph(3), ids) < 1e-4


def test_parity_notices_a_graph_of_other_weights() -> None:
    with pytest.raises(ParityError):
        parity(small_net(seed=2), small_graph(3), torch.randint(2, 258, (4, 20)))


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


def test_pairs(tmp_path: Path) -> None:
    write(tmp_path, kind="parallelness")
    found = ParallelnessModel(tmp_path).probabilities([("https://a.mt/en/x", "https://a.mt/mt/x")] * 2)
    assert found.shape == (2,)
    assert 0 < found[0] < 1


def test_links_have_a_calibration_of_their_own(tmp_path: Path) -> None:
    pairs = [("https://a.mt/en/x", "https://a.mt/mt/x"), ("https://a.mt/en/x", "https://a.mt/en/y")]
    write(tmp_path, kind="parallelness", temperature=2.0)
    model = ParallelnessModel(tmp_path)
    documents = model.probabilities(pairs)
    assert np.allclose(model.link_probabilities(pairs), documents)
    write(tmp_path, kind="parallelness", temperature=2.0, links=(4.0, 1.5))
    model = ParallelnessModel(tmp_path)
    assert np.allclose(model.probabilities(pairs), documents)
    logits = np.log(documents / (1 - documents))
    assert np.allclose(model.link_probabilities(pairs), 1 / (1 + np.exp(-(logits + 1.5) / 4)), atol=1e-5)


def test_load_models(tmp_path: Path) -> None:
    write(tmp_path / "url-language")
    write(tmp_path / "url-parallelness", kind="parallelness")
    language, parallelness = load_models(tmp_path)
    assert language.labels == LABELS
    assert len(parallelness.probabilities([])) == 0


class Broken:
    """A session on *provider* whose batches of over *most* rows fail."""

    def __init__(self, session: Any, provider: str, most: int) -> None:
        self.session = session
        self.provider = provider
        self.most = most

    def get_providers(self) -> list[str]:
        return [self.provider, "CPUExecutionProvider"]

    def run(self, outputs: None, inputs: dict[str, NDArray[np.int64]]) -> Any:
        if len(inputs["input_ids"]) > self.most:
            raise RuntimeError("Failed to allocate memory for requested buffer")
        return self.session.run(outputs, inputs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)


def break_sessions(monkeypatch: pytest.MonkeyPatch, **most: int) -> None:
    """Sessions are on the first provider that they name, and fail for larger batches than *most* says of it."""
    real = ort.InferenceSession

    def session(graph: Any, options: Any, providers: list[str], **rest: Any) -> Any:
        kind = providers[0].removesuffix("ExecutionProvider").lower()
        return Broken(real(graph, options, providers=["CPUExecutionProvider"]), providers[0], most.get(kind, 99))

    monkeypatch.setattr(ort, "InferenceSession", session)
    monkeypatch.setattr(
        ort, "get_available_providers", lambda: [f"{name}ExecutionProvider" for name in ("CUDA", "CPU")]
    )


def test_a_batch_that_is_too_large_is_halved(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    urls = [f"{url}{i}" for url in URLS for i in range(20)]
    expected = LanguageModel(folder).probabilities(urls)
    break_sessions(monkeypatch, cuda=30)
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
    break_sessions(monkeypatch, cuda=0)
    model = LanguageModel(folder)
    assert np.allclose(model.probabilities(URLS), expected, atol=1e-5)
    assert model.facts()["provider"] == "CPUExecutionProvider"
    [error] = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert "CUDAExecutionProvider failed, the CPU goes on, slower" in error


def test_a_model_that_computes_nothing_at_all_is_an_error_each_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_sessions(monkeypatch, cuda=0, cpu=0)
    model = LanguageModel(folder)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="Failed to allocate"):
            model.probabilities(URLS)


@pytest.mark.parametrize("providers", [None, ["CUDAExecutionProvider"]])
def test_a_provider_that_does_not_load_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, providers: list[str] | None
) -> None:
    """As in an installation of onnxruntime-gpu on a machine without CUDA."""
    loaded: list[str] = []
    monkeypatch.setattr(ort, "get_available_providers", lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"])
    monkeypatch.setattr(ort, "preload_dlls", lambda: loaded.append("CUDA"))
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"), pytest.raises(ModelError) as raised:
        LanguageModel(folder, providers)
    assert str(raised.value).startswith("CUDAExecutionProvider does not load")
    assert "BILINGUAL_PROVIDERS=CPUExecutionProvider" in str(raised.value)
    assert loaded == ["CUDA"]
    assert LanguageModel(folder, ["CPUExecutionProvider"]).probabilities(URLS).shape == (5, 3)


@pytest.mark.parametrize("providers", [None, ["CUDAExecutionProvider"]])
def test_an_onnxruntime_gpu_whose_files_were_overwritten_is_an_error_with_its_remedy(
    folder: Path, monkeypatch: pytest.MonkeyPatch, providers: list[str] | None
) -> None:
    """As pip leaves it after the installation of the extra ``gpu``."""
    monkeypatch.setattr("bilingual_crawler.scoring.models.version", lambda distribution: "1.31.1")
    with pytest.raises(ModelError, match="pip uninstall -y onnxruntime onnxruntime-gpu && pip install onnxruntime-gpu"):
        LanguageModel(folder, providers)
    assert LanguageModel(folder, ["CPUExecutionProvider"]).provider == "CPUExecutionProvider"


def test_what_computes_a_model_is_logged_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        facts = [LanguageModel(folder).facts() for _ in range(2)]
    sha256 = hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()
    assert facts[0] == {"folder": str(folder), "sha256": sha256, "provider": "CPUExecutionProvider", "failures": 0}
    assert [record.message for record in caplog.records] == [
        f"URL model of language: {folder} (sha256 {sha256}) on CPUExecutionProvider"
    ]


@pytest.mark.parametrize("name", ["config.json", "model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ModelError, match=name):
        LanguageModel(folder)


@pytest.mark.parametrize("name", ["config.json", "model.onnx", "tokenizer.json"])
def test_a_changed_file_is_named(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelError, match=name):
        LanguageModel(folder)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_an_unreadable_file_with_the_right_checksum_is_named(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"nonsense")
    config = json.loads((folder / "config.json").read_text())
    config["sha256"][name] = hashlib.sha256(b"nonsense").hexdigest()
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=name):
        LanguageModel(folder)


@pytest.mark.parametrize(
    ("key", "value"), [("format", 9), ("kind", "parallelness"), ("text", "else"), ("labels", None)]
)
def test_a_configuration_of_something_else_is_refused(folder: Path, key: str, value: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {key: value}))
    with pytest.raises(ModelError, match=r"config\.json"):
        LanguageModel(folder)
