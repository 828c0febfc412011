"""Helper processes that parse content from the web; each job has a limit of time and memory."""

from __future__ import annotations

from bilingual_crawler.pages.sandbox.jobs import ContentError, Job, Limits, SandboxError
from bilingual_crawler.pages.sandbox.pool import close, processes, submit, use

__all__ = ["ContentError", "Job", "Limits", "SandboxError", "close", "processes", "submit", "use"]
