"""Words as addresses show them."""

import random
import re
from pathlib import Path

from training.prepare.romanisation import romanise
from training.prepare.synthetic import Vocabulary, host_label


def test_systems_of_real_sites() -> None:
    for language, text, seen in (
        ("srp", "школа ђак", {"skola djak", "skola dak", "shkola djak"}),
        ("ukr", "Київ щодо її", {"Kyiv shchodo ii", "Kyyiv shchodo yiyi", "Kiiv shodo ii"}),
        ("bul", "къща", {"kashta", "kushta"}),
        ("rus", "объявления ещё", {"obyavleniya eshche", "obieiavleniia eshche", "objavlenija eshhjo"}),
        ("ell", "ευρώ", {"eyro", "euro"}),
        ("deu", "Straße für Öl", {"Strasse fuer Oel"}),
        ("isl", "þjóð", {"thjod", "tjod"}),
        ("mlt", "Għawdex", {"Ghawdex"}),
        ("hin", "समाचार भारत", {"samachar bharat"}),
        ("eng", "plain words", {"plain words"}),
    ):
        rng = random.Random(1)
        found = {romanise(text, language, rng) for _ in range(100)}
        assert seen <= found
        assert all(one.isascii() for one in found)


def test_hosts_are_ascii_and_name_towns_and_media(tmp_path: Path) -> None:
    (tmp_path / "mar.words.txt").write_text("शासन\n")
    (tmp_path / "mar.places.txt").write_text("Nāgpur\n")
    rng = random.Random(1)
    found = [host_label(Vocabulary(tmp_path, "mar"), "mar", rng) for _ in range(300)]
    assert all(re.fullmatch("[a-z0-9-]+", label) for label in found)
    assert {"shasan", "nagpur"} <= set(found)
    assert any(label.startswith("shasan") and label.endswith(("news", "tv")) for label in found)
