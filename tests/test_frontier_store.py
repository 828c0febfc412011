"""The durable stores as state machines: they behave like the MemoryStore, also after a kill."""

import copy
import math
import shutil
import tempfile
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.redis_server import RedisServer, redis_server

from bilingual_crawler.frontier.entry import FIXED, Entry, Push, State, after_death
from bilingual_crawler.frontier.frontier import FrontierStore, Head, StoreError
from bilingual_crawler.frontier.lmdb_store import LmdbStore
from bilingual_crawler.frontier.memory_store import SPARE_ITEMS, MemoryStore
from bilingual_crawler.frontier.redis_store import RedisStore

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
    """A durable store beside a MemoryStore; the durable one is also closed, killed and opened again."""

    store: FrontierStore

    def __init__(self) -> None:
        super().__init__()
        self.model = MemoryStore()
        self.numbers: Counter[str] = Counter()
        self.open()
        self.committed()

    @abstractmethod
    def open(self) -> None:
        """Open the store, or open it again."""

    @abstractmethod
    def kill(self) -> None:
        """Uncommitted changes are lost."""

    def settle(self) -> None:
        """Have the store notice new slots."""

    def committed(self) -> None:
        """Earlier changes survive the process."""

    def teardown(self) -> None:
        self.store.close()

    @rule(items=st.lists(st.tuples(st.sampled_from(URLS), PRIORITIES, st.integers(0, 9)), max_size=6))
    def push(self, items: list[tuple[str, float, int]]) -> None:
        def entries() -> Iterator[Entry]:
            return (Entry(url, slot(url), priority, f"p{depth}" * bool(depth), depth) for url, priority, depth in items)

        assert self.store.push(entries()) == self.model.push(entries())
        self.settle()

    @rule(url=st.sampled_from(URLS))
    def pop(self, url: str) -> None:
        best = self.model.peek(slot(url))
        if best is None or best.priority != -math.inf:
            assert self.store.peek(slot(url)) == best
            assert self.store.pop(slot(url)) == self.model.pop(slot(url))

    @rule(url=st.sampled_from(URLS), state=st.sampled_from([State.DONE, State.REFUSED]))
    def finish(self, url: str, state: State) -> None:
        assert self.store.finish(url, state) == self.model.finish(url, state)
        self.committed()

    @rule(url=st.sampled_from(URLS), failed=st.booleans())
    def requeue(self, url: str, failed: bool) -> None:
        assert self.store.requeue(url, failed=failed) == self.model.requeue(url, failed=failed)
        self.settle()

    @rule(priorities=st.dictionaries(st.sampled_from(URLS), PRIORITIES, max_size=5))
    def rescore(self, priorities: dict[str, float]) -> None:
        self.store.rescore(priorities)
        self.model.rescore(priorities)
        self.settle()

    @rule(url=st.sampled_from(URLS), to=st.sampled_from(URLS), depth=st.integers(0, 9))
    def redirect(self, url: str, to: str, depth: int) -> None:
        if url != to:
            target = Entry(to, slot(to), 1.0, "p" * (depth % 2), depth)
            assert self.store.redirect(url, copy.copy(target)) == self.model.redirect(url, target)
            self.committed()
            self.settle()

    @rule(numbers=st.dictionaries(st.sampled_from("abé"), st.integers(-9, 1 << 40), min_size=1))
    def add(self, numbers: dict[str, int]) -> None:
        self.numbers.update(numbers)
        assert self.store.add(numbers) == {name: self.numbers[name] for name in numbers}
        self.committed()

    @rule(name=st.sampled_from(URLS), fact=st.binary(max_size=5))
    def learn(self, name: str, fact: bytes) -> None:
        self.store.remember(slot(name), name, fact)
        assert list(self.store.facts(slot(name)))[-1] == (name, fact)

    @rule(killed=st.booleans())
    def reopen(self, killed: bool) -> None:
        suspects = [url for url, entry in self.model.entries.items() if killed and entry.state is State.IN_FLIGHT]
        if killed:
            self.kill()
        else:
            self.store.close()
            self.open()
        for url, entry in self.model.entries.items():
            self.model.requeue(url, failed=False)
            if url in suspects and entry.state is State.QUEUED:
                entry.priority = after_death(entry.priority)
                self.model._offer(entry)
        self.committed()
        self.settle()
        assert self.store.add(dict.fromkeys("abé", 0)) == {name: self.numbers[name] for name in "abé"}

    @invariant()
    def heads_agree(self) -> None:
        for name in {slot(url) for url in URLS}:
            expected, head = self.model.head(name), self.store.head(name)
            if expected is None or expected.priority == -math.inf:
                assert head is None or head.priority == -math.inf
            else:
                assert head == expected

    @invariant()
    def queued_urls_states_and_counts_agree(self) -> None:
        assert self.store.states(URLS) == self.model.states(URLS)
        for state in State:
            assert self.store.count(state) == self.model.count(state)
        for name in self.store.slots():
            assert sorted(self.store.queued(name)) == sorted(self.model.queued(name))
            assert self.store.done_in(name) == self.model.done_in(name)


