"""Reviews of pairs that are like one another."""

from collections.abc import Callable, Iterable
from pathlib import Path

from bilingual_crawler.bitext.align import SentencePair
from bilingual_crawler.bitext.exports import DocumentPair
from bilingual_crawler.items import Pair
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pairing.model import Alignment
from bilingual_crawler.reporting.review import SAMPLE, Review

PAIR = LanguagePair.parse("eng-fin")


def pair(name: object, score: float = 0.9, method: str = "url") -> Pair:
    return Pair(f"https://a.fi/en/{name}", f"https://a.fi/fi/{name}", score, method, "eng-fin")


def alignment(count: int) -> Alignment:
    return Alignment(("a.fi",), tuple(map(pair, range(count))), {"https://a.fi/x": "no_candidate"})


def write_review(
    folder: Path,
    count: int,
    sentences: Iterable[tuple[str, str]] = (),
    shown: Callable[[str], list[str]] = lambda url: [url],
    sample: int = SAMPLE,
) -> Review:
    """Write a review of *count* document pairs and of *sentences* of one of them, as many of which were dropped."""
    review = Review(PAIR, sample)
    review.add(alignment(count), shown)
    documents = DocumentPair("https://a.fi/en/1", "https://a.fi/fi/1", "", "", 0.9, "url")
    kept = [SentencePair(text_a, text_b, 0.8, "0", "0") for text_a, text_b in sentences]
    review.sentences.add(documents, [*kept, *kept], kept)
    review.write(folder)
    return review
