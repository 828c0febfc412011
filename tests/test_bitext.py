import base64
import gzip
import json
import math
from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from numpy.typing import NDArray
from support.finnish_texts import ENGLISH, FINNISH
from support.tables import json_lines

from bilingual_crawler import __version__
from bilingual_crawler.bitext import evidence
from bilingual_crawler.bitext.align import SentenceAligner, SentencePair
from bilingual_crawler.bitext.beads import SHAPES, beads_at_price, best_beads
from bilingual_crawler.bitext.cleaning import REASONS, Cleaner, Templates
from bilingual_crawler.bitext.duplicates import Duplicates
from bilingual_crawler.bitext.evidence import Lexicon, Meaning, Nearness, weigh
from bilingual_crawler.bitext.exports import DocumentPair, Export
from bilingual_crawler.bitext.overview import Overview
from bilingual_crawler.bitext.produce import BitextProducer, open_exports
from bilingual_crawler.bitext.splitting import Sentence
from bilingual_crawler.encoders.base import Encoder
from bilingual_crawler.items import Pair
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.language import BY_DEFAULT
from bilingual_crawler.plugins import EXPORTS

PAIR = LanguagePair.parse("eng-fin")


def align(a: list[str], b: list[str], language: str = "fin", encoder: Encoder | None = None) -> list[SentencePair]:
    aligner = SentenceAligner("eng", language, encoder)
    sides = aligner.read(a, b)
    aligner.learn_lexicon([sides])
    return aligner.align(*sides)


def test_translations_are_aligned_one_to_one_and_two_to_one() -> None:
    found = {pair.text_a: pair.text_b for pair in align(ENGLISH, FINNISH)}
    assert found["Aino Virtanen wrote the history of the library in 1999."] == FINNISH[2]
    assert found["Opening hours"] == "Aukioloajat"
    assert found[ENGLISH[3]] == FINNISH[3]
    assert len(found) == 6


def test_merged_sentences_have_the_blanks_of_the_page() -> None:
    english = ["Packages have names. Version 1 came in 1996, and version 2 came in 1998."]
    chinese = ["软件包有名称。版本 1 于 1996 年发布。版本 2 于 1998 年发布。"]
    assert align(english, chinese, "zho")[-1].text_b == "版本 1 于 1996 年发布。版本 2 于 1998 年发布。"
    finnish = ["Nimet. Versio 1 tuli vuonna 1996. Versio 2 tuli vuonna 1998."]
    assert align(english, finnish)[-1].text_b == "Versio 1 tuli vuonna 1996. Versio 2 tuli vuonna 1998."


def test_what_only_one_side_has_is_left_out() -> None:
    extra = "Tämä pitkä kappale on vain suomenkielisellä sivulla, eikä sille ole käännöstä 2024."
    assert extra not in {pair.text_b for pair in align(ENGLISH, [*FINNISH[:2], extra, *FINNISH[2:]])}
    assert align(ENGLISH, []) == []


def test_in_text_of_one_sentence_a_line_a_sentence_may_have_two_translations() -> None:
    lines = [
        "The old town has narrow streets and many churches that were built long ago.",
        "Visitors come every summer.",
        "The castle stands on a hill above the river, and its walls can be seen from far away.",
    ]
    old_town = "Vanhassa kaupungissa on kapeita katuja ja monia kauan sitten rakennettuja kirkkoja."
    halves = ["Linna on mäellä joen yläpuolella.", "Sen muurit näkyvät hyvin pitkän matkan päähän."]
    translated = [old_town, "Kävijöitä tulee joka kesä.", *halves]
    assert {pair.text_b for pair in align(lines, translated)} == {*translated[:2], " ".join(halves)}
    with_paragraphs = align([*lines, "Prices. And more."], [*translated, "Hinnat. Ja muuta."])
    assert " ".join(halves) not in {pair.text_b for pair in with_paragraphs}


