"""Groups of registered domains that announce each other's pages as translations: ``company.fr`` and ``company.de``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DOMAINS = 20
"""Domains of a group, so that a page that announces everybody joins few."""
MAX_DOCUMENTS = 50_000
"""Documents of a group of several domains; they are in memory together."""


def join(sizes: Mapping[str, int], announced: Mapping[tuple[str, str], int]) -> list[tuple[str, ...]]:
    """The groups of the domains in *sizes* (documents by domain), each in alphabetical order, as are the groups.

    *announced* counts the announcements from a first domain to a second one; other domains are left out. Domains that
    announce each other are joined first, those with the most announcements before others, as long as a group keeps
    within the limits.
    """
    groups: dict[str, tuple[str, ...]] = {domain: (domain,) for domain in sizes}

    def strength(edge: tuple[str, str]) -> tuple[int, int]:
        there, back = announced.get(edge, 0), announced.get(edge[::-1], 0)
        return min(there, back), there + back

    edges = {(min(edge), max(edge)) for edge in announced if sizes.keys() >= set(edge)}
    for one, other in sorted(edges, key=lambda edge: (strength(edge), edge), reverse=True):
        if groups[one] is groups[other]:
            continue
        joined = (*groups[one], *groups[other])
        if len(joined) <= MAX_DOMAINS and sum(sizes[domain] for domain in joined) <= MAX_DOCUMENTS:
            groups.update(dict.fromkeys(joined, joined))
    return sorted({tuple(sorted(group)) for group in groups.values()})
