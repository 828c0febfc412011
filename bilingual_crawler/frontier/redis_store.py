"""The frontier's store on Redis, which several workers share; its connection survives outages of Redis."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from itertools import chain
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from bilingual_crawler import to_install
from bilingual_crawler.frontier.entry import Entry, Push, State, pack, state_of, unpack, unpack_fact
from bilingual_crawler.frontier.frontier import Head, Share, StoreError, StoreLost, batched, digest

try:
    import redis
    from redis import exceptions
except ImportError as error:
    raise StoreError(f"BILINGUAL_FRONTIER: Redis needs its client: {to_install('redis')}") from error


logger = logging.getLogger(__name__)

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 20.0
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
_LATER = frozenset(
    ["MISCONF", "OOM", "READONLY", "NOREPLICAS", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY"]
)
"""Codes of temporary errors of a server: disk or memory full, starting, failing over."""
_LATER_CLASSES = (
    *(redis.ConnectionError, redis.TimeoutError, redis.OutOfMemoryError, redis.ReadOnlyError),
    *(exceptions.ClusterDownError, exceptions.TryAgainError),
)
"""The codes for which the client has a class, and removes the code from the message."""
_LOST = "LOST"  # code of `lua/common.lua`
FORMAT = b"bilingual-frontier-redis 4"
WORKER_SECONDS = 15.0  # seconds without a heartbeat after which a worker counts as dead
_OUTCOMES = {"n": Push.NEW, "r": Push.RAISED, "i": Push.IGNORED}
_BATCH = 500


def prefix_of(url: str) -> str:
    """The prefix of all keys of the crawl in *url*."""
    return f"bilingual:{urlsplit(url).fragment or 'crawl'}:"


class RedisLink:
    """Runs commands and the scripts of ``frontier/lua`` on the keys under *prefix*.

    Every command must be idempotent: without an answer it is sent again, until :meth:`give_up`. Raises StoreError if
    the server cannot be reached at the start, refuses the password, or is given up; StoreLost if it lost the crawl.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        place = parts.path if parts.scheme == "unix" else f"{parts.hostname}:{parts.port or 6379}"
        self._where = f"Redis at {place}"
        self.prefix = prefix_of(url)
        try:
            self._redis = redis.Redis.from_url(
                url, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=CONNECT_SECONDS, retry=None
            )
            self._redis.ping()
        except (redis.RedisError, TypeError, ValueError) as error:
            raise StoreError(f"BILINGUAL_FRONTIER: {self._where} cannot be used as a frontier: {error}") from error
        policy = ""
        # a user of the server may not be allowed to ask
        with suppress(redis.ResponseError):
            policy = str(self._redis.info("memory").get("maxmemory_policy", ""))
        if policy.startswith("allkeys"):
            why = f"evicts keys where memory is short (maxmemory-policy {policy}), and would lose URLs"
            raise StoreError(f"BILINGUAL_FRONTIER: {self._where} {why}; set maxmemory-policy noeviction")
        lua = files("bilingual_crawler.frontier").joinpath("lua").iterdir()
        sources = {file.name[:-4]: file.read_text(encoding="utf-8") for file in lua if file.name.endswith(".lua")}
        common = sources.pop("common")
        self._scripts = {name: self._redis.register_script(common + source) for name, source in sources.items()}
        self._given_up = threading.Event()
        self._life = ""
        self.lost_answers = 0

    def join(self, worker: str, form: bytes) -> bytes:
        """Begin or resume the crawl in the format *form*; return the stored format."""
        stored: bytes
        stored, life = self.script("join", worker, form, uuid4().hex)
        self._life = life.decode()
        return stored

    def script(self, name: str, *arguments: Any) -> Any:
        keys = [self.prefix, self.prefix + self._life]
        return self._patiently(lambda: self._scripts[name](keys=keys, args=arguments))

    def command(self, name: str, key: str, *arguments: Any) -> Any:
        return self._patiently(lambda: self._redis.execute_command(name, self.prefix + key, *arguments))

    def give_up(self) -> None:
        self._given_up.set()

    def close(self) -> None:
        self._redis.close()

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except redis.RedisError as error:
            self._check(error)
            said = str(error).partition("\n")[0] or type(error).__name__
            logger.warning(f"{self._where} does not answer ({said}); the crawl waits for it")
        self.lost_answers += 1
        begun, pause = time.monotonic(), FIRST_PAUSE
        while not self._given_up.wait(pause):
            pause = min(2 * pause, LONGEST_PAUSE)
            try:
                self._redis.ping()
                answer = ask()
            except redis.RedisError as error:
                self._check(error)
            else:
                logger.warning(f"{self._where} is back after {time.monotonic() - begun:.0f} s")
                return answer
        raise StoreError(f"{self._where} does not answer")

    def _check(self, error: redis.RedisError) -> None:
        """Raise StoreError for errors that are not temporary."""
        code = str(error).partition(" ")[0]
        if code == _LOST:
            raise StoreLost(
                f"{self._where} does not hold the crawl {self.prefix}* any more: it was emptied, or restarted without "
                "its data, and what was queued is lost. Have it keep its data (appendonly yes), then crawl again into "
                "another folder"
            ) from error
        passing = isinstance(error, _LATER_CLASSES) or code in _LATER
        if not passing or isinstance(error, redis.AuthenticationError):
            raise StoreError(f"{self._where}: {error}") from error
        if isinstance(error, redis.ReadOnlyError):
            # after a failover the name resolves to another server
            self._redis.connection_pool.disconnect()


