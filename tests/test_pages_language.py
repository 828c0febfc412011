import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilingual_crawler.pages.detectors.base import MAX_CHARACTERS
from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.language import BY_DEFAULT, Detection

identify = BY_DEFAULT.identify

# Universal Declaration of Human Rights, article 1.
TEXTS = {
    "eng": "All human beings are born free and equal in dignity and rights. They are endowed with reason and "
    "conscience and should act towards one another in a spirit of brotherhood.",
    "isl": "Hver maður er borinn frjáls og jafn öðrum að virðingu og réttindum. Menn eru gæddir vitsmunum og samvizku, "
    "og ber þeim að breyta bróðurlega hverjum við annan.",
    "mlt": "Il-bnedmin kollha jitwieldu ħielsa u ugwali fid-dinjità u d-drittijiet. Huma mogħnija bir-raġuni u "
    "bil-kuxjenza u għandhom iġibu ruħhom ma' xulxin bi spirtu ta' aħwa.",
    "eus": "Gizon-emakume guztiak aske jaiotzen dira, duintasun eta eskubide berberak dituztela; eta ezaguera eta "
    "kontzientzia dutenez gero, elkarren artean senide legez jokatu beharra dute.",
    "fin": "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki ja "
    "omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä.",
    "spa": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y "
    "conciencia, deben comportarse fraternalmente los unos con los otros.",
    "heb": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג "
    "איש ברעהו ברוח של אחווה.",
    "zho": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
}
ENG, FIN = TEXTS["eng"], TEXTS["fin"]


@pytest.mark.parametrize("lang", TEXTS)
def test_long_and_short_texts(lang: str) -> None:
    found = identify(2 * TEXTS[lang] + "\n" + TEXTS[lang].upper() if lang != "zho" else 5 * TEXTS[lang])
    short = identify(TEXTS[lang][:60])
    assert found.shares[0][0] == found.language == short.language == lang
    assert found.reliable
    assert short.reliable


@pytest.mark.parametrize("text", ["", " \n", "2024-01-01 12:00", "{{menu}}", "|||", "OK", "\ufdd0\x00"])
def test_nothing_to_identify(text: str) -> None:
    found = identify(text)
    assert (found.language, found.shares, found.reliable) == ("un", (), False)


def test_control_characters_markup_and_what_is_beyond_the_limit_do_no_harm() -> None:
    dirty = "\x00\x07" + TEXTS["isl"].replace(" ", " \x92\x85\x0b") * 2 + "\ud800\ufffe\U0001ffff\x7f"
    filler = (TEXTS["isl"] + "\n") * (MAX_CHARACTERS // len(TEXTS["isl"]) + 2)
    for text in (dirty, "<p lang=en>" + 2 * TEXTS["isl"], filler + 500 * ENG):
        assert identify(text).language == "isl"


def test_mixed_text_has_shares() -> None:
    found = identify(5 * TEXTS["eus"] + "\n" + 3 * TEXTS["spa"])
    assert [lang for lang, _ in found.shares] == ["eus", "spa"]
    assert found.language == "eus"
    assert 50 < found.shares[0][1] < 75


def test_two_codes_of_one_language_are_one_share() -> None:
    found = identify(10 * "人人生而自由，在尊严和权利上一律平等。" + 10 * "人人生而自由，在尊嚴和權利上一律平等。")
    assert [lang for lang, _ in found.shares] == ["zho"]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=400))
def test_never_raises(text: str) -> None:
    found = identify(text)
    assert len(found.language) == 3 or found.language == "un"


# pages: the vote of their own text, and what is declared -------------------------------------------------------------

CROATIAN = "Sva ljudska bića rađaju se slobodna i jednaka u dostojanstvu i pravima. Ona su obdarena razumom i sviješću."
SLOVAK = "Všetci ľudia sa rodia slobodní a rovní, čo sa týka ich dôstojnosti a práv. Sú obdarení rozumom a svedomím."
CODE = "static void put_entry(struct my_data *entry) { mutex_lock(&mutex); list_del(&entry->link); }"
CHINESE = "人人生而自由，在尊严和权利上一律平等。"
GALICIAN = (
    "Tódolos seres humanos nacen libres e iguais en dignidade e dereitos, dotados como están de razón e conciencia."
)


def test_the_text_and_what_is_declared_decide() -> None:
    for lines, declared, language in (
        # lines vote by their length
        ([ENG, ENG, ENG, FIN], (), "eng"), ([ENG, FIN, FIN, FIN], (), "fin"), (["of the"] * 50 + [FIN, FIN], (), "fin"),
        # code reads as English; a wide character counts twice
        ([FIN, FIN, *[CODE] * 9], (), "fin"), ([CODE] * 9, (), "eng"), ([ENG, 6 * CHINESE], (), "zho"),
        ([FIN, FIN, *[CODE] * 9], ("eng", "eng"), "fin"),
        # a text outvotes what is declared: where a translation is missing, a generator shows the original in its frame
        ([ENG, ENG], ("fin",), "eng"), ([ENG, ENG], ("fin", None, "fin"), "eng"), ([ENG, ENG], ("fin",) * 4, "eng"),
        ([SLOVAK] * 6, ("ces",), "slk"), ([GALICIAN] * 6, ("por",), "glg"), ([ENG] * 6, ("hrv",), "eng"),
        # a declaration decides about a short text, unless a detector is sure
        (["Ana Garcia, 2013"], ("cat",), "cat"), (["Contact"], ("fra",), "fra"),
        (["This page is not translated yet. Please help us with it."], ("fin", "fin"), "eng"),
        # a page that shows nothing without scripts is no document
        (["wait"], ("mlt",), "un"), (["1999–2004"], ("mlt",), "un"),
        # most declarations decide
        (["Ana Garcia"], ("eng", "fin", "fin"), "fin"), (["Ana Garcia"], ("eng", "fin"), "eng"),
        (["Ana Garcia"], (None, None, "fin"), "fin"),
        # a declaration decides among languages that no detector can tell apart
        *(([CROATIAN] * 4, (lang,), lang) for lang in ("hrv", "srp", "bos", "cnr")),
    ):  # fmt: skip
        assert BY_DEFAULT.identify_page(lines, declared).language == language


def test_a_page_that_no_detector_can_read_is_in_the_language_that_it_declares() -> None:
    found = BY_DEFAULT.identify_page(["Rgh Bnh Lmk Qrt Wsd Plk Mnb Vcx Zsd Fgh Jkl Poi"] * 3, ("sme",))
    assert (found.language, found.reliable) == ("sme", False)


def test_an_undetectable_language_may_be_declared_anywhere() -> None:
    detection = Detection(undetectable=frozenset({"sme"}))
    text = "Buot olbmot leat riegádan friddjan ja olmmošárvvu dáfus. Sii leat jierbmásat ja sis lea oamedovdu."
    assert detection.identify_page([text] * 3, (None, None, "sme")).language == "sme"


def test_address_links_and_header_declare_the_language() -> None:
    told = Detection(undetectable=frozenset({"sme"}), languages=frozenset({"sme", "eng"}))
    for path, announced, header, language in (
        ("se/1", None, "", "sme"), ("1", "sme", "", "sme"), ("1", None, "se", "sme"),
        ("1", None, "se-NO, en", "un"), ("1", None, "", "un"), ("1#!lang=sme", None, "", "un"),
    ):  # fmt: skip
        url = f"https://example.org/{path}"
        job = PageJob(b"<p>Rgh Bnh Lmk", "text/html", url, detection=told, announced=announced, content_language=header)
        assert job.run().language == language, (path, announced, header)