def test_words_are_learnt_from_sure_sentences() -> None:
    pairs = [(("cat", f"x{n}"), ("kissa", f"y{n}")) for n in range(5)] + [(("dog",), ("koira",))]
    lexicon = Lexicon.from_pairs(pairs, {"kissa": 0.1, "koira": 0.1, "1999": 0.01, "virtanen": 0.01, "on": 0.01})
    assert set(lexicon.translations("cat")) == {"kissa"}
    assert not lexicon.translations("dog")
    assert lexicon.translations("1999")["1999"] > 2
    assert lexicon.translations("virtanen")["virtanen"] > 2
    assert not lexicon.translations("on")


def test_lists_of_words_teach_no_words_and_their_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    # 4,000 words without a full stop on both sides took 1.7 GB, 16,000 words would have taken sixteen times that
    long = tuple(f"x{n}" for n in range(400)), tuple(f"y{n}" for n in range(400))
    usual = [(("cat", f"x{n}"), ("kissa", f"y{n}")) for n in range(3)]
    shares = dict.fromkeys((*long[1], "kissa", "koira"), 0.01)

    def learnt() -> list[str]:
        lexicon = Lexicon.from_pairs([*[long] * 3, *usual, *[(("dog",), ("koira",))] * 3], shares)
        return [word for word in ("cat", "dog", *long[0]) if lexicon.translations(word)]

    assert learnt() == ["cat", "dog"]
    monkeypatch.setattr(evidence, "MAX_WORD_PAIRS", 10)
    assert learnt() == ["cat"]


def test_an_encoder_overrules_lengths() -> None:
    a = [Sentence("x" * 20, 0), Sentence("y" * 21, 1)]
    b = [Sentence("z" * 40, 0), Sentence("v" * 20, 1), Sentence("w" * 21, 2)]
    nearness = Nearness(np.eye(3, dtype=np.float32)[1:], np.eye(3, dtype=np.float32), 0.2)
    beads = best_beads(weigh(a, b, Lexicon({}), nearness))
    assert [(bead.a, bead.b) for bead in beads] == [((0, 1), (1, 2)), ((1, 2), (2, 3))]


def test_the_similarity_of_sentences_is_that_of_their_sums() -> None:
    a, b = (np.random.default_rng(seed).standard_normal((5, 8), dtype=np.float32) for seed in (1, 2))
    nearness = Nearness(a, b, 0.5)
    for p, q in ((1, 1), (3, 1), (2, 2)):
        found = nearness.similarity(p, q)
        expected = [[nearness.of((i, i + p), (j, j + q)) for j in range(6 - q)] for i in range(6 - p)]
        assert np.allclose(found, expected, atol=1e-5)


def test_each_number_and_word_of_a_bead_counts_once() -> None:
    def sentences(*texts: str) -> list[Sentence]:
        return [Sentence(text, 0) for text in texts]

    def gained(a: Sequence[Sentence], b: Sequence[Sentence], shape: tuple[int, int], lexicon: Lexicon) -> list[float]:
        """Log-odds by numbers and words, for sentences as long as these have others."""
        plain = [sentences(*("_" * len(one.text) for one in side)) for side in (a, b)]
        scores = weigh(a, b, lexicon)[shape] - weigh(plain[0], plain[1], lexicon)[shape]
        return [round(float(score), 4) for score in scores.ravel()]

    a, b = sentences("10 cat", "10 2 cat", "dog"), sentences("kissa 10", "kissa 3 4 5", "x")
    nothing, learnt = Lexicon({}), Lexicon.from_pairs([(("cat",), ("kissa",))] * 3, {"kissa": 0.01})
    assert gained(a, b, (1, 1), nothing) == [0, -3, -1.5, -1.5, -3, -3, -1.5, -3, 0]
    assert gained(a, b, (2, 2), nothing) == [-3, -3, -3, -3]
    assert gained(a[:2], b[:1], (2, 1), nothing) == [-1.5]
    gain = math.log(3 / 4 / 0.01)
    assert gained(a, b, (1, 1), learnt)[::4] == [round(gain, 4), round(gain - 3, 4), 0]
    assert gained(a[:2], b[:1], (2, 1), learnt) == [round(min(8, 2 * gain) - 1.5, 4)]


