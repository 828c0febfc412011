"""Parse a page once (``html``, ``walk``), as a job of the helper processes in ``sandbox``: its text, its links with
their evidence, its language, its outline. ``model`` has the record, which is also made of a PDF.

The room may import ``urls`` and ``languages``, and neither Scrapy nor Twisted.
"""
