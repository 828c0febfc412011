"""Parse a page once: its text, its links with their evidence, its language, its outline.

- ``model``: the values ``PageRecord`` and ``Link``.
- ``html``: HTML to ``PageRecord``; ``walk`` visits the nodes, ``wrapping`` joins wrapped lines, ``links`` merges the
  anchors, ``tables`` has the word lists.
- ``labels``: the language that a link names by a name, a code or a flag.
- ``pdf``: the paragraphs of a PDF; needs the extra ``pdf``.
- ``decode``: the bytes of a response to text.
- ``language``: the language of a text, by the ``detectors`` of a crawl.
- ``outline``: what a page has in common with its translation; ``dates`` finds the dates in it.
- ``declarations``: what a page declares about where it comes from, as an ``origin``; ``opt_outs``: what it opts out of.
- ``sitemap``, ``robots``: sitemaps and robots.txt.
- ``formats``: the formats of documents, by URL and by media type.
- ``characters``: which characters of foreign text are kept, and in what form.
- ``jobs``: all of this as jobs of the helper processes in ``sandbox``.

The room may import ``urls`` and ``languages``, and neither Scrapy nor Twisted.
"""
