"""What a site's own pairs teach of its words."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.texts import MODELS, PAIRS

from bilingual_crawler.items import Document
from bilingual_crawler.pages.outline import hash_text
from bilingual_crawler.pairing.content import glossary_channels
from bilingual_crawler.pairing.corpus import Corpus, Domain
from bilingual_crawler.pairing.methods import make_method
from bilingual_crawler.pairing.model import Profile
from bilingual_crawler.pairing.reading import RawPage, read_document

SENTENCES = {
    "eng": "The museum is closed on Mondays and on public holidays, and nobody remembers why.",
    "spa": "El museo está cerrado los lunes y los días festivos, y nadie recuerda por qué.",
}
DOCUMENTS, TAUGHT, WORDS = 60, 40, 80


def read(url: str) -> tuple[Document, Profile]:
    language = "eng" if "eng" in url else "spa"
    found = read_document(RawPage(url, None, text=SENTENCES[language]), PAIRS)
    assert found is not None
    return found


@pytest.fixture
def texts() -> Domain:
    """Texts with their translations, word by word; those that teach share numbers with theirs, the others nothing."""
    random = np.random.default_rng(0)
    profiles = []
    for number in range(DOCUMENTS):
        meanings = random.choice(WORDS, 12, replace=False).tolist()
        numbers = [f"{number} {place}" for place in range(3)] if number < TAUGHT else []
        for language in ("eng", "spa"):
            words = np.unique(hashes(f"{language}{one}" for one in meanings))
            profile = read(f"https://a.example/{language}{number}")[1]
            profiles.append(replace(profile, words=words, numbers=hashes(numbers)))
    return Domain(("a.example",), Texts(PAIRS), PAIRS.pairs[0], profiles)


class Texts(Corpus):
    """A corpus in which all documents of a language have one text, which tells nothing."""

    def document(self, url: str) -> Document:
        return read(url)[0]


def hashes(texts: Iterable[str]) -> NDArray[np.uint32]:
    return np.array([hash_text(text) for text in texts], dtype=np.uint32)


def test_pairs_teach_which_words_are_translations(texts: Domain) -> None:
    taught = np.arange(TAUGHT)
    for channel in glossary_channels(texts, taught, taught).values():
        likeness = (channel.a @ channel.b.T).toarray()
        # those that taught nothing, and those that taught others
        assert np.mean(likeness.argmax(axis=1) == np.arange(DOCUMENTS)) > 0.9
    untaught = glossary_channels(texts, taught[:0], taught[:0])
    assert all(np.isnan(channel.cosine(taught, taught)).all() for channel in untaught.values())


def test_texts_that_share_nothing_are_paired_by_the_words_that_others_teach(texts: Domain, tmp_path: Path) -> None:
    found = make_method("auto", MODELS, "", tmp_path)(texts)
    i, j = found.pairs(found.threshold)
    assert np.mean(i == j) > 0.9
    assert np.sum(i[i == j] >= TAUGHT) > 0.9 * (DOCUMENTS - TAUGHT)
