"""What a kind of evidence is to the policy ``gain``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import FetchedPage, Proposal
    from bilingual_crawler.policies.evidence.belief import Belief
    from bilingual_crawler.policies.evidence.known import Known, Target


@dataclass
class Evidence:
    """One kind of evidence: what it has learnt, and its weights, which are its fields with defaults.

    No method may take longer the more URLs are queued. What it keeps of a URL it drops in :meth:`forget`, and it
    mentions to :attr:`known` a URL that may never be queued. What it keeps of a site stays.
    """

    name: ClassVar[str]
    known: Known

    def candidates(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[Proposal]:
        """Documents that may be the translation of *page*, by what the ledger of pairs does not know itself.

        Called before :meth:`learn` of *page*.
        """
        return ()

    def proposals(self) -> Iterable[tuple[str, Proposal]]:
        """Documents that may be pairs by what was learnt last, each with its possible translation."""
        return ()

    def learn(self, page: FetchedPage, links: Sequence[Link]) -> Iterable[str]:
        """*page* was downloaded and has *links*; :attr:`known` already holds it and its partner.

        Returns the queued URLs that are to be weighed anew, beside those that *links* lead to.
        """
        return ()

    def learn_pair(self, url: str, partner: str) -> Iterable[str]:
        """The document at *url* turned out to be the translation of *partner*, after :meth:`learn` of both.

        Returns the queued URLs that are to be weighed anew.
        """
        return ()

    def part_pair(self, url: str, partner: str) -> None:
        """The two documents are no pair any more, since one of them has found a better partner."""

    def note(self, page: FetchedPage, link: Link) -> bool:
        """*page* has a *link* to a URL that is queued or will be; whether that is news about the URL.

        Called after :meth:`learn` of *page*, and before :attr:`known` learns of a new URL.
        """
        return False

    def redirected(self, url: str, target: str) -> None:
        """What was said of *url* holds for *target*; :meth:`forget` of *url* follows."""

    def forget(self, url: str) -> None:
        """*url* is queued no more, or never was."""


class LanguageEvidence(Evidence, ABC):
    """Tells the language of a queued URL."""

    @abstractmethod
    def update(self, target: Target, belief: Belief) -> Belief | None:
        """What to believe of the language of *target* after *belief* by other evidence; None to say nothing."""


class PartnerEvidence(Evidence, ABC):
    """Tells which documents are translations of each other."""

    @abstractmethod
    def chance(self, target: Target, belief: Belief) -> float:
        """Probability that *target* completes a pair with a document held; *belief* is in its language."""

    def counterpart(self, target: Target) -> float:
        """Probability that the translation of *target* is another queued URL, which is known."""
        return 0.0


class Prospect(Evidence, ABC):
    """Tells how likely it is that a page finds its partner later."""

    @abstractmethod
    def factor(self, target: Target) -> float:
        """Factor, 0 to 1, of the worth of *target* as half of a pair to come."""
