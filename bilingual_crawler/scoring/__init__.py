"""Score URLs and pairs of URLs by the ONNX models, before a page is fetched.

- ``models``: load a model folder; probabilities of languages, and of two URLs being translations.
- ``linear``: linear models over named features, for evidence of all kinds.
- ``links``: the scores of all links of a page.
"""
