"""Helper processes that parse content from the web; each job has a limit of time and memory."""

from bilingual_crawler.sandbox.job import ContentError, Job, Limits, SandboxError
from bilingual_crawler.sandbox.pool import close, processes, submit, use

__all__ = ["ContentError", "Job", "Limits", "SandboxError", "close", "processes", "submit", "use"]
