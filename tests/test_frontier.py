from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.frontiers import drain, entry, hand_out

from bilingual_crawler.frontier.entry import POISON, SUSPECT, Push
from bilingual_crawler.frontier.frontier import Limits
from bilingual_crawler.frontier.lmdb_store import LmdbStore
from bilingual_crawler.frontier.local import SPARE_OFFERS, LocalFrontier

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LmdbStore]:
    store = LmdbStore(tmp_path / "frontier")
    yield store
    store.close()


def test_best_first_ties_by_discovery(store: LmdbStore) -> None:
    frontier = LocalFrontier(store, Limits(), Clock())
    frontier.push([entry("//a/1", 0.1), entry("//b/1", 0.5), entry("//a/2", 0.5), entry("//a/3", 0.9)])
    assert drain(frontier) == ["//a/3", "//b/1", "//a/2", "//a/1"]


def test_a_raise_reorders_and_a_fetched_url_never_returns(store: LmdbStore) -> None:
    frontier = LocalFrontier(store, Limits(), Clock())
    frontier.push([entry("//a/1", 0.5), entry("//a/2", 0.1)])
    told: list[list[Push]] = []
    frontier.push([entry("//a/2", 0.7)], told.append)
    assert drain(frontier) == ["//a/2", "//a/1"]
    frontier.push([entry("//a/2", 9.0)], told.append)
    assert told == [[Push.RAISED], [Push.IGNORED]]
    assert frontier.pop() is None


def test_a_hot_slot_does_not_starve_the_others(store: LmdbStore) -> None:
    frontier = LocalFrontier(store, Limits(per_slot=2), Clock())
    frontier.push([entry(f"//hot/{i}", 1.0) for i in range(5)] + [entry("//cold/1", 0.1)])
    popped = [frontier.pop() for _ in range(4)]
    assert [e.url if e else None for e in popped] == ["//hot/0", "//hot/1", "//cold/1", None]
    assert popped[0] is not None
    frontier.finish(popped[0])
    following = frontier.pop()
    assert following is not None
    assert following.url == "//hot/2"


def test_slots_on_one_server_share_its_limit(store: LmdbStore) -> None:
    frontier = LocalFrontier(store, Limits(per_slot=2), Clock())
    frontier.push([entry(f"//{host}/{n}", 1.0 - n / 10) for n in range(3) for host in "abc"])
    first = frontier.pop()
    assert first is not None
    for slot in "ab":
        frontier.share_server(slot, "192.0.2.1")
    following = [frontier.pop() for _ in range(4)]
    assert [e and e.url for e in following] == ["//b/0", "//c/0", "//c/1", None]
    frontier.finish(first)
    now = frontier.pop()
    assert now is not None
    assert now.url == "//a/1", "a and b both waited, and were discovered in this order"
    assert following[0] is not None
    frontier.finish(following[0])
    frontier.finish(now)
    assert [e and e.url for e in (frontier.pop(), frontier.pop(), frontier.pop())] == ["//b/1", "//a/2", None]


def test_what_waited_for_a_server_goes_on_when_another_slot_leaves_it(store: LmdbStore) -> None:
    frontier = LocalFrontier(store, Limits(per_slot=1), Clock())
    frontier.push([entry("//a/1", 1.0), entry("//b/1", 0.5)])
    for slot in "ab":
        frontier.share_server(slot, "192.0.2.1")
    assert frontier.pop()
    assert frontier.pop() is None
    frontier.share_server("a", "192.0.2.2")
    following = frontier.pop()
    assert following is not None
    assert following.url == "//b/1"


def test_a_retry_rests_its_slot(store: LmdbStore) -> None:
    clock = Clock()
    frontier = LocalFrontier(store, Limits(), clock)
    frontier.push([entry("//a/1", 1.0), entry("//b/1", 0.1)])
    first = frontier.pop()
    assert first is not None
    frontier.retry(first, rest=10)
    assert drain(frontier) == ["//b/1"]
    assert frontier.has_pending()
    clock.now = 11
    again = frontier.pop()
    assert again is not None
    assert (again.url, again.attempts) == ("//a/1", 1)


def test_a_redirect_takes_the_place_and_does_not_jump_the_queue(store: LmdbStore) -> None:
    frontier = LocalFrontier(store, Limits(), Clock())
    frontier.push([entry("//a/1", 0.5), entry("//a/2", 0.9), entry("//a/3", 0.7)])
    first = frontier.pop()
    assert first is not None
    frontier.redirect(first, entry("//a/target", 99.0))
    assert drain(frontier) == ["//a/target", "//a/3", "//a/1"]


def test_a_redirect_to_a_known_page_is_not_followed(store: LmdbStore) -> None:
    frontier = LocalFrontier(store, Limits(), Clock())
    frontier.push([entry("//a/1", 0.9), entry("//a/2", 0.5)])
    first, second = frontier.pop(), frontier.pop()
    assert first is not None
    assert second is not None
    frontier.finish(first)
    told: list[bool] = []
    frontier.redirect(second, entry("//a/1"), told.append)
    assert told == [False]
    assert not frontier.has_pending()


