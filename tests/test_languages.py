import re

import pycld2
import pytest

from bilingual_crawler.languages.codes import (
    DEFAULT_EQUIVALENTS,
    UNKNOWN,
    URL_LABELS,
    LanguageError,
    LanguagePair,
    from_bcp47,
    language_name,
    macrolanguage,
    name_tables,
    parse_equivalents,
    parse_language,
    tag_language,
    to_bcp47,
)
from training.prepare.names import tables


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("mt", "mlt"), ("mlt", "mlt"), ("Maltese", "mlt"), ("Malti", "mlt"), ("is", "isl"), ("ice", "isl"),
        ("isl", "isl"), ("Icelandic", "isl"), ("íslenska", "isl"), ("ISLENSKA", "isl"), ("baq", "eus"),
        ("Basque", "eus"), ("euskera", "eus"), ("ger", "deu"), ("fre", "fra"), ("gre", "ell"), ("Modern Greek", "ell"),
        ("alb", "sqi"), ("mac", "mkd"), ("rum", "ron"), ("zh-Hant", "zho_Hant"), ("zho_Hans", "zho_Hans"),
        ("CMN_HANT", "zho_Hant"), ("yue-hant", "yue_Hant"), ("Traditional Chinese", "zho_Hant"),
        ("Chinese (Simplified)", "zho_Hans"), ("srp_Latn", "srp_Latn"), ("sr-Cyrl", "srp_Cyrl"),
        ("Serbian (Latin)", "srp_Latn"), ("Latin Serbian", "srp_Latn"), ("Serbian Cyrillic", "srp_Cyrl"),
        ("sr-Latn-ME", "cnr_Latn"), ("uzb_Cyrl", "uzb_Cyrl"), ("Uzbek (Latin)", "uzb_Latn"),
        ("Punjabi (Arabic)", "pan_Arab"), ("mn-Mong", "mon_Mong"), ("eng_Latn", "eng_Latn"), ("Latin", "lat"),
        ("Egyptian Arabic", "arz"), ("cmn", "zho"), ("iw", "heb"), ("nb", "nor"), ("nob", "nor"),
        ("Norwegian Bokmål", "nor"), ("nn", "nno"), ("fil", "tgl"), ("ekk", "est"), ("sr-ME", "cnr"),
        ("Montenegrin", "cnr"), ("Scottish Gaelic", "gla"), (" Farsi ", "fas"), ("русский", "rus"), ("中文", "zho"),
        ("Sorani", "ckb"), ("Cantonese", "yue"), ("Asturian", "ast"), ("Slovene", "slv"), ("Sinhalese", "sin"),
        ("Azeri", "aze"), ("Kurmanji", "kur"), ("upper sorbian", "hsb"), ("North Sami", "sme"),
    ],
)  # fmt: skip
def test_parse_language(text: str, lang: str) -> None:
    assert parse_language(text) == lang


def test_what_names_no_language() -> None:
    for text, told in {
        "mlta": ": did you mean mlt (Maltese)?", "Icelandish": ": did you mean isl (Icelandic)?",
        "cz": ": did you mean ces (Czech)?", "gr": ": did you mean ell (Greek)?",
        "qqq": "; use an ISO 639 code", "": "; use an ISO 639 code", "und": "", "x-default": "", "Roma": "",
        "Klingon": "",
    }.items():  # fmt: skip
        with pytest.raises(LanguageError, match=re.escape(f"unknown language '{text}'{told}")):
            parse_language(text)
    for text, told in {
        "en-GB": "GB, which cannot be told from the text of a page: write eng",
        "zh-TW": "TW, which cannot be told from the text of a page: write zho_Hant",
        "sr-Latn-RS": "RS, which cannot be told from the text of a page: write srp_Latn",
        "jpn_Jpan": "Jpan, which cannot be told from the text of a page: write jpn",
        "es-419": "419, which", "ca-valencia": "valencia, which", "de-1996": "1996, which",
        "Brazilian Portuguese": "BR, which", "Portuguese (Brazil)": "Brazil, which", "Chinese Taiwan": "Taiwan, which",
    }.items():  # fmt: skip
        with pytest.raises(LanguageError, match=re.escape(f"'{text}' names {told}")):
            parse_language(text)


