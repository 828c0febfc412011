from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.costs import within

from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.decode import decode_body
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.language import Detection
from bilingual_crawler.pairing.reading import RawPage, read_document

ICELANDIC = "Þetta er íslenska"
META = "<meta charset={}>"
LATIN2 = META.format("iso-8859-2") + "žluťoučký"
LATIN1 = META.format("iso-8859-1") + ICELANDIC
CYRILLIC = META.format("windows-1251") + "Привет"
CZECH = META.format("windows-1250") + "Příliš žluťoučký kůň"


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (ICELANDIC.encode(), "text/html; charset=utf-8", ICELANDIC),
        (ICELANDIC.encode(), None, ICELANDIC),
        (ICELANDIC.encode("latin-1"), "text/html; charset=ISO-8859-1", ICELANDIC),
        (ICELANDIC.encode("latin-1"), None, ICELANDIC),
        (b"\xef\xbb\xbf" + ICELANDIC.encode(), "text/html; charset=iso-8859-1", ICELANDIC),
        (ICELANDIC.encode("utf-16"), None, ICELANDIC),
        (LATIN2.encode("iso-8859-2"), "text/html", LATIN2),
        (CYRILLIC.encode("cp1251"), "", CYRILLIC),
        ("日本語です".encode("shift_jis"), "text/html; charset=Shift_JIS", "日本語です"),
        ("日本語です".encode("iso2022_jp"), "text/html; charset=iso-2022-jp", "日本語です"),
        (b"", None, ""), (b"a\x00b", None, "a\x00b"),
        (b"plain", "text/html; charset=nonsense", "plain"), (b"plain", "text/html; charset=punycode", "plain"),
        # the header comes before the page, UTF-8 before both
        (CZECH.encode("iso-8859-2"), "text/html; charset=iso-8859-2", CZECH),
        (LATIN1.encode(), "text/html; charset=iso-8859-1", LATIN1),
        # a false claim of UTF-8, but not one broken byte, falls back on the page
        (CZECH.encode("cp1250"), "text/html; charset=utf-8", CZECH),
        (ICELANDIC.encode() * 5 + b"\xff", "text/html; charset=utf-8", ICELANDIC * 5 + "\ufffd"),
    ],
)  # fmt: skip
def test_declared(body: bytes, content_type: str | None, text: str) -> None:
    assert decode_body(body, content_type) == text


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("iso-8859-8-i", "iso8859_8", "שלום עולם"), ("windows-949", "cp949", "안녕하세요"),
        ("x-gbk", "gb18030", "中文网页"), ("x-cp1251", "cp1251", "Привет"),
        ("ISO88592", "iso8859_2", "žluťoučký"), ("koi8-ru", "koi8_u", "Привіт"),
    ],
)  # fmt: skip
def test_names_of_encodings_that_only_browsers_know(label: str, codec: str, text: str) -> None:
    assert decode_body((META.format(label) + text).encode(codec), "text/html").endswith(text)
    assert decode_body(text.encode(codec), f"text/html; charset={label}") == text


@pytest.mark.parametrize("declaration", [META.format("utf-16"), "<?xml version='1.0' encoding='utf-16'?><p>"])
def test_a_declaration_that_can_be_read_is_not_in_utf16(declaration: str) -> None:
    for text in (declaration + ICELANDIC, declaration + "plain"):
        assert decode_body(text.encode(), "text/html") == text
    assert decode_body((declaration + ICELANDIC).encode("latin-1"), "text/html") == declaration + ICELANDIC


def test_without_declaration_the_language_of_the_page_tells() -> None:
    for lang, encoding, text in (
        *(("ru", "cp1251", "Привет"), ("el-GR", "cp1253", "Ελληνικά")),
        *(("mt", "iso8859_3", "Ġgantija ħobż"), ("pl", "cp1250", "żółć")),
    ):
        page = f"<!doctype html><html dir=ltr lang='{lang}'>{text}"
        assert decode_body(page.encode(encoding), None) == page


