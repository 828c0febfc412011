"""What a crawl says of itself: counts, live line, summary, status pages, report and review.

- ``ledger.py``: ``crawl.tsv``, and its counts over all runs
- ``progress.py``: the live line, and ``sites.tsv`` of a discovery
- ``summary.py``: ``summary.json``, and the counts on screen at the end
- ``status.py``, ``status_pages.py``: the figures of a running crawl, and the web pages that show them
- ``local_pages.py``: limits of web pages for the user of this machine
- ``results.py``: the output folder of a crawl, read for a report
- ``report.py``: ``report.html``, and hints why a crawl has few pairs
- ``review.py``: a sample of pairs for a human check, its sheet, and the precision by the filled sheet
- ``review_pages.py``: the web pages that fill in the sheet
- ``markup.py``, ``templates/``: Jinja2 templates and charts

May import: harvest, mining, pipelines, scheduler, crawl, discovery, alignment and the rooms below them.
"""
