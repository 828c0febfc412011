"""The other URLs under which an archived site links its pages."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from bilingual_crawler.archive import Redirect, open_archive
from bilingual_crawler.archive.files import open_warc
from bilingual_crawler.archive.sites import find_sources

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bilingual_crawler.harvest.sites import Site


def linked_forms(site: Site) -> Mapping[str, list[str]]:
    """Return for each page the URLs that a replay of the site answers by a redirect to it."""
    archive = open_archive(site.directory)
    files = [open_warc(path) for source in find_sources(site.directory) for path in source.files]
    archived = (head.url for file in files for _, head in file.heads() if head.url not in site.languages)
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for form in dict.fromkeys((*site.redirects, *archived)):
        answer = archive.find(form)
        if isinstance(answer, Redirect):
            forms[answer.url].append(form)
    return forms