class Letters:
    """Sentences that begin with the same letter mean the same."""

    name = "letters"

    def encode(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        rows = np.eye(26, dtype=np.float32)[[ord(text[0].lower()) - ord("a") for text in texts]]
        return rows + np.float32(0.1)


LETTERED = [f"{chr(ord('a') + n)}{'x' * (5 + n % 3)}." for n in range(24)]


def test_meanings_count_where_a_site_has_enough_sentences() -> None:
    few, many = Meaning(Letters()), Meaning(Letters())
    few.estimate_common(LETTERED[:5], LETTERED[:5])
    assert few.nearness(LETTERED[:5], LETTERED[:5]) is None
    many.estimate_common(LETTERED, LETTERED[::-1])
    near = many.nearness(LETTERED[:3], LETTERED[:2])
    assert near is not None
    single = near.similarity(1, 1)
    assert single.argmax(axis=1)[:2].tolist() == [0, 1]
    assert single[0, 0] > 5 > 1 > single[2].max()
    assert single[0, 0] > near.similarity(2, 1)[0, 0] > 5, "half of the two sentences is the translation"


def test_a_small_site_is_aligned_as_without_an_encoder() -> None:
    assert align(ENGLISH, FINNISH, encoder=Letters()) == align(ENGLISH, FINNISH)


sides = st.lists(st.builds(Sentence, st.text(min_size=1, max_size=30), st.integers(0, 3)), min_size=1, max_size=12)


@settings(max_examples=50)
@given(sides, sides)
def test_beads_are_in_order_and_share_no_sentence(a: list[Sentence], b: list[Sentence]) -> None:
    last_a = last_b = 0
    for bead in best_beads(weigh(a, b, Lexicon({}), None)):
        assert last_a <= bead.a[0] < bead.a[1] <= len(a)
        assert last_b <= bead.b[0] < bead.b[1] <= len(b)
        assert (bead.a[1] - bead.a[0], bead.b[1] - bead.b[0]) in SHAPES
        assert 0 <= bead.score <= 1
        last_a, last_b = bead.a[1], bead.b[1]


@given(sides)
def test_the_best_sum_is_found(side: list[Sentence]) -> None:
    scores = weigh(side, side[::-1], Lexicon({}), None)
    gap = -0.7

    @cache
    def best(i: int, j: int) -> float:
        options = [0.0] if i == j == 0 else []
        options += [best(i - 1, j) + gap] if i else []
        options += [best(i, j - 1) + gap] if j else []
        options += [
            best(i - p, j - q) + float(table[i - p, j - q]) for (p, q), table in scores.items() if i >= p and j >= q
        ]
        return max(options)

    total = gap * 2 * len(side)
    for bead in beads_at_price(scores, gap):
        p, q = bead.a[1] - bead.a[0], bead.b[1] - bead.b[0]
        total += float(scores[p, q][bead.a[0], bead.b[0]]) - gap * (p + q)
    assert total == pytest.approx(best(len(side), len(side)), abs=1e-3)


def test_gaps_are_cheap_between_documents_that_have_little_in_common() -> None:
    n = 40
    scores = np.full((n, n), -20, np.float32)
    np.fill_diagonal(scores, -3)
    assert len(best_beads({(1, 1): scores})) == 0
    np.fill_diagonal(scores[: n - 1], 5)
    assert len(best_beads({(1, 1): scores})) == n


def qualities(a: list[str], b: list[str]) -> dict[str, float]:
    return {pair.text_a: pair.quality for pair in align(a, b)}


def test_the_quality_tells_right_pairs_from_wrong_ones() -> None:
    right = qualities(ENGLISH * 4, FINNISH * 4)
    assert right[ENGLISH[2]] > 0.9
    other = [
        "Kissa istui katolla ja katseli lintuja, jotka lensivät etelään 12 päivää sitten.",
        "Sää oli kylmä.",
        "Kaupungin uusi silta avattiin liikenteelle 2011.",
        "Hinta on 40 euroa, ja siihen kuuluvat ruoka ja juoma.",
        "Tervetuloa!",
    ]
    assert all(0 <= quality < 0.7 for quality in qualities(ENGLISH, other).values())
    half = [*FINNISH[:2], "Aino Virtanen kirjoitti.", *FINNISH[3:]]
    assert qualities(ENGLISH * 4, half * 4).get(ENGLISH[2], 0.0) < right[ENGLISH[2]] - 0.1


def test_the_quality_listens_to_the_encoder() -> None:
    other = [*LETTERED[:10], "zzz zzzz.", *LETTERED[11:]]
    aligner = SentenceAligner("eng", "fin", Letters())
    sides = aligner.read(LETTERED, other)
    aligner.learn_lexicon([aligner.read(LETTERED, LETTERED)])
    found = {pair.text_a: pair.quality for pair in aligner.align(*sides)}
    assert found[LETTERED[3]] > 0.9
    assert found.get(LETTERED[10], 0.0) < found[LETTERED[3]] - 0.15


def test_words_count_as_found_in_both_directions() -> None:
    pairs = [(("cat", f"x{n}"), ("kissa", f"y{n}")) for n in range(5)]
    lexicon = Lexicon.from_pairs(pairs, {"kissa": 0.1, "2011": 0.01})
    both, neither = lexicon.coverage(("cat",), ("kissa",)), lexicon.coverage(("cat",), ("koira",))
    assert min(both) > 0
    assert (neither[0] < 0, neither[1]) == (True, 0.0)
    assert lexicon.coverage(("dog",), ("kissa",))[1] < 0
    assert lexicon.coverage((), ()) == (0.0, 0.0)


@pytest.mark.parametrize("page", [ENGLISH * 5, ["The same sentence again."] * 30])
def test_a_page_is_aligned_with_itself(page: list[str]) -> None:
    found = align(page, page)
    assert [pair.text_a for pair in found] == [pair.text_b for pair in found]
    assert " ".join(pair.text_a for pair in found) == " ".join(page)


def objection(a: str, b: str, pair: LanguagePair = PAIR, templates: Templates | None = None) -> str:
    return Cleaner(pair).objection(SentencePair(a, b, 0.9, "0", "0", 0.9), templates)


LONG = "This sentence is long enough for its language to be known."
PITKA = "Tämä lause on tarpeeksi pitkä, jotta sen kieli tunnistetaan."


def test_unfit_sentence_pairs_are_dropped_with_a_reason() -> None:
    for a, b, reason in (
        (LONG, PITKA, ""), ("Yes", "Kyllä", ""), ("[sic]", "[näin]", ""), ("Opening hours", "Aukioloajat", ""),
        ("12 %", "12 %", "letters"), ("Yes", PITKA, "length"), (LONG * 40, PITKA * 40, "length"),
        ("Nokia 3310", "nokia 3310!", "equal"), ("ls -l /usr/lib # a list", "ls -l /usr/lib # luettelo", ""),
        (f"{LONG} It has ten words more {LONG}", f"{LONG} It has kymmenen words more {LONG}", "equal"),
        (PITKA, LONG, "language"), (LONG, LONG + " It is not Finnish.", "language"),
        ("He gave a talk on the history of the cat.", "Hän puhui: The history of the cat as we know it.", ""),
        ("[ < Rests ]", "[ < Tauot ]", "navigation"), ("[ Up : Rests ]", "[Ylös: Tauot ]", "navigation"),
        ("Next →", "Seuraava →", "navigation"), ("Home » Books » Cats", "Etusivu » Kirjat » Kissat", "navigation"),
        ("← A history of the library", "← Kirjaston historia", "navigation"),
        ("Home | News | Contact", "Etusivu | Uutiset | Yhteystiedot", "navigation"),
        ("Home › News › The library has moved", "Etusivu › Uutiset › Kirjasto on muuttanut", "navigation"),
        ("We say « cat » or « dog » or « cow »", "Sanomme « kissa » tai « koira » tai « lehmä »", ""),
        ("<< Start < Prev 1 2 Next > End >>", "<< Alku < Edellinen 1 2 Seuraava > Loppu >>", "navigation"),
        ("Read the whole story of the library →", "Lue kirjaston koko tarina täältä →", ""),
        ("→ Lending is free", "→ Lainaus on ilmaista", ""), ("Files > Open", "Tiedostot > Avaa", ""),
        ("<name> of the file", "Tiedoston <nimi>", ""), ("Milk / Yogurt / Eggs", "Maito / Jogurtti / Munat", ""),
    ):  # fmt: skip
        assert objection(a, b) == reason, a
        assert reason in {"", *REASONS}


def test_pairs_of_low_quality_are_dropped() -> None:
    assert Cleaner(PAIR).objection(SentencePair(LONG, PITKA, 0.9, "0", "0", 0.1)) == "quality"


def test_a_third_language_counts_if_the_detector_is_sure_of_it_piece_by_piece() -> None:
    english = (
        "She has wide experience in linguistic models that enrich dictionaries with multilingual information, and in "
        "the semi-automatic localisation of programs in different languages."
    )
    spanish = (
        "Tiene amplia experiencia en la definición de modelos lingüísticos para el enriquecimiento de diccionarios con "
        "información multilingüe, así como en la localización semiautomática de programas en diferentes lenguas."
    )
    swedish = (
        "Biblioteket ligger i stadens centrum och är öppet varje dag utom på söndagar, och många besökare kommer dit "
        "för att läsa tidningar och låna böcker."
    )
    assert BY_DEFAULT.identify(spanish).language == "glg"
    assert objection(english, spanish, LanguagePair("eng", "spa")) == ""
    assert objection(english, swedish, LanguagePair("eng", "spa")) == "language"


def test_languages_that_detectors_confuse_are_not_in_another_language() -> None:
    for pair, texts in (
        ("nor-nno", "Kommunen vil stenge skolen på grunn av {}.|lave elevtall|låge elevtal"),
        ("hrv-srp", "Ako imate pitanja o upisu u vrtić, {} nas.|nazovite|pozovite"),
        ("msa-ind", "Perpustakaan dibuka setiap hari dari pukul sepuluh {}.|hingga empat petang|sampai empat sore"),
    ):
        common, *own = texts.split("|")
        a, b = (common.format(part) for part in own)
        assert objection(a, b, LanguagePair.parse(pair)) == ""
        assert objection(a, b, LanguagePair.parse(pair, ())) == "language", "they are of one class"


def test_chinese_and_japanese_say_as_much_in_fewer_characters() -> None:
    english = "The number of packages already in the Debian archive is several tens of times greater than of others."
    chinese = "Debian 仓库内软件包的数量是活跃维护者的数十倍。"
    assert objection(english, chinese, LanguagePair("eng", "zho")) == ""
    assert objection(english * 2, chinese, LanguagePair("eng", "zho")) == "length"


def test_what_the_template_of_a_site_makes_is_dropped() -> None:
    templates = Templates()
    for n in range(30):
        posted = [f"Posted in News, {letter} 3 comments" for letter in "ab" if n % 3]
        kirjattu = [f"Kirjattu aiheeseen {letter} 3 kommenttia" for letter in "ab" if n % 3]
        templates.add([*posted, f"{n} The book is {n}", "A b c"], [*kirjattu, f"{n} Kirja on {n}", "D e f"])

    reason = partial(objection, templates=templates)
    assert reason("Posted in Travel 5 comments", "Kirjattu aiheeseen Matkat 5 kommenttia") == "template"
    assert reason("Posted in haste.", "Kirjattu aiheeseen Matkat 5 kommenttia") == "", "it is a sentence"
    assert reason("Posted in Travel 5 comments", "Matkoja ja muuta") == "", "only one side"
    for end in "！։።…":
        assert reason(f"Posted in haste it was{end}", "Kirjattu aiheeseen Matkat 5 kommenttia") == "", end
    assert reason("7 The book is here", "7 Kirja on tässä nyt") == "", "numbers are of no template"
    assert reason("Posted in May the law changed again.", "Kirjattu aiheeseen laki muuttui taas.") == ""
    few = Templates()
    for _ in range(9):
        few.add(["Posted in News today"], ["Kirjattu aiheeseen Uutiset tänään"])
    assert objection("Posted in News today", "Kirjattu aiheeseen Uutiset tänään", templates=few) == ""


def reasons(*pairs: tuple[str, str, float]) -> list[str]:
    duplicates = Duplicates()
    for a, b, score in pairs:
        duplicates.add(a, b, score)
    return duplicates.reasons()


def test_editions_in_two_scripts_are_no_repetitions() -> None:
    english = "The library is open from Monday to Friday, and on Saturday in the morning."
    traditional = "圖書館從星期一到星期五開放，星期六上午也開放。"
    found = reasons(
        (english, "图书馆从星期一到星期五开放，星期六上午也开放。", 0.9),
        (english, traditional, 0.8),
        (english, "周一至周五和周六上午图书馆开门。", 0.7),
        (english.replace("library", "Library"), traditional, 0.6),
        (english.replace("Monday", "Tuesday"), traditional[:-1] + "！", 0.5),
    )
    assert found == ["", "", "repeated", "duplicate", "repeated"]


def test_the_best_of_repeated_pairs_stays() -> None:
    found = reasons(
        ("Opens at 9.", "Aukeaa kello 9.", 0.8),
        (LONG, PITKA, 0.9),
        ("OPENS at  9.", "aukeaa kello 9.", 0.7),
        ("Opens at 10:", "Aukeaa kello 10", 0.95),
        (LONG, "Aivan muuta.", 0.6),
        ("Something else.", PITKA, 0.7),
        (LONG, PITKA, 0.9),
    )
    assert found == ["near_duplicate", "", "duplicate", "", "repeated", "repeated", "duplicate"]
    assert reasons() == []


def test_long_pairs_that_differ_in_a_word_are_near_duplicates_and_short_ones_are_not() -> None:
    a = "As of this year, there are {} thousand cores in the new cluster, which all users share fairly and daily."
    b = "Tänä vuonna uudessa klusterissa on nyt {} tuhatta ydintä, joita kaikki käyttävät yhdessä ja reilusti."
    long = (a.format("five"), b.format("viisi"), 0.8), (a.format("six"), b.format("kuusi"), 0.9)
    assert reasons(*long) == ["near_duplicate", ""]
    assert reasons(("five cores", "viisi ydintä", 0.8), ("six cores", "kuusi ydintä", 0.9)) == ["", ""]


def test_a_pair_stays_whose_only_better_likeness_goes() -> None:
    """The second is like the first, which goes for the sake of a third that the second is not like."""
    one, two, three = "a b c d e f g h i j", "a b c d e f g h i k", "l b c d e f g h i j"
    assert reasons((one, one, 0.9), (one + "!", two, 0.8))[1] == "repeated"
    assert reasons((three, "x", 0.9), (one, "x", 0.8), (one, "y", 0.7)) == ["", "repeated", ""]


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8), st.floats(0, 1)), max_size=30))
def test_one_of_each_pair_stays(pairs: list[tuple[str, str, float]]) -> None:
    found = reasons(*pairs)
    assert len(found) == len(pairs)
    assert not pairs or "" in found
    kept = [pair[:2] for pair, reason in zip(pairs, found, strict=True) if not reason]
    assert len(set(kept)) == len(kept)


