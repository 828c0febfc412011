"""The record of a URL in a durable store: its entry as msgpack, or only its state if it needs no further fetch.

The state is the last byte of either. Reading runs no code, unlike pickle.
"""

from __future__ import annotations

import msgspec

from bilingual_crawler.frontier.entry import Entry, State

pack = msgspec.msgpack.Encoder().encode
unpack = msgspec.msgpack.Decoder(Entry).decode
unpack_fact = msgspec.msgpack.Decoder(tuple[str, bytes]).decode
"""A URL and the fact learnt from it."""


def pack_state(state: State) -> bytes:
    return bytes((state,))


def state_of(record: bytes) -> State:
    return State(record[-1])