def test_page_budgets_end_the_crawl(store: LmdbStore) -> None:
    frontier = LocalFrontier(store, Limits(pages=3, pages_per_slot=2), Clock())
    frontier.push([entry(f"//{host}/{i}", 1.0 - i / 10) for host in "ab" for i in range(5)])
    assert drain(frontier) == ["//a/0", "//b/0", "//a/1"]
    assert not frontier.has_pending()


def test_what_was_in_flight_is_handed_out_again_after_a_restart(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path)
    frontier = LocalFrontier(store, Limits(), Clock())
    frontier.push([entry("//a/1", 0.9), entry("//a/2", 0.5), entry("//a/3", 0.1)])
    done, lost = frontier.pop(), frontier.pop()
    assert done is not None
    assert lost is not None
    frontier.finish(done)
    store.close()
    reopened = LmdbStore(tmp_path)
    assert drain(LocalFrontier(reopened, Limits(), Clock())) == ["//a/2", "//a/3"]
    reopened.close()


def left_by_kill(folder: Path) -> LmdbStore:
    """The store that is found when the process that has one in *folder* is killed."""
    left = folder.with_name(f"{folder.name} left")
    shutil.copytree(folder, left)
    return LmdbStore(left)


def test_of_many_urls_in_flight_at_a_death_none_dies_with_another_again(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path / "frontier")
    frontier = LocalFrontier(store, Limits(per_slot=0), Clock())
    frontier.push([entry(f"//{host}/{n}", 1.0 - n / 10) for n in range(10) for host in "ab"])
    done = frontier.pop()
    assert done
    frontier.finish(done)
    flying = [taken for _ in range(16) if (taken := frontier.pop())]
    assert len(flying) == 16
    after = left_by_kill(tmp_path / "frontier")
    frontier = LocalFrontier(after, Limits(per_slot=0), Clock())
    frontier.push([entry("//a/1", 2.0)])
    first = [taken for _ in range(4) if (taken := frontier.pop())]
    assert [taken.url for taken in first] == ["//b/8", "//a/9", "//b/9"], "suspects are last, and wait for these"
    for taken in first:
        frontier.finish(taken)
    suspect = frontier.pop()
    assert suspect
    assert (suspect.url, suspect.priority) == (flying[0].url, SUSPECT)
    frontier.push([entry("//c/1", 9.0)])
    assert frontier.pop() is None, "nothing is fetched beside a suspect"
    again = left_by_kill(tmp_path / "frontier left")
    found = {}
    frontier = LocalFrontier(again, Limits(per_slot=0), Clock())
    while taken := frontier.pop():
        found[taken.url] = taken.priority
        frontier.finish(taken)
    assert [url for url, priority in found.items() if priority == POISON] == [suspect.url]
    assert [url for url, priority in found.items() if priority == SUSPECT] == [other.url for other in flying[1:]]
    assert next(iter(found)) == suspect.url
    for each in (store, after, again):
        each.close()
        assert not (each._marks._path).exists()


def test_what_landed_before_the_death_is_no_suspect(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path / "frontier")
    frontier = LocalFrontier(store, Limits(), Clock())
    frontier.push([entry(f"//{host}/1", 1.0) for host in "abcd"])
    done, put_back, moved, flying = (frontier.pop() for _ in range(4))
    assert done
    assert put_back
    assert moved
    assert flying
    frontier.finish(done)
    frontier.retry(put_back, rest=0)
    frontier.redirect(moved, entry("//e/1"))
    after = left_by_kill(tmp_path / "frontier")
    found = {slot: head.priority for slot in after.slots() if (head := after.head(slot))}
    assert found == {"b": 1.0, "e": 1.0, "d": SUSPECT}
    assert [path.name for path in (tmp_path / "frontier left").glob("in-flight")] == ["in-flight"]
    store.close()
    after.close()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30), st.floats(0, 1)), min_size=1, max_size=60),
    st.integers(1, 3),
)
def test_every_url_is_handed_out_exactly_once(
    tmp_path_factory: pytest.TempPathFactory, links: list[tuple[str, int, float]], per_slot: int
) -> None:
    store = LmdbStore(tmp_path_factory.mktemp("frontier"))
    frontier = LocalFrontier(store, Limits(per_slot=per_slot, in_flight=4), Clock())
    entries = [entry(f"//{host}/{number}", priority) for host, number, priority in links]
    assert hand_out(frontier, entries, per_slot) == Counter({one.url for one in entries})
    store.close()


def test_finishing_twice_is_harmless(store: LmdbStore) -> None:
    frontier = LocalFrontier(store, Limits(per_slot=1), Clock())
    frontier.push([entry("//a/1"), entry("//a/2"), entry("//a/3")])
    first = frontier.pop()
    assert first is not None
    frontier.finish(first)
    frontier.finish(first)
    assert frontier.pop() is not None
    assert frontier.pop() is None


def test_offers_out_of_date_do_not_pile_up(store: LmdbStore) -> None:
    frontier = LocalFrontier(store, Limits(), Clock())
    for priority in range(3 * SPARE_OFFERS):
        frontier.push([entry("//a/1", float(priority)), entry(f"//b/{priority}", float(priority))])
    assert len(frontier._offers) <= 2 * 2 + SPARE_OFFERS
    assert drain(frontier)[:3] == ["//a/1", f"//b/{3 * SPARE_OFFERS - 1}", f"//b/{3 * SPARE_OFFERS - 2}"]
