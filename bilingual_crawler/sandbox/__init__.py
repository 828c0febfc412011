"""Helper processes for everything that reads what strangers wrote: each piece of work has its time and its memory."""

from bilingual_crawler.sandbox.job import Job, Limits, SandboxError
from bilingual_crawler.sandbox.pool import close, processes, submit

__all__ = ["Job", "Limits", "SandboxError", "close", "processes", "submit"]
