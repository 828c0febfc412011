"""A URL as text: its canonical form, its parts, its language marks. Nothing here fetches a URL.

- ``canonical``: the one form under which a URL is fetched, stored and compared.
- ``hosts``: host names, registered domains, the cache of functions of URLs.
- ``tokens``: tokens of a URL that name a language, as the rules read them.
- ``marks``: where in a URL its language is named; the URL without that mark.
- ``rewriting``: the edit that turns the URL of a document into the URL of its translation.
- ``parts``: tokens of a URL with their zones, as the pair model reads them.
- ``model_input``: a URL, or a pair of URLs, as text for the URL models.
- ``traps``: URLs that grow with every page.
- ``variants``: an address that is asked for in one language.
"""
