"""Keys of ``request.meta`` and flags of responses: what components tell each other about one request."""

from __future__ import annotations

PREFIX = "bilingual_"
"""All of them begin with it."""

ENTRY = "bilingual_entry"
"""The :class:`~bilingual_crawler.frontier.entry.Entry` that a request fetches."""
REST = "bilingual_rest"
"""The :class:`~bilingual_crawler.frontier.backoff.Rest` with which a request goes back to the frontier."""
RANK = "bilingual_rank"
"""The :class:`~bilingual_crawler.items.Rank` of a request that a spider has yielded."""

PAGE = "bilingual_page"
"""The parsed :class:`~bilingual_crawler.pages.model.Page`."""
LANGUAGE = "bilingual_language"
"""The :class:`~bilingual_crawler.pages.language.Identification` of its text."""
OUTLINE = "bilingual_outline"
"""Its :class:`~bilingual_crawler.pages.outline.Outline`."""
SITEMAP = "bilingual_sitemap"
"""A :class:`~bilingual_crawler.pages.jobs.Sitemap`."""
COPY = "bilingual_copy"
"""True if the page says what too many others of its host have said."""

WARC_LOCATION = "bilingual_warc"
"""The :class:`~bilingual_crawler.archive.WarcLocation` of the response's record."""
ARCHIVED_DATE = "bilingual_archived"
"""The ``WARC-Date`` of a response from an archive; None for one that the replay made up."""

NOT_MODIFIED = "bilingual_not_modified"
"""True if the response is from the archive of an earlier crawl, and the site has said that it has not changed."""

REDIRECT_FLAG = "replay-redirect"
"""In ``response.flags`` of a redirect that the replay made up: the page is archived under another URL."""
MISSING_FLAG = "replay-missing"
"""In ``response.flags`` of the 404 for a URL that is not in the archive."""
