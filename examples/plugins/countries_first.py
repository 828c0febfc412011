"""An order of sites: top-level domains of countries come first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.discovery.policies import SiteOrder
from bilingual_crawler.urls.hosts import registered_domain

if TYPE_CHECKING:
    from bilingual_crawler.discovery.policies import HopTarget


class CountriesFirst(SiteOrder):
    """``.mt`` before ``.com``."""

    name = "countries-first"

    def priority(self, target: HopTarget) -> float:
        return 1.0 if len(registered_domain(target.url).rpartition(".")[2]) == 2 else 0.5
