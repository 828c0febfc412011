from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilingual_crawler.pages.detectors.base import MAX_CHARACTERS
from bilingual_crawler.pages.language import BY_DEFAULT, majority

identify = BY_DEFAULT.identify

# Universal Declaration of Human Rights, article 1.
TEXTS = {
    "eng": (
        "All human beings are born free and equal in dignity and rights. They are endowed with reason "
        "and conscience and should act towards one another in a spirit of brotherhood."
    ),
    "isl": (
        "Hver maður er borinn frjáls og jafn öðrum að virðingu og réttindum. Menn eru gæddir vitsmunum "
        "og samvizku, og ber þeim að breyta bróðurlega hverjum við annan."
    ),
    "mlt": (
        "Il-bnedmin kollha jitwieldu ħielsa u ugwali fid-dinjità u d-drittijiet. Huma mogħnija bir-"
        "raġuni u bil-kuxjenza u għandhom iġibu ruħhom ma' xulxin bi spirtu ta' aħwa."
    ),
    "eus": (
        "Gizon-emakume guztiak aske jaiotzen dira, duintasun eta eskubide berberak dituztela; eta "
        "ezaguera eta kontzientzia dutenez gero, elkarren artean senide legez jokatu beharra dute."
    ),
    "fin": (
        "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu"
        " järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä."
    ),
    "spa": (
        "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de "
        "razón y conciencia, deben comportarse fraternalmente los unos con los otros."
    ),
    "heb": (
        "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה "
        "עליהם לנהוג איש ברעהו ברוח של אחווה."
    ),
    "zho": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
}


@pytest.mark.parametrize("lang", TEXTS)
def test_long_text(lang: str) -> None:
    found = identify(2 * TEXTS[lang] + "\n" + TEXTS[lang].upper() if lang != "zho" else 5 * TEXTS[lang])
    assert (found.language, found.reliable) == (lang, True)
    assert found.shares[0][0] == lang


@pytest.mark.parametrize("lang", TEXTS)
def test_short_text(lang: str) -> None:
    found = identify(TEXTS[lang][:60])
    assert (found.language, found.reliable) == (lang, True)


@pytest.mark.parametrize("text", ["", " \n", "2024-01-01 12:00", "{{menu}}", "|||", "OK", "\ufdd0\x00"])
def test_nothing_to_identify(text: str) -> None:
    found = identify(text)
    assert (found.language, found.shares, found.reliable) == ("un", (), False)


def test_control_characters_do_no_harm() -> None:
    dirty = "\x00\x07" + TEXTS["isl"].replace(" ", " \x92\x85\x0b") * 2 + "\ud800\ufffe\U0001ffff\x7f"
    assert identify(dirty).language == "isl"


def test_mixed_text_has_shares() -> None:
    found = identify(5 * TEXTS["eus"] + "\n" + 3 * TEXTS["spa"])
    assert [lang for lang, _ in found.shares] == ["eus", "spa"]
    assert found.language == "eus"
    assert 50 < found.shares[0][1] < 75


def test_markup_is_text() -> None:
    assert identify("<p lang=en>" + 2 * TEXTS["isl"]).language == "isl"


def test_reading_stops() -> None:
    filler = (TEXTS["isl"] + "\n") * (MAX_CHARACTERS // len(TEXTS["isl"]) + 2)
    assert identify(filler + 500 * TEXTS["eng"]).language == "isl"


def test_two_codes_of_one_language_are_one_share() -> None:
    found = identify(10 * "人人生而自由，在尊严和权利上一律平等。" + 10 * "人人生而自由，在尊嚴和權利上一律平等。")
    assert [lang for lang, _ in found.shares] == ["zho"]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=400))
def test_never_raises(text: str) -> None:
    found = identify(text)
    assert len(found.language) == 3 or found.language == "un"


def test_most_ranges_that_have_a_language_decide() -> None:
    assert majority("eng", ("spa", "eng", "spa")) == "spa"
    assert majority("eng", ("spa", "fra")) == "eng"
    assert majority("fra", ("un", "un", "un", "spa", "spa")) == "spa"
    assert majority("eng", ("un", "un")) == "eng"