URLS = ("https://a.fi/en?x=1&y=<2>", "https://a.fi/fi")
DOCUMENTS = DocumentPair(*URLS, "One.\nTwo \x02 & <b>.", "Yksi.\nKaksi.", 0.97, "url")
KEPT = [SentencePair("Two \x02 &\u2028<b>.", "Kaksi\tja\n\u00a0kolme.", 0.91, "1", "1+2", 0.88)]
RAW = [SentencePair("One.", "One.", 0.8, "0", "0"), *KEPT]
OF_PAIRS = [name for name in EXPORTS.built_in if issubclass(EXPORTS.find(name), Export)]


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    for name in OF_PAIRS:
        before = set(tmp_path.glob("en-fi*"))
        export = EXPORTS.find(name)(tmp_path, PAIR)
        export.add(DOCUMENTS, RAW, KEPT)
        assert set(tmp_path.glob("en-fi*")) == before, "files have their names when they are complete"
        export.close()
        assert set(tmp_path.glob("en-fi*")) > before
    return tmp_path


def rows(path: Path) -> list[list[str]]:
    """As Bitextor reads its tables."""
    return [line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().rstrip("\n").split("\n")]


def test_bitextor_tables_give_back_text_and_columns(exported: Path) -> None:
    tables = {name: rows(exported / f"en-fi.{name}.gz") for name in ("documents", "raw", "sent")}
    record = dict(zip(*tables["documents"], strict=True))
    texts = [base64.b64decode(record[side]).decode() for side in ("src_doc", "trg_doc")]
    assert texts == [DOCUMENTS.text_a, DOCUMENTS.text_b]
    assert (record["src_url"], record["trg_url"]) == URLS
    assert len(tables["raw"]) == 3
    sent = dict(zip(*tables["sent"], strict=True))
    assert (sent["trg_text"], sent["num_tokens_trg"], sent["trg_paragraph_id"]) == ("Kaksi ja kolme.", "3", "1+2")
    assert (sent["aligner_score"], sent["quality"], sent["short"]) == ("0.91", "0.88", "0")


