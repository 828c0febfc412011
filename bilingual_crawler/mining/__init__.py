"""Pairs out of tables of pages and archives of any size, by ibis for DuckDB and Spark. Needs the extra ``mine``."""
