"""The store protocol, checked as a state machine against a plain model; each store also after being reopened."""

from __future__ import annotations

import copy
import math
import shutil
import tempfile
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from redis_server import RedisServer, redis_server

from bilingual_crawler.frontier.entry import FIXED, Entry, Push, State, after_death
from bilingual_crawler.frontier.lmdb_store import LmdbStore
from bilingual_crawler.frontier.redis_store import RedisStore
from bilingual_crawler.frontier.store import Head, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bilingual_crawler.frontier.store import FrontierStore

URLS = [f"https://site{i % 3}.example/{i}" for i in range(12)]
PRIORITIES = st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0, math.inf, -math.inf, 5e-324, *FIXED])


def slot(url: str) -> str:
    return url.split("/")[2]


SERVER: dict[str, RedisServer] = {}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        SERVER["only"] = server
        yield server


def shared_store(worker: str, *, worker_seconds: float = 1000.0) -> RedisStore:
    return RedisStore(SERVER["only"].url, worker, worker_seconds=worker_seconds)


class StoreMachine(RuleBasedStateMachine):
    """Whatever is done to a store, it does what the model does, also after it was closed or its process killed."""

    store: FrontierStore

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[str, Entry] = {}
        self.order = 0
        self.open()
        self.committed()

    @abstractmethod
    def open(self) -> None:
        """Open the store, or open it again."""

    @abstractmethod
    def kill(self) -> None:
        """What was not committed is lost."""

    def settle(self) -> None:
        """Have the store notice new slots."""

    def committed(self) -> None:
        """What was done so far outlives the process."""

    def teardown(self) -> None:
        self.store.close()

    @rule(items=st.lists(st.tuples(st.sampled_from(URLS), PRIORITIES, st.integers(0, 9)), max_size=6))
    def push(self, items: list[tuple[str, float, int]]) -> None:
        expected = []
        for url, priority, depth in items:
            held = self.model.get(url)
            if held is None:
                self.order += 1
                self.model[url] = Entry(url, slot(url), priority, f"p{depth}", depth, order=self.order)
                expected.append(Push.NEW)
            elif self.movable(held) and priority > held.priority:
                held.priority, held.parent, held.depth = priority, f"p{depth}", min(held.depth, depth)
                expected.append(Push.RAISED)
            else:
                expected.append(Push.IGNORED)
        assert self.store.push(Entry(u, slot(u), p, f"p{d}", d) for u, p, d in items) == expected
        self.settle()

    @rule(url=st.sampled_from(URLS))
    def pop(self, url: str) -> None:
        best = self.best(slot(url))
        if best is not None and best.priority == -math.inf:
            return
        assert self.store.peek(slot(url)) == best
        popped = self.store.pop(slot(url))
        if best is None:
            assert popped is None
        else:
            best.state = State.IN_FLIGHT
            assert popped == best

    @rule(url=st.sampled_from(URLS))
    def finish(self, url: str) -> None:
        self.store.finish(url)
        if url in self.model and self.model[url].state is State.IN_FLIGHT:
            self.model[url].state = State.DONE
        self.committed()

    @rule(url=st.sampled_from(URLS))
    def requeue(self, url: str) -> None:
        self.store.requeue(url)
        if url in self.model and self.model[url].state is State.IN_FLIGHT:
            self.model[url].state = State.QUEUED
            self.model[url].attempts += 1
        self.settle()

    @rule(priorities=st.dictionaries(st.sampled_from(URLS), PRIORITIES, max_size=5))
    def rescore(self, priorities: dict[str, float]) -> None:
        self.store.rescore(priorities)
        for url, priority in priorities.items():
            if url in self.model and self.movable(self.model[url]):
                self.model[url].priority = priority
        self.settle()

    @rule(url=st.sampled_from(URLS), to=st.sampled_from(URLS))
    def redirect(self, url: str, to: str) -> None:
        source = self.model.get(url)
        if source is None or source.state is not State.IN_FLIGHT or url == to:
            return
        held = self.model.get(to)
        wanted = self.store.redirect(url, Entry(to, slot(to), source.priority, source.parent, source.depth + 1))
        source.state = State.REDIRECTED
        assert wanted == (held is None or self.movable(held))
        if wanted:
            order, priority = source.order, source.priority
            if held is not None:
                order, priority = min(order, held.order), max(priority, held.priority)
            self.model[to] = Entry(to, slot(to), priority, source.parent, source.depth + 1, order=order)
        self.committed()
        self.settle()

    @rule(name=st.sampled_from("ab"), value=st.binary(max_size=5))
    def remember(self, name: str, value: bytes) -> None:
        self.store.put(name, value)
        assert self.store.get(name) == value

    @rule(name=st.sampled_from(URLS), fact=st.binary(max_size=5))
    def learn(self, name: str, fact: bytes) -> None:
        self.store.remember(slot(name), name, fact)
        assert list(self.store.facts(slot(name)))[-1] == (name, fact)

    @rule(killed=st.booleans())
    def reopen(self, killed: bool) -> None:
        flying = {entry.order for entry in self.model.values() if entry.state is State.IN_FLIGHT}
        if killed:
            self.kill()
        else:
            self.store.close()
            self.open()
        for entry in self.model.values():
            if entry.state is State.IN_FLIGHT:
                entry.state = State.QUEUED
            if killed and entry.state is State.QUEUED and entry.order in flying:
                entry.priority = after_death(entry.priority)
        self.committed()
        self.settle()

    def movable(self, entry: Entry) -> bool:
        return entry.state is State.QUEUED and entry.priority not in FIXED

    def best(self, name: str) -> Entry | None:
        queued = [e for e in self.model.values() if e.slot == name and e.state is State.QUEUED]
        return min(queued, key=lambda entry: (-entry.priority, entry.order), default=None)

    @invariant()
    def heads_are_the_best(self) -> None:
        for name in {slot(url) for url in URLS}:
            best, head = self.best(name), self.store.head(name)
            if best is None or best.priority == -math.inf:
                assert head is None or head.priority == -math.inf
            else:
                assert head == Head(name, best.priority, best.order)

    @invariant()
    def queued_urls_are_listed(self) -> None:
        for name in self.store.slots():
            queued = [e.url for e in self.model.values() if e.slot == name and e.state is State.QUEUED]
            assert sorted(self.store.queued(name)) == sorted(queued)

    @invariant()
    def states_and_counts_agree(self) -> None:
        expected = [self.model[url].state if url in self.model else None for url in URLS]
        assert self.store.states(URLS) == expected
        for state in State:
            assert self.store.count(state) == expected.count(state)