def test_tmx_is_valid_and_keeps_urls_and_scores(exported: Path) -> None:
    tree = etree.fromstring(gzip.decompress((exported / "en-fi.tmx.gz").read_bytes()))
    dtd = etree.DTD(str(Path(__file__).with_name("data") / "tmx14.dtd"))
    assert tree.find("header").get("creationtoolversion") == __version__
    assert dtd.validate(tree), dtd.error_log
    assert tree.xpath("//tuv[1]/prop/text()") == [DOCUMENTS.url_a]
    assert tree.xpath("//tu/prop/text()") == ["0.91", "0.97", "0.88", "0"]
    assert tree.xpath("//tuv[@xml:lang='en']/seg/text()") == ["Two  &\u2028<b>."]


def test_moses_files_have_equally_many_lines_and_json_and_parquet_have_texts_urls_and_scores(exported: Path) -> None:
    lines = [(exported / f"en-fi.{suffix}").read_text(encoding="utf-8").splitlines() for suffix in ("en", "fi", "ids")]
    assert list(map(len, lines)) == [1, 1, 1]
    assert lines[1] == ["Kaksi ja kolme."]
    [row] = json_lines(exported / "en-fi.jsonl.gz")
    assert row["translation"] == {"en": KEPT[0].text_a, "fi": KEPT[0].text_b}
    assert row["url"]["fi"] == DOCUMENTS.url_b
    [column] = pq.read_table(exported / "en-fi.parquet").to_pylist()
    assert column["text_fi"] == KEPT[0].text_b
    assert [column[name] for name in ("score", "document_score", "quality")] == pytest.approx([0.91, 0.97, 0.88])
    assert [row[name] for name in ("score", "document_score", "quality")] == [0.91, 0.97, 0.88]
    assert row["short"] is column["short"] is False


