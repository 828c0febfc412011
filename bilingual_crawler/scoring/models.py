"""The URL models: ``config.json``, ``model.onnx`` and, unless they read bytes, ``tokenizer.json`` of a folder."""

import hashlib
import logging
import os
import sys
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from importlib.resources.abc import Traversable
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from bilingual_crawler import ONE_ONNXRUNTIME
from bilingual_crawler.languages.codes import from_bcp47
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.urls.model_input import model_text, pair_text, plain_text

logger = logging.getLogger(__name__)

FIRST_BYTE = 2  # the id of byte 0 for models that read bytes; 0 is padding, 1 stands between the two halves of a pair


class ByteTokens:
    """Turns texts into the ids of all, one for each byte of UTF-8, and the number of ids of each, at most `longest`."""

    pad = 0

    def __init__(self, longest: int) -> None:
        self._longest = longest

    def __call__(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows = [text.encode("utf-8", "replace")[: self._longest] for text in texts]
        ids = np.frombuffer(b"".join(rows), dtype=np.uint8).astype(np.int64) + FIRST_BYTE
        return ids, np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))


class FileTokens:
    """As `ByteTokens`, with the ids of a `tokenizer.json`; ValueError if it is no such file."""

    def __init__(self, content: bytes, longest: int) -> None:
        try:
            self._tokenizer = Tokenizer.from_buffer(content)
        except Exception as error:  # the library raises the class itself
            raise ValueError(f"not a tokenizer: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(longest)
        self.pad = self._tokenizer.token_to_id("<pad>") or 0

    def __call__(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        return np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum())), lengths


Tokens: TypeAlias = ByteTokens | FileTokens
TEXTS: dict[str, Callable[[str], str]] = {"reference": model_text, "lower": lambda url: plain_text(url).lower()}
PAIR_TEXTS: dict[str, Callable[[str, str, str], str]] = {
    "reference": lambda a, b, separator: f"{model_text(a)}{separator}{model_text(b)}",
    "aligned": lambda a, b, separator: pair_text(a, b),
}
FORMAT = 1
TOKENIZER, BYTES = "tokenizer.json", "bytes"
CPU_BATCH, GPU_BATCH = 32, 1024
CPU = "CPUExecutionProvider"
ACCELERATORS = ("CUDAExecutionProvider", "MIGraphXExecutionProvider")
GRAPH, WEIGHTS = "model.onnx", "model.onnx.data"  # the second: weights over 2 GiB, which protobuf cannot hold


class ModelError(ValueError):
    """A model folder that cannot be used; the message names the file and the fault."""


