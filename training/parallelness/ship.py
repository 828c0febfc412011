"""Write a trained pair network as a model folder with its card."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from training.common.model_folder import parity, write_card, write_folder
from training.parallelness.network import pair_graph, with_int8_tables
from training.parallelness.tokenizer import MAX_LENGTH
from training.parallelness.validation import validation_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tokenizers import Tokenizer
    from torch import Tensor

    from training.common.calibration import Calibration
    from training.parallelness.examples import Example
    from training.parallelness.network import PairNet

WHAT = """
The probability that two URLs lead to translations of each other, from the URLs alone. Input:
`bilingual_crawler.urls.model_input.pair_text(u, v)`, the same for (u, v) and (v, u): features of the alignment of both
URLs (hosts, language tokens that changed, numbers, shape) and the words that only one of them has. A small network
reads the bag of features and how near the words of one URL are to those of the other, by word vectors learnt from
bilingual dictionaries. Tables are int8.
"""
DATA = """
{examples:,} pairs, {positives:,} positive: WMT16 document alignment (train), hreflang links of web pages, sources of
multilingual sites, gold pairs and real links of frozen sites, and made-up addresses (language marks put into real URLs;
addresses of words translated by a dictionary). Negatives: the generators 1+2+3+4+5 of García-Romero et al. 2026 inside
each domain, addresses rewritten as crawls meet them (pagination, other numbers, nested language directories, sections,
login and print pages, other forms of the same page), real links that are no translation.
"""


def ship(
    out: Path,
    net: PairNet,
    tokenizer: Tokenizer,
    probe: Tensor,
    examples: Sequence[Example],
    calibration: Calibration,
    scores: Mapping[str, float],
    recipe: Mapping[str, object],
) -> None:
    """Write the folder `out`. Graph and network are compared on `probe`; `scores` are of held-out domains.

    The shift of the `calibration` is already in the network.
    """
    final = with_int8_tables(net)
    graph = pair_graph(final)
    difference = parity(final, graph, probe)
    write_folder(
        out,
        graph,
        tokenizer,
        kind="parallelness",
        labels=("parallel",),
        max_length=MAX_LENGTH,
        temperature=calibration.temperature,
        text="aligned",
        link_temperature=calibration.link_temperature,
        link_shift=calibration.link_shift,
    )
    counts = Counter(e.source for e in examples if e.label)
    settings = {**recipe, "parity of network and graph": f"{difference:.2g}"}
    write_card(
        out,
        "Parallelness of two URLs",
        {
            "What it is": WHAT,
            "Training data": DATA.format(examples=len(examples), positives=sum(counts.values()))
            + "\nPositives of the largest sources:\n\n"
            + "\n".join(f"- {source}: {count:,}" for source, count in counts.most_common(8)),
            "Scores": "Cross-validated: each domain was scored by a network that had not seen it. Refused links "
            "differ from the page's address in the language only and are no gold pair, mostly because the page behind "
            "them is not translated.\n\n" + validation_table(scores),
            "Calibration": f"Logits are shifted (in the graph) and divided by {calibration.temperature:.3f}: the least "
            "cross-entropy on any two documents of held-out domains, with about one positive in fifteen. For a page "
            f"and its link, {calibration.link_shift:.3f} is added and the sum divided by "
            f"{calibration.link_temperature:.3f}: the least cross-entropy on the links of held-out sites, of pages "
            "that link to their translation. What is left of the error is in the table above (expected calibration "
            "error), so that the probability can be multiplied with that of the language.",
            "Recipe": "\n".join(f"- {name}: {value}" for name, value in settings.items()),
        },
    )
