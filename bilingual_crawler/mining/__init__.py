"""Pairs out of tables of pages and archives of any size: one set of ibis expressions, DuckDB or Spark."""
