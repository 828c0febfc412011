"""The frontier's entry for one URL: its state, its priority, its form in the stores."""

from enum import IntEnum, StrEnum

import msgspec

from bilingual_crawler.urls.canonical import asked_language

NEVER = float("-inf")
"""Priority of a URL that is known but must not be fetched."""
AFTER_OTHERS = -1e9  # priority of a URL without remaining tries, while its whole site may be down
SUSPECT = -1e300  # priority of a URL that was in flight when the process died: it is fetched last, and alone
POISON = 1e300  # priority of a URL that was in flight at two deaths: it is handed out at once, and refused
FIXED = (SUSPECT, POISON)  # priorities that only a death changes


class State(IntEnum):
    """Life of a URL in the frontier; it only ever moves forward, except that a retry or a resume re-queues it."""

    QUEUED = 0
    IN_FLIGHT = 1
    DONE = 2
    REDIRECTED = 3
    REFUSED = 4
    """Known and never fetched; counts in no budget."""


def after_death(priority: float) -> float:
    """The priority of a URL that was in flight when the process died."""
    return POISON if priority in FIXED else SUSPECT


class Push(StrEnum):
    NEW = "new"
    RAISED = "raised"
    IGNORED = "ignored"


class Kind(StrEnum):
    """Expected answer."""

    PAGE = "page"
    SITEMAP = "sitemap"


class Entry(msgspec.Struct, array_like=True, gc=False):
    """A URL in the frontier.

    Stores write the fields in this order, and the Lua scripts of the shared store know them by their numbers.
    """

    url: str
    slot: str
    """Politeness slot: requests of one slot share delays and limits."""
    priority: float
    """Higher is sooner."""
    parent: str = ""
    """URL of the page whose link gave the best priority; empty for seeds, even if linked, and for the sitemaps of a
    robots.txt."""
    depth: int = 0
    """Links from a seed, on the shortest path found while the URL was queued."""
    kind: Kind = Kind.PAGE
    order: int = 0
    """Discovery order, which breaks ties between equal priorities. Set by the store."""
    attempts: int = 0
    redirects: int = 0
    """Number of redirects from the first URL of the chain."""
    request: str = ""
    """The packed request of a spider; empty if made from the other fields."""
    state: State = State.QUEUED

    @property
    def is_variant(self) -> bool:
        return asked_language(self.url) is not None

    @property
    def movable(self) -> bool:
        """Whether a link, a redirect or the policy may change its priority."""
        return self.state is State.QUEUED and self.priority not in FIXED


pack = msgspec.msgpack.Encoder().encode
unpack = msgspec.msgpack.Decoder(Entry).decode
unpack_fact = msgspec.msgpack.Decoder(tuple[str, bytes]).decode


def pack_state(state: State) -> bytes:
    """The record of a URL that needs no further fetch."""
    return bytes((state,))


def state_of(record: bytes) -> State:
    """The state in the record of an entry or of :func:`pack_state`."""
    return State(record[-1])
