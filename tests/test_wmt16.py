from __future__ import annotations

import base64
import gzip
import json
from typing import TYPE_CHECKING

import pytest

from training.wmt16 import main, one_to_one, read_gold, read_texts, recall

if TYPE_CHECKING:
    from pathlib import Path

HOST = "http://a.ca/"


def test_a_refused_pair_does_not_use_up_its_pages() -> None:
    scored = [(0.9, "A", "B"), (0.8, "A", "C"), (0.7, "D", "C")]
    assert one_to_one(scored) == [("A", "B"), ("D", "C")]


def test_soft_recall_counts_copies_of_known_pages() -> None:
    gold = {("e1", "f1"), ("e2", "f2"), ("e3", "f3")}
    text = "Le même texte, mot à mot, sur une autre page du même site. " * 3
    texts = {"f2": text, "copy": text + "!", "f3": text, "other": "Autre chose."}
    found = recall([("e1", "f1"), ("e2", "copy"), ("e3", "other")], gold, texts)
    assert (found.gold, found.found, found.found_softly) == (3, 1, 2)


def lett(path: Path, pages: dict[str, tuple[str, str]]) -> Path:
    def encode(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    rows = [
        "\t".join((language, "text/html", "charset=utf-8", HOST + name, encode(f"<p>{text}"), encode(text)))
        for name, (language, text) in pages.items()
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_rules_on_a_small_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = {f"{language}/{n}.html": (language, f"{language} {n} " * 20) for language in ("en", "fr") for n in range(4)}
    gold = tmp_path / "gold.pairs"
    lines = [f"{HOST}en/{n}.html\t{HOST}fr/{n}.html" for n in range(3)] + [f"{HOST}en/x.html\t{HOST}fr/y.html"]
    gold.write_text("\n".join(lines) + "\n")
    out = tmp_path / "out.json"
    site = lett(tmp_path / "a.lett", pages)
    with site.open("a") as file:
        file.write("en\ttext/html\tutf-8\thttp://a.ca[1]/x\tPA==\tPA==\n")
    packed = tmp_path / "a.lett.gz"
    packed.write_bytes(gzip.compress(site.read_bytes()))
    # a site that is given twice counts once
    for letts in ([site], [site, packed]):
        main([*map(str, letts), "--gold", str(gold), "--model", "rules", "--json", str(out)])
        assert json.loads(out.read_text())["recall"] == 75
        assert "4 known pairs: recall 75.00" in capsys.readouterr().out


def test_the_second_pass_pairs_what_the_site_has_in_common(tmp_path: Path) -> None:
    names = ("cain", "gina", "ted", "mason")
    pages = {f"{name}2.html": ("en", f"{name} en " * 20) for name in names}
    pages |= {f"{name}.html": ("fr", f"{name} fr " * 20) for name in names}
    gold = tmp_path / "gold.pairs"
    gold.write_text("".join(f"{HOST}{name}2.html\t{HOST}{name}.html\n" for name in names))
    arguments = [str(lett(tmp_path / "a.lett", pages)), "--gold", str(gold), "--model", "rules"]
    found = []
    for more in ([], ["--second-pass"]):
        main([*arguments, *more, "--json", str(tmp_path / "out.json")])
        found.append(json.loads((tmp_path / "out.json").read_text())["recall"])
    assert found == [0, 100]


def test_bad_gold_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gold.pairs"
    path.write_text("a\tb\nonly one\n")
    with pytest.raises(ValueError, match=r"gold.pairs, line 2: 1 columns"):
        read_gold(path)


def test_a_broken_document_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.lett"
    path.write_text("en\ttext/html\tutf-8\thttp://a.ca/1\tPA==\tabc\n")
    with pytest.raises(ValueError, match=r"broken.lett, line 1: the text is not in base 64"):
        read_texts(path, ("eng", "fra"))


@pytest.mark.parametrize(
    ("gold", "lett", "more", "message"),
    [
        (b"caf\xe9\tb\n", b"", (), "gold.pairs cannot be read: 'utf-8'"),
        (b"", b"", (), "gold.pairs: no known pair"),
        (b"a\tb\n", b"en\ttext/html\tx\thttp://a.ca/\t\t\xe9\n", (), "a.lett, line 1: the text is not in base 64"),
        (b"a\tb\n", b"", ("--languages", "eng", "klingonese"), "unknown language 'klingonese'"),
    ],
)
def test_input_that_cannot_be_used_ends_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], gold: bytes, lett: bytes, more: tuple[str, ...], message: str
) -> None:
    (tmp_path / "gold.pairs").write_bytes(gold)
    (tmp_path / "a.lett").write_bytes(lett)
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path / "a.lett"), "--gold", str(tmp_path / "gold.pairs"), "--model", "rules", *more])
    assert message in capsys.readouterr().err


def test_languages_may_be_any_codes(tmp_path: Path) -> None:
    pages = {f"{language}/1.html": (language, f"{language} " * 20) for language in ("en", "fr")}
    (tmp_path / "gold.pairs").write_text(f"{HOST}en/1.html\t{HOST}fr/1.html\n")
    given = [str(lett(tmp_path / "a.lett", pages)), "--gold", str(tmp_path / "gold.pairs"), "--model", "rules"]
    main([*given, "--languages", "en", "fr", "--json", str(tmp_path / "out.json")])
    assert json.loads((tmp_path / "out.json").read_text())["recall"] == 100


def test_gold_with_the_other_language_first_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = {f"{language}/{n}.html": (language, f"{language} {n} " * 20) for language in ("en", "fr") for n in range(2)}
    (tmp_path / "gold.pairs").write_text("".join(f"{HOST}fr/{n}.html\t{HOST}en/{n}.html\n" for n in range(2)))
    given = [str(lett(tmp_path / "a.lett", pages)), "--gold", str(tmp_path / "gold.pairs"), "--model", "rules"]
    with pytest.raises(SystemExit, match="2"):
        main(given)
    assert "the known pairs have fra first: turn their columns, or give --languages fra eng" in capsys.readouterr().err
    main([*given, "--languages", "fra", "eng"])
    assert "recall 100.00" in capsys.readouterr().out
