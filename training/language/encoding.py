"""URLs as token ids, some of them without their host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.scoring.models import FIRST_BYTE
from training.common.encoding import Encoded, padded

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

SLASH = FIRST_BYTE + ord("/")
DOT = FIRST_BYTE + ord(".")


class EncodedUrls(Encoded):
    """The bytes of many URLs."""

    def batch(self, indices: NDArray[np.int64], hide: NDArray[np.float64] | None = None) -> Tensor:
        """Padded ids [B, L]; where `hide` is below 1 the host goes, where below .5 also its suffix."""
        rows = self.rows(indices)
        if hide is not None:
            rows = [without_host(row, bool(h < 0.5)) if h < 1 else row for row, h in zip(rows, hide, strict=True)]
        return padded(rows)


def without_host(ids: NDArray[np.int32], suffix_too: bool) -> NDArray[np.int32]:
    """The ids from the first slash on, or from the last dot before it; unchanged if there is no path."""
    slashes = np.flatnonzero(ids == SLASH)
    if not len(slashes) or len(ids) - slashes[0] < 4:
        return ids
    dots = np.flatnonzero(ids[: slashes[0]] == DOT)
    return ids[slashes[0] if suffix_too or not len(dots) else dots[-1] :]


def url_without_host(url: str, suffix_too: bool) -> str:
    """The same for a URL as text."""
    host, slash, path = url.partition("://")[2].partition("/")
    if len(path) < 3:
        return url
    _, dot, suffix = host.rpartition(".")
    return f"{slash}{path}" if suffix_too or not dot else f"{dot}{suffix}{slash}{path}"
