"""The benchmark of policies: how early each finds the gold pairs of archived sites.

- ``sites.py``: archived sites with their link graph, gold pairs and tasks
- ``verdicts.py``: pairs judged by gold and orphans: recall, precision
- ``run.py``: real crawls of all tasks with all policies, and ``results.json``
- ``curve.py``: the oracle's download order, and harvest curves measured against it
- ``table.py``, ``plot.py``: results as tables and as ``harvest.png``
- ``together.py``: all sites as one crawl, for budgets over sites
- ``simulator.py``: a policy on an archived site in one process, and why it ranks a URL as it does
"""
