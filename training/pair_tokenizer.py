"""The tokenizer of the pair model: features whole, words in pieces."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.trainers import WordPieceTrainer

from training.pair_network import SPECIAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LONGEST_WORD = 60
FEWEST = 4


def count_features(texts: Iterable[str]) -> Counter[str]:
    """How many texts hold each feature."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(text.partition(" <a>")[0].split()))
    return counts


def count_words(texts: Iterable[str]) -> Counter[str]:
    """How many texts hold each word behind ``<a>`` and ``<b>``."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(text.partition("<a>")[2].split()))
    del counts["<b>"]
    return counts


def learn_pieces(words: Mapping[str, int], size: int) -> list[str]:
    """About `size` pieces (``##`` inside a word) that spell the words, learnt from their frequencies."""
    tokenizer = Tokenizer(WordPiece(unk_token=SPECIAL[1]))
    tokenizer.pre_tokenizer = WhitespaceSplit()  # type: ignore[assignment]
    trainer = WordPieceTrainer(vocab_size=size, show_progress=False, limit_alphabet=2000)
    tokenizer.train_from_iterator((" ".join([word] * min(count, 50)) for word, count in words.items()), trainer)
    return sorted(tokenizer.get_vocab(), key=lambda piece: tokenizer.get_vocab()[piece])


def build_tokenizer(features: Mapping[str, int], pieces: Iterable[str]) -> tuple[Tokenizer, int]:
    """The tokenizer, and the first id that is a piece of a word; features seen in fewer than 4 texts are left out."""
    kept = sorted(feature for feature, count in features.items() if count >= FEWEST)
    vocabulary = {token: i for i, token in enumerate((*SPECIAL, *kept))}
    first = len(vocabulary)
    for piece in pieces:
        vocabulary.setdefault(piece, len(vocabulary))
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=SPECIAL[1], max_input_chars_per_word=LONGEST_WORD))
    tokenizer.pre_tokenizer = WhitespaceSplit()  # type: ignore[assignment]
    return tokenizer, first
