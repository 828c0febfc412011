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
