"""Find bilingual sites: which page comes next, and the verdict on each site. Nothing here does I/O but the sources.

- ``search``: which pages are visited, what they teach, the verdict on each site.
- ``policies``: the order in which targets are visited, and its classifiers.
- ``detector``: judge whether a site is bilingual.
- ``sources``: candidates for bilingual sites, and the pages that link to them.
- ``ways``: the sources as hops for the search.
- ``sites``: ``sites.tsv``, the verdicts.

The room may import ``alignment``, ``policies``, ``frontier``, ``scoring``, ``storage``, ``options``, ``pages``,
``urls`` and ``languages``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler import lazy_exports

if TYPE_CHECKING:
    from bilingual_crawler.discovery.policies import SiteOrder, site_order
    from bilingual_crawler.discovery.search import DiscoveryPolicy, SiteSearch
    from bilingual_crawler.discovery.sites import (
        Funnel,
        JudgedSite,
        entries_of,
        expected_pairs,
        is_table,
        read_bilingual,
    )
    from bilingual_crawler.discovery.ways import Sources
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            **dict.fromkeys(("SiteOrder", "site_order"), "policies"),
            **dict.fromkeys(("DiscoveryPolicy", "SiteSearch"), "search"),
            **dict.fromkeys(
                ("Funnel", "JudgedSite", "entries_of", "expected_pairs", "is_table", "read_bilingual"), "sites"
            ),
            "Sources": "ways",
        },
    )

__all__ = [
    "DiscoveryPolicy",
    "Funnel",
    "JudgedSite",
    "SiteOrder",
    "SiteSearch",
    "Sources",
    "entries_of",
    "expected_pairs",
    "is_table",
    "read_bilingual",
    "site_order",
]
