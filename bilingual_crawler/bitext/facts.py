"""The facts about where a document pair comes from, by the names that all exports use."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bilingual_crawler.pages.origin import Origin

PAIR_FACTS = ("direction", "direction_evidence")
PERSONAL = "personal"


class Direction(NamedTuple):
    """The probable direction of translation."""

    direction: str
    """Original and translation, as ``en-mt``; empty if nothing is declared, or the declarations disagree."""
    direction_evidence: str
    """Names of the declarations, separated by blanks."""


UNKNOWN = Direction("", "")


def direction_of(urls: tuple[str, str], origins: tuple[Origin, Origin], languages: tuple[str, str]) -> Direction:
    """Return the direction of translation by what both pages at *urls* declare; *languages* are BCP 47.

    The original is the page that the other one names as such, whose partner is machine-translated or names its
    translator, that both pages name as the version for everybody (``hreflang=x-default``), or that was published
    earlier. All of these that are declared must agree.
    """
    votes = list(_votes(urls, origins))
    if len({is_first for _, is_first in votes}) != 1:
        return UNKNOWN
    a, b = languages if votes[0][1] else languages[::-1]
    return Direction(f"{a}-{b}", " ".join(name for name, _ in votes))


def _votes(urls: tuple[str, str], origins: tuple[Origin, Origin]) -> Iterator[tuple[str, bool]]:
    """The declarations by name, with whether the first document is the original."""
    (url_a, url_b), (a, b) = urls, origins
    of_a, of_b = a.translation_of == url_b, b.translation_of == url_a
    if of_a != of_b:
        yield "translation_of", of_b
    for name in ("machine_translated", "translator"):
        is_a, is_b = bool(getattr(a, name)), bool(getattr(b, name))
        if is_a != is_b:
            yield name, is_b
    defaults = {a.x_default, b.x_default} - {""}
    if len(defaults) == 1 and defaults <= {url_a, url_b}:
        yield "x_default", defaults == {url_a}
    if a.published and b.published and a.published != b.published:
        yield "published", a.published < b.published
