"""``sites.tsv``: write and read the verdicts on sites, and count them."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from bilingual_crawler.languages.codes import LanguageError, parse_language
from bilingual_crawler.storage.files import DAMAGE, open_packed
from bilingual_crawler.storage.records import read_tsv

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bilingual_crawler.discovery.search import InspectedSite
    from bilingual_crawler.languages.pairs import LanguagePairs


def write_counts(counts: Mapping[str, int]) -> str:
    """Format counts as ``eng:40 mlt:12``, the greatest first."""
    return " ".join(f"{name}:{count}" for name, count in Counter(counts).most_common())


def read_pages(text: str) -> Counter[str]:
    """Pages by language (ISO 639-3), however the languages are named; raises ValueError."""
    pages: Counter[str] = Counter()
    for part in text.split():
        code, _, count = part.partition(":")
        try:
            pages[parse_language(code)] += int(count)
        except (LanguageError, ValueError):
            raise ValueError("pages not as in mlt:12 eng:40") from None
    return pages


BILINGUAL = "bilingual"


@dataclass(frozen=True, slots=True)
class JudgedSite:
    """A row of ``sites.tsv``."""

    site: str
    entry: str
    """The page from which it was judged, or that could not be read."""
    verdict: str
    """``bilingual``, or a :class:`~bilingual_crawler.discovery.detector.base.Reason` why not."""
    likelihood: float
    languages: str
    evidence: str
    """Counts, as :func:`write_counts` formats them: pages seen by language; links by kind of evidence."""
    url_a: str
    url_b: str
    """The confirmed pair of pages, in the order of the pair of languages; empty without one."""
    downloads: int
    way: str
    found_on: str
    """How it was found, ``seed``, ``candidate``, ``forth``, ``back`` or ``inside``, and on which page."""
    pages: str
    """Counts of the pages by language that the source of candidates knows of; empty if it does not know."""
    archived: str
    """When the entry page was archived, if it came from an archive; UTC."""
    time: str

    @classmethod
    def from_inspected(cls, name: str, site: InspectedSite, pages: Mapping[str, int], time: str) -> JudgedSite:
        verdict = site.verdict
        assert verdict
        way, found_on = "seed", ""
        if site.target and (hops := site.target.hops):
            way, found_on = str(hops[0].way) if hops[0].parent else "candidate", hops[0].parent
        return cls(
            *(name, site.entry, verdict.reason, round(verdict.likelihood, 4)),
            *(write_counts(verdict.languages), write_counts(verdict.evidence)),
            *(verdict.pair or ("", "")),
            verdict.downloads,
            *(way, found_on, write_counts(pages), site.archived, time),
        )


class Funnel:
    """Counts of a discovery: candidates -> judged -> bilingual, and why not."""

    def __init__(self, path: Path) -> None:
        """Count the rows of the ``sites.tsv`` at *path*, which may be missing."""
        self.reasons: Counter[str] = Counter()
        self.sites: set[str] = set()
        self._archived = 0
        for row in read_tsv(path):
            self.note(row["site"], row["verdict"], row.get("archived", ""))

    def note(self, site: str, verdict: str, archived: str) -> None:
        self.sites.add(site)
        self.reasons[verdict] += 1
        self._archived += bool(archived)

    def counts(self) -> dict[str, object]:
        return {
            "sites_judged": self.reasons.total(),
            "sites_bilingual": self.reasons[BILINGUAL],
            "sites_refused": {name: count for name, count in self.reasons.most_common() if name != BILINGUAL},
            "entry_pages_archived": self._archived,
        }


def read_bilingual(path: Path) -> Iterator[dict[str, str]]:
    """The rows of the bilingual sites of a ``sites.tsv``."""
    return (row for row in read_tsv(path, unended=True) if row.get("verdict") == BILINGUAL)


def entries_of(row: Mapping[str, str]) -> list[str]:
    """The pages of a row from which a crawl of the site starts."""
    return [url for name in ("entry", "url_a", "url_b") if (url := row.get(name))]


def is_table(path: Path) -> bool:
    try:
        with open_packed(path) as file:
            return file.readline(1 << 16).removeprefix(BOM_UTF8).startswith(b"site\tentry\tverdict\t")
    except DAMAGE:
        return False


def expected_pairs(path: Path, pairs: LanguagePairs) -> dict[str, float]:
    """Expected document pairs of each bilingual site in *path*, relative: its likelihood times its size.

    The size is the number of pages in the rarer language of each of *pairs*, or the mean size. ValueError names the
    site whose values are invalid.
    """
    likelihoods: dict[str, float] = {}
    sizes: dict[str, int] = {}
    for row in read_bilingual(path):
        site = row["site"]
        try:
            likelihood = likelihoods[site] = float(row.get("likelihood", ""))
            if not 0 <= likelihood <= 1:
                raise ValueError(f"the likelihood {likelihood} is not from 0 to 1")
            if pages := read_pages(row.get("pages", "")):
                sizes[site] = 0
                for pair in pairs:
                    sides = Counter({pair.a: 0, pair.b: 0})
                    for language, count in pages.items():
                        sides[pair.side(language) or ""] += count
                    sizes[site] += min(sides[pair.a], sides[pair.b])
        except ValueError as error:
            raise ValueError(f"{site}: {error}") from None
    mean = fmean(sizes.values()) if sizes else 1.0
    return {site: likelihood * sizes.get(site, mean) for site, likelihood in likelihoods.items()}
