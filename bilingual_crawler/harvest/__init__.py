"""The benchmark of policies: how early each finds the gold pairs of archived sites.

- ``sites.py``: archived sites with their link graph, gold pairs and tasks
- ``verdicts.py``: pairs judged by gold and orphans: recall, precision, reliability of the score
- ``run.py``: real crawls of all tasks with all policies, and ``results.json``
- ``curve.py``: the oracle's download order, and harvest curves measured against it
- ``table.py``, ``plot.py``: results as tables, as ``harvest.png`` and as reliability diagrams
- ``together.py``: all sites as one crawl, for budgets over sites
- ``simulator.py``: a policy on an archived site in one process, and why it ranks a URL as it does

May import: mining, pipelines, scheduler, crawl, discovery, alignment and the rooms below them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler import lazy_exports

if TYPE_CHECKING:
    from bilingual_crawler.harvest.curve import Result, oracle_order
    from bilingual_crawler.harvest.plot import plot_results
    from bilingual_crawler.harvest.run import Harvest
    from bilingual_crawler.harvest.simulator import freeze, simulate
    from bilingual_crawler.harvest.sites import Site, SiteError, Task, read_site, read_tasks
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            **dict.fromkeys(("Result", "oracle_order"), "curve"),
            "plot_results": "plot",
            "Harvest": "run",
            **dict.fromkeys(("freeze", "simulate"), "simulator"),
            **dict.fromkeys(("Site", "SiteError", "Task", "read_site", "read_tasks"), "sites"),
        },
    )


__all__ = [
    "Harvest",
    "Result",
    "Site",
    "SiteError",
    "Task",
    "freeze",
    "oracle_order",
    "plot_results",
    "read_site",
    "read_tasks",
    "simulate",
]
