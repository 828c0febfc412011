"""A URL as text: its canonical form, its parts, its language marks. Nothing here fetches a URL.

- ``canonical``: the one form under which a URL is fetched, stored and compared.
- ``hosts``: host names, registered domains, the cache of functions of URLs.
- ``tokens``: tokens of a URL that name a language, as the rules read them.
- ``marks``: where in a URL its language is named; the URL without that mark.
- ``rewriting``: edits that turn the URL of a document into the URL of its translation.
- ``parts``: tokens of a URL with their zones, as the pair model reads them.
- ``model_input``: a URL, or a pair of URLs, as text for the URL models.
- ``traps``: URLs that grow with every page.

The room may import ``languages``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler import lazy_exports

if TYPE_CHECKING:
    from bilingual_crawler.urls.canonical import canonicalise
    from bilingual_crawler.urls.hosts import domain_label, host_of, registered_domain
    from bilingual_crawler.urls.marks import Component, Marker, find_markers, marked_language, strip_language
    from bilingual_crawler.urls.model_input import model_text, pair_text
    from bilingual_crawler.urls.rewriting import Rewriting, rewriting_of
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "canonicalise": "canonical",
            **dict.fromkeys(("domain_label", "host_of", "registered_domain"), "hosts"),
            **dict.fromkeys(("Component", "Marker", "find_markers", "marked_language", "strip_language"), "marks"),
            **dict.fromkeys(("model_text", "pair_text"), "model_input"),
            **dict.fromkeys(("Rewriting", "rewriting_of"), "rewriting"),
        },
    )

__all__ = [
    "Component",
    "Marker",
    "Rewriting",
    "canonicalise",
    "domain_label",
    "find_markers",
    "host_of",
    "marked_language",
    "model_text",
    "pair_text",
    "registered_domain",
    "rewriting_of",
    "strip_language",
]
