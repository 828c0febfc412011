"""Which documents are translations of each other, during a crawl (``ledger.py``) and of a corpus (``align.py``)."""
