"""The model of langid, unpacked once for all processes of a machine: each would take .4 s and 100 MB to unpack it."""

import os
import shutil
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from bilingual_crawler.pages.detectors.base import cache_folder

_TABLES = ("nb_ptc", "nb_pc", "nb_classes", "tk_nextmove", "tk_row", "tk_output")  # of `LanguageIdentifier`


@cache
def load_langid() -> LanguageIdentifier:
    """The identifier of all languages, to be copied; its tables are mapped from the cache folder, if there is one.

    Tables that cannot be read there are unpacked, and written anew if that is possible.
    """
    parent = cache_folder()
    folder = parent and parent / f"langid-{version('py3langid')}"
    if folder:
        with suppress(OSError, ValueError, EOFError):
            files = (folder / f"{name}.npy" for name in _TABLES)
            scores, prior, classes, moves, rows, output = (np.asarray(np.load(file, mmap_mode="r")) for file in files)
            # an item of an array is an object of numpy, which is slow to index with
            views = {"tk_nextmove": moves.data, "tk_row": rows.data, "tk_output": output.data}
            return LanguageIdentifier(scores, prior, classes.tolist(), **views, norm_probs=True)
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    if folder:
        with suppress(OSError):
            _write(identifier, folder)
    return identifier


def _write(identifier: LanguageIdentifier, folder: Path) -> None:
    """Write the tables of *identifier* into *folder*, which is complete or not there; OSError if that fails."""
    part = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        part.mkdir(parents=True, exist_ok=True)
        for name in _TABLES:
            table = np.asarray(getattr(identifier, name))
            with (part / f"{name}.npy").open("wb") as file:
                np.save(file, table.astype(np.int32) if name == "tk_output" else table)
                # or the names might be on the disk before the content, and a crash leave zeros
                os.fsync(file.fileno())
        # what is there is damaged, or from another process that was faster
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
