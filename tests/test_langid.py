"""The model of langid that all processes of a machine share."""

import os
from pathlib import Path

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier
from test_pages_language import TEXTS

from bilingual_crawler.pages.detectors.base import keep_in
from bilingual_crawler.pages.detectors.langid import load_langid

PLAIN = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("BILINGUAL_CACHE_DIR", "")
    keep_in(folder)
    return folder


def answers(identifier: LanguageIdentifier) -> list[tuple[str, float]]:
    return [identifier.classify(text) for text in ("", *TEXTS.values())]


def loaded() -> list[tuple[str, float]]:
    """The answers of a process that begins now."""
    return answers(load_langid.__wrapped__())


def files(cache: Path) -> dict[Path, float]:
    return {path: path.stat().st_mtime_ns for path in cache.rglob("*.npy")}


def test_the_second_process_maps_what_the_first_has_unpacked(cache: Path) -> None:
    assert loaded() == answers(PLAIN)
    (folder,) = cache.iterdir()
    written = files(cache)
    assert written
    assert loaded() == answers(PLAIN)
    assert files(cache) == written
    mapped = Path(f"/proc/{os.getpid()}/maps")
    kept = load_langid.__wrapped__()
    assert not mapped.exists() or str(folder) in mapped.read_text()
    languages = ["en", "es"]
    for identifier in (kept, PLAIN):
        identifier.set_languages(languages)
    try:
        assert answers(kept) == answers(PLAIN)
    finally:
        PLAIN.set_languages()


@pytest.mark.parametrize("content", [b"", b"no table", None])
def test_a_damaged_cache_is_made_again(cache: Path, content: bytes | None) -> None:
    loaded()
    damaged = min(files(cache))
    whole = damaged.read_bytes()
    damaged.unlink()
    damaged.write_bytes(whole[:-1] if content is None else content)
    assert loaded() == answers(PLAIN)
    assert damaged.read_bytes() == whole
    assert len(list(cache.iterdir())) == 1


def test_without_a_cache_folder_the_model_is_in_memory(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write_text("no folder")
    assert loaded() == answers(PLAIN)
    monkeypatch.delenv("BILINGUAL_CACHE_DIR")
    assert loaded() == answers(PLAIN)
    assert cache.read_text() == "no folder"