def test_short_pairs_are_those_of_one_or_two_words_estimated_without_blanks() -> None:
    for a, b, short in (
        ("Opening hours", "Aukioloajat", True), ("It opens late", "Aukeaa myöhään", False),
        ("联系我们", "お問い合わせ", False), ("隐私政策", "方針", True), ("ติดต่อเรา", "联系我们", True),
        ("我们每天早上九点开门。", "毎日朝9時に開きます。", False), ("iPhone 手机", "iPhone", True),
        ("เราเปิดทุกวันเวลาเก้าโมงเช้า", "我们每天早上九点开门。", False), ("영업 시간", "Opening hours", True),
        ("संपर्क करें", "Contact us", True),
    ):  # fmt: skip
        assert SentencePair(a, b, 0.9, "0", "0", 0.9).short is short, a


def test_the_overview_estimates_words_without_blanks(tmp_path: Path) -> None:
    overview = Overview(tmp_path, LanguagePair.parse("eng-zho"))
    found = SentencePair("We open at nine every morning.", "我们每天早上九点开门。", 0.9, "0", "0")
    overview.add(DOCUMENTS, [found], [found])
    overview.close()
    (site,) = json.loads((tmp_path / "en-zh.summary.json").read_text())["sites"].values()
    assert (site["words_a"], site["words_b"]) == (6, 5)