class ProviderError(ModelError):
    """An accelerator that cannot be used; the message names the remedy."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """`config.json` of a model folder."""

    kind: str
    format: int
    labels: tuple[str, ...]
    max_length: int  # token ids of a text
    input: str
    text: str  # how a URL is prepared, a key of `TEXTS` or, for a pair, of `PAIR_TEXTS`
    temperature: float  # what logits are divided by
    sha256: dict[str, str]
    separator: str = "</s>"  # between the two URLs of a pair
    tokenizer: str = TOKENIZER  # the file with the vocabulary, or `bytes` for a model that reads bytes
    link_temperature: float = 1.0  # what calibrated logits of a page and its link are divided by, after the shift
    link_shift: float = 0.0


class UrlModel:
    """Texts to logits, in sub-batches of texts of similar length; on a CPU each core computes its own."""

    kind = ""
    input = ""
    texts: Collection[str] = ()

    def __init__(self, folder: Traversable, providers: Sequence[str] | None = None) -> None:
        """Load and verify `folder`, to run on *providers* or the default ones; ModelError names the fault."""
        self.folder = folder
        self.config = read_config(folder)
        if (self.config.kind, self.config.input) != (self.kind, self.input):
            raise ModelError(f"{folder / 'config.json'}: is a {self.config.kind} model, not {self.kind}")
        if self.config.text not in self.texts:
            raise ModelError(f"{folder / 'config.json'}: unknown text preparation {self.config.text!r}")
        self.labels = self.config.labels  # of the columns; for languages ISO 639-3 and `unk` (no document)
        self.failures = 0  # batches that could not be computed
        self._tokens = _tokens(folder, self.config)
        self._open(providers or default_providers())
        _log_once(self.kind, str(folder), self.config.sha256[GRAPH], self.provider)

    def _open(self, providers: Sequence[str]) -> None:
        self._session = _session(_graph(self.folder, self.config), providers, str(self.folder / GRAPH))
        self._inputs = [i.name for i in self._session.get_inputs()]
        self.provider = self._session.get_providers()[0]  # what computes the graph, as onnxruntime names it
        on_gpu = self.provider in ACCELERATORS
        self._batch = GPU_BATCH if on_gpu else CPU_BATCH
        self._workers = ThreadPoolExecutor(1 if on_gpu else os.cpu_count() or 1)

    def facts(self) -> dict[str, Any]:
        """Return which model computes where, and how many of its batches failed, for a summary."""
        return {
            "folder": str(self.folder),
            "sha256": self.config.sha256[GRAPH],
            "provider": self.provider,
            "failures": self.failures,
        }

    def logits(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Calibrated logits, a row per text; a batch that fails is halved, at last computed on the CPU, or raises."""
        ids, lengths = self._tokens(texts)
        if not len(lengths):
            return np.zeros((0, max(1, len(self.labels))), dtype=np.float32)
        mask = np.arange(max(1, lengths.max(initial=0))) < lengths[:, None]
        padded = np.full(mask.shape, self._tokens.pad, dtype=np.int64)
        padded[mask] = ids
        order = np.argsort(lengths, kind="stable")
        while True:
            cuts = [order[start : start + self._batch] for start in range(0, len(order), self._batch)]
            try:
                parts = [*self._workers.map(lambda rows: self._run(padded[rows], mask[rows], lengths[rows[-1]]), cuts)]
            except Exception as error:  # onnxruntime has several classes for want of memory
                self._give_way(error, min(self._batch, len(order)))
                continue
            return np.concatenate(parts)[np.argsort(order)] / np.float32(self.config.temperature)

    def _give_way(self, error: Exception, batch: int) -> None:
        """Take smaller batches than *batch*, which has failed, else the CPU; raises *error* where nothing is left."""
        self.failures += 1
        if batch > 1:
            self._batch = batch // 2
            logger.warning(f"{self.folder}: a batch of {batch} failed on {self.provider}, now {self._batch}: {error}")
        elif self.provider != CPU:
            logger.error(f"{self.folder}: {self.provider} failed, the CPU goes on, slower: {error}")
            self._open([CPU])
        else:
            self._batch = CPU_BATCH
            raise error

    def _run(self, ids: NDArray[np.int64], mask: NDArray[np.bool_], longest: np.int64) -> NDArray[np.float32]:
        width = max(1, longest)
        inputs = {"input_ids": ids[:, :width], "attention_mask": mask[:, :width].astype(np.int64)}
        (output,) = self._session.run(None, {name: inputs[name] for name in self._inputs})
        return np.asarray(output, dtype=np.float32)


class LanguageModel(UrlModel):
    """The language of a document from its URL."""

    kind = "language"
    input = "url"
    texts = TEXTS

    def reader(self, pairs: LanguagePairs) -> Callable[[Sequence[str]], NDArray[np.float32]]:
        """A function from n URLs to the probability of each language of *pairs*, all labels counted: (n, languages)."""
        columns = [self._columns(pairs, language) for language in pairs.languages]

        def read(urls: Sequence[str]) -> NDArray[np.float32]:
            probabilities = self.probabilities(urls)
            return np.stack([probabilities[:, ours].sum(axis=1) for ours in columns], axis=1)

        return read

    def unknown(self, pairs: LanguagePairs) -> list[str]:
        """Languages of *pairs* that no label names: their probability is always 0."""
        return [language for language in pairs.languages if not self._columns(pairs, language)]

    def _columns(self, pairs: LanguagePairs, side: str) -> list[int]:
        """The columns of the labels that count as *side* in a pair: URLs do not tell ``zho_Hans`` from ``zho_Hant``."""
        labels = [from_bcp47(label) or label for label in self.labels]
        return [column for column, label in enumerate(labels) if side in (pair.side(label) for pair in pairs)]

    def probabilities(self, urls: Sequence[str]) -> NDArray[np.float32]:
        """Probability of each label, rows summing to 1."""
        text = TEXTS[self.config.text]
        logits = self.logits([text(url) for url in urls])
        exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(exponents / exponents.sum(axis=1, keepdims=True))


