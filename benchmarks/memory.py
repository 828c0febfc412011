"""The memory of a process."""

from __future__ import annotations

from pathlib import Path


def own_memory(pid: int | str = "self") -> int:
    """Bytes of memory of a process that no file backs, as the mapped file of a store does."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) << 10
