"""Jobs of a helper process, their limits and their errors."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

Result = TypeVar("Result")


class Limits(NamedTuple):
    """Limits of one job."""

    seconds: float  # processor time, of user and system
    megabytes: float  # address space beyond that of the helper at the start of the job; enforced on Linux only


class SandboxError(Exception):
    """A job broke a limit (*kind* ``time`` or ``memory``), or failed in any other way (``crash``)."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ContentError(Exception):
    """Raised by a job, and to the caller: the content is not what was looked for; *kind* is how that is counted."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind, self.message = kind, message

    def __str__(self) -> str:
        return self.message


class Job(ABC, Generic[Result]):
    """Work on content from the web. The result is checked against ``returns``: content may take over the helper."""

    returns: ClassVar[Any]  # type of the result: a dataclass, or any other type that msgspec knows

    @property
    @abstractmethod
    def limits(self) -> Limits: ...

    def prepare(self) -> None:
        """Load data that all jobs share; this counts in no limit. May raise ContentError."""

    @abstractmethod
    def run(self) -> Result:
        """Do the work, in the helper process; may raise ContentError."""
