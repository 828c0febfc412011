"""The tokenizer of the pair model: features whole, words in pieces."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.trainers import WordPieceTrainer

from bilingual_crawler.scoring.models import FileTokens
from training.common.encoding import Encoded
from training.parallelness.network import SPECIAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LONGEST_WORD = 60
MAX_LENGTH = 80  # tokens of a pair
FEWEST = 4
SAMPLED_WORDS = 120_000


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
    """About `size` pieces (``##`` inside a word): learnt ones that spell any word, and the most frequent words."""
    frequent = sorted(words, key=lambda word: (-words[word], word))[:SAMPLED_WORDS]
    tokenizer = Tokenizer(WordPiece(unk_token=SPECIAL[1]))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    trainer = WordPieceTrainer(vocab_size=size // 4, show_progress=False, limit_alphabet=1500)
    tokenizer.train_from_iterator((" ".join([word] * min(words[word], 20)) for word in frequent), trainer)
    learnt = tokenizer.get_vocab()
    pieces = dict.fromkeys(sorted(learnt, key=lambda piece: learnt[piece]))
    for word in frequent:
        if len(pieces) >= size:
            break
        if len(word) <= LONGEST_WORD:
            pieces[word] = None
    return list(pieces)


def build_tokenizer(features: Mapping[str, int], pieces: Iterable[str]) -> tuple[Tokenizer, int]:
    """The tokenizer, and the first id that is a piece of a word; features seen in fewer than 4 texts are left out."""
    kept = sorted(feature for feature, count in features.items() if count >= FEWEST)
    vocabulary = {token: i for i, token in enumerate((*SPECIAL, *kept))}
    first = len(vocabulary)
    for piece in pieces:
        vocabulary.setdefault(piece, len(vocabulary))
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=SPECIAL[1], max_input_chars_per_word=LONGEST_WORD))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.enable_truncation(MAX_LENGTH)
    return tokenizer, first


def encode(tokenizer: Tokenizer, texts: Sequence[str]) -> Encoded:
    """Texts as the crawler will read them."""
    return Encoded(FileTokens(tokenizer.to_str().encode(), MAX_LENGTH), texts)