class ParallelnessModel(UrlModel):
    """Whether two URLs are translations of each other."""

    kind = "parallelness"
    input = "pair"
    texts = PAIR_TEXTS

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Probability that two documents of a site are parallel, for each pair; the order inside a pair may matter."""
        return _logistic(self._pair_logits(pairs))

    def link_probabilities(self, links: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Probability that a page (first) and one of its links (second), of which it has few, are parallel."""
        shift, temperature = np.float32(self.config.link_shift), np.float32(self.config.link_temperature)
        return _logistic((self._pair_logits(links) + shift) / temperature)

    def _pair_logits(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        text = PAIR_TEXTS[self.config.text]
        return self.logits([text(a, b, self.config.separator) for a, b in pairs])[:, 0]


def _logistic(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(1 / (1 + np.exp(-logits.clip(-50, 50))))


def models_folder(directory: Path | None) -> Traversable:
    """*directory* (the setting ``BILINGUAL_MODELS_DIR``), or the models inside this package, or beside it."""
    package = resources.files("bilingual_crawler")
    inside = package / "models"
    return directory or (inside if inside.is_dir() else Path(str(package)).parent / "models")


def load_models(
    directory: Traversable, providers: Sequence[str] | None = None
) -> tuple[LanguageModel, ParallelnessModel]:
    """Both models under `directory` (folders `url-language` and `url-parallelness`)."""
    language, parallelness = directory / "url-language", directory / "url-parallelness"
    return LanguageModel(language, providers), ParallelnessModel(parallelness, providers)


def default_providers() -> list[str]:
    """The accelerators that this onnxruntime can use, then the CPU.

    Raises ProviderError if onnxruntime-gpu is installed, and the files of onnxruntime lie over its own.
    """
    import onnxruntime as ort

    accelerators = [name for name in ACCELERATORS if name in ort.get_available_providers()]
    with suppress(PackageNotFoundError):
        if not accelerators and version("onnxruntime-gpu"):
            message = f"onnxruntime hides onnxruntime-gpu, and only one of both can be used: {ONE_ONNXRUNTIME}"
            raise ProviderError(message)
    return [*accelerators, CPU]


def _session(graph: bytes | str, providers: Sequence[str], name: str) -> Any:
    """A session of *graph*, or of the file that it names; ModelError, not the CPU in silence, if one does not load."""
    # it is slow to import, and many commands import this module
    import onnxruntime as ort

    available = ort.get_available_providers()
    if unknown := set(providers) - set(available):
        default_providers()
        raise ProviderError(f"BILINGUAL_PROVIDERS={','.join(unknown)}: this onnxruntime has {', '.join(available)}")
    if "CUDAExecutionProvider" in providers and hasattr(ort, "preload_dlls"):
        with redirect_stdout(sys.stderr):  # it prints what it misses
            ort.preload_dlls()
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        session = ort.InferenceSession(graph, options, providers=providers, enable_fallback=0)
    except Exception as error:
        raise ModelError(f"{name}: onnxruntime cannot load it: {error}") from error
    if missing := [provider for provider in providers if provider not in session.get_providers()]:
        raise ProviderError(
            f"{', '.join(missing)} does not load, see the lines of onnxruntime above; "
            f"BILINGUAL_PROVIDERS={CPU} is slower and needs no GPU"
        )
    return session


@cache
def _log_once(kind: str, folder: str, sha256: str, provider: str) -> None:
    logger.info(f"URL model of {kind}: {folder} (sha256 {sha256}) on {provider}")


def read_config(folder: Traversable) -> ModelConfig:
    """`config.json` of a model folder; ModelError if it is missing, malformed or of another format."""
    path = folder / "config.json"
    content = read_model_file(path)
    try:
        config = msgspec.json.decode(content, type=ModelConfig)
    except msgspec.DecodeError as error:
        raise ModelError(f"{path}: not a model configuration: {error}") from error
    if config.format != FORMAT:
        raise ModelError(f"{path}: format {config.format}, this version reads {FORMAT}")
    return config


def _tokens(folder: Traversable, config: ModelConfig) -> Tokens:
    if config.tokenizer == BYTES:
        return ByteTokens(config.max_length)
    content = _verified(folder, TOKENIZER, config)
    try:
        return FileTokens(content, config.max_length)
    except ValueError as error:
        raise ModelError(f"{folder / TOKENIZER}: {error}") from error


def _graph(folder: Traversable, config: ModelConfig) -> bytes | str:
    """The verified graph, or its path if its weights are in a file of their own."""
    graph = _verified(folder, GRAPH, config)
    if WEIGHTS not in config.sha256:
        return graph
    try:
        with Path(str(folder / WEIGHTS)).open("rb") as weights:
            _check_sum(folder / WEIGHTS, hashlib.file_digest(weights, "sha256").hexdigest(), config)
    except OSError as error:
        raise ModelError(f"{folder / WEIGHTS}: {error.strerror or error}") from error
    return str(folder / GRAPH)


def _verified(folder: Traversable, name: str, config: ModelConfig) -> bytes:
    content = read_model_file(folder / name)
    _check_sum(folder / name, hashlib.sha256(content).hexdigest(), config)
    return content


def _check_sum(path: Traversable, found: str, config: ModelConfig) -> None:
    if found != config.sha256.get(path.name):
        raise ModelError(f"{path}: changed since export (its sha256 is not the one in config.json)")


def read_model_file(path: Traversable) -> bytes:
    """Content of a file of a model folder; ModelError names the path if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or error}") from error
