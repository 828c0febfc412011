"""Domains that are for sale, or show advertisements in place of a site."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bilingual_crawler.urls.hosts import registered_domain

if TYPE_CHECKING:
    from bilingual_crawler.discovery.detector.base import DetectorPage

MAX_CHARACTERS = 2000
"""Characters of the longest text of such a page."""

_DEALERS = frozenset(
    (
        *("afternic.com", "bodis.com", "brandbucket.com", "buydomains.com", "dan.com", "domainmarket.com", "epik.com"),
        *("hugedomains.com", "parkingcrew.net", "parklogic.com", "sedo.com", "sedoparking.com", "skenzo.com"),
        *("squadhelp.com", "undeveloped.com", "uniregistry.com", "voodoo.com"),
    )
)
"""Registered domains of those who sell and park domains, and do nothing else."""
_PHRASES = re.compile(
    r"""(?ix)
    \b(?:buy|purchase)\ this\ domain | domain\ (?:name\ )?(?:is|may\ be)\ (?:available\ )?for\ sale | domain\ for\ sale
    | domain\ is\ parked | parked\ (?:free|domain) | inquire\ about\ this\ domain
    | domain\ (?:steht\ zum|zu)\ verkauf | ce\ (?:nom\ de\ )?domaine\ est\ (?:à\ vendre|en\ vente)
    | (?:este\ )?dominio\ est(?:á|a)\ (?:en\ venta|a\ la\ venta) | dominio\ (?:è\ )?in\ vendita
    """
)


def is_parked(page: DetectorPage) -> bool:
    """Whether the little text of *page* offers the domain, or a link leads to a dealer in domains."""
    if len(page.text) > MAX_CHARACTERS:
        return False
    dealers = _DEALERS - {registered_domain(page.url)}
    return bool(_PHRASES.search(page.text)) or any(registered_domain(link.url) in dealers for link in page.links)
