"""Several workers on one Redis: every URL is handed out once, while workers join, leave, die or seem dead."""

import asyncio
import signal
import socket
import socketserver
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.certificates import certificate
from support.components import free_port
from support.redis_server import RedisServer, redis_server

from bilingual_crawler.frontier import shared
from bilingual_crawler.frontier.entry import POISON, SUSPECT, Entry, Push, State
from bilingual_crawler.frontier.frontier import Limits, Share, StoreError, StoreLost
from bilingual_crawler.frontier.redis_store import RedisLink, RedisStore
from bilingual_crawler.frontier.shared import SharedFrontier

Join = Callable[[str], RedisStore]

URLS = [f"https://site{i % 4}.example/{i}" for i in range(16)]
NAMES = ("one", "two", "three")
SERVER: dict[str, RedisServer] = {}


@pytest.fixture(scope="module", autouse=True)
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        SERVER["only"] = server
        yield server


@pytest.fixture
def client(server: RedisServer) -> redis.Redis:
    client = redis.Redis(port=server.port)
    client.flushall()
    return client


@pytest.fixture
def join(server: RedisServer, client: redis.Redis) -> Iterator[Join]:
    """Makes the store of a worker of that name, in an empty Redis."""
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(closing(RedisStore(server.url, name)))


def slot(url: str) -> str:
    return url.split("/")[2]


def queue(store: RedisStore, *urls: str, slot: str = "a.example") -> None:
    """Queue URLs of one slot, and make it that of this worker if it is free."""
    store.push([Entry(url, slot, 0.5) for url in urls])
    store.share(idle=False, active=0)


class WorkersMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.client = redis.Redis(port=SERVER["only"].port)
        self.client.flushall()
        self.workers: dict[str, RedisStore] = {}
        self.flying: dict[str, dict[str, Entry]] = {}
        self.known: set[str] = set()
        self.done: Counter[str] = Counter()

    @rule(name=st.sampled_from(NAMES))
    def join(self, name: str) -> None:
        """A worker begins, or begins again after its process died."""
        self.workers[name] = RedisStore(SERVER["only"].url, name, worker_seconds=1000)
        self.flying[name] = {}
        self.share(name)

    @rule(name=st.sampled_from(NAMES))
    def leave(self, name: str) -> None:
        if name in self.workers:
            self.workers.pop(name).close()
            del self.flying[name]

    @rule(name=st.sampled_from(NAMES))
    def taken_for_dead(self, name: str) -> None:
        """The worker is silent for too long, and then goes on."""
        if name in self.workers and len(self.workers) > 1:
            self.client.zadd("bilingual:crawl:workers", {name: 0}, xx=True)
            for other in self.workers:
                if other != name:
                    self.share(other)
            for entry in self.flying[name].values():
                assert not self.workers[name].finish(entry.url)
            self.flying[name] = {}

    @rule(name=st.sampled_from(NAMES), urls=st.lists(st.tuples(st.sampled_from(URLS), st.floats(0, 1)), max_size=6))
    def push(self, name: str, urls: list[tuple[str, float]]) -> None:
        if name in self.workers:
            self.workers[name].push([Entry(url, slot(url), priority) for url, priority in urls])
            self.known |= {url for url, _ in urls}

    @rule(name=st.sampled_from(NAMES))
    def share(self, name: str) -> None:
        if name in self.workers:
            store = self.workers[name]
            heads = [slot for slot in store.slots() if store.head(slot)]
            share = store.share(idle=False, active=len(heads))
            busy = {entry.slot for entry in self.flying[name].values()}
            store.release([slot for slot in store.slots() if store.head(slot) and slot not in busy][: share.surplus])

    @rule(name=st.sampled_from(NAMES), url=st.sampled_from(URLS))
    def pop(self, name: str, url: str) -> None:
        if name in self.workers:
            entry = self.workers[name].pop(slot(url))
            if entry is not None:
                assert all(entry.url not in flying for flying in self.flying.values())
                assert not self.done[entry.url]
                self.flying[name][entry.url] = entry

    @rule(name=st.sampled_from(NAMES))
    def finish(self, name: str) -> None:
        if self.flying.get(name):
            url, _ = self.flying[name].popitem()
            assert self.workers[name].finish(url)
            self.done[url] += 1

    @invariant()
    def a_slot_has_one_owner(self) -> None:
        owners = Counter(name for store in self.workers.values() for name in store.slots() if self.owns(store, name))
        assert max(owners.values(), default=0) <= 1

    def owns(self, store: RedisStore, name: str) -> bool:
        return self.client.hget("bilingual:crawl:owner", name) == store._worker.encode()

    def teardown(self) -> None:
        """At the end one last worker finds all URLs that are not done."""
        for name in list(self.workers):
            self.leave(name)
        last = RedisStore(SERVER["only"].url, "last")
        last.share(idle=False, active=0)
        for name in last.slots():
            while entry := last.pop(name):
                self.done[entry.url] += 1
                last.finish(entry.url)
        assert self.done == Counter(self.known)
        assert last.count(State.DONE) == len(self.known)
        assert last.share(idle=True, active=0).over
        last.close()


