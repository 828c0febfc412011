"""A fastText model in a file, such as GlotLID, OpenLID or lid.176. It needs the extra ``languages``."""

import fasttext

from bilingual_crawler.languages.codes import UNKNOWN, from_bcp47
from bilingual_crawler.pages.detectors.base import Identification, by_ranges, legible
from bilingual_crawler.pages.sandbox.jobs import ContentError

CONFIDENT = 0.5  # probability from which a label counts


class FastText:
    """Its labels are language tags, such as ``__label__is`` and ``__label__isl_Latn``."""

    def __init__(self, path: str) -> None:
        """Load the model in the file *path*; raises ContentError."""
        try:
            self._model = fasttext.load_model(path)
        except ValueError as error:
            raise ContentError("detector", f"{path} is no model of fastText: {error}") from error
        self.languages = frozenset(filter(None, map(_language, self._model.get_labels())))
        if not self.languages:
            raise ContentError("detector", f"the labels of the fastText model {path} are no language codes")

    def identify(self, text: str) -> Identification:
        return by_ranges(text, self._language_of)

    def confirms(self, text: str, language: str) -> bool:
        return True

    def _language_of(self, text: str) -> str:
        labels, _ = self._model.predict(" ".join(legible(text).split()), threshold=CONFIDENT)
        return (_language(labels[0]) if labels else None) or UNKNOWN


def _language(label: str) -> str | None:
    return from_bcp47(label.removeprefix("__label__"))
