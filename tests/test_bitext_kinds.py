"""Kinds of sites and sentences that were read by eye, each with texts of its own."""

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from support.costs import within

from bilingual_crawler.bitext.align import SentenceAligner, SentencePair, whole
from bilingual_crawler.bitext.cleaning import Cleaner, Templates, is_list
from bilingual_crawler.bitext.evidence import sound, words
from bilingual_crawler.bitext.overview import MADE_BY
from bilingual_crawler.bitext.produce import BitextProducer, open_exports
from bilingual_crawler.bitext.splitting import split
from bilingual_crawler.items import Pair
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.language import BY_DEFAULT
from bilingual_crawler.pages.origin import Origin

PAIR = LanguagePair.parse("eng-deu")

LINES = [
    ("The harbour of Kiel was built in 1867.", "Der Hafen von Kiel wurde 1867 gebaut."),
    ("The ships carry wood and coal to the island.", "Die Schiffe bringen Holz und Kohle auf die Insel."),
    ("In winter the ships stay there because of the ice.", "Im Winter bleiben die Schiffe wegen des Eises dort."),
    ("The captain lives in a house near the church.", "Der Kapitän wohnt in einem Haus bei der Kirche."),
    ("The church is the oldest house of the town.", "Die Kirche ist das älteste Haus der Stadt."),
    ("A painter from Hamburg has painted the walls.", "Ein Maler aus Hamburg hat die Wände bemalt."),
    ("On Sundays 40 people sing there.", "Sonntags singen dort 40 Leute."),
    ("The organ came from Lübeck by ship.", "Die Orgel kam mit dem Schiff aus Lübeck."),
    ("The school has 200 pupils and 12 teachers.", "Die Schule hat 200 Schüler und 12 Lehrer."),
    ("They learn to read, to write and to sail.", "Sie lernen lesen, schreiben und segeln."),
    ("The ships of the school lie in the harbour.", "Die Schiffe der Schule liegen im Hafen."),
    ("Professor Petersen teaches music.", "Professor Petersen unterrichtet Musik."),
]
PAGES = [LINES[:4], LINES[4:8], LINES[8:]]
TRUE = {*LINES}
TERMS = {
    "Anvil": ("A heavy thing on which a smith works.", "Schwerer Klotz, auf dem der Schmied arbeitet.", "Amboss"),
    "Basket": ("It is woven and holds apples or bread.", "Er ist geflochten und fasst Obst oder Brot.", "Korb"),
    "Comb": ("A flat thing with teeth for the hair.", "Flaches Ding mit Zähnen für das Haar.", "Kamm"),
    "Dust": ("What lies on shelves that nobody wipes.", "Was auf Regalen liegt, die niemand wischt.", "Staub"),
    "Fence": ("Boards that keep the sheep in a field.", "Bretter, die Schafe auf der Weide halten.", "Zaun"),
    "Glove": ("It keeps fingers warm when it snows.", "Er hält die Finger warm, wenn es schneit.", "Handschuh"),
    "Jug": ("One pours milk or wine out of it.", "Man gießt Milch oder Wein daraus.", "Krug"),
    "Ladder": ("Two poles with rungs for going up.", "Zwei Stangen mit Sprossen zum Steigen.", "Leiter"),
    "Pillow": ("It is soft and lies under the head.", "Es ist weich und liegt unter dem Kopf.", "Kissen"),
    "Spoon": ("One eats soup and porridge with it.", "Man isst damit Suppe und Brei.", "Löffel"),
}
SUBJECTS = "Physics Chemistry Biology History Music Law Logic Art Greek Latin Irish Thai"


def align(documents: Sequence[tuple[list[str], list[str]]]) -> list[SentencePair]:
    aligner = SentenceAligner("eng", "deu")
    sides = [aligner.read(a, b) for a, b in documents]
    aligner.learn_lexicon(sides)
    return [found for a, b in sides for found in aligner.align(a, b)]


def pages() -> list[tuple[list[str], list[str]]]:
    return [([a for a, _ in page], [b for _, b in page]) for page in PAGES]


def good(found: Sequence[SentencePair]) -> set[tuple[str, str]]:
    return {(one.text_a, one.text_b) for one in found if one.quality >= 0.5}


def objection(a: str, b: str, pair: LanguagePair = PAIR, templates: Templates | None = None) -> str:
    return Cleaner(pair).objection(SentencePair(a, b, 0.9, "0", "0", 0.9), templates)


def test_a_side_that_is_cut_off_or_has_a_long_rest_shifts_nothing() -> None:
    assert good(align([(a, b[:2]) for a, b in pages()])) == {both for page in PAGES for both in page[:2]}
    said = [f"I was there {word} and liked the town and its people." for word in ("once", "twice", "often", "never")]
    assert good(align([(a + said, b) for a, b in pages()])) == TRUE


def test_broken_lines_are_aligned_by_whole_sentences() -> None:
    def broken(line: str) -> list[str]:
        half = line.index(" ", 30) if " " in line[30:] else len(line)
        rest = line[half + 1 :]
        return [line[:half], rest] if rest[:1].islower() else [line]

    documents = [([p for line in a for p in broken(line)], [p for line in b for p in broken(line)]) for a, b in pages()]
    assert sum(len(a) for a, _ in documents) > sum(len(a) for a, _ in pages())
    assert good(align(documents)) == TRUE
    items = split(["bread from the bakery in the village", "butter and cheese of our own farm"], "eng")
    assert whole(items) == (items, [0, 1, 2]), "a list of small items"
    heading = split(["What you always wanted to know", "Nothing."], "eng")
    assert whole(heading)[0] == heading