TEXTS = {
    "ces": "Městská knihovna půjčuje knihy, mapy a hudební nástroje. Čtenářský průkaz je zdarma pro každého.",
    "pol": "Biblioteka jest otwarta od poniedziałku do piątku. Książki można wypożyczyć na cztery tygodnie.",
    "hun": "A könyvtár hétfőtől péntekig tart nyitva. Az olvasók négy hétre kölcsönözhetik a könyveket.",
    "hrv": "Knjižnica je otvorena od ponedjeljka do petka. Čitatelji mogu posuđivati knjige četiri tjedna.",
    "sqi": "Biblioteka është e hapur nga e hëna deri të premten. Lexuesit mund t'i marrin librat për katër javë.",
    "rus": "Городская библиотека выдаёт книги, карты и музыкальные инструменты. Она закрыта в воскресенье.",
    "ukr": "Міська бібліотека видає книжки, карти й музичні інструменти. Її зачинено щонеділі.",
    "bul": "Градската библиотека заема книги, карти и музикални инструменти. Тя е затворена в неделя.",
    "ell": "Η βιβλιοθήκη είναι ανοιχτή από Δευτέρα έως Παρασκευή. Οι αναγνώστες δανείζονται βιβλία για έναν μήνα.",
    "tur": "Kütüphane pazartesiden cumaya kadar açıktır. Okuyucular kitapları dört haftalığına ödünç alabilir.",
    "heb": "הספרייה פתוחה מיום ראשון עד יום חמישי. אפשר לשאול ספרים לארבעה שבועות.",
    "ara": "المكتبة مفتوحة من الأحد إلى الخميس. يمكن للقراء استعارة الكتب لمدة أربعة أسابيع.",
    "lit": "Biblioteka dirba nuo pirmadienio iki penktadienio. Skaitytojai gali skolintis knygas keturioms savaitėms.",
    "lav": "Bibliotēka ir atvērta no pirmdienas līdz piektdienai. Lasītāji var aizņemties grāmatas uz četrām nedēļām.",
    "est": "Raamatukogu on avatud esmaspäevast reedeni. Lugejad võivad raamatuid laenutada neljaks nädalaks.",
    "fin": "Kirjasto on avoinna maanantaista perjantaihin. Lukijat saavat pitää kirjoja lainassa neljä viikkoa.",
    "fra": "La bibliothèque est ouverte du lundi au vendredi. Les livres sont prêtés à tous pour quatre semaines.",
    "isl": "Bókasafnið er opið frá mánudegi til föstudags. Lánþegar mega halda bókum í fjórar vikur.",
    "mlt": "Il-librerija tiftaħ mit-Tnejn sal-Ġimgħa. Il-kotba jistgħu jinżammu għal erba' ġimgħat.",
    "epo": "La biblioteko malfermiĝas ĉiulunde. Oni rajtas pruntepreni la librojn dum kvar semajnoj, eĉ senpage.",
    "tha": "ห้องสมุดเปิดตั้งแต่วันจันทร์ถึงวันศุกร์ ผู้อ่านยืมหนังสือได้สี่สัปดาห์",
    "jpn": "図書館は月曜日から金曜日まで開いています。本は四週間借りることができます。",
    "kor": "도서관은 월요일부터 금요일까지 문을 엽니다. 책은 사 주 동안 빌릴 수 있습니다.",
    "zho": "圖書館從星期一到星期五開放。讀者可以借書四個星期，不收任何費用。",
}
LEGACY = {
    "ces": "cp1250 iso8859_2", "pol": "cp1250 iso8859_2", "hun": "cp1250 iso8859_2", "hrv": "cp1250 iso8859_2",
    "sqi": "cp1252", "rus": "cp1251 koi8_r iso8859_5 cp866", "ukr": "cp1251 koi8_u", "bul": "cp1251",
    "ell": "cp1253 iso8859_7", "tur": "cp1254", "heb": "cp1255 iso8859_8", "ara": "cp1256 iso8859_6",
    "lit": "cp1257 iso8859_13", "lav": "cp1257 iso8859_4", "est": "cp1257 iso8859_15", "fin": "cp1252",
    "fra": "cp1252 iso8859_15", "isl": "cp1252", "mlt": "iso8859_3", "epo": "iso8859_3", "tha": "cp874",
    "jpn": "cp932 euc_jp iso2022_jp", "kor": "cp949", "zho": "gb18030 big5hkscs",
}  # fmt: skip


