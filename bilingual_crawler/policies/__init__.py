"""Crawl policies: from the links of a page to the priorities of their URLs.

- ``base``: what a policy is, the page it sees, several policies as one.
- ``baselines``: the policies of the literature: breadth first, PPLocator, PTI, ILSP, Smart, the oracle.
- ``gain``: the expected number of document pairs that a download completes; ``evidence`` is what it weighs.

:data:`bilingual_crawler.plugins.POLICIES` has the classes by name. The room may import ``frontier``, ``scoring``,
``pages``, ``urls`` and ``languages``.
"""
