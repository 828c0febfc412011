"""Facts about where a page comes from, by the word of the page, its response and its site."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from bilingual_crawler.pages.characters import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from bilingual_crawler.pages.opt_outs import OptOuts

MAX_FACT = 500  # characters of a fact that are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a page, its response or its site declares about where it comes from, each one line of text or empty."""

    fetched_at: str = ""  # UTC, ISO 8601
    author: str = ""
    published: str = ""  # the day of the first publication, as `2026-11-25`
    modified: str = ""  # the day of the last change
    licence: str = ""  # evidence, most direct first, separated by `|`: where, and address or text
    locale: str = ""  # variant of the language, such as `en-GB`; empty if only the language is declared
    machine_translated: str = ""  # the tool that has translated this very text
    offers_translation: str = ""  # the plugin by which a reader, or the site, may have the page translated
    translator: str = ""  # the person or firm that has translated the page
    translation_of: str = ""  # address of the page of which this is a translation
    x_default: str = ""  # address of the version for readers of no particular language: `hreflang=x-default`
    opt_outs: str = ""  # names of `OptOuts`, separated by blanks
    tdm_policy: str = ""  # address of the policy of a TDM reservation

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the facts among the values of *record*; what is no text is left out."""
        values = {name: record.get(name) for name in FACTS}
        return cls(**{name: one_line(value[:MAX_FACT]) for name, value in values.items() if isinstance(value, str)})

    def known(self) -> dict[str, str]:
        """Return the facts that are known, by name."""
        return {name: value for name in FACTS if (value := getattr(self, name))}

    def with_opt_outs(self, opt_outs: OptOuts) -> Origin:
        """Return the facts with these *opt_outs*."""
        return replace(self, opt_outs=" ".join(opt_outs.names), tdm_policy=opt_outs.policy[:MAX_FACT])

    def completed_by(self, other: Origin) -> Origin:
        """Return the facts with those of *other* where they are not known."""
        return replace(other, **self.known())


FACTS = tuple(field.name for field in fields(Origin))  # names of all facts about a page
UNKNOWN = Origin()
