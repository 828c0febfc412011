"""Languages by ISO 639-3 code, scripts, and the pairs of languages of a crawl."""
