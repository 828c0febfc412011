"""From a corpus to pairs of documents and bitext: at the end of a crawl, in ``align`` and in ``mine``.

May import: pairing, bitext, encoders, items, storage, options, pages, urls, languages.
"""
