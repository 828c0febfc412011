"""The types of the arrays of this room; see the functions for their shapes."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Places: TypeAlias = NDArray[np.intp]
"""Indices of documents, of pages or of candidates."""
Floats: TypeAlias = NDArray[np.float64]
Floats32: TypeAlias = NDArray[np.float32]
Mask: TypeAlias = NDArray[np.bool_]
Hashes: TypeAlias = NDArray[np.uint32]
Columns: TypeAlias = Mapping[str, Floats32]
"""The features of candidates by name, ``(candidates,)`` each."""
Matrix: TypeAlias = Any
"""A ``scipy.sparse.csr_array``, which has no types."""
