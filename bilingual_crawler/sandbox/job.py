"""What a helper process is asked to do, and how it can fail."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    Kind = Literal["time", "memory", "crash"]

Result = TypeVar("Result")


class Limits(NamedTuple):
    """What one job may use."""

    seconds: float
    """Processor time, of user and system."""
    megabytes: float
    """Address space beyond what the helper has when the job begins. Not enforced outside Linux."""


class SandboxError(Exception):
    """A job broke a limit (*kind* ``time`` or ``memory``), or failed in any other way (``crash``)."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Job(ABC, Generic[Result]):
    """A piece of work on what the web sent. It is pickled to the helper; its result comes back as MessagePack.

    The result is checked against ``returns`` when it is read, so that a helper that was taken over by what it read
    can say nothing but what a result may be.
    """

    returns: ClassVar[Any]
    """Type of the result: a dataclass, or anything else that msgspec knows."""

    @property
    @abstractmethod
    def limits(self) -> Limits: ...

    def prepare(self) -> None:
        """Load what is loaded once for all jobs; this counts in no limit."""

    @abstractmethod
    def run(self) -> Result:
        """Do the work, in the helper process."""
