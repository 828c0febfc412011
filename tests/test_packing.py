from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from bilingual_crawler.pairing.reading import pack, unpack


@dataclass(frozen=True)
class Page:
    url: str
    lines: tuple[str, ...]
    offset: int | None
    share: float
    hashes: NDArray[np.generic]


@given(
    st.text(),
    st.lists(st.text()).map(tuple),
    st.none() | st.integers(0, 2**40),
    st.floats(0, 1),
    arrays.arrays(st.sampled_from([np.uint32, np.uint16, np.float32]), st.integers(0, 20)),
)
def test_what_is_packed_comes_back(
    url: str, lines: tuple[str, ...], offset: int | None, share: float, hashes: NDArray[np.generic]
) -> None:
    found = unpack(Page, pack(Page(url, lines, offset, share, hashes)))
    assert (found.url, found.lines, found.offset, found.share) == (url, lines, offset, share)
    assert found.hashes.dtype == hashes.dtype
    assert found.hashes.tobytes() == hashes.tobytes()


def test_what_cannot_be_packed_is_named() -> None:
    with pytest.raises(TypeError, match="object cannot be packed"):
        pack(Page("", (), None, 0.0, object()))  # type: ignore[arg-type]
