"""The detector of Barbosa et al. 2011 (section 2.1): a link predictor, and the languages of the pages that it picks.

Unlike there, the predictor is a logistic regression, words that name languages are replaced by their roles (it judges
any pair of languages), and images are read as the language that they stand for.
"""

import re
from collections import Counter
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Self

from bilingual_crawler.discovery.detector.base import Inspection, Reason, Verdict
from bilingual_crawler.discovery.detector.features import FOLDER, side_of
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.labels import coded_language, named_language
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.scoring.linear import LinearModel, read_weights
from bilingual_crawler.scoring.models import LanguageModel
from bilingual_crawler.urls.hosts import domain_label
from bilingual_crawler.urls.tokens import languages_of

FILE = "barbosa.json"
THRESHOLD = 0.8  # likelihood from which a link is followed (section 3.1)
MAX_DOWNLOADS = 30  # the paper names no limit; at a threshold of 0 it downloads 29.1 pages a site
MAX_LINKS = 500

_WORD = re.compile(r"[^\W\d_]+")


def tokens_of(page: PageRecord, link: Link, sought: frozenset[str], pair: LanguagePair) -> set[str]:
    """The tokens of *link* in its contexts: address, anchor, text around, images."""
    around = next((line for line in page.text.split("\n") if link.text and link.text in line), "")
    path = link.url.partition("://")[2].partition("/")[2]
    contexts = {"url": path, "anchor": link.text, "around": around.replace(link.text, " ")}
    tokens = set() if link.label is None else {f"image:{_role(link.label, sought, pair)}"}
    for name, text in contexts.items():
        for word in _WORD.findall(text):
            language = named_language(word) or coded_language(word) or next(iter(languages_of(word.lower())), None)
            tokens.add(f"{name}:{word.lower() if language is None else _role(language, sought, pair)}")
    return tokens


def _role(language: str, sought: frozenset[str], pair: LanguagePair) -> str:
    side = pair.side(language)
    return "<third>" if side is None else "<sought>" if side in sought else "<own>"


def likelihood(predictor: LinearModel, tokens: set[str]) -> float:
    """Probability that a link with *tokens* leads to a page in a language that is sought."""
    return predictor.probability(dict.fromkeys(tokens & predictor.weights.keys(), 1.0))


@dataclass(eq=False)
class BarbosaDetector:
    """Follows the links whose likelihood is at least *threshold*, until it has seen both languages."""

    predictor: LinearModel
    threshold: float = THRESHOLD

    @classmethod
    def load(cls, models: Traversable, language_model: LanguageModel) -> Self:
        return cls(read_weights(models / FOLDER / FILE, LinearModel))

    def inspect(self, pair: LanguagePair, entry: PageRecord) -> Inspection:
        return BarbosaInspection(self, pair, entry)


class BarbosaInspection:
    """Downloads the links of the entry page, likeliest first."""

    def __init__(self, detector: BarbosaDetector, pair: LanguagePair, entry: PageRecord) -> None:
        self._pair = pair
        self._site = domain_label(entry.url)
        self._languages = Counter([entry.language])
        self._sides = {side_of(entry, pair)} - {None}
        self._downloads = 0
        sought = frozenset({pair.a, pair.b} - self._sides)
        links = [link for link in entry.links if domain_label(link.url) == self._site][:MAX_LINKS]
        tokens = {link.url: tokens_of(entry, link, sought, pair) for link in links}
        scores = {url: likelihood(detector.predictor, found) for url, found in tokens.items()}
        best = sorted(scores, key=scores.__getitem__, reverse=True)
        self._picked = [url for url in best if scores[url] >= detector.threshold]

    def next(self) -> str | None:
        if len(self._sides) == 2 or self._downloads >= min(len(self._picked), MAX_DOWNLOADS):
            return None
        return self._picked[self._downloads]

    def observe_page(self, url: str, page: PageRecord | None) -> None:
        self._downloads += 1
        if page is not None and domain_label(page.url) == self._site:
            self._languages[page.language] += 1
            self._sides |= {side_of(page, self._pair)} - {None}

    @property
    def verdict(self) -> Verdict:
        bilingual = len(self._sides) == 2
        reason = Reason.BILINGUAL if bilingual else Reason.ONE_LANGUAGE
        return Verdict(bilingual, float(bilingual), reason, self._languages, downloads=self._downloads)
