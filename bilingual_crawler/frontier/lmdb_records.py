"""What the embedded store writes of a URL.

Its *place* is slot (4 bytes), priority (8, descending) and discovery order (8), so that places sort as URLs are to be
handed out. Its *record* is its state (1 byte) and its place. Its *link* is its depth and, if a later link raised it,
its parent; its *details* are the rest, which a raise leaves alone.
"""

from __future__ import annotations

import struct

import msgpack

from bilingual_crawler.frontier.entry import FIXED, Entry, Kind, State, after_death
from bilingual_crawler.frontier.store import Head

FORMAT = b"bilingual-frontier 3"
QUEUED = bytes((State.QUEUED,))
PLACE = slice(1, None)
"""The place in a record."""
SLOT = slice(0, 4)
ORDER = slice(12, None)
"""The slot and the discovery order in a place."""
RANK = struct.Struct(">QQ")
RANK_AT = 4
"""Descending priority and discovery order, and where they are in a place."""
pack = msgpack.Packer().pack
unpack = msgpack.unpackb
_ATTEMPTS = 3
_KINDS = {str(kind): kind for kind in Kind}
_DOUBLE = struct.Struct(">d")
_UINT = struct.Struct(">Q")
_SIGN = 1 << 63
_NOT_SIGN = _SIGN - 1


def descending(priority: float) -> int:
    """64 bits that sort from the highest float to the lowest."""
    bits: int = _UINT.unpack(_DOUBLE.pack(priority + 0.0))[0]
    return bits if bits & _SIGN else bits ^ _NOT_SIGN


def _priority(descending: int) -> float:
    bits = descending if descending & _SIGN else descending ^ _NOT_SIGN
    return float(_DOUBLE.unpack(_UINT.pack(bits))[0])


_FIXED = tuple(map(descending, FIXED))


def fixed(place: bytes) -> bool:
    """Whether nothing but a death changes the priority."""
    return RANK.unpack_from(place, RANK_AT)[0] in _FIXED


def place_after_death(place: bytes) -> bytes:
    """The place of a URL that was in flight at *place* when the process died."""
    falling, order = RANK.unpack_from(place, RANK_AT)
    return place[SLOT] + RANK.pack(descending(after_death(_priority(falling))), order)


def pack_link(depth: int, later_parent: str | None = None) -> bytes:
    return pack((depth, later_parent))  # type: ignore[no-any-return]


def depth_of(link: bytes) -> int:
    return unpack(link)[0]  # type: ignore[no-any-return]


def pack_details(entry: Entry) -> bytes:
    return pack((entry.url, entry.parent, entry.kind, entry.attempts, entry.redirects))  # type: ignore[no-any-return]


def url_of(details: bytes) -> str:
    return unpack(details)[0]  # type: ignore[no-any-return]


def with_one_more_attempt(details: bytes) -> bytes:
    fields = unpack(details)
    fields[_ATTEMPTS] += 1
    return pack(fields)  # type: ignore[no-any-return]


def entry_of(slot: str, place: bytes, link: bytes, details: bytes) -> Entry:
    """The queued URL at *place*."""
    falling, order = RANK.unpack_from(place, RANK_AT)
    depth, later_parent = unpack(link)
    url, parent, kind, attempts, redirects = unpack(details)
    if later_parent is not None:
        parent = later_parent
    return Entry(url, slot, _priority(falling), parent, depth, _KINDS[kind], order, attempts, redirects)


def head_of(slot: str, place: bytes) -> Head:
    falling, order = RANK.unpack_from(place, RANK_AT)
    return Head(slot, _priority(falling), order)
