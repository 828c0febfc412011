"""Made-up sites and lists, small enough to train a pair model on in seconds."""

from __future__ import annotations

import lzma
from typing import TYPE_CHECKING

from training.parallelness.examples import PairSources, fold_of

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ("news", "about", "contact", "products", "history", "team", "press", "shop", "jobs", "events")


def tiny_sources(root: Path, hosts: int = 30) -> PairSources:
    """Gold pairs of `hosts` sites, one frozen site of the first fold, URLs and a lexicon, all under `root`."""
    rows = ["url_a\tlang_a\turl_b\tlang_b\tsource\tevidence"]
    for number in range(hosts):
        for word in WORDS:
            base = f"https://site{number}{word[0]}x.org"
            rows.append(f"{base}/en/{word}/{number}\teng\t{base}/is/{word}/{number}\tisl\tx\tgold")
    (root / "pairs.tsv").write_text("\n".join(rows) + "\n")
    held_out = next(f"small{i}" for i in range(99) if fold_of(f"small{i}") == 0)
    frozen_site(root / "sites" / "small", f"https://{held_out}.net")
    lexicon = ["lang_a\ttext_a\tlang_b\ttext_b"]
    lexicon += [f"eng\t{a}{b}\tspa\t{a}o {b}as" for a in WORDS for b in WORDS] * 25
    (root / "lexicon.tsv").write_text("\n".join(lexicon) + "\n")
    (root / "urls.tsv").write_text(
        "url\tlang\n" + "\n".join(f"https://t{i % 5}.fr/p/{w}{i}\tfra" for i, w in enumerate(WORDS * 4))
    )
    return PairSources(root / "pairs.tsv", root / "sites", root / "urls.tsv", root / "lexicon.tsv")


def frozen_site(folder: Path, base: str) -> None:
    """A site in English and Finnish, every page of which links to every other."""
    folder.mkdir(parents=True)
    urls = [f"{base}/{lang}/{word}" for lang in ("en", "fi") for word in WORDS]
    graph = [f"{url}\t{'eng' if '/en/' in url else 'fin'}\t500\t{' '.join(urls)}" for url in urls]
    gold = [f"{url}\teng\t{url.replace('/en/', '/fi/')}\tfin\threflang" for url in urls[: len(WORDS)]]
    for name, lines in (("graph", graph), ("pairs", gold)):
        with lzma.open(folder / f"{name}.tsv.xz", "wt") as file:
            file.write("\n".join(lines) + "\n")
