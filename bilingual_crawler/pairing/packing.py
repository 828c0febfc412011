"""Documents and profiles as bytes: msgpack, with arrays as an extension type. Reading runs no code, unlike pickle."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import msgpack
import numpy as np

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Value = TypeVar("Value", bound=DataclassInstance)

_ARRAY = 1


def pack(value: DataclassInstance) -> bytes:
    """The fields of a dataclass: text, numbers, tuples of them, None and one-dimensional arrays."""
    cells = [getattr(value, field.name) for field in fields(value)]
    data: bytes = msgpack.packb(cells, default=_from_array, unicode_errors="surrogatepass")
    return data


def unpack(kind: type[Value], data: bytes) -> Value:
    """The dataclass *kind* that was packed."""
    return kind(*msgpack.unpackb(data, ext_hook=_to_array, use_list=False, unicode_errors="surrogatepass"))


def _from_array(value: Any) -> msgpack.ExtType:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{type(value).__name__} cannot be packed")
    return msgpack.ExtType(_ARRAY, value.dtype.str.encode() + b" " + value.tobytes())


def _to_array(code: int, data: bytes) -> Any:
    name, _, content = data.partition(b" ")
    return np.frombuffer(content, np.dtype(name.decode()))
