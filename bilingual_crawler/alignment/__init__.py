"""From a corpus to pairs of documents and bitext: at the end of a crawl, in ``align`` and in ``mine``."""
