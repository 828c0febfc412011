"""Scripts by ISO 15924 code, and the script that a text is in."""

import unicodedata
from collections import Counter
from functools import lru_cache

from bilingual_crawler.languages.tables import read_tables

_OF_LETTERS: dict[str, str] = read_tables(__name__)["scripts"]  # first words of the Unicode names of letters
HANS, HANT = "Hans", "Hant"
_HAN = "Hani"
SCRIPTS = frozenset((*_OF_LETTERS.values(), HANS, HANT))  # the scripts that can be told from a text
HAN_WEIGHT = 3  # letters of another script that a Chinese character weighs: a translation has about three times as many


def script_of(text: str) -> str | None:
    """The script of most letters of *text*, one of :data:`SCRIPTS`; None without any, or if Chinese may be either.

    >>> script_of("图书馆"), script_of("圖書館 (library)"), script_of("中文"), script_of("библиотека")
    ('Hans', 'Hant', None, 'Cyrl')
    """
    if text.isascii():
        return "Latn" if any(map(str.isalpha, text)) else None
    letters = _letters_by_script(text)
    simplified, traditional = letters.pop(HANS, 0), letters.pop(HANT, 0)
    letters[_HAN] = HAN_WEIGHT * (letters[_HAN] + simplified + traditional)
    [(script, count)] = letters.most_common(1)
    if script != _HAN:
        return script if count else None
    return None if simplified == traditional else HANS if simplified > traditional else HANT


def may_be_in(text: str, script: str) -> bool:
    """Whether a sentence may be in *script*: it has letters of it, or none, or no more Chinese of the other kind.

    >>> may_be_in("請安裝 Visual Studio", "Hant"), may_be_in("请安装 Visual Studio", "Hant")
    (True, False)
    """
    letters = _letters_by_script(text)
    if script in (HANS, HANT):
        return letters[script] >= letters[HANS if script == HANT else HANT]
    return script in letters or not letters


def _letters_by_script(text: str) -> Counter[str]:
    letters: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if script := _script_of_letter(character):
            letters[script] += count
    return letters


@lru_cache(maxsize=65536)
def _script_of_letter(character: str) -> str | None:
    if not character.isalpha():
        return None
    name = unicodedata.name(character, "").partition(" ")[0]
    if name != "CJK":
        return _OF_LETTERS.get(name)
    # GB 2312 has the characters of Simplified Chinese alone, Big5 those of Traditional Chinese
    simplified, traditional = (bool(character.encode(charset, "ignore")) for charset in ("gb2312", "big5"))
    return _HAN if simplified == traditional else HANS if simplified else HANT
