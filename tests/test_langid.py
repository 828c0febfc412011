"""The model of langid that all processes of a machine share."""

import os
from functools import cache
from pathlib import Path

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier
from test_pages_language import TEXTS

from bilingual_crawler.pages.detectors.base import keep_in
from bilingual_crawler.pages.detectors.langid import load_langid


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    kept = tmp_path / "cache"
    monkeypatch.setenv("BILINGUAL_CACHE_DIR", "")
    keep_in(kept)
    return kept


@cache
def plain() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def answers(identifier: LanguageIdentifier) -> list[tuple[str, float]]:
    return [identifier.classify(text) for text in ("", *TEXTS.values())]


def loaded() -> list[tuple[str, float]]:
    """The answers of a process that begins now."""
    return answers(load_langid.__wrapped__())


def files(folder: Path) -> dict[Path, float]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.npy")}


def test_the_second_process_maps_what_the_first_has_unpacked(folder: Path) -> None:
    assert loaded() == answers(plain())
    (unpacked,) = folder.iterdir()
    written = files(folder)
    assert written
    mapped = Path(f"/proc/{os.getpid()}/maps")
    kept = load_langid.__wrapped__()
    assert answers(kept) == answers(plain())
    assert files(folder) == written
    assert not mapped.exists() or str(unpacked) in mapped.read_text()
    for identifier in (kept, plain()):
        identifier.set_languages(["en", "es"])
    try:
        assert answers(kept) == answers(plain())
    finally:
        plain().set_languages()


def test_a_damaged_cache_is_made_again(folder: Path) -> None:
    loaded()
    damaged = min(files(folder))
    whole = damaged.read_bytes()
    for content in (b"", b"no table", whole[:-1]):
        damaged.unlink()
        damaged.write_bytes(content)
        assert loaded() == answers(plain())
        assert damaged.read_bytes() == whole
        assert len(list(folder.iterdir())) == 1


def test_without_a_cache_folder_the_model_is_in_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write_text("no folder")
    assert loaded() == answers(plain())
    monkeypatch.delenv("BILINGUAL_CACHE_DIR")
    assert loaded() == answers(plain())
    assert folder.read_text() == "no folder"
