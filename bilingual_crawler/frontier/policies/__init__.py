"""Crawl policies by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from bilingual_crawler.frontier.policies.breadth import BreadthFirst, LanguageBreadthFirst
from bilingual_crawler.frontier.policies.gain import Gain
from bilingual_crawler.frontier.policies.ilsp import Ilsp
from bilingual_crawler.frontier.policies.levels import ParallelTextIdentification, PPLocator
from bilingual_crawler.frontier.policies.oracle import Oracle
from bilingual_crawler.frontier.policies.orders import DepthFirst, Random
from bilingual_crawler.frontier.policies.smart import Smart

if TYPE_CHECKING:
    from bilingual_crawler.frontier.policies.base import Policy

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy
    for policy in (
        *(BreadthFirst, DepthFirst, Random, LanguageBreadthFirst),
        *(PPLocator, ParallelTextIdentification, Ilsp, Smart, Gain, Oracle),
    )
}


def policy_class(name: str) -> type[Policy]:
    """The policy called *name*; UsageError lists the names there are."""
    try:
        return POLICIES[name]
    except KeyError:
        raise UsageError(f"policy={name}: choose one of {', '.join(POLICIES)}", print_help=False) from None
