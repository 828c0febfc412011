"""What each slot offers, and whose offer comes next."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from bilingual_crawler.frontier.entry import SUSPECT
from bilingual_crawler.urls.canonical import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bilingual_crawler.frontier.budget import SiteBudget
    from bilingual_crawler.frontier.entry import Entry
    from bilingual_crawler.frontier.store import Head

Offer = tuple[float, int, str]
"""Priority, negated, and discovery order of the best URL of a slot, and the slot."""

SPARE_OFFERS = 1000
"""Outdated offers, beyond the number of slots, at which the outdated ones are removed."""
_ALL = ""
"""The name of the only heap if there is no budget over sites."""
_SUSPECTS = "(suspects)"
"""The name of the heap of suspects, which come after all sites; no host has brackets."""


class Offers:
    """The best URL of each slot that may be asked, in a heap for each site. A site is a registered domain.

    *budget* decides which site has the next turn; without one, the best of all offers is next. An offer in a heap is
    outdated if it is not the last one of its slot; the first one of a heap never is.
    """

    def __init__(self, budget: SiteBudget | None = None) -> None:
        self._budget = budget
        self._heaps: dict[str, list[Offer]] = {}
        self._current: dict[str, Offer] = {}
        self._held = 0

    def __len__(self) -> int:
        """The number of offers, outdated ones included."""
        return self._held

    def set(self, head: Head) -> None:
        """*head* is what its slot offers from now on."""
        offer = (-head.priority, head.order, head.slot)
        if self._current.get(head.slot) == offer:
            return
        self.withdraw(head.slot)
        self._current[head.slot] = offer
        name = self._name(offer)
        heappush(self._heaps.setdefault(name, []), offer)
        self._tell(name)
        self._held += 1
        if self._held > 2 * len(self._current) + SPARE_OFFERS:
            self._remove_outdated()

    def withdraw(self, slot: str) -> None:
        """*slot* offers nothing."""
        offer = self._current.pop(slot, None)
        if offer is None:
            return
        name = self._name(offer)
        heap = self._heaps[name]
        while heap and self._is_outdated(heap[0]):
            heappop(heap)
            self._held -= 1
        if not heap:
            del self._heaps[name]
        self._tell(name)

    def take(self) -> Iterator[Offer]:
        """Withdraw the next offers, one by one. The turn of a site lasts until none of its slots offers anything."""
        while self._heaps:
            name = self._turn()
            while heap := self._heaps.get(name):
                offer = heap[0]
                self.withdraw(offer[-1])
                yield offer

    def leads(self, entry: Entry) -> bool:
        """Whether *entry* comes before the offer of its slot."""
        current = self._current.get(entry.slot)
        return current is None or entry.priority >= -current[0]

    def _turn(self) -> str:
        """The heap that is next."""
        if self._budget is None:
            return _ALL
        return self._budget.choose() or _SUSPECTS

    def _tell(self, name: str) -> None:
        """The first offer of the heap *name* may be another: tell the budget."""
        if self._budget is not None and name != _SUSPECTS:
            heap = self._heaps.get(name)
            self._budget.offer(name, -heap[0][0] if heap else None)

    def _name(self, offer: Offer) -> str:
        """The heap of *offer*."""
        if self._budget is None:
            return _ALL
        return _SUSPECTS if offer[0] == -SUSPECT else registered_domain(offer[-1])

    def _is_outdated(self, offer: Offer) -> bool:
        return self._current.get(offer[-1]) != offer

    def _remove_outdated(self) -> None:
        for heap in self._heaps.values():
            heap[:] = [offer for offer in heap if not self._is_outdated(offer)]
            heapify(heap)
        self._held = len(self._current)