class Listening:
    """Takes what a producer hands out."""

    def __init__(self) -> None:
        self.documents: list[str] = []
        self.raw: list[SentencePair] = []
        self.kept: list[SentencePair] = []

    def add(self, documents: DocumentPair, raw: Sequence[SentencePair], kept: Sequence[SentencePair]) -> None:
        self.documents.append(documents.url_a)
        self.raw += raw
        self.kept += kept

    def close(self) -> None:
        self.closed = True


def produce(folder: Path) -> Listening:
    """The bitext of two sites with the same sentences, and a menu on each page."""
    listening = Listening()
    menu = "Home | News | Contact", "Etusivu | Uutiset | Yhteystiedot"
    texts = {f"https://{site}/en": [*ENGLISH, menu[0], "12", "<b>Yes</b>\x00\ud800\t!"] for site in ("a.fi", "b.fi")}
    texts |= {f"https://{site}/fi": [*FINNISH, menu[1], "12", "<b>Kyllä</b>\x00\ud800\t!"] for site in ("a.fi", "b.fi")}
    producer = BitextProducer(PAIR, BY_DEFAULT, [*open_exports(EXPORTS.built_in, folder, PAIR), listening])
    for site in ("a.fi", "b.fi"):
        producer.add([Pair(f"https://{site}/en", f"https://{site}/fi", 0.9, "url", "eng-fin")], texts.__getitem__)
    assert not list(folder.glob("en-fi*")), "nothing is complete before all is known"
    counts = producer.close()
    assert listening.closed
    assert counts.documents == len(listening.documents) == 2
    assert counts.aligned == len(listening.raw) == counts.kept + sum(counts.dropped.values())
    assert counts.kept == len(listening.kept) > 4
    assert counts.dropped == Counter(one.dropped for one in listening.raw if one.dropped)
    return listening


def test_no_sentence_pair_is_lost_silently(tmp_path: Path) -> None:
    found = produce(tmp_path)
    dropped = rows(tmp_path / "en-fi.dropped.gz")
    assert dropped[0][-1] == "reason"
    sent, raw = rows(tmp_path / "en-fi.sent.gz"), rows(tmp_path / "en-fi.raw.gz")
    assert sorted(row[2:4] for row in dropped[1:] + sent[1:]) == sorted(row[2:4] for row in raw[1:])
    assert Counter(row[-1] for row in dropped[1:]) == Counter(one.dropped for one in found.raw if one.dropped)
    assert {"navigation", "duplicate", "letters"} <= {row[-1] for row in dropped[1:]}


def test_the_same_pages_give_the_same_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        produce(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) == 14
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_exports_that_were_stopped_leave_nothing_and_harm_no_complete_file(tmp_path: Path) -> None:
    first, overview = open_exports(["jsonl", "jsonl"], tmp_path, PAIR)
    assert isinstance(overview, Overview), "each format once, and the overview"
    first.close()
    open_exports(["jsonl", "moses"], tmp_path, PAIR)
    assert len(list(tmp_path.iterdir())) > 1
    Export.remove_parts(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["en-fi.jsonl.gz"]