@pytest.mark.parametrize("content_type", ["text/html", "text/html; charset=utf-8"])
@pytest.mark.parametrize(("lang", "encoding"), [(lang, one) for lang in LEGACY for one in LEGACY[lang].split()])
def test_what_declares_no_charset_or_falsely_utf8_is_read_in_encodings_of_the_crawl(
    lang: str, encoding: str, content_type: str
) -> None:
    page = f'<html><head><title>A</title></head><body><a href="/en/">English</a><h1>A</h1><p>{TEXTS[lang]}</p></body>'
    assert decode_body(page.encode(encoding), content_type, ("eng", lang)) == page
    assert decode_body(page.encode(), content_type, ("eng", lang)) == page


@pytest.mark.parametrize("lang", ["ces", "rus", "ell", "jpn", "tur", "lit", "ara", "vie", "fra"])
@pytest.mark.parametrize(
    "text",
    [
        "The “quick” brown fox – it’s running…", "© 2003 Acme Corp.", "Rooms from £35 or €40", "25°C ± 2", "• First",
        "Acme® and Foo™ are trademarks", "» Home » Products", "Copyright © Müller GmbH, München", "½ cup of sugar",
        "Our café is open daily", "José Núñez and François Lefèvre, naïve as they were",
    ],
)  # fmt: skip
def test_symbols_of_english_pages_are_no_letters_of_the_other_language(lang: str, text: str) -> None:
    page = f"<html><body><h1>Welcome to our house</h1><p>There is much to see and to do here.</p><p>{text}</p></body>"
    assert decode_body(page.encode("cp1252"), "text/html", ("eng", lang)) == page


def test_charset_of_the_header_may_have_blanks_and_quotes() -> None:
    for parameters in (
        *("; charset = iso-8859-14", "; charset='iso-8859-14'", "; charset= 'iso-8859-14'"),
        *('; Charset ="iso-8859-14"; x=y', " charset=iso-8859-14"),
    ):
        assert decode_body("<p>ŷŵ".encode("iso8859_14"), f"text/html{parameters}") == "<p>ŷŵ"


@pytest.mark.parametrize(
    "before", ["", "<script>" + "x;" * 3000 + "<meta charset=koi8-r></script>", f"<!--{'x' * 9000}-->"]
)
@pytest.mark.parametrize(
    "meta",
    [
        "<meta charset = iso-8859-14>", "<meta charset='iso-8859-14'>",
        "<meta http-equiv=content-type content='text/html; charset = iso-8859-14'>",
        "<META http-equiv=content-type content=\"text/html; charset='iso-8859-14'\">",
    ],
)  # fmt: skip
def test_charset_of_the_page_counts_wherever_it_is(before: str, meta: str) -> None:
    page = f"<html><head>{before}{meta}</head><body>ŷŵ"
    for content_type in ("text/html", "text/html; charset=utf-8"):
        assert decode_body(page.encode("iso8859_14"), content_type) == page


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["Plain text", *TEXTS.values()])
def test_utf16_needs_no_mark(encoding: str, text: str) -> None:
    page = f"<!doctype html><html><head><title>A</title></head><body><p>{text}</p></body></html>"
    assert decode_body(page.encode(encoding), "text/html; charset=utf-8") == page