def test_every_code_of_the_identifier_is_known() -> None:
    languages = {code: from_bcp47(code) or UNKNOWN for _, code in pycld2.LANGUAGES}
    odd = {
        "iw": "heb", "jw": "jav", "sr-ME": "cnr", "bh": "bih", "tl": "tgl", "no": "nor", "nn": "nno", "zh": "zho",
        "zh-Hant": "zho", "xxx": UNKNOWN, "zzp": UNKNOWN, "tlh": UNKNOWN, "xx-Latn": UNKNOWN, "crs": "crs",
    }  # fmt: skip
    assert {code: languages[code] for code in odd} == odd
    assert from_bcp47(UNKNOWN) is None
    assert set(URL_LABELS) - set(languages.values()) == {"got", "sux"}
    assert all(len(lang) == 3 or code.startswith(("xx", "zz", "tlh")) for code, lang in languages.items())


def test_labels_are_those_of_url2lang() -> None:
    assert len(URL_LABELS) == len(set(URL_LABELS)) == 161
    assert URL_LABELS[:3] == ("eng", "deu", "rus")
    assert URL_LABELS[-1] == "ven"


@pytest.mark.parametrize("lang", URL_LABELS)
def test_codes_and_names_lead_back(lang: str) -> None:
    assert parse_language(lang) == lang
    assert parse_language(to_bcp47(lang)) == lang
    assert from_bcp47(to_bcp47(lang)) == lang
    assert parse_language(language_name(lang)) == lang


def test_a_text_that_is_no_code_is_its_own_name() -> None:
    texts = ["eng+spa", "eng, spa", "?", "english-spanish", "qqq"]
    assert list(map(language_name, texts)) == texts


def test_from_bcp47() -> None:
    for tag, lang in (
        ("en", "eng"), ("EN-us", "eng"), ("en_GB", "eng"), ("es-419", "spa"), ("zh-Hans-CN", "zho"),
        ("sr-Latn-ME", "cnr"), ("sr-Latn", "srp"), ("no", "nor"), ("nb-NO", "nor"), (" is ", "isl"),
        ("x-default", None), ("und", None), ("", None), ("english", None), ("zz", None), ("en/us", None),
    ):  # fmt: skip
        assert from_bcp47(tag) == lang


def test_script_of_a_tag() -> None:
    for tag, lang in (
        ("zh", "zho"), ("zh-Hans-CN", "zho_Hans"), ("zh_TW", "zho_Hant"), ("zh-hk", "zho_Hant"), ("zh-MY", "zho"),
        ("sr-Latn", "srp_Latn"), ("sr-RS", "srp"), ("sr-Latn-ME", "cnr_Latn"), ("en-GB", "eng"), ("ja-Jpan", "jpn"),
        ("x-default", None),
    ):  # fmt: skip
        assert tag_language(tag) == lang


def test_macrolanguages_and_shortest_tags_also_with_scripts() -> None:
    parts = ("ckb", "twi", "quz", "hrv", "srp", "eng", "nno")
    assert [macrolanguage(lang) for lang in parts] == ["kur", "aka", "que", "srp", None, None, "nor"]
    langs = ("eng", "heb", "jav", "nor", "ind", "ron", "cnr", "fao", "haw")
    assert [to_bcp47(lang) for lang in langs] == ["en", "he", "jv", "no", "id", "ro", "cnr", "fo", "haw"]
    assert [to_bcp47(lang) for lang in ("zho_Hant", "srp_Latn", "ckb_Arab")] == ["zh-Hant", "sr-Latn", "ckb-Arab"]
    assert language_name("zho_Hant") == "Chinese (Traditional)"
    assert parse_language(language_name("uzb_Cyrl")) == "uzb_Cyrl"


def test_parse_pair() -> None:
    for text, pair in (
        ("eng-mlt", "eng-mlt"), ("mt-en", "mlt-eng"), ("English-Maltese", "eng-mlt"), ("en-zh-Hant", "eng-zho_Hant"),
        ("zh-Hant-en", "zho_Hant-eng"), ("eng-zho_Hant", "eng-zho_Hant"),
        ("English,Traditional Chinese", "eng-zho_Hant"), ("English-Serbian (Cyrillic)", "eng-srp_Cyrl"),
        ("eng_Latn-uzb_Cyrl", "eng_Latn-uzb_Cyrl"), ("en-th-Thai", "eng-tha_Thai"), ("sr-ME-en", "cnr-eng"),
        ("Scottish Gaelic - English", "gla-eng"), ("hrv-srp", "hrv-srp"),
        # no locale that anybody uses
        ("sv-fi", "swe-fin"), ("eu-es", "eus-spa"), ("en-mt", "eng-mlt"), ("zho-twi", "zho-twi"), ("en-is", "eng-isl"),
        ("en-eu", "eng-eus"), ("en-uk", "eng-ukr"),
    ):  # fmt: skip
        assert str(LanguagePair.parse(text)) == pair


