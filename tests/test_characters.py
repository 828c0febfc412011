"""Which characters are removed, by their Unicode properties."""

import re
import sys
import unicodedata

import pytest

from bilingual_crawler.pages.characters import composed, is_escaped_twice, one_line, unescaped
from bilingual_crawler.pages.words import width_of

SHOWN_OR_OF_ONE_SCRIPT = re.compile(r"(?:ARABIC|SYRIAC|KAITHI|MONGOLIAN|EGYPTIAN)\b(?! LETTER MARK)")
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"


def test_letters_are_wide_as_in_unicode() -> None:
    letters = filter(str.isalpha, map(chr, range(sys.maxunicode + 1)))
    assert not [one for one in letters if width_of(one) != 1 + (unicodedata.east_asian_width(one) in "WF")]


def is_no_text(character: str) -> bool:
    category = unicodedata.category(character)
    if category == "Cf":
        return not SHOWN_OR_OF_ONE_SCRIPT.match(unicodedata.name(character))
    is_noncharacter = ord(character) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(character) <= 0xFDEF
    return (category in ("Cc", "Cs") or is_noncharacter) and not character.isspace()


def test_every_character_is_kept_is_a_blank_or_goes() -> None:
    for first in range(0, sys.maxunicode + 1, 256):
        characters = [chr(number) for number in range(first, first + 256) if not 0xE0000 <= number < 0xE0080]
        expected = ("" if is_no_text(one) else " " if one.isspace() else one for one in characters)
        assert one_line("".join(f"a{one}b" for one in characters)) == "".join(f"a{one}b" for one in expected), hex(
            first
        )
    assert one_line("\U0001f3f4\U000e0067\U000e0062\U000e007f") == "\U0001f3f4"


JOINED = {
    "Persian": "می‌خواهم",
    "Persian suffix of a foreign word": "PDF‌ها",
    "Sorani, at the end of a word": "ئه‌وه‌ ده‌ڵێت",
    "Sinhala": "ක්‍රීඩා",
    "Devanagari, both joiners": "र्‍य क्‌ष",
    "Bengali, before the virama": "র‍্যাব",
    "Malayalam, at the end": "അവന്‍",
    "family": FAMILY,
    "with selectors and skin tones": "❤️‍🔥 👩🏽‍💻 🏳️‍🌈",
}


@pytest.mark.parametrize("text", JOINED.values(), ids=JOINED)
def test_joiners_stay_where_scripts_and_emoji_need_them(text: str) -> None:
    assert re.search("[\u200c\u200d]", text)
    assert one_line(f" {text}\u200b ") == text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Auf\u200clage", "Auflage"), ("a\u200d b\u200c, 1\u200c2 日\u200d本", "a b, 12 日本"), ("\u200c", ""),
        ("می\u200c\u200c\u200dخواهم", "می\u200cخواهم"), ("\u200d😀 ok\u200d😀 😀\u200d", "😀 ok😀 😀"),
        ("\ufeff one \u200b two\u00a0\u200e\u2028three \x00", "one two three"),
    ],
)  # fmt: skip
def test_other_joiners_go_and_blanks_around_what_goes_are_one(text: str, plain: str) -> None:
    assert one_line(text) == plain


def test_it_is_idempotent_where_joiners_meet_what_goes() -> None:
    for text in ("می\u200b\u200cخ", "a\u200b\u200d\u0301", "😀\xad\u200d\u2060😀"):
        assert one_line(one_line(text)) == one_line(text)
        assert "\u200b" not in one_line(text)


def test_characters_of_all_scripts_are_composed() -> None:
    wrong = []
    for character in map(chr, range(sys.maxunicode + 1)):
        parts = unicodedata.normalize("NFD", character)
        if parts != character and composed(f"a{parts}") != unicodedata.normalize("NFC", f"a{parts}"):
            wrong.append(hex(ord(character)))
    assert not wrong


@pytest.mark.parametrize(
    ("text", "usual"),
    [
        ("ﬁnden, eﬀort", "finden, effort"), ("\ufee3\ufeae\ufea3\ufe92\ufe8e", "مرحبا"), ("\ufefb \ufdf2", "لا الله"),
        ("\ufe8d\ufe70\ufe8d\ufe7c", "ا\u064bا\u0651"), ("\ufb2a", "ש\u05c1"), ("２０２６ ½ … ﹙", "２０２６ ½ … ﹙"),
        ("Cafe\u0301 … 한", "Café … 한"),
    ],
)  # fmt: skip
def test_letters_have_one_form(text: str, usual: str) -> None:
    assert composed(text) == usual
    assert composed(usual) == usual


@pytest.mark.parametrize(
    ("text", "is_it", "plain"),
    [
        ("caf&eacute;", True, "café"),
        ("10&nbsp;km &amp; it&#8217;s &#x20ac;5", True, "10\xa0km & it’s €5"),
        ("the entity &eacute; or &#233; stands for é", False, "the entity é or é stands for é"),
        ("a&lt;b&gt;c &notit;", False, "a&lt;b&gt;c &notit;"),
        ("?a=1&copies;x &nosuch;x AT&T; &amp", False, "?a=1&copies;x &nosuch;x AT&T; &amp"),
    ],
)
def test_entities(text: str, is_it: bool, plain: str) -> None:
    assert is_escaped_twice(text) is is_it
    assert unescaped(text) == plain
