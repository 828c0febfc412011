"""Why a URL had its priority at each moment of a simulated crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from bilingual_crawler.harvest.simulator import freeze, simulate
from bilingual_crawler.harvest.sites import SiteError, Task, read_site
from bilingual_crawler.languages import LanguagePair
from bilingual_crawler.policies.gain import Gain, Worth
from bilingual_crawler.settings import BILINGUAL_EQUIVALENT_LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bilingual_crawler.pages.model import Link
    from bilingual_crawler.policies.base import FetchedPage


class _Watched(Gain):
    """Notes the terms of one URL whenever a download changes them."""

    def __init__(self, pair: LanguagePair, url: str) -> None:
        super().__init__(pair)
        self._watched = url
        self._fetched = 0
        self.moments: list[tuple[int, str, Worth | None]] = []

    def learn(self, page: FetchedPage, links: Sequence[Link], partner: str | None = None) -> None:
        super().learn(page, links, partner)
        self._fetched += 1
        if page.url == self._watched:
            self.moments.append((self._fetched, page.url, None))
        elif not self.moments or self.moments[-1][2] is not None:
            worth = self.explain(self._watched)
            if not self.moments or self.moments[-1][2] != worth:
                self.moments.append((self._fetched, page.url, worth))


def explain(sites: Path, task: Task, url: str) -> Table:
    """The terms of *url* under ``gain``, one row per download that changed them, up to its own download.

    Raises SiteError if the site has no such page.
    """
    site = read_site(sites / task.site)
    page = site.page(url)
    if page not in site.languages:
        raise SiteError(f"{url}: no page of {task.site}")
    policy = _Watched(LanguagePair.parse(task.pair, equivalents=BILINGUAL_EQUIVALENT_LANGUAGES), page)
    simulate(freeze(sites / task.site, site.languages), task.seeds, policy)
    table = Table(title=f"{task}: {page}", caption="belief: first language, second, neither")
    for column in ("download", "worth", "belief", "completes", "later", "seed", "after fetching"):
        table.add_column(column, justify="left" if column == "after fetching" else "right", overflow="fold")
    for number, fetched, worth in policy.moments:
        if worth is None:
            table.add_row(str(number), *[""] * (len(table.columns) - 2), "[bold]fetched[/bold]")
            continue
        belief = " ".join(f"{p:.2f}" for p in worth.belief)
        completes = f"{worth.completes:.3f} {worth.strongest}".strip()
        later, seed = f"{worth.later:.3f}", f"{worth.seed:.3f}"
        table.add_row(str(number), f"{worth.total:.3f}", belief, completes, later, seed, fetched)
    return table
