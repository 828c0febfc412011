"""Documents and profiles as bytes: msgpack, with arrays as an extension type. Reading runs no code, unlike pickle."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np
from msgspec.msgpack import Ext

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Value = TypeVar("Value", bound=DataclassInstance)

_ARRAY = 1


def pack(value: DataclassInstance) -> bytes:
    """The fields of a dataclass: text, numbers, tuples of text, None and one-dimensional arrays."""
    return _encoder.encode([getattr(value, field.name) for field in fields(value)])


def unpack(kind: type[Value], data: bytes) -> Value:
    """The dataclass *kind* that was packed."""
    return kind(*(tuple(cell) if isinstance(cell, list) else cell for cell in _decoder.decode(data)))


def _from_array(value: Any) -> Ext:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{type(value).__name__} cannot be packed")
    return Ext(_ARRAY, value.dtype.str.encode() + b" " + value.tobytes())


def _to_array(code: int, data: memoryview) -> Any:
    name, _, content = bytes(data).partition(b" ")
    return np.frombuffer(content, np.dtype(name.decode()))


_encoder = msgspec.msgpack.Encoder(enc_hook=_from_array)
_decoder = msgspec.msgpack.Decoder(list[Any], ext_hook=_to_array)