class LmdbMachine(StoreMachine):
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        super().__init__()

    def open(self) -> None:
        self.store = LmdbStore(self.folder)

    def committed(self) -> None:
        self.saved = copy.deepcopy(self.model), self.order

    def kill(self) -> None:
        """What has reached the operating system is all that a killed process leaves."""
        self.model, self.order = self.saved
        left = Path(tempfile.mkdtemp())
        for name in ("data.mdb", "in-flight"):
            shutil.copy(self.folder / name, left)
        self.teardown()
        self.folder = left
        self.open()

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.folder)


class RedisMachine(StoreMachine):
    def __init__(self) -> None:
        redis.Redis(port=SERVER["only"].port).flushall()
        self.workers = 0
        super().__init__()

    def open(self) -> None:
        self.store: RedisStore = shared_store("worker")

    def kill(self) -> None:
        self.workers += 1
        self.store = shared_store(f"worker{self.workers}", worker_seconds=0)

    def settle(self) -> None:
        self.store.share(idle=False, active=0)


@pytest.mark.usefixtures("server")
class TestRedisStore(RedisMachine.TestCase):
    settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


class TestLmdbStore(LmdbMachine.TestCase):
    settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


@pytest.mark.parametrize("priority", FIXED)
@pytest.mark.parametrize("shared", [False, True])
def test_nothing_but_a_death_changes_a_fixed_priority(
    tmp_path: Path, server: RedisServer, shared: bool, priority: float
) -> None:
    redis.Redis(port=server.port).flushall()
    store: FrontierStore = shared_store("worker") if shared else LmdbStore(tmp_path)
    fixed, other = URLS[:2]
    store.push([Entry(fixed, "a", priority), Entry(other, "b", 0.5)])
    if isinstance(store, RedisStore):
        store.share(idle=False, active=0)
    assert store.push([Entry(fixed, "a", 2e300)]) == [Push.IGNORED]
    assert store.rescore({fixed: 0.1}) == set()
    assert store.pop("b")
    assert not store.redirect(other, Entry(fixed, "a", 0.5))
    entry = store.pop("a")
    assert entry
    assert (entry.url, entry.priority) == (fixed, priority)
    store.close()


def test_a_thousand_distinct_priorities_keep_their_order(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path)
    store.push(Entry(f"https://a.example/{i}", "a", i / 1000) for i in range(1000))
    popped = [store.pop("a").priority for _ in range(1000)]  # type: ignore[union-attr]
    assert popped == sorted(popped, reverse=True)
    store.close()


def test_a_redirected_url_is_not_in_flight_when_its_target_is(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path)
    store.push([Entry("https://a.example/old", "a", 1.0)])
    store.pop("a")
    store.redirect("https://a.example/old", Entry("https://a.example/new", "a", 1.0))
    store.pop("a")
    assert store.states(["https://a.example/old", "https://a.example/new"]) == [State.REDIRECTED, State.IN_FLIGHT]
    assert not store.finish("https://a.example/old")
    assert store.finish("https://a.example/new")
    store.close()


def test_another_format_is_refused_with_its_name(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path)
    with store._env.begin(write=True) as txn:
        txn.put(b"format", b"bilingual-frontier 99", db=store._transaction._tables.meta)
    store.close()
    before = (tmp_path / "data.mdb").read_bytes()
    with pytest.raises(StoreError, match="bilingual-frontier 99"):
        LmdbStore(tmp_path)
    assert [file.name for file in tmp_path.iterdir() if file.name != "lock.mdb"] == ["data.mdb"]
    assert (tmp_path / "data.mdb").read_bytes() == before


def test_a_file_that_is_no_frontier_is_named(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreError, match=str(tmp_path)):
        LmdbStore(tmp_path)
