"""Sources of candidates for bilingual sites, and of the pages that link to a site.

- ``base``: the protocols of sources, and their values.
- ``tsv``: both sources from a TSV file.
- ``cc_index``, ``cc_graph``: candidates and backlinks from Common Crawl; need the extra ``discovery``.
- ``cc_pages``: pages from Common Crawl's archives in place of their sites.
- ``database``: DuckDB, as these sources use it.
"""
