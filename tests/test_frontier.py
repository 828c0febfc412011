import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.frontiers import Clock, drain, entry, popped, taken

from bilingual_crawler.frontier.entry import POISON, SUSPECT, Push
from bilingual_crawler.frontier.frontier import Limits
from bilingual_crawler.frontier.lmdb_store import LmdbStore
from bilingual_crawler.frontier.local import SPARE_OFFERS, LocalFrontier

New = Callable[..., LocalFrontier]


@pytest.fixture
def new(tmp_path: Path) -> Iterator[New]:
    """Makes a frontier that holds URLs with these priorities."""
    store = LmdbStore(tmp_path / "frontier")

    def make(queued: dict[str, float], clock: Clock | None = None, **limits: int) -> LocalFrontier:
        frontier = LocalFrontier(store, Limits(**limits), clock or Clock())
        frontier.push([entry(url, priority) for url, priority in queued.items()])
        return frontier

    yield make
    store.close()
    assert not (tmp_path / "frontier" / "in-flight").exists()


def test_best_first_ties_by_discovery(new: New) -> None:
    frontier = new({"//a/1": 0.1, "//b/1": 0.5, "//a/2": 0.5, "//a/3": 0.9})
    assert drain(frontier) == ["//a/3", "//b/1", "//a/2", "//a/1"]


def test_a_raise_reorders_and_a_fetched_url_never_returns(new: New) -> None:
    frontier = new({"//a/1": 0.5, "//a/2": 0.1})
    told: list[list[Push]] = []
    frontier.push([entry("//a/2", 0.7)], told.append)
    assert drain(frontier) == ["//a/2", "//a/1"]
    frontier.push([entry("//a/2", 9.0)], told.append)
    assert told == [[Push.RAISED], [Push.IGNORED]]
    assert frontier.pop() is None


def test_a_hot_slot_does_not_starve_the_others(new: New) -> None:
    frontier = new({**{f"//hot/{i}": 1.0 for i in range(5)}, "//cold/1": 0.1}, per_slot=2)
    first = taken(frontier)
    assert [first.url, *popped(frontier, 3)] == ["//hot/0", "//hot/1", "//cold/1", None]
    frontier.finish(first)
    assert popped(frontier, 1) == ["//hot/2"]


def test_slots_on_one_server_share_its_limit(new: New) -> None:
    frontier = new({f"//{host}/{n}": 1.0 - n / 10 for n in range(3) for host in "abc"}, per_slot=2)
    first = taken(frontier)
    for slot in "ab":
        frontier.share_server(slot, "192.0.2.1")
    second = taken(frontier)
    assert [second.url, *popped(frontier, 3)] == ["//b/0", "//c/0", "//c/1", None]
    frontier.finish(first)
    now = taken(frontier)
    assert now.url == "//a/1", "a and b both waited, and were discovered in this order"
    frontier.finish(second)
    frontier.finish(now)
    assert popped(frontier, 3) == ["//b/1", "//a/2", None]


def test_what_waited_for_a_server_goes_on_when_another_slot_leaves_it(new: New) -> None:
    frontier = new({"//a/1": 1.0, "//b/1": 0.5}, per_slot=1)
    for slot in "ab":
        frontier.share_server(slot, "192.0.2.1")
    assert popped(frontier, 2) == ["//a/1", None]
    frontier.share_server("a", "192.0.2.2")
    assert popped(frontier, 1) == ["//b/1"]


def test_a_retry_rests_its_slot(new: New) -> None:
    clock = Clock()
    frontier = new({"//a/1": 1.0, "//b/1": 0.1}, clock)
    frontier.retry(taken(frontier), rest=10)
    assert drain(frontier) == ["//b/1"]
    assert frontier.has_pending()
    clock.now = 11
    again = taken(frontier)
    assert (again.url, again.attempts) == ("//a/1", 1)


def test_a_redirect_takes_the_place_and_does_not_jump_the_queue(new: New) -> None:
    frontier = new({"//a/1": 0.5, "//a/2": 0.9, "//a/3": 0.7})
    frontier.redirect(taken(frontier), entry("//a/target", 99.0))
    assert drain(frontier) == ["//a/target", "//a/3", "//a/1"]


