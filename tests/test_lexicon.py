import gzip
import json
from pathlib import Path

from support.tables import read_rows

from training.prepare.apertium import entries
from training.prepare.lexicon import MOST_OF_PAIR, chosen, freedict, main, messages, plain_phrase

CODES = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def base64_number(value: int) -> str:
    return (base64_number(value // 64) if value >= 64 else "") + CODES[value % 64]


def write_dictionary(root: Path, name: str, entries: list[str]) -> None:
    folder = root / "usr/share/dictd"
    folder.mkdir(parents=True)
    data, index = b"", ["00databaseshort\tA\tA"]
    for entry in entries:
        content = entry.encode() + b"\n"
        index.append(f"{entry.split()[0]}\t{base64_number(len(data))}\t{base64_number(len(content))}")
        data += content
    (folder / f"freedict-{name}.dict.dz").write_bytes(gzip.compress(data))
    (folder / f"freedict-{name}.index").write_text("\n".join(index) + "\n")


def test_dictionary_entries_become_rows(tmp_path: Path) -> None:
    entries = ["house /haʊs/ <n>\n1. maison, demeure", "wine /waɪn/\nvin", "x" * 70 + " /x/\nlong"]
    write_dictionary(tmp_path, "eng-fra", entries)
    pairs = [("house", "maison"), ("house", "demeure"), ("wine", "vin")]
    assert chosen(freedict(tmp_path)) == chosen([("eng", one, "fra", other) for one, other in pairs])


def test_messages_with_parameters_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "usr/share/mediawiki/languages/i18n"
    folder.mkdir(parents=True)
    for name, texts in {
        "en": {"a": "Recent changes", "b": "$1 pages", "c": "Talk"},
        "is": {"a": "Nýlegar breytingar", "b": "$1 síður", "@metadata": {}},
        "qqq": {"a": "explanation"},
    }.items():
        (folder / f"{name}.json").write_text(json.dumps(texts))
    assert list(messages(tmp_path)) == [("eng", "Recent changes", "isl", "Nýlegar breytingar")]
    main([str(tmp_path / "out.tsv.gz"), "--root", str(tmp_path)])
    header, *rows = read_rows(tmp_path / "out.tsv.gz")
    assert header == ["lang_a", "text_a", "lang_b", "text_b"]
    assert ["eng", "recent changes", "isl", "nýlegar breytingar"] in rows
    assert ["fra", "actualités", "mlt", "aħbarijiet"] in rows


def test_phrases_are_short_words_in_lower_case() -> None:
    assert plain_phrase("Recent <b>Changes</b> (wiki) 12") == "recent changes"
    assert chosen([("eng", "one two three four five", "fra", "un"), ("eng", "same", "fra", "Same")]) == []
    many = [f"word {'x' * (i % 30)}{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}" for i in range(500)]
    found = chosen([("eng", phrase, "fra", "mot") for phrase in many])
    assert len(found) == len(set(map(plain_phrase, many))) <= MOST_OF_PAIR


def test_automaton_of_apertium() -> None:
    arcs = "0 1 g k|1 2 o á|2 3 x ε|3 4 <n> <n>|0 5 X X|5 5 X X|0 6 9 9|6 7 <num> <num>|4".replace(" ", "\t")
    assert entries("\n".join(f"{arc}\t0.0\t" for arc in arcs.split("|"))) == {("gox", "ká")}