class LmdbMachine(StoreMachine):
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        super().__init__()

    def open(self) -> None:
        self.store = LmdbStore(self.folder)

    def committed(self) -> None:
        self.saved = copy.deepcopy(self.model)

    def kill(self) -> None:
        """A killed process leaves only the data that has reached the operating system."""
        self.model = self.saved
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
class TestRedisStore(RedisMachine.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


class TestLmdbStore(LmdbMachine.TestCase):  # type: ignore[misc, valid-type]
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


@given(st.lists(st.tuples(st.sampled_from(URLS), PRIORITIES, st.sampled_from(["push", "rescore", "pop", "requeue"]))))
def test_the_model_itself_finds_the_best(steps: list[tuple[str, float, str]]) -> None:
    """Its heaps find the same URL as a scan of all entries, with as few items as allowed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bilingual_crawler.frontier.memory_store.SPARE_ITEMS", 0)
        store = MemoryStore()
        for url, priority, step in steps:
            match step:
                case "push":
                    store.push([Entry(url, slot(url), priority)])
                case "rescore":
                    store.rescore({url: priority})
                case "pop":
                    store.pop(slot(url))
                case "requeue":
                    store.requeue(url)
            for name in {slot(url) for url in URLS}:
                queued = [one for one in store.entries.values() if one.slot == name and one.state is State.QUEUED]
                best = min(queued, key=lambda one: (-one.priority, one.order), default=None)
                assert store.peek(name) is best


def test_a_seed_stays_one_whatever_leads_to_it() -> None:
    store = MemoryStore()
    store.push([Entry("//a/seed", "a", 0.5), Entry("//a/alias", "a", 2.0, "//a/", 3)])
    store.push([Entry("//a/seed", "a", 1.0, "//a/page", 2)])
    assert store.pop("a") == store.entries["//a/alias"]
    assert store.redirect("//a/alias", Entry("//a/seed", "a", 0.0, "//a/", 3))
    seed = store.pop("a")
    assert seed is not None
    assert (seed.url, seed.parent, seed.depth, seed.priority) == ("//a/seed", "", 0, 2.0)


def test_outdated_items_do_not_pile_up_in_memory() -> None:
    store = MemoryStore()
    store.push([Entry("//a/1", "a", 0.0), Entry("//a/2", "a", 0.5)])
    for priority in range(3 * SPARE_ITEMS):
        store.rescore({"//a/1": float(priority)})
    assert len(store._heaps["a"]) <= 2 * 2 + SPARE_ITEMS
    assert store.head("a") == Head("a", 3 * SPARE_ITEMS - 1.0, 1)


@pytest.fixture
def lmdb(tmp_path: Path) -> Iterator[LmdbStore]:
    with closing(LmdbStore(tmp_path)) as store:
        yield store


def test_a_thousand_distinct_priorities_keep_their_order(lmdb: LmdbStore) -> None:
    lmdb.push(Entry(f"https://a.example/{i}", "a", i / 1000) for i in range(1000))
    popped = [lmdb.pop("a").priority for _ in range(1000)]  # type: ignore[union-attr]
    assert popped == sorted(popped, reverse=True)


def test_a_redirected_url_is_not_in_flight_when_its_target_is(lmdb: LmdbStore) -> None:
    old, new = "https://a.example/old", "https://a.example/new"
    lmdb.push([Entry(old, "a", 1.0)])
    lmdb.pop("a")
    lmdb.redirect(old, Entry(new, "a", 1.0))
    lmdb.pop("a")
    assert lmdb.states([old, new]) == [State.REDIRECTED, State.IN_FLIGHT]
    assert not lmdb.finish(old)
    assert lmdb.finish(new)


@pytest.mark.parametrize("other", ["bilingual-frontier 5", "bilingual-frontier 99"])
def test_another_format_is_refused_with_its_name(tmp_path: Path, other: str) -> None:
    store = LmdbStore(tmp_path)
    with store._env.begin(write=True) as txn:
        txn.put(b"format", other.encode(), db=store._transaction._tables.meta)
    store.close()
    before = (tmp_path / "data.mdb").read_bytes()
    with pytest.raises(StoreError, match=f"{other}'.*finish that crawl with the version that began it"):
        LmdbStore(tmp_path)
    assert [file.name for file in tmp_path.iterdir() if file.name != "lock.mdb"] == ["data.mdb"]
    assert (tmp_path / "data.mdb").read_bytes() == before


def test_a_file_that_is_no_frontier_is_named(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreError, match=str(tmp_path)):
        LmdbStore(tmp_path)
