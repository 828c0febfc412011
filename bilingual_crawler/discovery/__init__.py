"""Find bilingual sites: which page comes next, and the verdict on each site. Nothing here does I/O but the sources.

- ``search``: which pages are visited, what they teach, the verdict on each site.
- ``policies``: the order in which targets are visited, and its classifiers.
- ``detector``: judge whether a site is bilingual.
- ``sources``: candidates for bilingual sites, and the pages that link to them.
- ``ways``: the sources as hops for the search.
- ``sites``: ``sites.tsv``, the verdicts.
"""
