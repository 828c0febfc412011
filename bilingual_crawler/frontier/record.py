"""What a durable store keeps of a URL: its entry as msgpack, or only its state when it needs no fetch any more.

The state is the last byte of either. Reading runs no code, unlike pickle.
"""

from __future__ import annotations

import msgspec

from bilingual_crawler.frontier.entry import Entry, State

pack = msgspec.msgpack.Encoder().encode
unpack = msgspec.msgpack.Decoder(Entry).decode
unpack_fact = msgspec.msgpack.Decoder(tuple[str, bytes]).decode
"""A URL, and what fetching it taught."""


def pack_state(state: State) -> bytes:
    return bytes((state,))


def state_of(record: bytes) -> State:
    return State(record[-1])
