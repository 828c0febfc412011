"""A site detector: a home page with a link in each language is that of a bilingual site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilingual_crawler.discovery.detector.base import Reason, Verdict

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from typing import Self

    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pages.model import PageRecord
    from bilingual_crawler.scoring.models import LanguageModel


class LinkCount:
    """Downloads nothing beside the home page."""

    @classmethod
    def load(cls, models: Traversable, language_model: LanguageModel) -> Self:
        return cls()

    def inspect(self, pair: LanguagePair, entry: PageRecord) -> Counted:
        return Counted(pair, entry)


class Counted:
    """The links of one home page that name their language."""

    def __init__(self, pair: LanguagePair, entry: PageRecord) -> None:
        named = [pair.side(link.hreflang or link.label or "") for link in entry.links]
        bilingual = {pair.a, pair.b} <= {pair.side(entry.language), *named}
        self.verdict = Verdict(
            bilingual, 0.8 if bilingual else 0.2, Reason.BILINGUAL if bilingual else Reason.ONE_LANGUAGE
        )

    def next(self) -> str | None:
        return None

    def observe_page(self, url: str, page: PageRecord | None) -> None: ...