class RedisStore:
    """A :class:`~bilingual_crawler.frontier.frontier.FrontierStore` on Redis; each worker of a crawl has one.

    Politeness slots belong to workers, so delays and knowledge of a site stay in one process. The URLs that a worker
    has in flight are leased until its heartbeat (:meth:`share`, about every second) stops, by the server's clock. Then
    they are queued again, and its slots go to other workers. The leases of a worker that starts again under its name
    are queued again at once. Every method runs one script of ``lua`` and blocks until the answer.
    """

    def __init__(self, url: str, worker: str, *, worker_seconds: float = WORKER_SECONDS) -> None:
        self._worker = worker
        self._worker_milliseconds = round(worker_seconds * 1000)
        self._heads: dict[str, Head | None] = {}
        self._done: dict[str, int] = {}
        self._leased: set[bytes] = set()
        self._link = RedisLink(url)
        self._lost_answers = 0
        check(self._link, self._link.join(worker, FORMAT))

    def share(self, *, idle: bool, active: int) -> Share:
        lost, astray, gained, news, surplus, over = self._run(
            "share", self._worker_milliseconds, int(idle), active, len(self._leased), len(self._heads)
        )
        if lost:
            self._heads.clear()
        changed = [self._note(head) for head in news]
        for head, done in gained:
            self._heads[head[0].decode()] = _head(head)
            self._done[head[0].decode()] = done
        if lost or astray or self._lost_answers != self._link.lost_answers:
            self._lost_answers = self._link.lost_answers
            # agree with the server on leases and owned slots
            heads = self._run("keep", *self._leased, *self._heads)
            self._heads = {head[0].decode(): _head(head) for head in heads}
            changed += self._heads
        return Share([head[0].decode() for head, _ in gained], changed, surplus, bool(over))

    def release(self, slots: Sequence[str]) -> None:
        if slots:
            for slot in slots:
                self._heads.pop(slot, None)
            self._run("release", *slots)

    def give_up(self) -> None:
        self._link.give_up()

    def push(self, entries: Iterable[Entry]) -> list[Push]:
        outcomes: list[Push] = []
        for batch in batched(((digest(entry.url), pack(entry)) for entry in entries), _BATCH):
            letters, heads = self._run("push", *chain.from_iterable(batch))
            outcomes += [_OUTCOMES[letter] for letter in letters.decode()]
            for head in heads:
                self._note(head)
        return outcomes

    def pop(self, slot: str) -> Entry | None:
        record, *head = self._run("pop", slot)
        if head:
            self._note(head[0])
        else:
            self._heads.pop(slot, None)
        if record is None:
            return None
        entry = unpack(record)
        self._leased.add(digest(entry.url))
        return entry

    def peek(self, slot: str) -> Entry | None:
        record = self._run("peek", slot)
        return unpack(record) if record else None

    def slots(self) -> list[str]:
        return list(self._heads)

    def queued(self, slot: str) -> Iterator[str]:
        cursor = 0
        while True:
            cursor, found = self._link.command("ZSCAN", f"queue:{slot}", cursor, "COUNT", _BATCH)
            keys = [member[7:] for member, _ in found]
            if keys:
                for record in self._link.command("HMGET", "urls", *keys):
                    # None if Redis was emptied meanwhile
                    if record and len(record) > 1:
                        yield unpack(record).url
            if not cursor:
                return

    def finish(self, url: str, state: State = State.DONE) -> bool:
        answer = self._run("finish", self._returned(url), int(state))
        if answer is None:
            return False
        slot, done = answer
        self._done[slot.decode()] = done
        return True

    def redirect(self, url: str, target: Entry) -> bool:
        wanted, *head = self._run("redirect", self._returned(url), digest(target.url), pack(target))
        for changed in head:
            self._note(changed)
        return bool(wanted)

    def requeue(self, url: str, *, failed: bool = True) -> bool:
        head = self._run("requeue", self._returned(url), int(failed))
        if head:
            self._note(head)
        return head is not None

    def rescore(self, priorities: Mapping[str, float]) -> set[str]:
        changed = set()
        for batch in batched(((digest(url), priority) for url, priority in priorities.items()), _BATCH):
            changed |= {self._note(head) for head in self._run("rescore", *chain.from_iterable(batch))}
        return changed

    def states(self, urls: Sequence[str]) -> list[State | None]:
        if not urls:
            return []
        records = self._link.command("HMGET", "urls", *map(digest, urls))
        return [state_of(record) if record else None for record in records]

    def head(self, slot: str) -> Head | None:
        return self._heads.get(slot)

    def count(self, state: State) -> int:
        return int(self._link.command("HGET", "counts", int(state)) or 0)

    def done_in(self, slot: str) -> int:
        return self._done.get(slot, 0)

    def remember(self, slot: str, url: str, fact: bytes) -> None:
        self._link.command("RPUSH", f"facts:{slot}", pack((url, fact)))

    def facts(self, slot: str) -> Iterator[tuple[str, bytes]]:
        start = 0
        while found := self._link.command("LRANGE", f"facts:{slot}", start, start + _BATCH - 1):
            yield from map(unpack_fact, found)
            start += _BATCH

    def add(self, numbers: Mapping[str, int]) -> dict[str, int]:
        sums = self._run("add", uuid4().bytes, *chain.from_iterable(numbers.items()))
        return dict(zip(numbers, sums, strict=True))

    def checkpoint(self, first: Callable[[], None]) -> Callable[[], None]:
        """Only calls *first*: Redis writes its append-only file by itself."""
        return first

    def close(self) -> None:
        """Leave the crawl: the slots go to other workers at once."""
        self._run("leave")
        self._link.close()

    def _run(self, script: str, *arguments: Any) -> Any:
        return self._link.script(script, self._worker, *arguments)

    def _returned(self, url: str) -> bytes:
        key = digest(url)
        self._leased.discard(key)
        return key

    def _note(self, head: list[Any]) -> str:
        slot: str = head[0].decode()
        if slot in self._heads:
            self._heads[slot] = _head(head)
        return slot


def check(link: RedisLink, stored: bytes | None = None) -> None:
    """Raise StoreError if another version began the crawl behind *link*, which is *stored* in that format."""
    stored = stored or link.command("GET", "format") or FORMAT
    if stored != FORMAT:
        formats = (
            f"the crawl under {link.prefix}* has format {stored.decode()!r}, this version reads {FORMAT.decode()!r}"
        )
        fix = "finish it with the version that began it, or name another one with #name"
        raise StoreError(f"BILINGUAL_FRONTIER: {formats}; {fix}")


def _head(reply: list[Any]) -> Head | None:
    return Head(reply[0].decode(), float(reply[1]), reply[2]) if len(reply) == 3 else None
