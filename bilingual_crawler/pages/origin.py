"""What a page declares about where it comes from, and what it and its site opt out of by robots directives and TDMRep
(https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, fields, replace
from typing import Any, Self, TypeAlias
from urllib.parse import unquote, urlsplit

from bilingual_crawler.pages.characters import one_line
from bilingual_crawler.urls.canonical import canonicalise

MAX_FACT = 500  # characters of a fact that are kept
NOINDEX, NOARCHIVE, NOAI, NOIMAGEAI = "noindex", "noarchive", "noai", "noimageai"
TDM_RESERVATION = "tdm-reservation"
TDM_POLICY = "tdm-policy"
DIRECTIVES = (NOARCHIVE, NOAI, NOIMAGEAI)
TDM_FILE = "/.well-known/tdmrep.json"
MAX_RULES = 1000  # rules of a file that are read, the first ones
MAX_PATTERN = 2000  # characters of a location that are read; a rule with a longer one is left out
_RESERVED = {"1": True, "0": False}


@dataclass(frozen=True, slots=True)
class OptOuts:
    """What a page, the headers of its response, or its site opts out of."""

    directives: tuple[str, ...] = ()  # of `DIRECTIVES`, in their order
    reserved: bool | None = None  # whether text and data mining is reserved; None if this is not declared
    policy: str = ""  # URL of the policy of a reservation; empty without one

    def over(self, wider: OptOuts) -> OptOuts:
        """Add the opt-outs of a *wider* source (headers, site); the nearest reservation counts (TDMRep, section 6)."""
        nearest = wider if self.reserved is None else self
        directives = _in_order({*self.directives, *wider.directives})
        return OptOuts(directives, nearest.reserved, nearest.policy)

    @property
    def names(self) -> tuple[str, ...]:
        """The opt-outs by name, in a fixed order."""
        return (*self.directives, TDM_RESERVATION) if self.reserved else self.directives

    @property
    def objection(self) -> str | None:
        """The name of the opt-out from text mining or training; None without one."""
        if self.reserved:
            return TDM_RESERVATION
        return NOAI if NOAI in self.directives else None


NOTHING = OptOuts()


def opt_outs(directives: Set[str], reservation: str | None, policy: str | None, url: str) -> OptOuts:
    """The opt-outs in robots *directives* (lower case) and in the TDMRep values of the page or response at *url*."""
    kept = _in_order(directives)
    reserved = _RESERVED.get(str(reservation).strip())
    if not kept and reserved is None:
        return NOTHING
    link = canonicalise(policy, url) if policy and reserved else None
    return OptOuts(kept, reserved, link or "")


def _in_order(directives: Set[str]) -> tuple[str, ...]:
    return tuple(name for name in DIRECTIVES if name in directives)


TdmRule: TypeAlias = tuple[str, OptOuts]
"""Of a ``tdmrep.json``: a pattern of paths, as in robots.txt (``*`` is any text, ``$`` at the end is the end), and what
is declared for them."""


def rules_in(body: bytes, url: str) -> list[TdmRule]:
    """The rules of the ``tdmrep.json`` at *url*, the first 1,000; empty for what is no JSON array. Never raises."""
    try:
        listed = json.loads(body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return []
    rules = (_rule(one, url) for one in listed[:MAX_RULES]) if isinstance(listed, list) else ()
    return [rule for rule in rules if rule is not None]


def _rule(given: Any, url: str) -> TdmRule | None:
    if not isinstance(given, dict):
        return None
    location, policy = given.get("location"), given.get(TDM_POLICY)
    reserved = _RESERVED.get(str(given.get(TDM_RESERVATION))[:2])
    if not isinstance(location, str) or len(location) > MAX_PATTERN or reserved is None:
        return None
    link = canonicalise(policy, url) if reserved and isinstance(policy, str) else None
    # JSON may name half a character, which no path has
    return location.encode("utf-8", "replace").decode(), OptOuts((), reserved, link or "")


def declared_for(url: str, rules: Iterable[TdmRule]) -> OptOuts:
    """What the *rules* of its site declare for *url*: the first that matches counts."""
    parts = urlsplit(url)
    path = unquote(parts.path or "/") + (f"?{unquote(parts.query)}" if parts.query else "")
    return next((declared for location, declared in rules if _matches(location, path)), NOTHING)


def _matches(pattern: str, path: str) -> bool:
    """Whether *path* begins as *pattern* says, without backtracking."""
    to_end = pattern.endswith("$")
    start, *others = map(unquote, (pattern[:-1] if to_end else pattern).split("*"))
    if not path.startswith(start):
        return False
    end = others.pop() if to_end and others else ""
    at = len(start)
    for part in others:
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    if not to_end:
        return True
    return path.endswith(end) and len(path) - len(end) >= at if "*" in pattern else at == len(path)


BETWEEN = " | "  # between several pieces of evidence
LICENCE = re.compile(
    r"\bCC[ -]?(?:BY(?:[ -](?:SA|NC|ND))*|0|ZERO)\b(?:[ -]\d\.\d)?|(?i:\bcreative[ -]commons\b"
    r"(?:[ -](?:attribution|share-?alike|non-?commercial|no-?deriv\w*|zero|\d\.\d))*"
    r"|\bGNU Free Documentation Licen[sc]e\b)"
)


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

    @property
    def licence_name(self) -> str:
        """The licence of the most direct evidence: its name if a text has one, or its address."""
        said = self.licence.partition(BETWEEN)[0].partition(" ")[2]
        return named[0] if (named := LICENCE.search(said)) else said

    def with_opt_outs(self, opt_outs: OptOuts) -> Origin:
        """Return the facts with these *opt_outs*."""
        return replace(self, opt_outs=" ".join(opt_outs.names), tdm_policy=opt_outs.policy[:MAX_FACT])

    def completed_by(self, other: Origin) -> Origin:
        """Return the facts with those of *other* where they are not known."""
        return replace(other, **self.known())


FACTS = tuple(field.name for field in fields(Origin))  # names of all facts about a page
UNKNOWN = Origin()
