from urllib.parse import urlsplit

import numpy as np
import torch

from training.parallelness.network import PairNet, PairNetConfig
from training.parallelness.synthetic import marked_pairs, slug_pairs
from training.parallelness.tokenizer import build_tokenizer
from training.parallelness.words import UNKNOWN, lend_vectors

WORDS = [chr(97 + i % 26) + chr(97 + i // 26) * 3 for i in range(120)]


def segments(url: str) -> list[str]:
    return urlsplit(url).path.strip("/").split("/")


def test_a_folder_and_a_file_in_it_are_made_up_as_translations() -> None:
    ends = ("s.html", "s", "s/")
    rows = [(f"https://site{n}.org/{word}/{word}{ends[n % 3]}", "eng") for n in range(300) for word in WORDS[:5]]
    folders = [(u, v) for u, v in marked_pairs(rows, 300) if u.endswith("/") and segments(v)[-1].startswith("index")]
    assert {len(segments(u)) for u, _ in folders} == {1, 2}
    for u, v in folders:
        assert v.startswith(u)
        assert segments(v)[-1][5] in "_."
        assert ".html/" not in v


def test_made_up_sites_have_pages_of_one_name_in_translated_folders() -> None:
    found = slug_pairs([("eng", word, "deu", f"{word}en") for word in WORDS], 60)
    assert all(u != v for u, v in found)
    same = [(u, v) for u, v in found if segments(u)[-1] == segments(v)[-1]]
    assert 0.1 < len(same) / len(found) < 0.5
    assert sum(segments(u)[-2] != segments(v)[-2] for u, v in same) > len(same) / 2


def test_made_up_sites_have_folders_of_several_words_and_depths() -> None:
    found = slug_pairs([("eng", f"{word} x", "deu", f"{word}en y") for word in WORDS], 400)
    shared = [(segments(u), segments(v)) for u, v in found if segments(u)[-1] == segments(v)[-1]]
    assert any("-" in folder for u, _ in shared for folder in u[:-1])
    assert {len(u) - len(v) for u, v in shared if (u[0], v[0]) == ("en", "de")} == {0, 1}


def test_words_without_a_translation_get_the_vector_of_a_word_that_begins_alike() -> None:
    pieces = ["rezept", "rezeptbuch", "recette", "rezepte", "recettes", "quark"]
    tokenizer, first = build_tokenizer({}, pieces)
    net = PairNet(PairNetConfig(first, len(pieces)))
    table = net.word_table.weight.detach()
    row = {piece: tokenizer.get_vocab()[piece] - first + 1 for piece in pieces}
    table[row["rezept"], -1] = 1.0  # a word that is always alone in its phrase keeps the weight with which it begins
    before = table.clone()
    assert lend_vectors(net, tokenizer, {"rezept", "rezeptbuch", "recette"}) == 2
    for plural, word in (("rezepte", "rezept"), ("recettes", "recette")):
        cosine = torch.cosine_similarity(table[row[plural], :-1], table[row[word], :-1], dim=0)
        np.testing.assert_allclose(cosine, 1, atol=1e-6)
        assert table[row[plural], -1] == table[row[word], -1]
    assert table[row["quark"], -1] == UNKNOWN
    assert torch.equal(table[row["quark"], :-1], before[row["quark"], :-1])
    assert torch.equal(table[: row["rezepte"]], before[: row["rezepte"]])
