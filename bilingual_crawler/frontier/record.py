"""What a durable store keeps of a URL: its entry as msgpack, or only its state when it needs no fetch any more.

The state is the last byte of either.
"""

from __future__ import annotations

import msgspec

from bilingual_crawler.frontier.entry import Entry, State

pack = msgspec.msgpack.Encoder().encode
unpack = msgspec.msgpack.Decoder(Entry).decode


def pack_state(state: State) -> bytes:
    return bytes((state,))


def state_of(record: bytes) -> State:
    return State(record[-1])
