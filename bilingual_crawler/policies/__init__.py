"""Crawl policies by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.policies.base import PolicyError
from bilingual_crawler.policies.baselines import (
    BreadthFirst,
    DepthFirst,
    Ilsp,
    LanguageBreadthFirst,
    Oracle,
    ParallelTextIdentification,
    PPLocator,
    Random,
    Smart,
)
from bilingual_crawler.policies.gain import Gain

if TYPE_CHECKING:
    from bilingual_crawler.policies.base import Policy

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy
    for policy in (
        *(BreadthFirst, DepthFirst, Random, LanguageBreadthFirst),
        *(PPLocator, ParallelTextIdentification, Ilsp, Smart, Gain, Oracle),
    )
}


def policy_class(name: str, given_as: str = "policy") -> type[Policy]:
    """The policy called *name*; PolicyError lists the names there are and says what the name was *given as*."""
    try:
        return POLICIES[name]
    except KeyError:
        raise PolicyError(f"{given_as}={name}: choose one of {', '.join(POLICIES)}") from None
