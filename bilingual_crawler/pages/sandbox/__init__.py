"""Helper processes that parse content from the web; each job has a limit of time and memory.

- ``jobs``: what a job is, its limits and its errors.
- ``pool``: start helpers and send them jobs.
- ``helper``: the program of a helper.

The room imports no other room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler import lazy_exports

if TYPE_CHECKING:
    from bilingual_crawler.pages.sandbox.jobs import ContentError, Job, Limits, SandboxError
    from bilingual_crawler.pages.sandbox.pool import close, processes, submit, use
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            **dict.fromkeys(("ContentError", "Job", "Limits", "SandboxError"), "jobs"),
            **dict.fromkeys(("close", "processes", "submit", "use"), "pool"),
        },
    )

__all__ = [
    "ContentError",
    "Job",
    "Limits",
    "SandboxError",
    "close",
    "processes",
    "submit",
    "use",
]
