from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilingual_crawler.pages.decode import decode_body
from bilingual_crawler.pages.html import parse_page

ICELANDIC = "Þetta er íslenska"
META = "<meta charset={}>"
LATIN2 = META.format("iso-8859-2") + "žluťoučký"
CYRILLIC = META.format("windows-1251") + "Привет"


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
        (b"", None, ""),
        (b"plain", "text/html; charset=nonsense", "plain"),
        (b"plain", "text/html; charset=punycode", "plain"),
        (b"a\x00b", None, "a\x00b"),
    ],
)  # fmt: skip
def test_declared(body: bytes, content_type: str | None, text: str) -> None:
    assert decode_body(body, content_type) == text


def test_header_comes_before_the_page() -> None:
    body = LATIN2.replace("8859-2", "8859-1").encode("iso-8859-2")
    assert decode_body(body, "text/html; charset=iso-8859-2").endswith("žluťoučký")


def test_utf8_under_a_single_byte_label_is_utf8() -> None:
    body = (META.format("iso-8859-1") + ICELANDIC).encode()
    assert decode_body(body, "text/html; charset=iso-8859-1").endswith(ICELANDIC)


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("iso-8859-8-i", "iso8859_8", "שלום עולם"),
        ("windows-949", "cp949", "안녕하세요"),
        ("x-gbk", "gb18030", "中文网页"),
        ("x-cp1251", "cp1251", "Привет"),
        ("ISO88592", "iso8859_2", "žluťoučký"),
        ("koi8-ru", "koi8_u", "Привіт"),
    ],
)
def test_names_of_encodings_that_only_browsers_know(label: str, codec: str, text: str) -> None:
    assert decode_body((META.format(label) + text).encode(codec), "text/html").endswith(text)
    assert decode_body(text.encode(codec), f"text/html; charset={label}") == text


@pytest.mark.parametrize("declaration", [META.format("utf-16"), "<?xml version='1.0' encoding='utf-16'?><p>"])
def test_a_declaration_that_can_be_read_is_not_in_utf16(declaration: str) -> None:
    for text in (declaration + ICELANDIC, declaration + "plain"):
        assert decode_body(text.encode(), "text/html") == text
    assert decode_body((declaration + ICELANDIC).encode("latin-1"), "text/html") == declaration + ICELANDIC


def test_false_claim_of_utf8_falls_back_on_the_page() -> None:
    body = (META.format("windows-1250") + "Příliš žluťoučký kůň").encode("cp1250")
    assert decode_body(body, "text/html; charset=utf-8").endswith("Příliš žluťoučký kůň")


def test_one_broken_byte_does_not_spoil_utf8() -> None:
    assert decode_body(ICELANDIC.encode() * 5 + b"\xff", "text/html; charset=utf-8") == ICELANDIC * 5 + "\ufffd"


@pytest.mark.parametrize(
    ("lang", "encoding", "text"),
    [
        ("ru", "cp1251", "Привет"),
        ("el-GR", "cp1253", "Ελληνικά"),
        ("mt", "iso8859_3", "Ġgantija ħobż"),
        ("pl", "cp1250", "żółć"),
    ],
)
def test_without_declaration_the_language_of_the_page_tells(lang: str, encoding: str, text: str) -> None:
    body = f"<!doctype html><html dir=ltr lang='{lang}'>{text}".encode(encoding)
    assert decode_body(body, None).endswith(text)


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


@pytest.mark.parametrize(
    "charset",
    ["utf-7", "idna", "punycode", "hex", "rot13", "undefined", "unicode_escape", "raw_unicode_escape", "base64"],
)
def test_what_is_no_encoding_of_web_pages_is_not_used(charset: str) -> None:
    body = rb"\xd8 \u00d8 +ADw- 3c Tg== " * 10
    assert decode_body(body, f"text/html; charset={charset}") == body.decode("ascii")
    broken = decode_body(b"\xff" + body, f"text/html; charset={charset}")
    assert broken[0] in "\ufffd\xff"
    assert broken[1:] == body.decode("ascii")
