"""Words as websites write them in addresses: in Latin letters, by the systems that content management systems use.

The tables follow WordPress (`remove_accents`, Cyr-To-Lat, SrbTransLatin, ELOT 743), Django (`urlify.js`), Bitrix,
passports and street signs. Scripts of India go through `uroman`, then get the spelling that people type. All other
letters go through `anyascii`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from anyascii import anyascii
from uroman import Uroman

if TYPE_CHECKING:
    import random

CYRILLIC = (
    "а=a б=b в=v г=g д=d е=e ё=e ж=zh з=z и=i й=y к=k л=l м=m н=n о=o п=p р=r с=s т=t у=u ф=f х=h ц=ts ч=ch ш=sh "
    "щ=shch ъ= ы=y ь= э=e ю=yu я=ya і=i ї=yi є=ye ґ=g ў=u "
)
SERBIAN = "ђ=dj ж=z ј=j љ=lj њ=nj ћ=c х=h ц=c ч=c џ=dz ш=s "
GREEK = (
    "α=a ά=a β=v γ=g δ=d ε=e έ=e ζ=z η=i ή=i θ=th ι=i ί=i ϊ=i ΐ=i κ=k λ=l μ=m ν=n ξ=x ο=o ό=o π=p ρ=r σ=s ς=s τ=t υ=y "
    "ύ=y ϋ=y ΰ=y φ=f χ=ch ψ=ps ω=o ώ=o "
)
UMLAUTS = "ä=ae ö=oe ü=ue"
SYSTEMS = {
    "bel": [CYRILLIC + tail for tail in ("г=h", "х=kh", "г=h ц=c ч=c ш=s ж=z х=ch й=j ю=ju я=ja", "ё=io ю=iu я=ia")],
    "bul": [CYRILLIC + tail for tail in ("щ=sht ъ=a ь=y", "щ=sht ъ=a ь=y", "щ=sht ъ=u", "щ=sht ц=c ъ=y й=j ж=j")],
    "ell": [
        GREEK,
        GREEK + "η=h ή=h θ=8 ξ=3 χ=x ω=w ώ=w β=b",
        GREEK + "χ=x β=b υ=u ύ=u",
        GREEK + "χ=h υ=i ύ=i",
    ],
    "kaz": [CYRILLIC + "ә=a ғ=g қ=k ң=n ө=o ұ=u ү=u һ=h " + tail for tail in ("", "қ=q у=w й=i ы=y")],
    "kir": [CYRILLIC + "ң=n ө=o ү=u ж=j " + tail for tail in ("", "х=kh", "ц=c й=i")],
    "mkd": [
        CYRILLIC + "ѓ=gj ѕ=dz ј=j љ=lj њ=nj ќ=kj џ=dj ц=c",
        CYRILLIC + "ѓ=g ѕ=dz ј=j љ=l њ=n ќ=k џ=dz ц=c ж=z ч=c ш=s",
        CYRILLIC + "ѓ=gj ѕ=z ј=j љ=lj њ=nj ќ=kj џ=dzh ц=c",
    ],
    "mon": [CYRILLIC + "ө=o ү=u х=kh " + tail for tail in ("", "ө=u", "ж=j х=h", "ц=c")],
    "rus": [
        CYRILLIC,
        CYRILLIC + "х=kh щ=sch ё=yo",
        CYRILLIC + "й=j ц=c щ=shh ё=jo ю=ju я=ja х=x",
        CYRILLIC + "й=i х=kh ъ=ie ё=e ю=iu я=ia",
        CYRILLIC + "ц=c щ=sch й=j ё=yo",
        CYRILLIC + "ц=cz щ=shh й=j х=x ё=yo э=e",
    ],
    "tat": [CYRILLIC + "ә=a җ=j ң=n ө=o ү=u һ=h", CYRILLIC + "ә=e җ=c ң=n ө=o ү=u һ=h ш=s ч=c ы=i"],
    "tgk": [CYRILLIC + "ғ=gh ӣ=i қ=q ӯ=u ҳ=h ҷ=j х=kh", CYRILLIC + "ғ=g ӣ=i қ=k ӯ=u ҳ=h ҷ=j х=h"],
    "ukr": [
        CYRILLIC + "г=h и=y ї=i й=i є=ie х=kh ю=iu я=ia",
        CYRILLIC + "г=h и=y х=kh",
        CYRILLIC + "г=g и=y щ=sch",
        CYRILLIC + "г=g и=y є=e ї=i й=j ц=c х=h ю=ju я=ja",
        CYRILLIC + "г=g и=i є=e ї=i щ=sh",
    ],
    "uzb": [CYRILLIC + "ў=o ғ=g қ=q ҳ=h х=x ж=j ё=yo", CYRILLIC + "ў=o ғ=g қ=k ҳ=h х=h ж=j ё=yo"],
    "aze": ["ə=e", "ə=a"],
    "dan": ["æ=ae ø=oe å=aa", "æ=ae ø=o å=a", "æ=e ø=o å=a"],
    "deu": [UMLAUTS, UMLAUTS, ""],
    "est": ["", UMLAUTS],
    "fin": ["", "", UMLAUTS],
    "hun": ["", "", "ö=oe ő=oe ü=ue ű=ue"],
    "isl": ["þ=th ð=d æ=ae", "þ=th ð=d æ=ae ö=o", "þ=th ð=d æ=ae ö=oe", "þ=t ð=d æ=a"],
    "ltz": [UMLAUTS, ""],
    "nor": ["æ=ae ø=oe å=aa", "æ=ae ø=o å=a", "æ=e ø=o å=a"],
    "swe": ["", "", "ä=ae ö=oe å=aa"],
    "tur": ["", UMLAUTS],
    **{
        code: [SERBIAN + CYRILLIC + SERBIAN + tail for tail in ("", "", "ђ=d đ=d", "đ=dj", "ж=zh ч=ch ш=sh")]
        for code in ("srp", "cnr", "bos", "hrv")
    },
}  # fmt: skip
"""By language, the systems in use, each a row of replacements of which a later one counts."""
INDIC = re.compile(r"[\u0900-\u0dff]")
TYPED = (
    (re.compile(r"c(?!h)"), "ch"),
    (re.compile(r"ss(?=[^aeiou])"), "sh"),
    (re.compile(r"([dnl])\1(?=h?[aeiour])|(?<![aeiou])([t])\2"), r"\1\2"),
    (re.compile(r"(?<=[aeiou])m(?=[^aeiouy\W])"), "n"),
    (re.compile(r"aa"), "A"),
    (re.compile(r"ii|ee"), "i"),
    (re.compile(r"uu|oo"), "u"),
    (re.compile(r"(?<=[Aaeiou][bcdghjklmnprstvyz])a(?=[bcdghjklmnprstvyz]h?[Aeiou])"), ""),
    (re.compile(r"A"), "a"),
)
"""From the letters of `uroman` to what people type: one vowel for two (`A` stands for the long one until the end), and
no vowel that is not spoken."""


def romanise(text: str, language: str, rng: random.Random) -> str:
    """The text in ASCII, by one of the systems that sites in the language (ISO 639-3) use."""
    if INDIC.search(text) and rng.random() < 0.85:
        return " ".join(_typed(word, language) for word in text.split())
    systems = _systems(language)
    return anyascii(text.translate(rng.choice(systems)) if systems else text)


@cache
def _systems(language: str) -> list[dict[int, str]]:
    found = []
    for row in SYSTEMS.get(language, ()):
        table = dict(item.split("=") for item in row.split())
        found.append(
            {
                ord(form): latin
                for a, b in table.items()
                for form, latin in ((a, b), (a.upper(), b.title()))
                if len(form) == 1
            }
        )
    return found


@cache
def _uroman() -> Uroman:
    return Uroman()


@cache
def _typed(word: str, language: str) -> str:
    """A word of an Indian script as people type it."""
    text = str(_uroman().romanize_string(word, lcode=language)).lower()
    for pattern, replacement in TYPED:
        text = pattern.sub(replacement, text)
    return text
