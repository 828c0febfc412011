"""Reviews of pairs that are like one another."""

from bilingual_crawler.bitext.align import SentencePair
from bilingual_crawler.bitext.exports import DocumentPair
from bilingual_crawler.items import Pair
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pairing.model import Alignment
from bilingual_crawler.reporting.review import Review

PAIR = LanguagePair.parse("eng-fin")


def pair(name: object, score: float = 0.9, method: str = "url") -> Pair:
    return Pair(f"https://a.fi/en/{name}", f"https://a.fi/fi/{name}", score, method, "eng-fin")


def alignment(count: int) -> Alignment:
    return Alignment(("a.fi",), tuple(map(pair, range(count))), {"https://a.fi/x": "no_candidate"})


def add_sentences(review: Review, texts: list[tuple[str, str]]) -> None:
    """Add sentence pairs of one pair of documents, as many of which were dropped."""
    documents = DocumentPair("https://a.fi/en/1", "https://a.fi/fi/1", "", "", 0.9, "url")
    kept = [SentencePair(text_a, text_b, 0.8, "0", "0") for text_a, text_b in texts]
    review.sentences.add(documents, [*kept, *kept], kept)
