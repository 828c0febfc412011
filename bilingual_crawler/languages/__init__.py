"""Languages by ISO 639-3 code, and the pairs of languages of a crawl.

- ``codes``: parse and name a language; BCP 47, CLD2 and country codes; one pair of languages.
- ``scripts``: the script that a text is in.
- ``pairs``: all pairs of languages of a crawl.
"""
