"""Pairs out of tables of pages and archives of any size: the same ibis expressions for DuckDB and Spark.

- ``run.py``: a mining, its two stages and its report
- ``tables.py``: tables of crawls and of Common Crawl under common column names
- ``urls.py``: the URL stage: keys, pairs, domains, and the plan of pages to read
- ``records.py``: the records of the plan, by range requests
- ``content.py``: the content stage, bucket by bucket, and its bitext
- ``stored.py``: results and errors; the language pairs of a request
- ``engine.py``, ``duck.py``, ``spark.py``: the protocol of engines, and both engines

Needs the extra ``mine``. May import: pipelines, scheduler, crawl, discovery, alignment and the rooms below them.
"""
