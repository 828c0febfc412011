"""Policies compared on archived sites in the simulator."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, TypeVar

from bilingual_crawler.harvest.results import Reference
from bilingual_crawler.harvest.simulator import freeze, simulate
from bilingual_crawler.harvest.sites import read_site
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.settings import BILINGUAL_EQUIVALENT_LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.crawl.learner import Learner
    from bilingual_crawler.harvest.sites import Task
    from bilingual_crawler.policies.base import Policy

Name = TypeVar("Name", bound="Hashable")


def compare(
    sites: Path,
    tasks: Sequence[Task],
    policies: Callable[[LanguagePair], Mapping[Name, Policy]],
    first: int | None = None,
) -> dict[str, dict[Name, float]]:
    """Relative AUC of each of *policies*, which are made anew for a pair, on each of *tasks*, all of one site.

    With *first*, each crawl ends after so many downloads, and tasks are left out in which these can have no pair.
    """
    site = read_site(sites / tasks[0].site)
    frozen = freeze(sites / tasks[0].site, site.languages)
    lengths = {url: page.length for url, page in frozen.pages.items()}
    results = {}
    for task in tasks:
        pair = LanguagePair.parse(task.pair, equivalents=BILINGUAL_EQUIVALENT_LANGUAGES)
        reference = Reference(site, task, lengths, first)
        if first is not None and not reference.by_number.oracle_auc:
            continue
        orders = {name: simulate(frozen, task.seeds, policy, _until(first)) for name, policy in policies(pair).items()}
        results[str(task)] = {name: reference.measure(str(name), order).relative_auc for name, order in orders.items()}
    return results


def _until(downloads: int | None) -> Callable[[Learner, str], bool]:
    """Goes on until there are so many *downloads*; None for all pages."""
    number = count(1)
    return lambda *_: downloads is None or next(number) < downloads
