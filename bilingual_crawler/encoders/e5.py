"""multilingual-e5-small as a sentence encoder for a hundred languages without a hub.

Word vectors are unpacked as they are needed; the layers become an ONNX graph whose matrices are 8-bit integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.encoders.e5_weights import E5Weights, installed_file, tokenizer
from bilingual_crawler.pages.sandbox.pool import processes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

PREFIX = "query: "  # what e5 wants before a text that is compared with its like
BATCH_TOKENS = 2048


class E5Encoder:
    """Texts to vectors of length 1; centre them per language before comparing across languages."""

    name = "e5-small"

    def __init__(self, folder: Path) -> None:
        """Load the weights; the first time the graph is made, which takes some seconds, and kept in *folder*.

        It computes with the threads that this process may have.
        """
        # onnxruntime takes its time
        import onnxruntime as ort

        self._weights = E5Weights(installed_file())
        self._tokenizer = tokenizer(self._weights)
        width = self._weights.width
        self._positions = self._weights.tensor("emb.pos").reshape(-1, width) + self._weights.tensor("emb.type")[:width]
        self._scale, self._shift = self._weights.tensor("emb.ln.w"), self._weights.tensor("emb.ln.b")
        graph = folder / f"layers-{ort.__version__}.onnx"
        if not graph.exists():
            # only this needs onnx
            from bilingual_crawler.encoders.e5_graph import write_layers

            folder.mkdir(parents=True, exist_ok=True)
            write_layers(self._weights, graph)
        options = ort.SessionOptions()
        options.intra_op_num_threads = processes()
        self._session = ort.InferenceSession(graph, options)

    def encode(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        """A row for each text, of which *max_tokens* are read (at most 512); batches are of texts of like length."""
        self._tokenizer.enable_truncation(max_tokens)
        encodings = self._tokenizer.encode_batch_fast([PREFIX + text for text in texts])
        ids = [np.array(encoding.ids, dtype=np.int64) for encoding in encodings]
        result = np.zeros((len(texts), self._weights.width), dtype=np.float32)
        rows: list[int] = []
        for row in np.argsort([len(one) for one in ids], kind="stable"):
            if rows and (len(rows) + 1) * len(ids[row]) > BATCH_TOKENS:
                result[rows] = self._run([ids[one] for one in rows])
                rows = []
            rows.append(row)
        if rows:
            result[rows] = self._run([ids[one] for one in rows])
        return result

    def _run(self, ids: list[NDArray[np.int64]]) -> NDArray[np.float32]:
        lengths = np.array(list(map(len, ids)))
        longest = lengths.max()
        is_token = np.arange(longest) < lengths[:, None]
        padded = np.ones(is_token.shape, dtype=np.int64)
        padded[is_token] = np.concatenate(ids)
        mask = is_token.astype(np.float32)
        unique, inverse = np.unique(padded, return_inverse=True)
        hidden = self._weights.word_vectors(unique)[inverse.reshape(padded.shape)] + self._positions[:longest]
        hidden -= hidden.mean(axis=-1, keepdims=True)
        hidden /= np.sqrt((hidden**2).mean(axis=-1, keepdims=True) + self._weights.epsilon)
        (output,) = self._session.run(None, {"hidden": hidden * self._scale + self._shift, "mask": mask})
        pooled = (output * mask[..., None]).sum(axis=1)
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))
