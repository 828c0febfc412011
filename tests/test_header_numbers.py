import pytest

from bilingual_crawler.mining.records import _left


@pytest.mark.parametrize(
    ("header", "left"), [("bytes 0-9/10", 7), ("bytes 0-9/*", 20), ("bytes 0-9/²", 20), ("", 20), ("bytes 0-9/2", 0)]
)
def test_a_content_range_that_is_no_number_limits_nothing(header: str, left: int) -> None:
    assert _left(header, 3, 20) == left
