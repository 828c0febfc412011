"""Crawl policies: from the links of a page to the priorities of their URLs.

- ``base``: what a policy is, the page it sees, several policies as one.
- ``baselines``: the policies of the literature: breadth first, PPLocator, PTI, ILSP, Smart, the oracle.
- ``gain``: the expected number of document pairs that a download completes; ``evidence`` is what it weighs.

:data:`POLICIES` has the classes by name. The room may import ``frontier``, ``scoring``, ``pages``, ``urls`` and
``languages``.
"""

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
    """Return the class of the policy *name*. PolicyError lists all names; *given_as* is the argument that it names."""
    try:
        return POLICIES[name]
    except KeyError:
        raise PolicyError(f"{given_as}={name}: choose one of {', '.join(POLICIES)}") from None


__all__ = ["POLICIES", "PolicyError", "policy_class"]
