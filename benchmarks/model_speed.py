"""URLs and pairs per second of the shipped models and of XLM-RoBERTa base, in batches of 256, in one run.

    python -m benchmarks.model_speed [--urls FILE] [--pairs FILE] [--batches 40] [--large-batches 3] [--json FILE]

The shipped models are measured from the URL to the probability, text preparation included. XLM-RoBERTa base has random
weights (which cost the same as trained ones), is exported in fp32 and gets batches of token ids without a tokenizer's
work: one id for each run of letters, digits or signs, of which XLM-RoBERTa's own vocabulary makes one or more. Its
numbers are therefore too good rather than too bad. Prints medians over the batches, the same per second of processor
time (all threads together; what to compare when the machine is busy), and ratios.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
import torch
from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification

from bilingual_crawler.scoring.models import default_providers, load_models
from bilingual_crawler.urls.model_input import model_text
from training.common.data import read_tsv
from training.transformer.hub import Classifier, classifier_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

BATCH = 256
SHARED = Path(__file__).parents[2] / "shared" / "data" / "urls"
VOCABULARY, LABELS, FIRST, LAST, PAD = 250_002, 162, 0, 2, 1


def measure(score: Callable[[Sequence[Any]], object], items: Sequence[Any], batches: int) -> dict[str, float]:
    """Items per second of wall clock and of processor time, medians over batches; the first batch is not counted."""
    wall, processor = [], []
    for number in range(batches + 1):
        start = number * BATCH % (len(items) - BATCH + 1)
        batch = items[start : start + BATCH]
        began, worked = time.perf_counter(), time.process_time()
        score(batch)
        wall.append(BATCH / (time.perf_counter() - began))
        processor.append(BATCH / max(1e-9, time.process_time() - worked))
    return {"per_second": statistics.median(wall[1:]), "per_cpu_second": statistics.median(processor[1:])}


def xlmr_base() -> Callable[[Sequence[Sequence[str]]], object]:
    """Scorer of batches of URLs, or of tuples of URLs, with the paper's architecture and random weights."""
    config = XLMRobertaConfig(vocab_size=VOCABULARY, max_position_embeddings=514, type_vocab_size=1, pad_token_id=PAD)
    config.num_labels = LABELS
    graph = classifier_graph(Classifier(XLMRobertaForSequenceClassification(config), difference=False).eval())
    session = ort.InferenceSession(graph.SerializeToString(), providers=default_providers())
    rng = np.random.default_rng(0)

    def score(batch: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        lengths = np.array([1 + sum(len(model_text(url).split(" ")) + 1 for url in urls) for urls in batch])
        mask = np.arange(lengths.max()) < lengths[:, None]
        ids = np.where(mask, rng.integers(3, VOCABULARY - 2, mask.shape), PAD)
        ids[:, 0], ids[np.arange(len(ids)), lengths - 1] = FIRST, LAST
        found: NDArray[np.float32] = session.run(None, {"input_ids": ids, "attention_mask": mask.astype(np.int64)})[0]
        return found

    return score


def main() -> None:
    """Measure all three and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=Path, default=SHARED / "url_language.dev.tsv.gz", help="TSV with a column url")
    parser.add_argument("--pairs", type=Path, default=SHARED / "url_pairs.dev.tsv.gz", help="TSV with url_a, url_b")
    parser.add_argument("--models", type=Path, default=Path(__file__).parents[1] / "models")
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--large-batches", type=int, default=3, help="batches for XLM-RoBERTa base")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    urls = [url for (url,) in read_tsv(options.urls, ("url",)).rows]
    pairs = [(a, b) for a, b in read_tsv(options.pairs, ("url_a", "url_b"), ("url_a", "url_b")).rows]
    rng = np.random.default_rng(0)
    rng.shuffle(urls)
    rng.shuffle(pairs)
    language, parallelness = load_models(options.models)
    large = xlmr_base()
    results = {
        "language": measure(language.probabilities, urls, options.batches),
        "parallelness": measure(parallelness.probabilities, pairs, options.batches),
        "XLM-R base, URLs": measure(large, [(url,) for url in urls], options.large_batches),
        "XLM-R base, pairs": measure(large, pairs, options.large_batches),
    }
    print(f"{ort.get_device()}, {torch.get_num_threads()} cores, batches of {BATCH}")
    for name, rates in results.items():
        print(f"{name:18} {rates['per_second']:10,.1f} a second, {rates['per_cpu_second']:10,.1f} per CPU second")
    for own, other in (("language", "XLM-R base, URLs"), ("parallelness", "XLM-R base, pairs")):
        ratios = {key: results[own][key] / results[other][key] for key in results[own]}
        print(f"{own}: {ratios['per_second']:,.0f} times XLM-R base, {ratios['per_cpu_second']:,.0f} by processor time")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
