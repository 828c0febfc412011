"""`python -m training.language.comparison`: the language model and baselines trained on the same data."""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilingual_crawler.urls.hosts import domain_label
from training.common.data import DataError, read_real, read_tsv
from training.common.loop import fingerprint
from training.common.markdown import table
from training.common.options import refuse_bad_input
from training.language.baselines import PAPER, TUNED, FastText, LanguageRules, best_order, train_fasttext
from training.language.evaluation import ModelGuesser, measure_guesser, read_judged
from training.language.recipe import LanguageRecipe

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOWN = ("eng", "mlt", "eus", "isl", "fin")


def compare(
    data: Sequence[Path], synthetic: Sequence[Path], test: Path, model: Path, out: Path, least: int, threads: int
) -> dict[str, dict[str, Any]]:
    """Train the baselines on `data` without the domains of `test`, score all on `test`; results by name.

    A baseline that an earlier run left in `out` is not trained again on the same URLs.
    """
    out.mkdir(parents=True, exist_ok=True)
    judged = read_judged(test, least).rows
    barred = {domain_label(url) for url, _ in judged}
    rows, report = read_real(data)
    rows = [row for row in rows if domain_label(row[0]) not in barred]
    print("\n".join(report), f"\n{len(rows)} URLs to train on", flush=True)
    if not rows:
        raise DataError(f"no URL to train on is of a domain that {test} lacks")
    made_up = [row for path in synthetic for row in read_tsv(path, ("url", "lang")).rows]
    share = LanguageRecipe().synthetic_share
    made_up = random.Random(LanguageRecipe().seed).sample(
        made_up, min(len(made_up), int(len(rows) * share / (1 - share)))
    )

    order = best_order(rows)
    guessers: dict[str, Any] = {
        "rules": LanguageRules(),
        f"rules in the order {', '.join(order)}": LanguageRules(order),
    }
    sizes = dict.fromkeys(guessers, 0)
    trained = {"fastText, recipe of the paper": (PAPER, rows), "fastText, tuned": (TUNED, rows)}
    if made_up:
        trained["fastText, tuned, with made-up URLs"] = (TUNED, [*rows, *made_up])
    for name, (recipe, shown) in trained.items():
        learnt_from = fingerprint(f"{recipe} {shown}")
        path, began = out / f"{name.replace(',', '').replace(' ', '-')}-{learnt_from}.bin", time.perf_counter()
        if not path.exists():
            train_fasttext(shown, recipe, path, threads)
        print(f"{name}: {len(shown)} URLs, {time.perf_counter() - began:.0f} s", flush=True)
        guessers[name], sizes[name] = FastText(path), path.stat().st_size
    guessers["shipped model"] = ModelGuesser(model)
    sizes["shipped model"] = sum(path.stat().st_size for path in model.glob("*"))
    return {
        name: measure_guesser(guesser, judged, least) | {"megabytes": sizes[name] / 1e6}
        for name, guesser in guessers.items()
    }


def summary(results: dict[str, dict[str, Any]]) -> str:
    """The results as a Markdown table: size, speed, macro means, F1 of some languages."""
    columns = ["model", "MB", "URLs per CPU second", "macro P", "macro R", "macro F1", "accuracy"]
    columns += [f"{lang} F1" for lang in SHOWN]
    rows: list[list[object]] = []
    for name, result in results.items():
        macro = result["macro"]
        scores = [macro["precision"], macro["recall"], macro["f1"], result["accuracy"]]
        scores += [result["classes"].get(lang, {}).get("f1", float("nan")) for lang in SHOWN]
        rows.append([name, f"{result['megabytes']:.1f}", round(result["urls_per_cpu_second"]), *scores])
    return table(columns, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write comparison.json and comparison.md into --out, print the table."""
    parser = argparse.ArgumentParser(prog="python -m training.language.comparison", description=main.__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="as for training.language")
    parser.add_argument("--synthetic", type=Path, nargs="*", default=[], help="TSV files of training.prepare.synthetic")
    parser.add_argument("--test", type=Path, required=True, help="TSV (url, lang); its domains are left out of --data")
    parser.add_argument("--model", type=Path, default=Path("models/url-language"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--least", type=int, default=30, help="macro means over classes with so many URLs")
    parser.add_argument("--threads", type=int, default=2, help="of fastText")
    with refuse_bad_input(parser):
        results = compare(**vars(options := parser.parse_args(arguments)))
    (options.out / "comparison.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (options.out / "comparison.md").write_text(summary(results), encoding="utf-8")
    print(summary(results), end="")


if __name__ == "__main__":
    main()