def test_where_only_place_and_length_speak_quality_is_under_one_half() -> None:
    english = [line for term in sorted(TERMS) for line in (term, TERMS[term][0])]
    german = [line for _, text, term in sorted(TERMS.values(), key=lambda found: found[2]) for line in (term, text)]
    true = {both for term, (a, b, german) in TERMS.items() for both in ((term, german), (a, b))}
    found = good(align([*pages(), (english, german)]))
    assert found <= TRUE | true
    assert len(TRUE & found) >= 10


def test_numbers_are_the_same_in_other_notations() -> None:
    for a, b in (
        ("We open at 3 p.m.", "Wir öffnen um 15 Uhr."), ("It cost 12,500 crowns", "Es kostete 12.500 Kronen"),
        ("Chapter XIV", "Kapitel 14"), ("From 08:00 on", "Ab 8:00"),
    ):  # fmt: skip
        assert {word for word in words(a) if word.isdigit()} == {word for word in words(b) if word.isdigit()}, a


def test_names_sound_alike_in_other_scripts() -> None:
    pairs = (("petrov", "петров"), ("ramona", "רמונה"), ("sakamoto", "サカモト"), ("constitution", "constitución"))
    for one, other in pairs:
        assert sound(one) == sound(other) != ""
    assert sound("a") == sound("") == sound("1999") == ""
    assert words("図書館へ") == ("図書", "書館", "館へ")


def test_long_documents_are_aligned_in_windows_in_linear_time() -> None:
    draw = random.Random(1)
    vocabulary = ["".join(draw.choices("abdefgiklmnorstu", k=7)) for _ in range(3000)]
    lines = [" ".join(draw.choices(vocabulary, k=draw.randrange(3, 9))) + "." for _ in range(1500)]
    found = align([(lines, [*lines[:700], *lines[720:]])])
    assert sum(one.text_a == one.text_b for one in found) >= 1450
    numbers = [str(draw.randrange(10**6)) for _ in range(5000)]
    assert within(30, lambda: align([(numbers, numbers[::-1])]))


def test_templates_are_learnt_by_labels_and_endings_and_prose_keeps_what_begins_alike() -> None:
    templates = Templates()
    for n, name in enumerate(SUBJECTS.split()):
        said = f"The Department of {name} was founded long ago."
        gesagt = f"Die Abteilung für {name} wurde vor langer Zeit gegründet."
        a = [f"Department of {name}", said, f"Tags: {name}, news", f"May {n + 1}, 2025 · {n + 2} min read"]
        b = [f"Abteilung für {name}", gesagt, f"Schlagworte: {name}, neu", f"{n + 1}. Mai 2025 · {n + 2} Min. Lesezeit"]
        templates.add(a, b)

    reason = partial(objection, templates=templates)
    assert reason("Department of Geology", "Abteilung für Geologie") == ""
    assert reason("Tags: sea, ships", "Schlagworte: Meer, Schiffe") == "template"
    assert reason("June 30, 2025 · One min read", "30. Juni 2025 · Eine Min. Lesezeit") == "template"


def test_interface_is_dropped_and_what_looks_like_it_stays() -> None:
    for pair, a, b, reason in (
        ("eng-deu", "« Apr", "« April", "navigation"), ("eng-deu", "First name *", "Vorname *", "navigation"),
        ("eng-deu", "▲ Up", "▲ Nach oben", "navigation"),
        ("eng-deu", "▲ Warning: the water is hot here.", "▲ Achtung: das Wasser ist hier heiß.", ""),
        ("eng-deu", "‘That is good,’ he said and went.", "‹Das ist gut›, sagte er und ging.", ""),
        ("eng-fra", "“Come in,” she said.", "« Entrez », dit-elle.", ""),
        ("eng-zho", "Yes", "是", ""), ("eng-hin", "Yes", "हाँ", ""), ("eng-deu", "A", "B", "letters"),
        ("eng-jpn", "(日本語) New Release of Emacs", "New Release of Emacs", "equal"),
        ("eng-deu", "Street (optional)", "Street (freiwillig)", "equal"),
    ):  # fmt: skip
        assert objection(a, b, LanguagePair.parse(pair)) == reason, a


def test_short_lines_of_pages_without_a_sentence_are_navigation() -> None:
    assert is_list(["Log in", "Password", "Lost your password?"])
    assert not is_list(["News", "The library has moved to the old town hall."])
    found = SentencePair("Log in", "Anmelden", 0.9, "0", "0", 0.9)
    assert Cleaner(PAIR).objection(found, in_list=True) == "navigation"
    assert Cleaner(PAIR).objection(found) == ""


def test_the_card_has_what_the_hub_reads_and_leaves_cards_of_others(tmp_path: Path) -> None:
    def write() -> str:
        producer = BitextProducer(PAIR, BY_DEFAULT, open_exports(["jsonl"], tmp_path, PAIR))
        texts = {f"https://a.example/{n}/{side}": page[side] for n, page in enumerate(pages()) for side in (0, 1)}
        urls = [*texts]
        found = [Pair(*both, 0.9, "url", "eng-deu") for both in zip(urls[::2], urls[1::2], strict=True)]
        origin = Origin(licence="rel=license https://l.example/by", opt_outs="noai")
        producer.add(found, texts.__getitem__, lambda url: origin)
        producer.close()
        return (tmp_path / "README.md").read_text()

    card = write()
    assert card.startswith("---\nlanguage:\n- de\n- en\n")
    file = "de-en.jsonl.gz" if (tmp_path / "de-en.jsonl.gz").exists() else "en-de.jsonl.gz"
    facts = ("license: other", "- n<1K", f"data_files: {file}", MADE_BY)
    for part in (*facts, "https://l.example/by 6", "noai 6", "| a.example | 3 | 12 |"):
        assert part in card, part
    assert write() == card
    (tmp_path / "README.md").write_text("mine")
    assert write() == "mine"