def test_what_is_no_pair() -> None:
    for text, message in (
        ("en-eng", "two languages, not English twice"),
        ("en", "'en' is not a pair"),
        ("en-is-mt", "'en-is-mt' is not a pair"),
        ("en-pt-br", "'en-pt-br' is not a pair"),
        ("en-pt-BR", "'pt-BR' names BR, which cannot be told from the text of a page: write por"),
        ("pt-BR-es", "'pt-BR' names BR, which cannot be told from the text of a page: write por"),
        ("en-es-mx", "'es-mx' names mx, which"),
        ("en_GB,is", "'en_GB' names GB, which"),
        ("zho_Hans-zho_Hant", "two languages, not Chinese twice"),
        ("zho-zho_Hant", "two languages, not Chinese twice"),
        ("zh-tw", "Chinese in Taiwan, which is one language, or the pair zho-twi (Chinese and Twi)"),
        ("pt_BR", "Portuguese in Brazil, which is one language, or the pair por-bre (Portuguese and Breton)"),
        ("en-mlta", "did you mean mlt"),
        ("", "'' is not a pair"),
    ):
        with pytest.raises(LanguageError, match=re.escape(message)):
            LanguagePair.parse(text)


def test_a_side_with_a_script_counts_only_texts_in_it() -> None:
    traditional, latin = LanguagePair.parse("eng-zho_Hant"), LanguagePair.parse("eng-srp_Latn")
    for lang, side in {"zho_Hant": "zho_Hant", "zho_Hans": None, "zho": "zho_Hant", "yue_Hant": None}.items():
        assert traditional.side(lang) == side
    # detectors take much Serbian for Croatian or Bosnian
    assert [latin.side(lang) for lang in ("srp_Latn", "hrv_Latn", "bos")] == ["srp_Latn"] * 3
    assert [latin.side(lang) for lang in ("srp_Cyrl", "bos_Cyrl")] == [None, None]
    assert [LanguagePair.parse("eng-zho").side(lang) for lang in ("zho_Hant", "zho_Hans")] == ["zho", "zho"]
    assert latin.languages == {"eng", "srp", "hrv", "bos", "cnr"}


def test_languages_of_a_class_count_as_one_unless_the_pair_is_inside_it() -> None:
    pair = LanguagePair.parse("eng-hrv")
    classes = ["nor nno", "nor dan", "nor swe", "nor fao"]
    assert {lang: pair.side(lang) for lang in ("eng", "hrv", "bos", "cnr", "srp", "slv", UNKNOWN)} == {
        "eng": "eng", "hrv": "hrv", "bos": "hrv", "cnr": "hrv", "srp": "hrv", "slv": None, UNKNOWN: None,
    }  # fmt: skip
    assert [LanguagePair.parse("hrv-srp").side(lang) for lang in ("hrv", "srp", "bos")] == ["hrv", "srp", None]
    # in two classes it counts by that of the pair
    assert LanguagePair.parse("eng-nno", classes).side("nor") == "nno"
    assert LanguagePair.parse("dan-nno", classes).side("nor") is None


def test_equivalents_can_be_given() -> None:
    assert LanguagePair.parse("glg-eng", equivalents=["glg por", ("dan", "nob")]).side("por") == "glg"
    assert LanguagePair.parse("eng-hrv", equivalents=()).side("bos") is None
    assert parse_equivalents(["hr, bs  sr"]) == frozenset({frozenset({"hrv", "bos", "srp"})})
    assert parse_equivalents(DEFAULT_EQUIVALENTS) == LanguagePair("eng", "hrv").equivalents
    with pytest.raises(LanguageError):
        parse_equivalents(["hrv bosn"])
    with pytest.raises(LanguageError, match="'srp_Latn' names a script"):
        parse_equivalents(["hrv srp_Latn"])


def test_other_side() -> None:
    pair = LanguagePair.parse("eng-isl")
    assert (pair.other("eng"), pair.other("isl")) == ("isl", "eng")
    with pytest.raises(ValueError, match="eng-isl"):
        pair.other("fra")


def test_the_file_of_names_is_what_cldr_and_our_tables_give() -> None:
    assert name_tables() == tables()
