import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilingual_crawler.pages.html import outline_of, walk_through
from bilingual_crawler.pages.outline import MAX_NAMES, Outline, hash_text, names_in, numbers_in


def outline(html: str) -> Outline:
    return outline_of(walk_through(html.encode("utf-8", "replace").decode()), "https://example.org/a")


def items(array: bytes) -> list[int]:
    return [int.from_bytes(array[at : at + 4], "little") for at in range(0, len(array), 4)]


def test_a_translation_has_the_same_numbers_names_and_files() -> None:
    english = outline("<p>In 2024 Arup sold 1,500 pumps.<img src=/i/Pump.png?v=1><a href=http://w.org/a/>x</a>")
    german = outline("<p>Die Firma Arup verkaufte 2024 1.500 Pumpen.<img src=../pump.png><a href=//w.org/a>y</a>")
    assert english.numbers == german.numbers
    assert items(english.numbers) == [1500, 2024]
    assert hash_text("arup") in set(items(english.names)) & set(items(german.names))
    assert english.files == german.files
    assert set(items(english.files)) == {hash_text("pump.png"), hash_text("w.org/a")}


def test_numbers_are_the_same_in_other_digits() -> None:
    assert outline("<p>٢٠٢٤").numbers == outline("<p>2024").numbers != b""
    assert numbers_in("٢٠٢٤ ٣٫٥ १२३४५६७८९०१ １，５００") == ["2024", "35", "12345678901", "1500"]


def test_navigation_is_no_part_of_the_outline_unless_there_is_nothing_else() -> None:
    assert outline("<nav>Menu of 77 Things</nav><p>text") == outline("<p>text")
    assert outline("<nav><p>\u200b<p>Menu</nav><p>\u200b<p>text\u200b") == outline("<nav><p>Menu</nav><p>text")
    assert items(outline("<nav>Menu of 77 Things</nav>").numbers) == [77]
    assert outline("") == Outline(0, 0, b"", b"", b"", b"", b"")


def test_pages_with_the_same_names_keep_the_same_ones() -> None:
    names = [f"Name{number}" for number in range(3 * MAX_NAMES)]
    one, other = (outline(f"<p>x {' '.join(order)}").names for order in (names, names[::-1]))
    assert len(items(one)) == MAX_NAMES
    assert one == other


def test_names_are_words_with_a_capital_inside_a_line_or_with_digits() -> None:
    assert names_in(["The old Town", "mp3 of Ωmega 12"]) == {"town", "mp3", "ωmega"}
    assert numbers_in("1,000.50 and 7:30") == ["100050", "730"]


@given(st.lists(st.text(min_size=1, max_size=3000), max_size=30), st.integers(0, 4000))
def test_outlines_are_small_whatever_the_page(lines: list[str], repeated: int) -> None:
    made = "".join(f"<p>{line} Name{number} {number}" for number, line in enumerate(lines))
    made += "".join(f"<p>x Word{number} {number}<img src={number}.png>" for number in range(repeated))
    found = outline(made)
    packed = msgspec.msgpack.encode(found)
    assert len(packed) <= 1150
    assert msgspec.msgpack.decode(packed, type=Outline) == found


@pytest.mark.parametrize(
    "parts",
    [
        (0, 0, b"123", b"", b"", b"", b""),
        (0, 0, b"", b"", b"", b"1234", b""),
        (-1, 0, b"", b"", b"", b"", b""),
        (0, 0, b"", bytes(4 * MAX_NAMES + 4), b"", b"", b""),
    ],
    ids=["half a number", "a line without length", "negative length", "too many names"],
)
def test_what_is_no_outline_is_refused_where_it_is_read(parts: tuple[object, ...]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(parts), type=Outline)
