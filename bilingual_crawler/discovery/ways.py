"""The sources of candidates and of backlinks as ways for the search."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from bilingual_crawler.discovery.hops import Hop, Way, site_of
from bilingual_crawler.discovery.sources import backlink_source, candidate_source
from bilingual_crawler.urls.hosts import host_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bilingual_crawler.discovery.sources import ArchivedPages, BacklinkSource, WarcRange
    from bilingual_crawler.languages import LanguagePair

OWN_LINKS = "crawl"
"""The source of backlinks that is the crawl itself."""
MAX_BACKLINKS = 50
"""Ways back from one site, the heaviest ones."""


class Sources:
    """The sources that *candidates* and *backlinks* name: ``tsv:FILE`` and so on; *archive* has entry pages."""

    def __init__(
        self, candidates: Sequence[str], backlinks: Sequence[str], archive: ArchivedPages | None = None
    ) -> None:
        self.own_links = OWN_LINKS in backlinks
        self.archive = archive
        self.pages: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """By site, its known pages by language: those of all hosts that are candidates."""
        self.archived: dict[str, WarcRange] = {}
        """Where the archive has the entry pages of candidates, by URL."""
        self._candidates = candidates
        self._named = [spec for spec in backlinks if spec != OWN_LINKS]
        self._backlinks: list[BacklinkSource] = []

    def check(self) -> None:
        """Raise SourceError if a source of candidates cannot be used."""
        for spec in self._candidates:
            candidate_source(spec)

    def open(self, folder: Path) -> None:
        """Open the sources of backlinks; *folder* takes what they make. Raises SourceError."""
        self._backlinks = [backlink_source(spec, folder) for spec in self._named]

    def candidates(self, pair: LanguagePair) -> Iterator[Hop]:
        """Ways to the candidates of all sources; raises SourceError."""
        for spec in self._candidates:
            for one in candidate_source(spec).candidates(pair):
                if one.pages:
                    self.pages[site_of(one.url)].update(one.pages)
                if self.archive and one.archived:
                    self.archived[one.url] = one.archived
                yield Hop(Way.FORTH, one.url, prior=one.prior)

    def ways_back(self, url: str) -> Iterator[Hop]:
        """Ways from the entry page *url* to the pages that link to its site."""
        for source in self._backlinks:
            for link in source.backlinks(host_of(url))[:MAX_BACKLINKS]:
                yield Hop(Way.BACK, link.url, url, prior=link.weight)
