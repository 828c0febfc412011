"""Made-up sites and lists, small enough to train a pair model on in seconds."""

import lzma
from pathlib import Path

from support.tables import write_table
from training.parallelness.examples import PairSources, fold_of

WORDS = ("news", "about", "contact", "products", "history", "team", "press", "shop", "jobs", "events")


def tiny_sources(root: Path, hosts: int = 30) -> PairSources:
    """Gold pairs of `hosts` sites, one frozen site of the first fold, URLs and a lexicon, all under `root`."""
    pairs = []
    for number in range(hosts):
        for word in WORDS:
            base = f"https://site{number}{word[0]}x.org"
            pairs.append(f"{base}/en/{word}/{number}\teng\t{base}/is/{word}/{number}\tisl\tx\tgold")
    held_out = next(f"small{i}" for i in range(99) if fold_of(f"small{i}") == 0)
    frozen_site(root / "sites" / "small", f"https://{held_out}.net")
    lexicon = [f"eng\t{a}{b}\tspa\t{a}o {b}as" for a in WORDS for b in WORDS] * 4
    urls = [f"https://t{i % 5}.fr/p/{w}{i}\tfra" for i, w in enumerate(WORDS * 4)]
    return PairSources(
        write_table(root / "pairs.tsv", "url_a lang_a url_b lang_b source evidence", pairs),
        root / "sites",
        write_table(root / "urls.tsv", "url lang", urls),
        write_table(root / "lexicon.tsv", "lang_a text_a lang_b text_b", lexicon),
    )


def source_options(sources: PairSources) -> list[str]:
    """The options of a training that name its data."""
    given = {name: getattr(sources, name) for name in ("pairs", "sites", "urls", "lexicon")}
    return [text for name, path in given.items() for text in (f"--{name}", str(path))]


def frozen_site(folder: Path, base: str) -> None:
    """A site in English and Finnish, every page of which links to every other."""
    folder.mkdir(parents=True)
    urls = [f"{base}/{lang}/{word}" for lang in ("en", "fi") for word in WORDS]
    graph = [f"{url}\t{'eng' if '/en/' in url else 'fin'}\t500\t{' '.join(urls)}" for url in urls]
    gold = [f"{url}\teng\t{url.replace('/en/', '/fi/')}\tfin\threflang" for url in urls[: len(WORDS)]]
    for name, lines in (("graph", graph), ("pairs", gold)):
        with lzma.open(folder / f"{name}.tsv.xz", "wt") as file:
            file.write("\n".join(lines) + "\n")