def test_crawl_and_alignment_read_pages_without_charset_in_the_encodings_of_their_languages() -> None:
    url = "https://example.org/p"
    for lang, encoding in (("ces", "cp1250"), ("pol", "iso8859_2"), ("rus", "koi8_r"), ("sqi", "cp1252")):
        pairs = LanguagePairs.parse(f"eng-{lang}")
        detection = Detection.for_pairs(("cld2",), pairs)
        body = f"<html><body><h1>A</h1><p>{TEXTS[lang]}</p></body></html>".encode(encoding)
        read = PageJob(body, "text/html", url, detection=detection).run()
        assert (read.language, read.text) == (lang, f"A\n{TEXTS[lang]}")
        read_again = read_document(RawPage(url, body, "text/html"), pairs, detection)
        assert read_again
        assert (read_again[0].language, read_again[0].lines) == (lang, ("A", TEXTS[lang]))
    yoruba = LanguagePairs.parse("eng-yor")
    russian = RawPage(url, f"<html><body><h1>A</h1><p>{TEXTS['rus']}</p></body></html>".encode("cp1251"), "text/html")
    assert read_document(russian, yoruba, Detection.for_pairs(("cld2",), yoruba)) is None


def test_long_lines_without_markup_take_linear_time() -> None:
    for part in (b"a", b"<", b"<!--", b"<meta ", b"<html lang ", b"charset = "):
        body = part * (1_000_000 // len(part)) + TEXTS["rus"].encode("cp1251")
        assert within(2, partial(decode_body, body, None))


@pytest.mark.parametrize(
    ("encoding", "link", "url"),
    [
        ("iso-8859-1", '<a href="/mál?um=Íslenskt mál&amp;b=é#é">', "/m%C3%A1l?um=%CDslenskt%20m%E1l&b=%E9"),
        ("iso-8859-1", "<a href=?q=é title=é?é>", "/?q=%E9"),
        ("iso-8859-1", "<a href='?q=l&#39;été&#x26;p=é#1é'>", "/?q=l'%E9t%E9&p=%E9"),
        ("windows-1251", "<frameset><frame src='/?q=Привет'>", "/?q=%CF%F0%E8%E2%E5%F2"),
        ("utf-8", "<a href=/?q=é>", "/?q=%C3%A9"),
    ],
)  # fmt: skip
def test_queries_are_in_the_encoding_of_the_page(encoding: str, link: str, url: str) -> None:
    body = f"<html><head>{META.format(encoding)}</head>{link}".encode(encoding)
    (found,) = parse_page(decode_body(body, "text/html"), "https://example.org/").links
    assert found.url == f"https://example.org{url}"


def test_elements_of_xhtml_may_be_empty() -> None:
    body = (
        b'<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a>b"/><meta name="a"/></head><body>'
        b"<p id='p'/>One<br/>two <a id=\"top\"/><a href='/x'>three</a><textarea/> four</body></html>"
    )
    page = parse_page(decode_body(body, "application/xhtml+xml; charset=utf-8"), "https://example.org/")
    assert page.text == "One\ntwo three four"
    assert [(link.url, link.text) for link in page.links] == [("https://example.org/x", "three")]
    assert decode_body(body, "text/html") == body.decode()


@given(st.binary(max_size=200), st.none() | st.text(max_size=20).map("text/html; charset={}".format))
def test_never_raises(body: bytes, content_type: str | None) -> None:
    assert isinstance(decode_body(body, content_type), str)


def test_what_is_no_encoding_of_web_pages_is_not_used() -> None:
    body = rb"\xd8 \u00d8 +ADw- 3c Tg== " * 10
    others = ("utf-7", "idna", "punycode", "hex", "rot13", "undefined", "base64")
    for charset in (*others, "unicode_escape", "raw_unicode_escape"):
        assert decode_body(body, f"text/html; charset={charset}") == body.decode("ascii")
        broken = decode_body(b"\xff" + body, f"text/html; charset={charset}")
        assert broken[0] in "\ufffd\xff", charset
        assert broken[1:] == body.decode("ascii"), charset