class TestWorkers(WorkersMachine.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(max_examples=40, stateful_step_count=40, deadline=None)


def test_hosts_are_shared_out_evenly_and_again_when_a_worker_joins(join: Join) -> None:
    one = join("one")
    one.push([Entry(url, slot(url), 0.5) for url in URLS])
    assert len(one.share(idle=False, active=0).gained) == 4
    two = join("two")
    assert two.share(idle=True, active=0).gained == []
    share = one.share(idle=False, active=4)
    assert (share.surplus, share.over) == (2, False)
    one.release(one.slots()[:2])
    assert len(two.share(idle=True, active=0).gained) == 2
    assert one.share(idle=False, active=2).surplus == 0


def test_the_crawl_is_not_over_while_another_worker_has_something_in_flight(join: Join) -> None:
    one, two = join("one"), join("two")
    queue(one, URLS[0])
    assert one.pop("a.example")
    assert not two.share(idle=True, active=0).over
    one.push([Entry(URLS[1], "b.example", 0.5)])
    one.finish(URLS[0])
    two.push([Entry(URLS[5], "a.example", 0.9)])
    assert not one.share(idle=True, active=0).over


def test_a_death_counts_for_what_was_in_flight_and_a_silence_of_redis_does_not(join: Join, client: redis.Redis) -> None:
    one, two = join("one"), join("two")
    queue(one, *URLS[:2])
    two.share(idle=True, active=0)
    assert one.pop("a.example")
    silent = {b"one": 0, b"two": 0}
    for stamps, died in ((silent, False), ({b"one": 0}, True)):
        client.zadd("bilingual:crawl:workers", stamps)
        two.share(idle=True, active=0)
        assert one.count(State.IN_FLIGHT) == (not died)
    two.share(idle=True, active=0)
    priorities = [entry.priority for _ in range(2) if (entry := two.pop("a.example"))]
    assert priorities == [0.5, SUSPECT]
    again = join("two")
    again.share(idle=True, active=0)
    left = [(entry.url, entry.priority) for _ in range(2) if (entry := again.pop("a.example"))]
    assert left == [(URLS[0], POISON), (URLS[1], SUSPECT)]


class Process:
    """A worker that learns nothing."""

    reconsider = staticmethod(lambda url, priority: priority)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments: None


async def hold(server: RedisServer, busy: float) -> bool:
    """Whether a worker has lost its site to another one when its event loop was busy for so many seconds."""
    store = RedisStore(server.url, "busy", worker_seconds=1)
    frontier = SharedFrontier(store, Limits(), time.monotonic, Process())
    frontier.push([Entry(URLS[0], "a.example", 0.5)])
    while frontier.pop() is None:
        await asyncio.sleep(0.05)
    other = RedisStore(server.url, "other", worker_seconds=1)
    end, gained = time.monotonic() + busy, []
    while time.monotonic() < end:
        gained += other.share(idle=True, active=0).gained
        time.sleep(0.1)
    await frontier.leave()
    other.close()
    return bool(gained)


@pytest.mark.parametrize(("patience", "busy", "loses"), [(shared.BUSY_SECONDS, 3.0, False), (0.8, 4.0, True)])
def test_a_worker_busy_with_one_page_keeps_its_sites_and_one_that_hangs_loses_them(
    server: RedisServer, client: redis.Redis, monkeypatch: pytest.MonkeyPatch, patience: float, busy: float, loses: bool
) -> None:
    monkeypatch.setattr(shared, "BUSY_SECONDS", patience)
    assert asyncio.run(hold(server, busy)) == loses


def test_a_url_that_comes_in_an_idle_heartbeat_keeps_the_crawl_open(server: RedisServer, client: redis.Redis) -> None:
    answered, heard = threading.Event(), threading.Event()
    over: list[bool] = []

    class Slow(RedisStore):
        def share(self, *, idle: bool, active: int) -> Share:
            answer = super().share(idle=idle, active=active)
            over.append(answer.over)
            answered.set()
            heard.wait(10)
            return answer

    async def pending() -> bool:
        frontier = SharedFrontier(Slow(server.url, "slow"), Limits(), time.monotonic, Process())
        assert await asyncio.to_thread(answered.wait, 10)
        pushed = asyncio.Event()
        frontier.push([Entry(URLS[0], "a.example", 0.5)], lambda outcomes: pushed.set())
        heard.set()
        await pushed.wait()
        await asyncio.sleep(0.1)
        found = frontier.has_pending()
        await frontier.leave()
        return found

    assert asyncio.run(pending())
    assert over[0]


def test_an_answer_that_was_lost_leaves_no_lease_behind(join: Join) -> None:
    store = join("one")
    queue(store, *URLS[:2])
    store._run("pop", "a.example")
    assert store.count(State.IN_FLIGHT) == 1
    store.share(idle=False, active=1)
    assert store.count(State.IN_FLIGHT) == 0
    assert {store.pop("a.example").url for _ in range(2)} == set(URLS[:2])  # type: ignore[union-attr]


def test_what_workers_count_is_added_up_once_even_if_an_answer_is_lost(
    join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = join("one"), join("two")
    assert one.add({"bytes ": 100, "bytes a.example": 60}) == {"bytes ": 100, "bytes a.example": 60}
    lost = iter((True,))
    evalsha = redis.Redis.evalsha

    def lose_one(self: redis.Redis, *arguments: Any) -> Any:
        answer = evalsha(self, *arguments)
        if next(lost, False):
            raise redis.ConnectionError("the answer is lost")
        return answer

    monkeypatch.setattr(redis.Redis, "evalsha", lose_one)
    assert two.add({"bytes ": 20}) == {"bytes ": 120}
    assert one.add({"bytes ": 3, "bytes b.example": 3}) == {"bytes ": 123, "bytes b.example": 3}
    assert join("one").add({"bytes ": 0, "bytes a.example": -1}) == {"bytes ": 123, "bytes a.example": 59}


def test_the_event_loop_counts_while_redis_is_silent(server: RedisServer, client: redis.Redis) -> None:
    async def count() -> tuple[float, dict[str, int]]:
        frontier = SharedFrontier(RedisStore(server.url, "one"), Limits(), time.monotonic, Process())
        sums: asyncio.Future[dict[str, int]] = asyncio.get_running_loop().create_future()
        server.process.send_signal(signal.SIGSTOP)
        try:
            begun = time.monotonic()
            frontier.add({"bytes ": 1})
            frontier.add({"bytes ": 2}, sums.set_result)
            held_up = time.monotonic() - begun
            await asyncio.sleep(1)
            assert not sums.done()
        finally:
            server.process.send_signal(signal.SIGCONT)
        counted = await asyncio.wait_for(sums, 30)
        await frontier.leave()
        return held_up, counted

    held_up, counted = asyncio.run(count())
    assert held_up < 0.5
    assert counted == {"bytes ": 3}


TEMPORARY = {
    "OOM": ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
    "NOREPLICAS": ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
    "READONLY": ("REPLICAOF 127.0.0.1 9", "REPLICAOF NO ONE"),
    "MASTERDOWN": ("CONFIG SET replica-serve-stale-data no", "REPLICAOF 127.0.0.1 9", "REPLICAOF NO ONE"),
}
"""By error code: commands that bring Redis into the state, the last one out of it."""


@pytest.mark.parametrize("code", TEMPORARY)
def test_a_temporary_state_of_redis_is_waited_for(
    join: Join, client: redis.Redis, caplog: pytest.LogCaptureFixture, code: str
) -> None:
    store = join("one")
    *begin, end = TEMPORARY[code]
    ending = threading.Timer(0.5, client.execute_command, (end,))
    try:
        for command in begin:
            client.execute_command(command)
        ending.start()
        assert store.push([Entry(URLS[0], "a.example", 0.5)]) == [Push.NEW]
    finally:
        client.execute_command(end)
        ending.cancel()
    assert caplog.text.count("does not answer") == 1
    assert "is back after" in caplog.text


@contextmanager
def behind_errors(server: RedisServer, error: str, times: int) -> Iterator[str]:
    """The URL of a Redis whose first answers to scripts are *error*."""
    left = [times]

    class Relay(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(("127.0.0.1", server.port)) as upstream:
                while request := self.request.recv(1 << 16):
                    if b"EVALSHA" in request and left[0]:
                        left[0] -= 1
                        self.request.sendall(f"-{error}\r\n".encode())
                        continue
                    upstream.sendall(request)
                    self.request.sendall(upstream.recv(1 << 16))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Relay) as relay:
        relay.daemon_threads = True
        threading.Thread(target=relay.serve_forever, daemon=True).start()
        yield f"redis://127.0.0.1:{relay.server_address[1]}/0"
        relay.shutdown()


@pytest.mark.parametrize(
    "error",
    [
        "MISCONF Redis is configured to save RDB snapshots, but is unable to persist to disk.",
        "OOM command not allowed when used memory > 'maxmemory'.", "NOREPLICAS Not enough good replicas to write.",
        "READONLY You can't write against a read only replica.", "LOADING Redis is loading the dataset in memory",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        "CLUSTERDOWN The cluster is down", "TRYAGAIN Multiple keys request during rehashing of slot",
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    ],
)  # fmt: skip
def test_an_error_that_passes_is_waited_for(
    server: RedisServer, client: redis.Redis, caplog: pytest.LogCaptureFixture, error: str
) -> None:
    with behind_errors(server, error, times=2) as url, closing(RedisStore(url, "one")) as store:
        store.push([Entry(URLS[0], "a.example", 0.5)])
        assert store.count(State.QUEUED) == 1
    assert caplog.text.count("does not answer") == 1


def test_an_error_that_does_not_pass_is_told(server: RedisServer, client: redis.Redis) -> None:
    for error in (
        *("BUSYKEY Target key name already exists.", "NOAUTH Authentication required.", "ERR unknown command"),
        "NOPERM User crawler has no permissions to run the 'evalsha' command",
        "WRONGTYPE Operation against a key holding the wrong kind of value",
    ):
        with behind_errors(server, error, times=2) as url, pytest.raises(StoreError, match=error.split()[-1]):
            RedisStore(url, "one")


@pytest.mark.parametrize("joined_again", [False, True])
def test_a_redis_that_was_emptied_is_noticed(server: RedisServer, client: redis.Redis, joined_again: bool) -> None:
    store = RedisStore(server.url, "one")
    store.push([Entry(url, slot(url), 0.5) for url in URLS])
    store.share(idle=False, active=0)
    assert store.pop(slot(URLS[0]))
    client.flushall()
    if joined_again:
        RedisStore(server.url, "two").close()
    for call in (
        lambda: store.push([Entry(URLS[0], "a.example", 0.5)]),
        lambda: store.finish(URLS[0]),
        lambda: store.pop(slot(URLS[1])),
        lambda: store.share(idle=True, active=0),
        lambda: store.add({"bytes ": 1}),
        store.close,
    ):
        with pytest.raises(StoreLost, match="emptied"):
            call()
    assert client.exists("bilingual:crawl:urls") == 0


def test_another_format_is_refused_with_its_name(server: RedisServer, client: redis.Redis) -> None:
    client.set("bilingual:crawl:format", "bilingual-frontier-redis 99")
    with pytest.raises(StoreError, match="frontier-redis 99"):
        RedisStore(server.url, "one")


def test_password_and_tls(tmp_path: Path) -> None:
    pem = certificate(tmp_path)
    port = free_port()
    tls = {"tls_port": str(port), "tls_cert_file": str(pem), "tls_key_file": str(pem), "tls_auth_clients": "no"}
    with redis_server(tmp_path, requirepass="sesame", **tls):
        trusted = f"rediss://:sesame@127.0.0.1:{port}/0?ssl_ca_certs={pem}#crawl"
        with closing(RedisStore(trusted, "one")) as store:
            queue(store, URLS[0])
            assert store.count(State.QUEUED) == 1
        for refused in (trusted.replace("sesame", "wrong"), trusted.replace(f"?ssl_ca_certs={pem}", "")):
            with pytest.raises(StoreError, match="cannot be used as a frontier") as error:
                RedisStore(refused, "two")
            assert "sesame" not in str(error.value)


def test_crawls_with_names_do_not_meet(server: RedisServer, client: redis.Redis) -> None:
    with closing(RedisStore(f"{server.url}#one", "w")) as one, closing(RedisStore(f"{server.url}#two", "w")) as two:
        queue(one, URLS[0])
        assert (one.states([URLS[0]]), two.states([URLS[0]])) == ([State.QUEUED], [None])


def test_a_server_that_evicts_is_refused(tmp_path: Path) -> None:
    evicts = r"evicts keys where memory is short .*; set maxmemory-policy noeviction"
    memory = {"maxmemory_policy": "allkeys-lru", "maxmemory": "100mb"}
    with redis_server(tmp_path, **memory) as server, pytest.raises(StoreError, match=evicts):
        RedisLink(server.url)
