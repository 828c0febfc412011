"""Which documents are translations of each other.

- ``model.py``: document texts, profiles, outcomes; the files ``pairs.tsv`` and ``unpaired.tsv``
- ``inputs.py``: pages of crawls, archives and files of texts
- ``reading.py``: a page as a document and its profile, in helper processes
- ``corpus.py``: all documents that are aligned together, on disk; domains and groups of domains
- ``copies.py``: a document under several addresses, near-duplicates, main text
- ``urls.py``: the evidence of URLs, ``hreflang`` and language switchers, for alignment and ledger
- ``candidates.py``: candidates by shared tokens and by URLs; editions of a page
- ``structure.py``, ``content.py``: features by page structure and links; by words and sentence vectors
- ``evidence.py``: the features of all candidates, and the judges of document pairs
- ``convention.py``: what a site says of a pair, and what is usual among its pairs
- ``sentences.py``: whether the sentences of doubtful pairs align
- ``methods.py``: the methods of document alignment by name
- ``matching.py``: from scored candidates to one-to-one pairs
- ``align.py``: the alignment of a corpus or a domain
- ``book.py``, ``ledger.py``, ``contents.py``: the documents of a running crawl, its judge, what documents hold
- ``resemblance.py``: whether two documents are translations, by their outlines
"""
