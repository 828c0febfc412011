"""Words of texts in scripts with combining marks, and in all others as Python's ``\\w`` cuts them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilingual_crawler.bitext import evidence
from bilingual_crawler.bitext.cleaning import Templates
from bilingual_crawler.bitext.duplicates import Duplicates, normal
from bilingual_crawler.discovery import policies
from bilingual_crawler.pages.sequences import sequences
from bilingual_crawler.pages.words import western_digits, word_pattern

UNMARKED = st.text(st.characters(exclude_categories=["Mn", "Mc", "Cs"]))


@pytest.mark.parametrize("characters", [r"[^\W\d_]", r"[^\W_]", r"\w"])
@given(text=UNMARKED | UNMARKED.map(lambda text: f"{text}\u200d{text}\ufe0f \u200c"))
def test_text_without_combining_marks_has_the_words_that_python_finds(characters: str, text: str) -> None:
    assert re.findall(word_pattern(characters), text) == re.findall(f"{characters}+", text)


@given(st.text())
def test_all_letters_are_in_words_and_no_word_begins_with_a_mark(text: str) -> None:
    found = re.findall(word_pattern(r"[^\W_]"), text)
    assert [c for c in "".join(found) if c.isalnum()] == [c for c in text if c.isalnum()]
    assert all(word[0].isalnum() for word in found)


@given(UNMARKED | UNMARKED.map(lambda text: text.replace(" ", "") * 50))
def test_words_of_discovery_have_two_to_forty_letters(text: str) -> None:
    assert policies.words(text, "zho") == re.findall(r"[^\W\d_]{2,40}", text.casefold())


def test_words_keep_their_vowel_signs() -> None:
    for text, words in (
        ("किताब, घर की 12", ["किताब", "घर", "की"]),
        ("เสือ เสื้อ", ["เสือ", "เสื้อ"]),
        ("ශ්‍රී ලංකා", ["ශ්‍රී", "ලංකා"]),
        ("র‍্যাব ও র‍্যালি", ["র‍্যাব", "ও", "র‍্যালি"]),
        ("မြန်မာ။", ["မြန်မာ"]),
        ("ខ្មែរ", ["ខ្មែរ"]),
        ("كَتَبَ الوَلَدُ", ["كَتَبَ", "الوَلَدُ"]),
        ("می‌خواهم", ["می", "خواهم"]),
        ("1\ufe0f\u20e3 नमस्ते ℹ\ufe0f", ["नमस्ते", "ℹ"]),
    ):
        assert re.findall(word_pattern(r"[^\W\d_]"), text) == words
        assert evidence.words(text) == tuple(sorted({*words, *re.findall(r"\d+", text)}))


@pytest.mark.parametrize("year", ["١٩٥٤", "۱۹۵۴", "१९५४", "১৯৫৪", "๑๙๕๔", "１９５４", "𝟏𝟗𝟓𝟒"])
def test_numbers_are_the_same_in_the_digits_of_all_scripts(year: str) -> None:
    assert western_digits(f"(007 {year}²)") == "(007 1954²)"
    assert evidence.words(year) == ("1954",)


def test_words_that_differ_in_vowels_are_no_repetitions() -> None:
    assert normal("किताब") == "किताब"
    assert policies.words("किताबें और घर", "und") == ["किताबें", "और", "घर"]
    assert not set(sequences("किताब कल आई")) & set(sequences("केतबा काल ईआ"))
    duplicates = Duplicates()
    for a, b in (("เสือ", "tiger"), ("เสื้อ", "shirt"), ("कल", "tomorrow"), ("कला", "art"), ("कला", "art.")):
        duplicates.add(a, b, 0.9)
    assert duplicates.reasons() == ["", "", "", "", "near_duplicate"]


def test_lines_that_begin_with_the_same_consonants_are_no_template() -> None:
    templates = Templates()
    lines = [f"क{chr(0x93E + number % 4)}म{chr(0x93E + number // 4)}न पर आज बहुत कुछ लिखा गया" for number in range(16)]
    for line in lines:
        templates.add([line], ["Posted in the blog of the house today"])
    assert not any(templates.has(line, "Posted in the blog of the house today") for line in lines)
