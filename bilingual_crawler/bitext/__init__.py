"""From document pairs to sentence pairs and the files of other tools.

- ``splitting.py``: lines to sentences
- ``evidence.py``: log-odds of beads by length, numbers, names, a learnt lexicon and sentence vectors
- ``beads.py``: the best sequence of beads, by dynamic programming
- ``align.py``: the aligner of a site, which learns its lexicon
- ``produce.py``: sentence pairs aligned, cleaned and passed to exports
- ``exports.py``: Bitextor, TMX, Moses, JSON Lines and Parquet files, and whole documents
- ``monolingual.py``: documents of one language
"""
