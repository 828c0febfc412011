import base64
import gzip
import json
from pathlib import Path

import pytest
from support.refusals import refused

from training.wmt16 import main, one_to_one, read_gold, read_texts, recall

HOST = "http://a.ca/"


def test_a_refused_pair_does_not_use_up_its_pages() -> None:
    assert one_to_one([(0.9, "A", "B"), (0.8, "A", "C"), (0.7, "D", "C")]) == [("A", "B"), ("D", "C")]


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


def small_site(pages: int) -> dict[str, tuple[str, str]]:
    texts = [(language, n) for language in ("en", "fr") for n in range(pages)]
    return {f"{language}/{n}.html": (language, f"{language} {n} " * 20) for language, n in texts}


def gold_pairs(folder: Path, *pairs: tuple[str, str]) -> Path:
    path = folder / "gold.pairs"
    path.write_text("".join(f"{HOST}{a}\t{HOST}{b}\n" for a, b in pairs))
    return path


def test_rules_on_a_small_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = [(f"en/{n}.html", f"fr/{n}.html") for n in range(3)]
    gold, out = gold_pairs(tmp_path, *known, ("en/x.html", "fr/y.html")), tmp_path / "out.json"
    site, packed = lett(tmp_path / "a.lett", small_site(4)), tmp_path / "a.lett.gz"
    with site.open("a") as file:
        file.write("en\ttext/html\tutf-8\thttp://a.ca[1]/x\tPA==\tPA==\n")
    packed.write_bytes(gzip.compress(site.read_bytes()))
    # a site that is given twice counts once
    for letts in ([site], [site, packed]):
        main([*map(str, letts), "--gold", str(gold), "--model", "rules", "--json", str(out)])
        assert json.loads(out.read_text())["recall"] == 75
        assert "4 known pairs: recall 75.00" in capsys.readouterr().out


def test_the_second_pass_pairs_what_the_site_has_in_common(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("cain", "gina", "ted", "mason")
    pages = {f"{name}2.html": ("en", f"{name} en " * 20) for name in names}
    pages |= {f"{name}.html": ("fr", f"{name} fr " * 20) for name in names}
    gold = gold_pairs(tmp_path, *((f"{name}2.html", f"{name}.html") for name in names))
    arguments = [str(lett(tmp_path / "a.lett", pages)), "--gold", str(gold), "--model", "rules"]
    for more, expected in (([], "recall 0.00"), (["--second-pass"], "recall 100.00")):
        main([*arguments, *more])
        assert expected in capsys.readouterr().out


def test_bad_gold_and_a_broken_document_are_named(tmp_path: Path) -> None:
    (tmp_path / "gold.pairs").write_text("a\tb\nonly one\n")
    with pytest.raises(ValueError, match=r"gold.pairs, line 2: 1 columns"):
        read_gold(tmp_path / "gold.pairs")
    (tmp_path / "broken.lett").write_text("en\ttext/html\tutf-8\thttp://a.ca/1\tPA==\tabc\n")
    with pytest.raises(ValueError, match=r"broken.lett, line 1: the text is not in base 64"):
        read_texts(tmp_path / "broken.lett", ("eng", "fra"))


@pytest.mark.parametrize(
    ("gold", "lett", "more", "message"),
    [
        (b"caf\xe9\tb\n", b"", "", "gold.pairs cannot be read: 'utf-8'"),
        (b"", b"", "", "gold.pairs: no known pair"),
        (b"a\tb\n", b"en\ttext/html\tx\thttp://a.ca/\t\t\xe9\n", "", "a.lett, line 1: the text is not in base 64"),
        (b"a\tb\n", b"", "--languages eng klingonese", "unknown language 'klingonese'"),
    ],
)
def test_input_that_cannot_be_used_ends_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], gold: bytes, lett: bytes, more: str, message: str
) -> None:
    (tmp_path / "gold.pairs").write_bytes(gold)
    (tmp_path / "a.lett").write_bytes(lett)
    assert message in refused(capsys, main, f"{tmp_path}/a.lett --gold {tmp_path}/gold.pairs --model rules {more}")


def test_gold_in_the_other_order_is_named_for_any_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = lett(tmp_path / "a.lett", small_site(2))
    gold = gold_pairs(tmp_path, *((f"fr/{n}.html", f"en/{n}.html") for n in range(2)))
    given = [str(site), "--gold", str(gold), "--model", "rules"]
    said = refused(capsys, main, given)
    assert "the known pairs have fra first: turn their columns, or give --languages fra eng" in said
    for languages in (("fra", "eng"), ("fr", "en")):
        main([*given, "--languages", *languages])
        assert "recall 100.00" in capsys.readouterr().out
