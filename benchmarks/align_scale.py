"""Time and memory of `scrapy align --method auto` without an encoder on one domain of made-up documents.

    python -m benchmarks.align_scale            # 50,000 + 50,000 documents

Pages are made of real words (wordfreq, extra `train`), so that their language can be told; a page and its translation
share some numbers, a name, an image and the links to the same neighbours, but no part of their URLs.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import track
from wordfreq import top_n_list

from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pairing.align import align, read_corpus
from bilingual_crawler.pairing.methods import make_method
from bilingual_crawler.storage.writer import Exchange, WarcWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "https://scale.example.org"
LANGUAGES = ("en", "es")


def pages(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """URL and HTML of *count* pages in each language; pages number 2k and 2k + 1 are translations."""
    words = [[word for word in top_n_list(lang, 4000) if len(word) > 2] for lang in LANGUAGES]
    names = [[f"{lang}{random.Random(f'{seed}{lang}{k}').getrandbits(48):x}" for k in range(count)] for lang in "ab"]
    for k in range(count):
        for side in range(2):
            shape = random.Random(f"{seed} {k}")
            text = random.Random(f"{seed} {k} {side}")
            body = []
            for _ in range(shape.randint(4, 12)):
                length = shape.randint(8, 60)
                chosen = [text.choice(words[side]) for _ in range(int(length * (1.15 if side else 1)))]
                if shape.random() < 0.4:
                    chosen.insert(len(chosen) // 2, str(shape.randint(10, 9999)))
                tag = shape.choice(("p", "p", "p", "h2", "li", "blockquote"))
                body.append(f"<{tag}>{' '.join(chosen).capitalize()}.</{tag}>")
            links = "".join(
                f'<a href="/{names[side][shape.randrange(count)]}">{text.choice(words[side])}</a>' for _ in range(6)
            )
            image = f'<img src="/i/{shape.randrange(count // 4 + 1)}.png">'
            menu = "".join(f'<a href="/{names[side][item]}">{words[side][item]}</a>' for item in range(min(8, count)))
            title = f"<title>{words[side][k % 999]} {k % 97}</title>"
            html = f"<html>{title}<nav>{menu}</nav>{''.join(body)}{image}{links}</html>"
            yield f"{HOST}/{names[side][k]}", html


def main() -> None:
    """Make the pages, align them, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=50_000, help="in each language (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, gold = Path(name), set()
        writer, urls = WarcWriter(folder, info={}), []
        for url, html in track(pages(args.documents, args.seed), "making", total=2 * args.documents):
            urls.append(url)
            writer.write_exchange(_exchange(url, html))
        writer.close()
        gold = set(zip(urls[::2], urls[1::2], strict=True))
        started, cpu = time.perf_counter(), _cpu()
        corpus = read_corpus([folder], LanguagePairs.parse("eng-spa"))
        read, read_cpu = time.perf_counter(), _cpu()
        method = make_method("auto", Path("models"), "", folder)
        pairs = [(pair.url_a, pair.url_b) for _, alignment in align(corpus, method) for pair in alignment.pairs]
        aligned, aligned_cpu = time.perf_counter(), _cpu()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    right = len(gold.intersection(pairs))
    print(f"{len(corpus)} documents")
    print(f"read in {read - started:.0f} s ({read_cpu - cpu:.0f} s of CPU)")
    print(f"aligned in {aligned - read:.0f} s ({aligned_cpu - read_cpu:.0f} s of CPU), peak memory {memory:.1f} GiB")
    print(f"recall {right / len(gold):.3f}, precision {right / max(len(pairs), 1):.3f}")


def _cpu() -> float:
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in usage)


def _exchange(url: str, html: str) -> Exchange:
    headers = ((b"Content-Type", b"text/html; charset=utf-8"),)
    return Exchange(url, "GET", (), 200, headers, html.encode(), datetime.now(UTC))


if __name__ == "__main__":
    main()
