import json
from pathlib import Path

import pytest
from support.refusals import refused

from benchmarks.sentences import Article, Beads, f1, main, pieces

ENGLISH = """\
The museum was opened in 1987 by Helga Brandt.
It has 12 rooms.
In 2004 a hall for concerts was built next to the old house in the park.
Tickets cost 8 euros.
"""
GERMAN = """\
Das Museum wurde 1987 von Helga Brandt eröffnet.
Es hat 12 Räume.
Im Jahr 2004 wurde ein Saal gebaut.
Er dient Konzerten und steht neben dem alten Haus im Park.
Die Karten kosten 8 Euro.
Montags und an den Feiertagen im Dezember bleibt das ganze Haus für alle Besucher geschlossen, auch 2024 und 2025.
"""
BEADS = "[0]:[0]\n[1]:[1]\n[2]:[2, 3]\n[3]:[4]\n[]:[5]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for suffix, text in {"en": ENGLISH, "de": GERMAN, "ende": BEADS}.items():
        (tmp_path / f"museum.{suffix}").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_an_article_of_known_beads_is_aligned_whole_or_in_pieces_and_scored(folder: Path) -> None:
    for options in ([], ["--pieces", "2"]):
        result = folder / "result.json"
        main([str(folder), "--pair", "eng-deu", *options, "--json", str(result), "--cache", str(folder / "cache")])
        scores = json.loads(result.read_text())["lexical"]
        assert scores["lax"] == 1.0
        assert options or scores["strict"] == 1.0


def test_pieces_are_cut_between_beads_and_lose_none() -> None:
    gold = {((0,), (0,)), ((1,), (1, 2)), ((2, 3), (3,)), ((), (4,)), ((4,), (5,))}
    article = Article(list("abcde"), list("uvwxyz"), gold)
    assert [("".join(piece.a), "".join(piece.b), piece.gold) for piece in pieces(article, 2)] == [
        ("ab", "uvw", {((0,), (0,)), ((1,), (1, 2))}),
        ("cd", "x", {((0, 1), (0,))}),
        ("e", "yz", {((), (0,)), ((0,), (1,))}),
    ]
    # no cut after c, which has one translation with d
    assert ["".join(piece.a) for piece in pieces(article, 3)] == ["abcd", "e"]


def test_exact_beads_count_as_strict_and_overlapping_ones_as_lax() -> None:
    gold: Beads = {((0,), (0,)), ((1, 2), (1,)), ((3,), (2,)), ((4,), ())}
    found: Beads = {((0,), (0,)), ((1,), (1,)), ((2,), ()), ((3,), (2,)), ((4,), ())}
    # strict precision 3 of 5, recall 2 of 3; lax 4 of 5 and 3 of 3
    assert f1([(gold, found)]) == {"strict": 0.6316, "lax": 0.8889}
    assert f1([(gold, gold)]) == {"strict": 1.0, "lax": 1.0}


def test_a_folder_without_articles_of_the_pair_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "eng-fra" in refused(capsys, main, [folder, "--pair", "eng-fra"])