def test_a_redirect_to_a_known_page_is_not_followed(new: New) -> None:
    frontier = new({"//a/1": 0.9, "//a/2": 0.5})
    first, second = taken(frontier), taken(frontier)
    frontier.finish(first)
    told: list[bool] = []
    frontier.redirect(second, entry("//a/1"), told.append)
    assert told == [False]
    assert not frontier.has_pending()


def test_page_budgets_end_the_crawl(new: New) -> None:
    frontier = new({f"//{host}/{i}": 1.0 - i / 10 for host in "ab" for i in range(5)}, pages=3, pages_per_slot=2)
    assert drain(frontier) == ["//a/0", "//b/0", "//a/1"]
    assert not frontier.has_pending()


def test_finishing_twice_is_harmless(new: New) -> None:
    frontier = new({f"//a/{n}": 0.0 for n in range(3)}, per_slot=1)
    first = taken(frontier)
    frontier.finish(first)
    frontier.finish(first)
    assert popped(frontier, 2) == ["//a/1", None]


def test_offers_out_of_date_do_not_pile_up(new: New) -> None:
    frontier = new({})
    for priority in range(3 * SPARE_OFFERS):
        frontier.push([entry("//a/1", float(priority)), entry(f"//b/{priority}", float(priority))])
    assert len(frontier._offers) <= 2 * 2 + SPARE_OFFERS
    assert drain(frontier)[:3] == ["//a/1", f"//b/{3 * SPARE_OFFERS - 1}", f"//b/{3 * SPARE_OFFERS - 2}"]


def test_what_was_in_flight_is_handed_out_again_after_a_restart(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path)
    frontier = LocalFrontier(store, Limits(), Clock())
    frontier.push([entry("//a/1", 0.9), entry("//a/2", 0.5), entry("//a/3", 0.1)])
    done = taken(frontier)
    assert popped(frontier, 1) == ["//a/2"]
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


def test_of_many_urls_in_flight_at_a_death_none_dies_with_another_again(new: New, tmp_path: Path) -> None:
    frontier = new({f"//{host}/{n}": 1.0 - n / 10 for n in range(10) for host in "ab"}, per_slot=0)
    frontier.finish(taken(frontier))
    flying = [taken(frontier) for _ in range(16)]
    after = left_by_kill(tmp_path / "frontier")
    frontier = LocalFrontier(after, Limits(per_slot=0), Clock())
    frontier.push([entry("//a/1", 2.0)])
    first = [taken(frontier) for _ in range(3)]
    assert [each.url for each in first] == ["//b/8", "//a/9", "//b/9"]
    assert frontier.pop() is None, "suspects are last, and wait for these"
    for each in first:
        frontier.finish(each)
    suspect = taken(frontier)
    assert (suspect.url, suspect.priority) == (flying[0].url, SUSPECT)
    frontier.push([entry("//c/1", 9.0)])
    assert frontier.pop() is None, "nothing is fetched beside a suspect"
    again = left_by_kill(tmp_path / "frontier left")
    found = {}
    frontier = LocalFrontier(again, Limits(per_slot=0), Clock())
    while left := frontier.pop():
        found[left.url] = left.priority
        frontier.finish(left)
    assert [url for url, priority in found.items() if priority == POISON] == [suspect.url]
    assert [url for url, priority in found.items() if priority == SUSPECT] == [other.url for other in flying[1:]]
    assert next(iter(found)) == suspect.url
    for one in (after, again):
        one.close()
        assert not (one._marks._path).exists()


def test_what_landed_before_the_death_is_no_suspect(new: New, tmp_path: Path) -> None:
    frontier = new({f"//{host}/1": 1.0 for host in "abcd"})
    done, put_back, moved, _ = (taken(frontier) for _ in range(4))
    frontier.finish(done)
    frontier.retry(put_back, rest=0)
    frontier.redirect(moved, entry("//e/1"))
    after = left_by_kill(tmp_path / "frontier")
    found = {slot: head.priority for slot in after.slots() if (head := after.head(slot))}
    assert found == {"b": 1.0, "e": 1.0, "d": SUSPECT}
    assert [path.name for path in (tmp_path / "frontier left").glob("in-flight")] == ["in-flight"]
    after.close()
