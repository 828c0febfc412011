"""Where candidates for bilingual sites come from, and who links to them."""

from __future__ import annotations

from bilingual_crawler.discovery.sources.base import (
    Backlink,
    BacklinkSource,
    Candidate,
    CandidateSource,
    SourceError,
    WarcRange,
)
from bilingual_crawler.discovery.sources.cc_pages import ArchivedPages
from bilingual_crawler.discovery.sources.specs import backlink_source, candidate_source, check_backlinks

__all__ = [
    "ArchivedPages",
    "Backlink",
    "BacklinkSource",
    "Candidate",
    "CandidateSource",
    "SourceError",
    "WarcRange",
    "backlink_source",
    "candidate_source",
    "check_backlinks",
]
