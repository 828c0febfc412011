"""Score URLs and pairs of URLs by the ONNX models, before a page is fetched.

- ``models``: load a model folder; probabilities of languages, and of two URLs being translations.
- ``linear``: linear models over named features, for evidence of all kinds.
- ``links``: the scores of all links of a page, cached, and batched over pages in a thread.

The room may import ``urls`` and ``languages``, and neither Scrapy nor Twisted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler import lazy_exports

if TYPE_CHECKING:
    from bilingual_crawler.scoring.links import BatchingScorer, LinkScore, LinkScorer, PageLinks
    from bilingual_crawler.scoring.models import (
        LanguageModel,
        ModelError,
        ParallelnessModel,
        load_models,
        models_folder,
    )
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            **dict.fromkeys(("BatchingScorer", "LinkScore", "LinkScorer", "PageLinks"), "links"),
            **dict.fromkeys(
                ("LanguageModel", "ModelError", "ParallelnessModel", "load_models", "models_folder"), "models"
            ),
        },
    )

__all__ = [
    "BatchingScorer",
    "LanguageModel",
    "LinkScore",
    "LinkScorer",
    "ModelError",
    "PageLinks",
    "ParallelnessModel",
    "load_models",
    "models_folder",
]
