"""Sources of candidates for bilingual sites, and of the pages that link to a site; Common Crawl's need DuckDB."""
