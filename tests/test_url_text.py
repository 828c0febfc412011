from hypothesis import given
from hypothesis import strategies as st

from bilingual_crawler.urls.model_input import model_text, tokenise


def test_reference_text() -> None:
    for url, text in (
        # Worked examples verified against the reference implementation.
        ("https://www.dochaney.com/es/contact-us", "www . dochaney . com / es / contact - us"),
        ("https://a.com/?q=a+b%2Fc", "a . com /? q = a + b / c"),
        ("http://ex.com/it%C4%A7addet/ikteb-lilna.php?l=mt", "ex . com / itħaddet / ikteb - lilna . php ? l = mt"),
        ("http://xn--bcher-kva", "xn -- bcher - kva"), ("http://a.com/?a=1&amp;b=2", "a . com /? a = 1 & amp ; b = 2"),
        # One case for each rule.
        ("http://a.com/b///", "a . com / b"), ("a.com/b", "a . com / b"), ("ftp://a.com/b", "a . com / b"),
        ("http://A.com/Page_2#Top", "A . com / Page _ 2 # Top"), ("http://a.com/%E9", "a . com /\\ xe 9"),
        ("http://a.com/%2541", "a . com /% 41"), ("http://a.com/b%09%0Ac%20", "a . com / b   c"),
        ("http://a.com/x__y--z123", "a . com / x __ y -- z 123"), ("", ""),
    ):  # fmt: skip
        assert model_text(url) == text


@given(st.text())
def test_tokens_are_complete(text: str) -> None:
    assert "".join(tokenise(text)) == text
