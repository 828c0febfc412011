"""Pairs out of tables of pages and archives of any size: the same ibis expressions for DuckDB and Spark.

Needs the extra ``mine``. May import: pipelines, scheduler, crawl, discovery, alignment and the rooms below them.
"""
