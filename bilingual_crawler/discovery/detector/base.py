"""The protocol of detectors of bilingual sites, and their verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.pages.model import PageRecord
    from bilingual_crawler.scoring.models import LanguageModel

MAX_DOWNLOADS = 4  # pages of a site that are downloaded beside its entry page


class Reason(StrEnum):
    """Why a site is bilingual or not."""

    BILINGUAL = "bilingual"
    ONE_LANGUAGE = "one_language"
    """No page in the other language was found, or in neither."""
    NO_TRANSLATION = "no_translation"
    """There are pages in both languages, and no two are known to be translations."""
    SAME_PAGE = "same_page_in_every_language"
    """The page announced in the other language is the same page again."""
    PARKED = "parked"
    """The domain is for sale or shows advertisements only."""
    OFF_TOPIC = "off_topic"
    OTHER_SITE = "other_site"
    """The entry page redirected to another site."""
    NO_PAGE = "no_page"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of a site: bilingual or not, why, and how likely."""

    bilingual: bool
    likelihood: float
    """Probability, 0 to 1, that the site has pages in both languages that are translations of each other."""
    reason: Reason
    languages: Mapping[str, int] = field(default_factory=dict)
    """Pages seen by language, the entry page included; ISO 639-3 or ``un``."""
    evidence: Mapping[str, int] = field(default_factory=dict)
    """Links of the entry page that name a language that it is not in, by kind: ``{"hreflang": 2, "switcher": 1}``."""
    pair: tuple[str, str] | None = None
    """URLs of two pages confirmed as translations, in the order of the language pair."""
    downloads: int = 0


class Inspection(Protocol):
    """One site being judged. It does no I/O: its owner downloads the URLs of :meth:`next`."""

    def next(self) -> str | None:
        """The URL to download next; None once the verdict is ready."""

    def observe_page(self, url: str, page: PageRecord | None) -> None:
        """Observe the *page* at *url*, which :meth:`next` named; None for no page (an error, a file)."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the evidence so far."""


class Detector(Protocol):
    """Judges sites; one for a whole crawl."""

    def inspect(self, pair: LanguagePair, entry: PageRecord) -> Inspection:
        """Begin to judge the site of the page *entry*, such as its home page."""


class LoadedDetector(Detector, Protocol):
    """A detector that a discovery chooses by name."""

    @classmethod
    def load(cls, models: Traversable, language_model: LanguageModel) -> Self:
        """Make the detector of what it reads in *models*, and the model of languages of URLs; raises ModelError."""
