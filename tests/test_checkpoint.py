"""Power cuts: each page that was written after the last checkpoint may be on the disk or not."""

import errno
import os
import random
from functools import partial
from pathlib import Path

import pytest

from bilingual_crawler.frontier import checkpoint
from bilingual_crawler.frontier.entry import Entry, State
from bilingual_crawler.frontier.frontier import StoreError
from bilingual_crawler.frontier.lmdb_store import LmdbStore

PAGE = 4096


def entries(first: int, count: int) -> list[Entry]:
    numbers = range(first, first + count)
    return [Entry(f"https://a.example/{n}", "a.example", float(n * 7919 % 101)) for n in numbers]


def work(store: LmdbStore, first: int) -> None:
    """Many commits, which would overwrite the pages of earlier ones if no reader pinned them."""
    for round_ in range(40):
        store.push(entries(first + 20 * round_, 20))
        for _ in range(10):
            taken = store.pop("a.example")
            assert taken
            store.finish(taken.url)


def torn(before: bytes, after: bytes, generator: random.Random) -> bytes:
    """The data file if every page was written back or not, but both roots were."""
    pages = [after[at : at + PAGE] for at in range(0, 2 * PAGE, PAGE)]
    for at in range(2 * PAGE, len(after), PAGE):
        old = before[at : at + PAGE] or bytes(PAGE)
        pages.append(generator.choice((old, after[at : at + PAGE])))
    return b"".join(pages)


def opened(folder: Path) -> LmdbStore:
    return LmdbStore(folder, map_size=1 << 26)


def copied(held: Path, copy: Path, data: bytes | None = None) -> Path:
    """A copy of a store, perhaps with another data file."""
    copy.mkdir()
    (copy / checkpoint.DATA).write_bytes((held / checkpoint.DATA).read_bytes() if data is None else data)
    (copy / checkpoint.NAME).write_bytes((held / checkpoint.NAME).read_bytes())
    return copy


def failing(error: int) -> None:
    """Outputs that cannot be written."""
    raise OSError(error, os.strerror(error))


@pytest.fixture
def store(tmp_path: Path) -> LmdbStore:
    store = opened(tmp_path / "held")
    for first in (0, 1_000):
        work(store, first)
        store.checkpoint(lambda: None)()
    return store


def test_a_power_cut_goes_back_to_the_checkpoint(
    store: LmdbStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "held" / checkpoint.DATA
    before = data.read_bytes()
    work(store, 2_000)
    after = data.read_bytes()
    monkeypatch.setattr(checkpoint, "boot", lambda: "after the power cut")
    for seed in range(8):
        cut = copied(tmp_path / "held", tmp_path / str(seed), torn(before, after, random.Random(seed)))
        again = opened(cut)
        assert again.count(State.DONE) == 800
        assert again.states(["https://a.example/1799", "https://a.example/2000"]) == [State.QUEUED, None]
        work(again, 3_000)
        left = sum(1 for _ in iter(partial(again.pop, "a.example"), None))
        assert left == again.count(State.IN_FLIGHT) == 1_200
        again.close()
        assert not (cut / checkpoint.NAME).exists()


def test_a_power_cut_just_after_opening_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The opening itself may have written pages."""
    held, data = tmp_path / "held", tmp_path / "held" / checkpoint.DATA
    store = opened(held)
    work(store, 0)
    assert store.pop("a.example")
    store.close()
    before = data.read_bytes()
    store = opened(held)
    work(store, 1_000)
    cut = copied(held, tmp_path / "cut", data.read_bytes()[: 2 * PAGE] + before[2 * PAGE :])
    monkeypatch.setattr(checkpoint, "boot", lambda: "after the power cut")
    again = opened(cut)
    assert (again.count(State.DONE), again.count(State.QUEUED)) == (400, 400)
    again.close()


def test_after_a_failure_the_last_good_checkpoint_stays(store: LmdbStore, tmp_path: Path) -> None:
    """The system reports a lost write only once, so a later success proves nothing."""
    kept = (tmp_path / "held" / checkpoint.NAME).read_bytes()
    work(store, 2_000)
    with pytest.raises(StoreError, match="No space left"):
        store.checkpoint(partial(failing, errno.ENOSPC))()
    with pytest.raises(StoreError, match="No space left"):
        store.checkpoint(lambda: None)
    store.close()
    assert (tmp_path / "held" / checkpoint.NAME).read_bytes() == kept


def test_a_checkpoint_that_cannot_be_read_is_named(store: LmdbStore, tmp_path: Path) -> None:
    store.close()
    (tmp_path / "held" / checkpoint.NAME).write_bytes(b"\xc1")
    with pytest.raises(StoreError, match="delete it"):
        opened(tmp_path / "held")


def test_the_death_of_the_process_alone_takes_nothing_back(store: LmdbStore, tmp_path: Path) -> None:
    work(store, 2_000)
    killed = copied(tmp_path / "held", tmp_path / "killed")
    old = (killed / checkpoint.NAME).read_bytes()
    again = opened(killed)
    assert again.count(State.DONE) == 1_200
    assert (killed / checkpoint.NAME).read_bytes() != old, "the old checkpoint's pages are held no more"


def test_between_checkpoints_space_is_used_again(store: LmdbStore, tmp_path: Path) -> None:
    sizes = []
    for round_ in range(6):
        for _ in range(50):
            taken = store.pop("a.example")
            assert taken
            store.requeue(taken.url)
            store.add({"round": round_})
            store.checkpoint(lambda: None)()
        sizes.append((tmp_path / "held" / checkpoint.DATA).stat().st_size)
    assert sizes[-1] == sizes[1]


def test_without_a_free_descriptor_a_checkpoint_is_made_later(tmp_path: Path) -> None:
    store = opened(tmp_path)
    with pytest.raises(OSError, match="Too many open files"):
        store.checkpoint(partial(failing, errno.EMFILE))()
    store.checkpoint(lambda: None)()
    assert (tmp_path / "checkpoint").exists()
    store.close()
